import {
  POWERS,
  addPatterns,
  createView,
  element,
  entropy,
  fixed,
  label,
  setAttributes,
  setChildren,
  short,
  svg,
} from "./_shared/index.js";

const END = 5; // keys and query lie from 0 to here
const PLACES = Array.from({ length: 251 }, (_, i) => (END * i) / 250);
const SIZE = { left: 40, right: 8, top: 24, middle: 262, bars: 280, base: 370, height: 402 };

const POWER = { min: -5, max: 2, step: 0.25 }; // of 2: the bandwidths on the slider
const [DOT, LARGEST] = [2.5, 9]; // radius of a value's dot with weight 0, and with a third or more

// The height of a kernel at a distance u in bandwidths. A Gaussian is taken relative to the nearest
// key, as softmax takes scores to the largest: its heights do not end where exp underflows.
const KERNELS = {
  Gaussian: (u, nearest) => Math.exp((nearest * nearest - u * u) / 2),
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
  const nearest = Math.min(...distances.map(Math.abs));
  const heights = distances.map((distance) => KERNELS[kernel](distance, nearest));
  const total = heights.reduce((sum, height) => sum + height, 0);
  return heights.map((height) => (total > 0 ? height / total : 0));
}

const valuesOf = ({ key_points, noise }) => key_points.map((key, i) => truth(key) + noise[i]);
const mix = (weights, values) => weights.reduce((sum, weight, i) => sum + weight * values[i], 0);

/** The regression at many places: its value, or null where no key is in reach. */
export function curve(settings, places) {
  const values = valuesOf(settings);
  return places.map((place) => {
    const weights = weightsAt(place, settings);
    return weights.some((weight) => weight > 0) ? mix(weights, values) : null;
  });
}

/** The mean squared error of the curve at the keys. */
function errorOf(settings) {
  const { key_points } = settings;
  return (
    curve(settings, key_points).reduce(
      (sum, estimate, i) => sum + (estimate - truth(key_points[i])) ** 2,
      0,
    ) / key_points.length
  );
}

/** The bandwidth on the slider whose error is least. */
export function bestBandwidth(settings) {
  const { min, max, step } = POWER;
  const tried = Array.from({ length: (max - min) / step + 1 }, (_, i) => 2 ** (min + i * step));
  const errors = tried.map((bandwidth) => errorOf({ ...settings, bandwidth }));
  return tried[errors.indexOf(Math.min(...errors))];
}

/** Everything the figure shows of the query; a row without weights has estimate 0, as in the library.
    A Gaussian reaches all keys, however small their weights. */
export function measure(settings) {
  const { query, kernel } = settings;
  const weights = weightsAt(query, settings);
  const in_reach =
    kernel === "Gaussian" ? weights.length : weights.filter((weight) => weight > 0).length;
  return {
    weights,
    in_reach,
    estimate: mix(weights, valuesOf(settings)),
    effective_keys: in_reach > 0 ? Math.exp(entropy(weights)) : 0,
    mean_squared_error: errorOf(settings),
  };
}

/** The finding in words. */
export function words({ kernel, bandwidth }, { in_reach, mean_squared_error }, best) {
  const error = `Squared error ${fixed(mean_squared_error)} at bandwidth ${short(bandwidth)}.`;
  if (in_reach === 0)
    return `No point is in reach: a row with nothing to attend to, and a gap in the curve. ${error}`;
  const isDone = bandwidth === best;
  return (
    error +
    (isDone ? ` Done: of the bandwidths here, none has less with this ${kernel} kernel.` : "")
  );
}

/** What is set, for a still picture. */
export function setting({ query, kernel, bandwidth }) {
  return `Query ${fixed(query, 2)}, ${kernel} kernel of bandwidth ${short(bandwidth)}.`;
}

