import { addPatterns, createView, element, entropy, fixed, setAttributes, short, softmax, svg } from "./_shared.js";

const END = 5; // keys and query lie from 0 to here
const PLACES = Array.from({ length: 401 }, (_, i) => (END * i) / 400);
const SIZE = { left: 30, right: 8, top: 24, middle: 284, bars: 302, base: 392, height: 424 };

const KERNELS = {
  boxcar: (u) => (Math.abs(u) <= 1 ? 1 : 0),
  triangular: (u) => Math.max(0, 1 - Math.abs(u)),
  Epanechnikov: (u) => Math.max(0, 1 - u * u),
};

/** The function that the values are noisy samples of. */
export function truth(x) {
  return Math.sin(2 * x) + x / 2;
}

/** The weights of the keys for a query: all 0 where the kernel is 0 at every key. */
export function weightsAt(query, { kernel, bandwidth, key_points }) {
  const distances = key_points.map((key) => (query - key) / bandwidth);
  if (kernel === "Gaussian") return softmax(distances.map((u) => -u * u / 2));
  const heights = distances.map(KERNELS[kernel]);
  const total = heights.reduce((sum, height) => sum + height, 0);
  return heights.map((height) => (total > 0 ? height / total : 0));
}

/** How many keys a row of weights reaches; a Gaussian reaches all, however small their weights. */
const reachOf = (weights, { kernel }) => (
  kernel === "Gaussian" ? weights.length : weights.filter((weight) => weight > 0).length
);

const valuesOf = ({ key_points, noise }) => key_points.map((key, i) => truth(key) + noise[i]);
const mix = (weights, values) => weights.reduce((sum, weight, i) => sum + weight * values[i], 0);

/** The regression at many places: its value, or null where no key is in reach. */
export function curve(settings, places) {
  const values = valuesOf(settings);
  return places.map((place) => {
    const weights = weightsAt(place, settings);
    return reachOf(weights, settings) > 0 ? mix(weights, values) : null;
  });
}

/** Mean squared error of the regression at the keys, against the true function. */
function errorAtKeys(settings) {
  const { key_points } = settings;
  return curve(settings, key_points)
    .reduce((sum, estimate, i) => sum + (estimate - truth(key_points[i])) ** 2, 0) / key_points.length;
}

/** Everything the figure shows of the query; a row without weights has estimate 0, as in the library. */
export function measure(settings) {
  const weights = weightsAt(settings.query, settings);
  const in_reach = reachOf(weights, settings);
  return {
    weights, in_reach, estimate: mix(weights, valuesOf(settings)),
    effective_keys: in_reach > 0 ? Math.exp(entropy(weights)) : 0,
    mean_squared_error: errorAtKeys(settings),
  };
}

/** The finding in words; `KernelRegression.words` says the same in Python. */
export function words({ query }, { weights, estimate, in_reach, effective_keys, mean_squared_error }) {
  const found = in_reach > 0
    ? `The estimate is ${fixed(estimate)}, the true value ${fixed(truth(query))}: ${in_reach} of `
      + `${weights.length} points are in reach, as good as ${fixed(effective_keys, 1)} of equal weight. `
    : "No point is in reach: a row with nothing to attend to. Its weights are 0, and the curve has a gap. ";
  return `${found}Mean squared error of the curve at the points: ${fixed(mean_squared_error)}.`;
}

