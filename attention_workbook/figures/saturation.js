import {
  DTYPES,
  POWERS,
  createView,
  element,
  entropy,
  fixed,
  isStill,
  roundedSoftmax,
  setAttributes,
  setChildren,
  setText,
  short,
  softmax,
  svg,
} from "./_shared/index.js";

const DIVISORS = { 0: "not divided", 0.5: "divided by √d", 1: "divided by d" };
const BARS = { height: 236, left: 20, right: 4, top: 22, bottom: 8 };

/** The standard deviation of q·k / d^exponent / temperature over keys of width d. */
export function spread({ d, exponent, temperature }) {
  return d ** (0.5 - exponent) / temperature;
}

/** The scores: one fixed direction a key, stretched by the spread. */
export function scores(settings) {
  const factor = spread(settings);
  return settings.directions.slice(0, settings.len_k).map((direction) => factor * direction);
}

/** The Frobenius norm of diag(p) − ppᵀ. */
function jacobianNorm(weights) {
  const squares = weights.reduce((sum, weight) => sum + weight ** 2, 0);
  return Math.sqrt(
    weights.reduce(
      (sum, weight) => sum + weight ** 2 * ((1 - weight) ** 2 + squares - weight ** 2),
      0,
    ),
  );
}

/** How many weights are exactly 0; all but one means that the whole Jacobian is. */
export function zeroWeights(given, dtype) {
  return roundedSoftmax(given, dtype).filter((weight) => weight === 0).length;
}

/** Everything the figure shows, computed from its settings. */
export function measure(settings) {
  const given = scores(settings);
  const weights = softmax(given);
  if (!weights.every(Number.isFinite)) throw new Error("a score is not finite");
  const zeros = DTYPES.map((dtype) => zeroWeights(given, dtype));
  const dead = DTYPES.filter((_, i) => zeros[i] === weights.length - 1);
  return {
    weights,
    max_weight: Math.max(...weights),
    entropy: entropy(weights),
    jacobian_norm: jacobianNorm(weights),
    effective_keys: Math.exp(entropy(weights)),
    zeros,
    dead,
  };
}

/** The finding in words. */
export function words(settings, measured) {
  const { dead, jacobian_norm: norm } = measured;
  const size = norm > 0 && norm < 0.0005 ? "below 0.001" : fixed(norm);
  const gradient =
    dead.length === 0
      ? "The gradient of softmax is not 0 in any dtype."
      : `The gradient of softmax is exactly 0 in ${dead.join(", ")}.`;
  return (
    `Scores of standard deviation ${short(spread(settings))}: the largest of ` +
    `${settings.len_k} weights is ${fixed(measured.max_weight)}, the entropy ${fixed(measured.entropy)} ` +
    `(that of ${fixed(measured.effective_keys, 1)} equal weights), ‖J‖ ${size}. ${gradient}`
  );
}

/** What is set, for a still picture. */
export function setting({ d, exponent, temperature }) {
  return `Width d = ${d}, scores ${DIVISORS[exponent]}, temperature ${short(temperature)}.`;
}

