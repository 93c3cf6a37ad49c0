import {
  DTYPES,
  POWERS,
  createView,
  element,
  entropy,
  fixed,
  roundedSoftmax,
  setChildren,
  setText,
  short,
  softmax,
  svg,
} from "./_shared/index.js";

const DIVISORS = { 0: "not divided", 0.5: "divided by √d", 1: "divided by d" };
const EXPONENTS = [0, 0.5, 1];
const PLOT = { height: 300, left: 22, right: 4, top: 12, bottom: 8 };
const NAME = 125; // the longest name of an outline, with air, in pixels

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

/** The largest weight under each division, by exponent. */
const largestOf = (settings) =>
  EXPONENTS.map((exponent) => Math.max(...softmax(scores({ ...settings, exponent }))));

const wide = {
  words(settings) {
    const [bare, root, whole] = largestOf(settings).map((weight) => fixed(weight, 2));
    const numbers = `${bare} not divided, ${root} divided by √d, ${whole} divided by d.`;
    const isDone = Number(bare) >= 0.99 && settings.temperature === 1;
    return (
      `The largest of ${settings.len_k} weights is ${numbers}` +
      (isDone ? " Done: one key takes all, and only the outline for √d has not moved." : "")
    );
  },
};
const many = {
  words(settings, { max_weight: largest }) {
    const { len_k, temperature } = settings;
    const said = `The largest of ${len_k} weights is ${fixed(largest, 2)} ${DIVISORS[settings.exponent]}.`;
    if (temperature === 1) return largest < 0.1 ? `${said} Half done: now bring it to half.` : said;
    const isDone =
      largest >= 0.5 && Math.max(...softmax(scores({ ...settings, temperature: 1 }))) < 0.1;
    return said + (isDone ? ` Done, by temperature ${short(temperature)}.` : "");
  },
};
const pair = {
  words({ len_k }, { dead, max_weight: largest }) {
    const said = `The largest of ${len_k} weights is ${fixed(largest)}.`;
    if (dead.length === 0) return `${said} In every number type some gradient is left.`;
    const isDone = len_k > 2 && dead.includes("float32");
    return `${said} The gradient is exactly 0 in ${dead.join(", ")}.${isDone ? " Done." : ""}`;
  },
};

/** What is said and what can be set: it depends on where the chapter starts. */
export function questionOf({ exponent, len_k }) {
  if (exponent === 0.5) return many;
  return len_k === 2 ? pair : wide;
}

/** What is set, for a still picture. */
export function setting({ d, exponent, temperature }) {
  return `Width d = ${d}, scores ${DIVISORS[exponent]}, temperature ${short(temperature)}.`;
}