export function render({ model, el }) {
  const traits = ["kernel", "bandwidth", "query", "key_points", "noise"];
  const view = createView({ model, el }, { label: "Kernel regression", traits });
  const plot = view.plot({
    height: SIZE.height,
    description: "Noisy values over their keys, the true function, the regression curve, and below them the weights of the keys for the query",
  });
  plot.svg.classList.add("attention-grab");
  const { masked } = addPatterns(plot.svg);
  const add = (tag, attributes) => plot.svg.appendChild(svg(tag, attributes));
  const ground = add("g");
  const gaps = add("path", { fill: masked });
  const window = add("rect", { fill: "var(--aw-weight)", "fill-opacity": 0.12, y: SIZE.top, height: SIZE.base - SIZE.top });
  const real = add("path", { class: "attention-truth" });
  const values = add("g", { class: "attention-value-dots" });
  const estimates = add("path", { class: "attention-estimate" });
  const bars = add("g", { fill: "var(--aw-weight)" });
  const keys = add("g");
  const asked = add("line", { class: "attention-reach", y1: SIZE.top, y2: SIZE.base });
  const told = add("circle", { r: 7, class: "attention-dot attention-output-dot" });
  const name = add("text", { class: "attention-query", "text-anchor": "middle", y: SIZE.top - 8 });
  name.textContent = "query";

  const sample = (attributes, text) => element(
    "span", { class: "attention-sample" },
    svg("svg", { width: 26, height: 14, "aria-hidden": "true" }, svg(...attributes)), text,
  );
  view.stage.append(element(
    "div", { class: "attention-legend" },
    sample(["circle", { cx: 13, cy: 7, r: 4.5, fill: "var(--aw-value)" }], "values"),
    sample(["path", { d: "M1 7L25 7", class: "attention-truth" }], "true function"),
    sample(["path", { d: "M1 7L25 7", class: "attention-estimate" }], "estimate"),
    sample(["rect", { x: 10, y: 1, width: 6, height: 12, fill: "var(--aw-weight)" }], "weights"),
    element("span", { class: "attention-sample" }, element("span", { class: "attention-swatch" }), "no key in reach"),
  ));

  const across = (x) => SIZE.left + (x / END) * (plot.width - SIZE.left - SIZE.right);
  const move = (event) => {
    const place = event.clientX - plot.svg.getBoundingClientRect().left - SIZE.left;
    const x = Math.round((place / (plot.width - SIZE.left - SIZE.right)) * END * 20) / 20;
    view.set("query", Math.min(Math.max(x, 0), END));
  };
  plot.svg.addEventListener("pointerdown", (event) => {
    plot.svg.setPointerCapture(event.pointerId);
    move(event);
  }, { signal: view.signal });
  plot.svg.addEventListener("pointermove", (event) => {
    if (plot.svg.hasPointerCapture(event.pointerId)) move(event);
  }, { signal: view.signal });

  const readouts = [["estimate", "Estimate"], ["effective_keys", "Effective keys"],
    ["in_reach", "Points in reach"], ["mean_squared_error", "Mean squared error"]]
    .map(([readout, label]) => [readout, view.readout({ name: readout, label })]);

  view.choice({
    trait: "kernel", label: "Kernel",
    options: ["Gaussian", ...Object.keys(KERNELS)].map((kernel) => [kernel, kernel]),
  });
  view.slider({
    trait: "bandwidth", label: "Bandwidth", min: -5, max: 2, step: 0.25,
    value: (power) => 2 ** power, position: Math.log2,
    text: (bandwidth) => short(bandwidth), words: (bandwidth) => `bandwidth ${short(bandwidth)}`,
  });
  view.slider({ trait: "query", label: "Query", min: 0, max: END, step: 0.05, text: (query) => fixed(query, 2) });

  let up; // from a value to its height
  const path = (heights) => heights.map((height, i) => (height === null ? "" : (
    `${i === 0 || heights[i - 1] === null ? "M" : "L"}${across(PLACES[i]).toFixed(1)} ${up(height).toFixed(1)}`
  ))).join("");

  /** What does not depend on the query: axes, values, both curves, gaps. */
  function drawScene(settings) {
    const points = valuesOf(settings);
    const through = PLACES.map(truth);
    const [low, high] = [Math.min(...points, ...through), Math.max(...points, ...through)];
    up = (value) => SIZE.middle - 8 - ((value - low) / (high - low)) * (SIZE.middle - 16 - SIZE.top);
    const line = (y) => svg("line", { class: "attention-grid", x1: SIZE.left, x2: plot.width - SIZE.right, y1: y, y2: y });
    const text = (label, x, y, anchor) => svg("text", { class: "attention-muted", x, y, "text-anchor": anchor }, label);
    ground.replaceChildren(
      line(SIZE.middle), line(SIZE.bars), line((SIZE.bars + SIZE.base) / 2), line(SIZE.base),
      ...[0, 0.5, 1].map((weight) => text(short(weight), SIZE.left - 8, SIZE.base - weight * (SIZE.base - SIZE.bars) + 4, "end")),
      ...[0, 1, 2, 3, 4, 5].map((x) => text(String(x), across(x), SIZE.base + 28, "middle")),
    );
    const heights = curve(settings, PLACES);
    real.setAttribute("d", path(through));
    estimates.setAttribute("d", path(heights));
    const half = END / 800;
    gaps.setAttribute("d", PLACES.filter((_, i) => heights[i] === null).map((x) => {
      const [from, to] = [across(Math.max(x - half, 0)), across(Math.min(x + half, END))];
      return `M${from.toFixed(2)} ${SIZE.top}H${to.toFixed(2)}V${SIZE.middle}H${from.toFixed(2)}Z`;
    }).join(""));
    values.replaceChildren(...points.map((value, i) => svg("circle", { cx: across(settings.key_points[i]), cy: up(value) })));
  }

  let drawn = ""; // what the scene depends on, as it stands
  view.start(() => {
    const settings = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
    const { query, bandwidth, key_points } = settings;
    const seen = measure(settings);
    const needed = JSON.stringify([plot.width, { ...settings, query: null }]);
    if (needed !== drawn) {
      drawScene(settings);
      drawn = needed;
    }
    const far = (i) => settings.kernel !== "Gaussian" && seen.weights[i] === 0;
    seen.weights.forEach((_, i) => setAttributes(values.children[i], { r: far(i) ? 3.5 : 4.5, "fill-opacity": far(i) ? 0.4 : 1 }));
    const tall = (weight) => weight * (SIZE.base - SIZE.bars);
    bars.replaceChildren(...seen.weights.map((weight, i) => svg("rect", {
      x: across(key_points[i]) - 3.5, width: 7, y: SIZE.base - tall(weight), height: tall(weight), rx: 1.5,
    })));
    keys.replaceChildren(...key_points.map((key, i) => svg("circle", {
      cx: across(key), cy: SIZE.base + 7, r: 3, fill: `var(--aw-${far(i) ? "mask-line" : "key"})`,
    })));
    const [from, to] = [query - bandwidth, query + bandwidth].map((x) => across(Math.min(Math.max(x, 0), END)));
    setAttributes(window, { x: from, width: to - from });
    setAttributes(asked, { x1: across(query), x2: across(query) });
    setAttributes(told, { cx: across(query), cy: up(seen.estimate), display: seen.in_reach > 0 ? null : "none" });
    setAttributes(name, { x: Math.min(Math.max(across(query), 24), plot.width - 20) });
    for (const [readout, show] of readouts) show(seen[readout]);
    const [estimate, , reached] = readouts.map(([, show]) => show);
    if (seen.in_reach === 0) estimate(seen.estimate, "none");
    reached(seen.in_reach, String(seen.in_reach));
    view.say(words(settings, seen));
  });
  return view.cleanup;
}

export default { render };