export function render({ model, el }) {
  const traits = ["kernel", "bandwidth", "query", "key_points", "noise"];
  const view = createView(
    { model, el },
    {
      label: "Regression as attention",
      task: "Find the bandwidth whose squared error from the dashed curve is least.",
      traits,
    },
  );
  const plot = view.plot({
    height: SIZE.height,
    description:
      "Noisy values over their keys, the true function, the regression curve, and below them the weights of the keys for the query",
  });
  const { masked } = addPatterns(plot.svg);
  const add = (tag, attributes) => plot.svg.appendChild(svg(tag, attributes));
  const ground = add("g");
  const gaps = add("path", { fill: masked });
  const bell = add("path", {
    class: "attention-bell attention-area attention-weight attention-faint",
  });
  const real = add("path", { class: "attention-line attention-accent attention-dashed" });
  const values = add("g", {
    class: "attention-value-dots attention-area attention-value attention-edged",
  });
  const estimates = add("path", {
    class: "attention-estimate attention-line attention-output attention-thick",
  });
  const bars = add("g", { fill: "var(--aw-weight)" });
  const keys = add("g", { class: "attention-area attention-key" });
  const queryLine = add("line", {
    class: "attention-reach attention-line attention-query",
    y1: SIZE.top,
    y2: SIZE.base,
  });
  const answerDot = add("circle", {
    r: 7,
    class: "attention-area attention-output attention-edged",
  });
  const names = add("g");

  const gap = view.stage.appendChild(
    element(
      "div",
      { class: "attention-legend", "data-drawn": true },
      element("span", { class: "attention-swatch" }),
      "no key in reach",
    ),
  );

  const across = (x) => SIZE.left + (x / END) * (plot.width - SIZE.left - SIZE.right);
  const grip = plot.drag((place) => {
    const x =
      Math.round(((place - SIZE.left) / (plot.width - SIZE.left - SIZE.right)) * END * 20) / 20;
    view.set("query", Math.min(Math.max(x, 0), END));
  });

  const shown = view.numbers({
    mean_squared_error: "Squared error",
    estimate: "Estimate",
    effective_keys: "Effective keys",
    in_reach: "Points in reach",
  });
  view.choice({
    trait: "kernel",
    label: "Kernel",
    options: Object.keys(KERNELS).map((kernel) => [kernel, kernel]),
  });
  view.slider({
    trait: "bandwidth",
    label: "Bandwidth",
    ...POWER,
    ...POWERS,
    text: (bandwidth) => short(bandwidth),
    words: (bandwidth) => `bandwidth ${short(bandwidth)}`,
  });
  view.slider({
    trait: "query",
    label: "Query",
    more: true,
    min: 0,
    max: END,
    step: 0.05,
    text: (query) => fixed(query, 2),
  });

  let up; // from a value to its height
  let steps; // of PLACES, in pixels
  let best; // bandwidth of the kernel
  let outlier; // the point that lies highest above the true function
  const tenths = (number) => Math.round(10 * number) / 10;
  const path = (heights) =>
    heights
      .map((height, i) =>
        height === null
          ? ""
          : `${i === 0 || heights[i - 1] === null ? "M" : "L"}${steps[i]} ${tenths(up(height))}`,
      )
      .join("");

  /** What depends on neither kernel nor query: axes, and the true function. */
  function drawScene(points) {
    const through = PLACES.map(truth);
    steps = PLACES.map((place) => tenths(across(place)));
    const [low, high] = [Math.min(...points, ...through), Math.max(...points, ...through)];
    up = (value) =>
      SIZE.middle - 8 - ((value - low) / (high - low)) * (SIZE.middle - 16 - SIZE.top);
    const line = (y) => [
      "line",
      { class: "attention-grid", x1: SIZE.left, x2: plot.width - SIZE.right, y1: y, y2: y },
    ];
    setChildren(ground, [
      line(SIZE.middle),
      line(SIZE.bars),
      line((SIZE.bars + SIZE.base) / 2),
      line(SIZE.base),
      ...[0.5, 1].map((weight) =>
        label(
          short(weight),
          "muted",
          SIZE.left - 8,
          SIZE.base - weight * (SIZE.base - SIZE.bars) + 4,
          "end",
        ),
      ),
      ...[0, 1, 2, 3, 4, 5].map((x) =>
        label(String(x), "muted", across(x), SIZE.base + 28, "middle"),
      ),
      ...Array.from(
        { length: Math.floor(high) - Math.ceil(low) + 1 },
        (_, i) => Math.ceil(low) + i,
      ).map((value) => label(short(value), "muted", SIZE.left - 8, up(value) + 4, "end")),
    ]);
    setAttributes(real, { d: path(through) });
  }

  /** The regression, and a hatched ground where it has a gap. */
  function drawCurve(settings) {
    const heights = curve(settings, PLACES);
    setAttributes(estimates, { d: path(heights) });
    const edge = (i) =>
      tenths(across(Math.min(Math.max(((i - 0.5) * END) / (PLACES.length - 1), 0), END)));
    const edges = heights.map((height, i) => {
      if ((height === null) === (i > 0 && heights[i - 1] === null)) return "";
      return height === null
        ? `M${edge(i)} ${SIZE.top}V${SIZE.middle}`
        : `H${edge(i)}V${SIZE.top}Z`;
    });
    if (heights.at(-1) === null) edges.push(`H${edge(PLACES.length)}V${SIZE.top}Z`);
    setAttributes(gaps, { d: edges.join("") });
    gap.hidden = !heights.includes(null);
  }

  view.start(() => {
    const settings = view.state();
    const { query, bandwidth, kernel, key_points, noise } = settings;
    const measured = measure(settings);
    const drawn = { ...settings };
    [drawn.query, drawn.bandwidth] = view.glide("settings", [query, bandwidth]);
    const there = measure(drawn);
    const points = valuesOf(settings);
    const scene = JSON.stringify([plot.width, key_points, noise]);
    view.part("scene", scene, () => {
      drawScene(points);
      outlier = points.reduce(
        (most, value, i) =>
          value - truth(key_points[i]) > points[most] - truth(key_points[most]) ? i : most,
        0,
      );
    });
    view.part("curve", `${kernel} ${drawn.bandwidth} ${scene}`, () => drawCurve(drawn));
    const places = key_points.map(across);
    const nearness = measured.weights.map((weight) =>
      kernel !== "Gaussian" && weight === 0 ? "attention-far" : null,
    );
    const area = (weight) => DOT ** 2 + (LARGEST ** 2 - DOT ** 2) * Math.min(3 * weight, 1);
    setChildren(
      values,
      places.map((cx, i) => [
        "circle",
        { class: nearness[i], cx, cy: up(points[i]), r: Math.sqrt(area(there.weights[i])) },
      ]),
    );
    view.part("dots", `${nearness} ${scene}`, () => {
      setChildren(
        keys,
        places.map((cx, i) => ["circle", { class: nearness[i], cx, cy: SIZE.base + 7, r: 3 }]),
      );
    });
    view.part("bars", scene, () =>
      setChildren(
        bars,
        places.map((x) => ["rect", { x: x - 3.5, width: 7, rx: 1.5 }]),
      ),
    );
    there.weights.forEach((weight, i) => {
      const height = weight * (SIZE.base - SIZE.bars);
      setAttributes(bars.children[i], { y: SIZE.base - height, height });
    });
    const middle = across(drawn.query);
    // The kernel is a bell over the query; what it has at the keys, divided by its sum, are the weights.
    const rise = (x) =>
      tenths(
        SIZE.base -
          KERNELS[kernel]((x - drawn.query) / drawn.bandwidth, 0) * (SIZE.base - SIZE.bars),
      );
    setAttributes(bell, {
      d: `M${steps[0]} ${SIZE.base}${PLACES.map((x, i) => `L${steps[i]} ${rise(x)}`).join("")}V${SIZE.base}Z`,
    });
    setAttributes(queryLine, { x1: middle, x2: middle });
    setAttributes(answerDot, {
      cx: middle,
      cy: up(there.estimate),
      display: there.in_reach > 0 ? null : "none",
    });
    grip([[middle, SIZE.base + 7]]);
    const beside = middle > plot.width - 100 ? [-12, "end"] : [12, "start"];
    // Names of what is all over the picture stand on the side where the query is not.
    const aside = (y) =>
      drawn.query > END / 2.2 ? [SIZE.left + 4, y, "start"] : [plot.width - SIZE.right, y, "end"];
    setChildren(names, [
      label(
        "query",
        "query",
        Math.min(Math.max(middle, 24), plot.width - 20),
        SIZE.top - 8,
        "middle",
      ),
      label(
        there.in_reach > 0 ? "estimate" : "",
        "output",
        middle + beside[0],
        up(there.estimate) + 20,
        beside[1],
      ),
      label("true function", "accent", ...aside(SIZE.top - 8)),
      label(
        "a noisy value",
        "value",
        Math.max(across(key_points[outlier]), SIZE.left + 40),
        up(points[outlier]) - 12,
        "middle",
      ),
      label("keys", "key", SIZE.left - 8, SIZE.base + 11, "end"),
      label("kernel and weights", "weight", ...aside(SIZE.bars - 4)),
    ]);
    if (!view.hasArrived()) return;
    view.part("best", `${kernel} ${scene}`, () => (best = bestBandwidth(settings)));
    shown(measured, {
      estimate: measured.in_reach === 0 ? "none" : undefined,
      in_reach: String(measured.in_reach),
    });
    view.say(words(settings, measured, best), setting(settings));
  });
  return view.cleanup;
}

export default { render };
