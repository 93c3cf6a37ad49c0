import { DTYPES, createView, element, entropy, fixed, isStill, roundedSoftmax, setAttributes, setChildren, setText, short, softmax, svg } from "./_shared/index.js";

const DIVISORS = { 0: "not divided", 0.5: "divided by √d", 1: "divided by d" };
const BARS = { height: 286, left: 34, right: 4, top: 12, bottom: 30 };
const CURVE = { height: 40, inset: 6, left: 34 };

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
export function jacobianNorm(weights) {
  const squares = weights.reduce((sum, weight) => sum + weight ** 2, 0);
  return Math.sqrt(weights.reduce(
    (sum, weight) => sum + weight ** 2 * ((1 - weight) ** 2 + squares - weight ** 2), 0,
  ));
}

/** How many weights are exactly 0; all but one means that the whole Jacobian is. */
export function zeroWeights(given, dtype) {
  return roundedSoftmax(given, dtype).filter((weight) => weight === 0).length;
}

/** What the curves show of the weights. */
export function summarize(weights) {
  return {
    max_weight: Math.max(...weights),
    entropy: entropy(weights),
    jacobian_norm: jacobianNorm(weights),
  };
}

/** Everything the figure shows, computed from its settings. */
export function measure(settings) {
  const given = scores(settings);
  const weights = softmax(given);
  if (!weights.every(Number.isFinite)) throw new Error("a score is not finite");
  const zeros = DTYPES.map((dtype) => zeroWeights(given, dtype));
  const dead = DTYPES.filter((_, i) => zeros[i] === weights.length - 1);
  const effective_keys = Math.exp(entropy(weights));
  return { weights, ...summarize(weights), effective_keys, zeros, dead };
}

/** The finding in words; `SoftmaxSaturation.words` says the same in Python. */
export function words(settings, seen) {
  const { dead } = seen;
  const gradient = dead.length === 0
    ? "The gradient of softmax is not 0 in any dtype."
    : `The gradient of softmax is exactly 0 in ${dead.join(", ")}.`;
  return `Scores of standard deviation ${short(spread(settings))}: the largest of `
    + `${settings.len_k} weights is ${fixed(seen.max_weight)}, the entropy ${fixed(seen.entropy)} `
    + `(as of ${fixed(seen.effective_keys, 1)} equal weights), ‖J‖ ${fixed(seen.jacobian_norm)}. `
    + gradient;
}

const CURVES = [
  { name: "max_weight", label: "Largest weight", top: () => 1 },
  { name: "entropy", label: "Entropy", top: (len_k) => Math.log(len_k) },
  { name: "jacobian_norm", label: "Jacobian ‖J‖", top: () => Math.SQRT1_2 },
];
const WIDTHS = Array.from({ length: 13 }, (_, power) => 2 ** power);

/** On a page of ours: the first time that the figure is seen, let d grow from 1 to where it stands. */
function showOnce(view, model) {
  const d = model.get("d");
  if (isStill() || !view.onPage) return;
  let timer = 0;
  const end = () => {
    clearInterval(timer);
    seen.disconnect();
  };
  const seen = new IntersectionObserver(([{ isIntersecting }]) => {
    if (!isIntersecting) return;
    seen.disconnect();
    if (model.get("d") !== d) return; // somebody has been here already
    view.set("d", 1);
    timer = setInterval(() => {
      view.set("d", Math.min(2 * model.get("d"), d));
      if (model.get("d") >= d) end();
    }, 350);
  }, { threshold: 0.6 });
  seen.observe(view.root);
  for (const type of ["pointerdown", "keydown"]) view.root.addEventListener(type, end, { signal: view.signal, capture: true });
  view.signal.addEventListener("abort", end);
}