export function render({ model, el }) {
  const traits = ["d", "exponent", "len_k", "temperature", "directions"];
  const view = createView(
    { model, el },
    {
      label: "Softmax saturation",
      task: "Widen the vectors until one key takes all. Which picture hardly changes?",
      traits,
    },
  );

  // The same scores three ways, side by side; a click takes the one that the sentence below is about.
  const panels = Object.keys(DIVISORS)
    .map(Number)
    .sort()
    .map((exponent) => {
      const card = element(
        "span",
        { class: "attention-panel" },
        element("span", { "data-drawn": true }, DIVISORS[exponent]),
      );
      const bars = view.plot({
        height: BARS.height,
        parent: card,
        description: `Weights as bars from 0 to 1, scores ${DIVISORS[exponent]}`,
      });
      const [axes, columns, largest] = [
        "attention-axes",
        "attention-columns",
        "attention-largest",
      ].map((name) => bars.svg.appendChild(svg("g", { class: name })));
      return { exponent, card, bars, axes, columns, largest };
    });
  const ways = view.choice({
    trait: "exponent",
    label: "Weights of the keys, with scores",
    options: panels.map(({ exponent, card }) => [exponent, card]),
  });
  view.stage.append(ways[0].closest("fieldset"));
  setAttributes(ways[0].closest(".attention-options"), { "data-columns": panels.length });
  const show = view.numbers({
    max_weight: "Largest weight",
    entropy: "Entropy",
    jacobian_norm: "Jacobian ‖J‖",
    effective_keys: "Effective keys",
  });

  const row = element("div", { class: "attention-row" });
  view.more.place.prepend(
    element("p", { class: "attention-name" }, "Gradient of softmax, as computed in"),
    row,
  );
  const gradients = DTYPES.map((dtype) => {
    const flows = view.readout({ name: `gradient_${dtype}`, label: dtype, parent: row });
    return { flows, zeros: flows.card.appendChild(element("span", { class: "attention-note" })) };
  });

  view.slider({
    trait: "d",
    label: "Width d",
    min: 0,
    max: 12,
    ...POWERS,
    words: (d) => `${d} ${d === 1 ? "dimension" : "dimensions"}`,
  });
  view.slider({
    trait: "len_k",
    label: "Number of keys",
    more: true,
    min: 2,
    max: 64,
    words: (len_k) => `${len_k} keys`,
  });
  view.slider({
    trait: "temperature",
    label: "Temperature",
    more: true,
    min: -5,
    max: 5,
    step: 0.5,
    ...POWERS,
    text: (temperature) => short(temperature),
    words: (temperature) => `temperature ${short(temperature)}`,
  });

  const widest = 4096;
  let goal = widest;
  const playing = view.play({
    every: 350,
    atEnd: () => model.get("d") >= goal,
    rewind: () => view.set("d", 1),
    next() {
      if (model.get("d") < goal) view.set("d", Math.min(2 * model.get("d"), goal));
      const further = model.get("d") < goal;
      if (!further) goal = widest;
      return further;
    },
  });

  // On a page of ours: the first time that the figure is seen, d grows from 1 to where it stands.
  const d = model.get("d");
  const visibility = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      visibility.disconnect();
      if (isStill() || !view.onPage || model.get("d") !== d) return; // or somebody has been here already
      goal = d;
      view.set("d", 1);
      playing.play();
    },
    { threshold: 0.6 },
  );
  visibility.observe(view.root);
  view.signal.addEventListener("abort", () => visibility.disconnect());

  const y = (weight) => BARS.height - BARS.bottom - weight * (BARS.height - BARS.bottom - BARS.top);

  function drawAxes({ bars, axes }) {
    setChildren(
      axes,
      [0, 0.5, 1].flatMap((tick) => [
        [
          "line",
          {
            class: "attention-grid",
            x1: BARS.left,
            x2: bars.width - BARS.right,
            y1: y(tick),
            y2: y(tick),
          },
        ],
        [
          "text",
          { class: "attention-muted", x: 0, y: y(tick) + 4 },
          tick === 0.5 ? "½" : String(tick),
        ],
      ]),
    );
  }

  function drawBars({ bars, columns, largest }, weights) {
    const step = (bars.width - BARS.left - BARS.right) / weights.length;
    const wide = Math.min(step * 0.78, 44);
    const middle = (i) => BARS.left + step * (i + 0.5);
    setChildren(
      columns,
      weights.map((weight, i) => [
        "rect",
        {
          x: middle(i) - wide / 2,
          width: wide,
          rx: Math.min(2, wide / 4),
          y: y(weight),
          height: y(0) - y(weight),
        },
      ]),
    );
    const most = Math.max(...weights);
    setChildren(largest, [
      [
        "text",
        {
          x: Math.min(Math.max(middle(weights.indexOf(most)), 34), bars.width - 18),
          y: y(most) - 6,
          "text-anchor": "middle",
        },
        fixed(most, 2),
      ],
    ]);
  }

  view.start(() => {
    const settings = view.state();
    const now = measure(settings);
    // Drawn is the state on the way: the scores stretch or shrink, and the weights follow.
    const [power, heat] = view.glide("settings", [
      Math.log2(settings.d),
      Math.log2(settings.temperature),
    ]);
    for (const panel of panels) {
      view.part(`axes ${panel.exponent}`, String(panel.bars.width), () => drawAxes(panel));
      drawBars(
        panel,
        softmax(
          scores({ ...settings, d: 2 ** power, temperature: 2 ** heat, exponent: panel.exponent }),
        ),
      );
    }
    if (!view.hasArrived()) return;
    show(now);
    gradients.forEach(({ flows, zeros }, i) => {
      const dead = now.dead.includes(DTYPES[i]);
      flows(dead ? 0 : 1, dead ? "exactly 0" : "flows");
      flows.card.classList.toggle("attention-strong", dead);
      setText(zeros, `zero weights: ${now.zeros[i]}`);
    });
    view.say(words(settings, now), setting(settings));
  });
  return view.cleanup;
}

export default { render };