export function render({ model, el }) {
  const traits = ["d", "exponent", "len_k", "temperature", "directions"];
  const question = questionOf({ exponent: model.get("exponent"), len_k: model.get("len_k") });
  const view = createView(
    { model, el },
    {
      label: "Softmax saturation",
      task: "Widen the vectors until one key takes all. Which outline stays where it is?",
      traits,
    },
  );
  const plot = view.plot({
    height: PLOT.height,
    description:
      "Weights of the keys from 0 to 1 as three outlines over one another: scores not divided, divided by √d, divided by d",
  });
  const [axes, outlines, labels] = [
    "axes",
    "outlines attention-line attention-weight",
    "largest attention-over",
  ].map((name) => plot.svg.appendChild(svg("g", { class: `attention-${name}` })));
  const show = view.numbers({
    max_weight: "Largest weight",
    entropy: "Entropy",
    jacobian_norm: "Jacobian ‖J‖",
    effective_keys: "Effective keys",
  });
  const row = element("div", { class: "attention-readouts" });
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
    more: question !== wide,
    min: 0,
    max: 12,
    ...POWERS,
    words: (d) => `${d} ${d === 1 ? "dimension" : "dimensions"}`,
  });
  view.slider({
    trait: "len_k",
    label: "Number of keys",
    more: question === wide,
    min: 2,
    max: 64,
    words: (len_k) => `${len_k} keys`,
  });
  view.slider({
    trait: "temperature",
    label: "Temperature",
    more: question === wide,
    min: -5,
    max: 5,
    step: 0.5,
    ...POWERS,
    text: (temperature) => short(temperature),
    words: (temperature) => `temperature ${short(temperature)}`,
  });
  view.choice({
    trait: "exponent",
    label: "Filled, and in the numbers here: scores",
    more: true,
    options: EXPONENTS.map((exponent) => [exponent, DIVISORS[exponent]]),
  });

  const y = (weight) => PLOT.height - PLOT.bottom - weight * (PLOT.height - PLOT.bottom - PLOT.top);

  function drawAxes() {
    setChildren(
      axes,
      [0, 0.5, 1].flatMap((tick) => [
        [
          "line",
          {
            class: "attention-grid",
            x1: PLOT.left,
            x2: plot.width - PLOT.right,
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

  /** A column a key, from its left edge to its right one. */
  function columns(count) {
    const step = (plot.width - PLOT.left - PLOT.right) / count;
    const wide = Math.min(step - Math.min(step / 5, 6), 110);
    return (i) => [-1, 1].map((side) => PLOT.left + (i + 0.5) * step + (side * wide) / 2);
  }

  const outline = (weights, column) =>
    weights
      .map((weight, i) => {
        const [from, to] = column(i);
        return `M${from} ${y(0)}V${y(weight)}H${to}V${y(0)}`;
      })
      .join("");

  function drawWeights(weights, chosen) {
    const column = columns(weights[0].length);
    setChildren(
      outlines,
      EXPONENTS.map((exponent, i) => [
        "path",
        {
          d: outline(weights[i], column),
          "data-exponent": exponent,
          "data-filled": exponent === chosen,
        },
      ]),
    );
    // The three reach highest at the same key; their names stand beside it, the lowest just above
    // what its neighbours reach, and none over another.
    const tops = weights.map((row) => Math.max(...row));
    const at = weights[0].indexOf(tops[0]);
    const [from, to] = column(at);
    const isRight = plot.width - to < NAME && from > plot.width - to;
    const [start, end] = isRight ? [from - NAME, from - 1] : [to + 1, to + NAME];
    const beside = weights.flatMap((row) =>
      row.filter((_, i) => column(i)[1] > start && column(i)[0] < end),
    );
    let base = y(Math.max(0, ...beside)) - 7;
    setChildren(
      labels,
      [...EXPONENTS.keys()]
        .sort((i, j) => tops[i] - tops[j])
        .map((i) => {
          const place = Math.min(y(tops[i]) + 5, base);
          base = place - 17;
          return [
            "text",
            {
              x: isRight ? from - 6 : to + 6,
              y: place,
              "text-anchor": isRight ? "end" : "start",
              class: "attention-chosen",
            },
            `${fixed(tops[i], 2)} ${DIVISORS[EXPONENTS[i]]}`,
          ];
        })
        .reverse(),
    );
  }

  view.start(() => {
    const settings = view.state();
    const now = measure(settings);
    // Drawn is the state on the way: the scores stretch or shrink, and the weights follow.
    const [power, heat] = view.glide("settings", [
      Math.log2(settings.d),
      Math.log2(settings.temperature),
    ]);
    view.part("axes", String(plot.width), drawAxes);
    const drawn = { ...settings, d: 2 ** power, temperature: 2 ** heat };
    drawWeights(
      EXPONENTS.map((exponent) => softmax(scores({ ...drawn, exponent }))),
      settings.exponent,
    );
    if (!view.hasArrived()) return;
    show(now);
    gradients.forEach(({ flows, zeros }, i) => {
      const dead = now.dead.includes(DTYPES[i]);
      flows(dead ? 0 : 1, dead ? "exactly 0" : "flows");
      flows.card.classList.toggle("attention-strong", dead);
      setText(zeros, `zero weights: ${now.zeros[i]}`);
    });
    view.say(question.words(settings, now), setting(settings));
  });
  return view.cleanup;
}

export default { render };