export function render({ model, el }) {
  const traits = ["d", "exponent", "len_k", "temperature", "directions"];
  const view = createView({ model, el }, { label: "Softmax saturation", task: "Widen the vectors until one key takes all; then bring the others back.", traits, aside: true });

  const bars = view.plot({ height: BARS.height, description: "The weights of the keys as bars from 0 to 1" });
  const axes = bars.svg.appendChild(svg("g"));
  const columns = bars.svg.appendChild(svg("g", { fill: "var(--aw-weight)" }));
  const axisName = bars.svg.appendChild(svg("text", { class: "attention-muted", "text-anchor": "middle" }));

  const curves = CURVES.map(({ name, label, top }, i) => {
    const show = view.readout({ name, label, parent: i === 1 ? view.more.readouts : view.readouts });
    const plot = view.plot({
      height: CURVE.height + (i === 2 ? 18 : 0), parent: show.card,
      description: `${label} as the width d doubles from 1 to 4096`,
    });
    const ground = plot.svg.appendChild(svg("line", { class: "attention-grid" }));
    const line = plot.svg.appendChild(svg("path", { class: "attention-line" }));
    const dot = plot.svg.appendChild(svg("circle", { r: 5, fill: "var(--aw-accent)" }));
    const ticks = plot.svg.appendChild(svg("g", { "text-anchor": "end" }));
    return { name, top, show, plot, ground, line, dot, ticks };
  });
  const last = curves.at(-1).plot;
  const ends = [["d = 1", "start"], ["d = 4096", "end"]].map(([text, anchor]) => last.svg.appendChild(
    svg("text", { class: "attention-muted", y: CURVE.height + 14, "text-anchor": anchor }, text),
  ));
  const effective = view.readout({ name: "effective_keys", label: "Effective keys", parent: view.more.readouts });

  const row = element("div", { class: "attention-row" });
  view.more.place.prepend(element("p", { class: "attention-name" }, "Gradient of softmax, as computed in"), row);
  const gradients = DTYPES.map((dtype) => {
    const show = view.readout({ name: `gradient_${dtype}`, label: dtype, parent: row });
    const zeros = show.card.appendChild(element("span", { class: "attention-note" }));
    return { show, zeros };
  });

  view.slider({
    trait: "d", label: "Width d", min: 0, max: 12,
    value: (power) => 2 ** power, position: Math.log2, words: (d) => `${d} ${d === 1 ? "dimension" : "dimensions"}`,
  });
  view.slider({
    trait: "exponent", label: "Scores", min: 0, max: 1, step: 0.5,
    text: (exponent) => DIVISORS[exponent],
    words: (exponent) => ({ 0: "not divided", 0.5: "divided by the square root of d", 1: "divided by d" })[exponent],
  });
  view.slider({
    trait: "len_k", label: "Number of keys", more: true, min: 2, max: 64, words: (len_k) => `${len_k} keys`,
  });
  view.slider({
    trait: "temperature", label: "Temperature", more: true, min: -5, max: 5, step: 0.5,
    value: (power) => 2 ** power, position: Math.log2,
    text: (temperature) => short(temperature), words: (temperature) => `temperature ${short(temperature)}`,
  });

  view.play({
    every: 350,
    atEnd: () => model.get("d") >= 4096,
    rewind: () => view.set("d", 1),
    next() {
      view.set("d", Math.min(2 * model.get("d"), 4096));
      return model.get("d") < 4096;
    },
  });
  showOnce(view, model);

  const y = (weight) => BARS.height - BARS.bottom - weight * (BARS.height - BARS.bottom - BARS.top);

  function drawAxes() {
    const { left, right, height } = BARS;
    setChildren(axes, [0, 0.5, 1].flatMap((tick) => [
      ["line", { class: "attention-grid", x1: left, x2: bars.width - right, y1: y(tick), y2: y(tick) }],
      ["text", { class: "attention-muted", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, short(tick)],
    ]));
    setAttributes(axisName, { x: (left + bars.width - right) / 2, y: height - 6 });
    ends.forEach((end, i) => setAttributes(end, { x: i ? last.width : CURVE.left }));
  }

  function drawBars(weights) {
    const step = (bars.width - BARS.left - BARS.right) / weights.length;
    const wide = Math.min(step * 0.78, 44);
    setChildren(columns, weights.map((weight, i) => ["rect", {
      x: BARS.left + step * (i + 0.5) - wide / 2, width: wide, rx: Math.min(2, wide / 4),
      y: y(weight), height: y(0) - y(weight),
    }]));
    setText(axisName, `weights of ${weights.length} keys`);
  }

  function drawCurve({ name, top, plot, ground, line, ticks }, settings, along) {
    const [x, height] = placeOn(plot, top(settings.len_k));
    setAttributes(ground, { x1: x(1), x2: x(4096), y1: height(0), y2: height(0) });
    const points = along.map((seen, i) => `${x(WIDTHS[i]).toFixed(1)} ${height(seen[name]).toFixed(1)}`);
    setAttributes(line, { d: `M${points.join("L")}` });
    const highest = top(settings.len_k);
    setChildren(ticks, [0, highest].map((value) => [
      "text", { class: "attention-muted", x: CURVE.left - 8, y: height(value) + 4 }, value === 0 || value === 1 ? String(value) : fixed(value, 2),
    ]));
  }

  function placeOn(plot, top) {
    const { height, inset, left } = CURVE;
    return [
      (d) => left + (Math.log2(d) / 12) * (plot.width - left - inset),
      (value) => height - inset - (value / top) * (height - 2 * inset),
    ];
  }

  view.start(() => {
    const settings = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
    const now = measure(settings);
    const widths = [bars.width, last.width];
    view.part("axes", String(widths), drawAxes);
    view.part("curves", JSON.stringify([...widths, { ...settings, d: null }]), () => {
      const along = WIDTHS.map((d) => summarize(softmax(scores({ ...settings, d }))));
      for (const curve of curves) drawCurve(curve, settings, along);
    });
    // Drawn is the state on the way: the scores stretch or shrink, and the weights follow.
    const drawn = { ...settings };
    [drawn.power, drawn.exponent, drawn.temperature] = view.glide("settings", [Math.log2(settings.d), settings.exponent, settings.temperature]);
    drawn.d = 2 ** drawn.power;
    const weights = softmax(scores(drawn));
    const there = summarize(weights);
    drawBars(weights);
    for (const { name, top, show, plot, dot } of curves) {
      const [x, height] = placeOn(plot, top(settings.len_k));
      show(now[name]);
      setAttributes(dot, { cx: x(drawn.d), cy: height(there[name]) });
    }
    effective(now.effective_keys);
    gradients.forEach(({ show, zeros }, i) => {
      const dead = now.dead.includes(DTYPES[i]);
      show(dead ? 0 : 1, dead ? "exactly 0" : "flows");
      show.card.classList.toggle("attention-strong", dead);
      setText(zeros, `zero weights: ${now.zeros[i]}`);
    });
    view.say(words(settings, now));
  });
  return view.cleanup;
}

export default { render };
