import { colorMap, createView, element, entropy, fixed, setAttributes, softmax, svg } from "./_shared.js";

const HEIGHT = 400;
const REACH = 3.3; // of the plane, up and down from the origin; points stay within 3
const CELL = 8; // pixels from one place where the field is computed to the next

// How far the colours reach on both sides of 0, the step from contour to contour, and how many
// places apart a contour is looked for: straight lines need few.
const SCALES = {
  cosine: () => [1, 0.25, 2],
  Gaussian: () => [10, 1, 2],
  additive: ({ w_v }) => [w_v.reduce((sum, w) => sum + Math.abs(w), 0) || 1, 0.25, 2],
};
const scaleOf = (settings) => (SCALES[settings.score] ?? (() => [10, 1, 8]))(settings);

const KINDS = {
  dot: "A step across the query changes no dot product.",
  "scaled dot": "The order of the dot product, with milder weights.",
  cosine: "The cosine ignores how long query and keys are.",
  Gaussian: "The Gaussian score knows the distance alone.",
  bilinear: "The dot product, after W has moved the query.",
  additive: "Where tanh is flat, a step changes next to nothing.",
};

/** The formula of a score, and its matrices, line by line; `_` stands before an index. */
function formula({ score, ...matrices }) {
  const show = (...names) => names.map((name) => (
    `${name} = ${JSON.stringify(matrices[name]).replaceAll(",", ", ").replaceAll("-", "−")}`
  ));
  return {
    dot: ["qᵀk"],
    "scaled dot": ["qᵀk / √2"],
    cosine: ["qᵀk / (‖q‖ ‖k‖)"],
    Gaussian: ["−½ ‖q − k‖²"],
    bilinear: ["qᵀWk", ...show("W")],
    additive: ["w_vᵀ tanh(W_q q + W_k k)", ...show("W_q", "W_k", "w_v")],
  }[score];
}

/** Wᵀq: the bilinear score is the dot product with it. */
export function moved({ query_x, query_y, W: [[a, b], [c, d]] }) {
  return [query_x * a + query_y * c, query_x * b + query_y * d];
}

/** The score of the query with a key, as a function of the key's coordinates. */
export function scorer(settings) {
  const { score, query_x, query_y, W_q, W_k, w_v } = settings;
  const dot = ([a, b]) => (x, y) => a * x + b * y;
  if (score === "scaled dot") return dot([query_x / Math.SQRT2, query_y / Math.SQRT2]);
  if (score === "bilinear") return dot(moved(settings));
  if (score === "Gaussian") return (x, y) => -((x - query_x) ** 2 + (y - query_y) ** 2) / 2;
  if (score === "cosine") {
    const length = Math.hypot(query_x, query_y);
    if (length === 0) return () => 0;
    return (x, y) => (query_x * x + query_y * y) / (length * Math.hypot(x, y) || 1);
  }
  if (score === "additive") {
    const hidden = W_q.map(([a, b]) => a * query_x + b * query_y);
    return (x, y) => w_v.reduce(
      (sum, w, i) => sum + w * Math.tanh(hidden[i] + W_k[i][0] * x + W_k[i][1] * y), 0,
    );
  }
  return dot([query_x, query_y]);
}

/** Scores and weights of the keys. */
export function measure(settings) {
  const at = scorer(settings);
  const scores = settings.key_points.map(([, x, y]) => at(x, y));
  const weights = softmax(scores);
  return { scores, weights, max_weight: Math.max(...weights), entropy: entropy(weights) };
}

/** The finding in words; `ScoringPlane.words` says the same in Python. */
export function words({ score, key_points }, { scores, weights, max_weight, entropy: nats }) {
  const shares = key_points.map(([name], i) => `${name} ${fixed(weights[i])}`).join(", ");
  const kind = Math.max(...scores) - Math.min(...scores) < 1e-9
    ? "All keys have the same score, so they share equally." : KINDS[score];
  return `Weights: ${shares}. The largest is ${fixed(max_weight)}, the entropy ${fixed(nats)}. ${kind}`;
}

/** Where a field, given row by row, has one of the levels: lines as an SVG path in tenths of a pixel
    (marching squares, `stride` places wide; plain loops, since this runs in every draw). */
export function contours(field, columns, levels, stride) {
  let path = "";
  const below = stride * columns;
  for (let start = 0; start + below < field.length; start += below) {
    const y = (start / columns) * CELL;
    for (let column = 0; column + stride < columns; column += stride) {
      const x = column * CELL;
      const here = start + column;
      const a = field[here];
      const b = field[here + stride];
      const c = field[here + below + stride];
      const d = field[here + below];
      const lowest = Math.min(a, b, c, d);
      const highest = Math.max(a, b, c, d);
      for (const level of levels) {
        if (level <= lowest || level > highest) continue;
        let pen = "M";
        const visit = (right, down) => {
          path += `${pen}${Math.round(10 * (x + right * stride * CELL))} ${Math.round(10 * (y + down * stride * CELL))}`;
          pen = pen === "M" ? "L" : "M";
        };
        if ((a < level) !== (b < level)) visit((level - a) / (b - a), 0);
        if ((b < level) !== (c < level)) visit(1, (level - b) / (c - b));
        if ((d < level) !== (c < level)) visit((level - d) / (c - d), 1);
        if ((a < level) !== (d < level)) visit(0, (level - a) / (d - a));
      }
    }
  }
  return path;
}

/** An arrow as thick as a weight, from the rim of one dot to the rim of another. */
function arrow([x1, y1], [x2, y2], weight) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const half = 0.75 + 5.5 * weight;
  const head = 6 + 12 * weight;
  const [start, end] = [9, length - 8];
  if (end - start < head) return "";
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const corners = [
    [start, half], [end - head, half], [end - head, half + 3 + 2 * weight], [end, 0],
    [end - head, -half - 3 - 2 * weight], [end - head, -half], [start, -half],
  ].map(([along, across]) => `${(x1 + ux * along - uy * across).toFixed(1)} ${(y1 + uy * along + ux * across).toFixed(1)}`);
  return `M${corners.join("L")}Z`;
}

/** The names of points, each beside its own and off all others, where there is room. */
function placeNames(points, width, height) {
  const taken = points.map(([[x, y], , , r]) => [x - r, y - r, x + r, y + r]);
  return points.map(([[x, y], color, text, r]) => {
    const half = 4 * text.length;
    const spots = [[0, -r - 5], [0, r + 15], [half + r + 3, 5], [-half - r - 3, 5]].map(([dx, dy]) => [
      Math.min(Math.max(x + dx, half), width - half), Math.min(Math.max(y + dy, 13), height - 4),
    ]);
    const boxes = spots.map(([left, base]) => [left - half, base - 11, left + half, base + 2]);
    const free = boxes.findIndex((box) => !taken.some(
      (other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3],
    ));
    const spot = Math.max(free, 0);
    taken.push(boxes[spot]);
    return svg("text", { x: spots[spot][0], y: spots[spot][1], "text-anchor": "middle", class: `attention-${color}` }, text);
  });
}

export function render({ model, el }) {
  const traits = ["query_x", "query_y", "score", "key_points", "W", "W_q", "W_k", "w_v"];
  const view = createView({ model, el }, { label: "Scoring plane", traits, aside: true });
  const plot = view.plot({
    height: HEIGHT,
    description: "The query and the keys in the plane, arrows as thick as the weights; colours and contours show the score of every place",
  });
  const frame = plot.svg.parentNode;
  frame.classList.add("attention-field");
  const canvas = element("canvas", { "aria-hidden": "true" });
  frame.prepend(canvas);
  plot.svg.classList.add("attention-grab");
  const add = (tag, attributes) => plot.svg.appendChild(svg(tag, attributes));
  const across = add("line", { class: "attention-axis" });
  const down = add("line", { class: "attention-axis" });
  const lines = add("path", { class: "attention-contour", transform: "scale(0.1)" });
  const winning = add("path", { class: "attention-contour attention-strong", transform: "scale(0.1)" });
  const reach = add("path", { class: "attention-reach" });
  const arrows = add("g", { class: "attention-arrows" });
  const dots = add("g");

  const low = element("span");
  const high = element("span");
  const steps = element("span");
  view.stage.append(element(
    "div", { class: "attention-legend" }, low, element("span", { class: "attention-ramp attention-scores" }), high, steps,
  ));

  const height = () => Math.min(HEIGHT, plot.width);
  const unit = () => Math.min(height() / 2 / REACH, plot.width / 2 / REACH);
  const at = ([x, y]) => [plot.width / 2 + unit() * x, height() / 2 - unit() * y];

  // Drag the query. The sliders do the same for keyboards.
  const move = (event) => {
    const box = plot.svg.getBoundingClientRect();
    const place = (distance) => Math.min(Math.max(Math.round(distance / unit() * 20) / 20, -3), 3);
    view.set("query_x", place(event.clientX - box.left - plot.width / 2));
    view.set("query_y", place(height() / 2 - (event.clientY - box.top)));
  };
  plot.svg.addEventListener("pointerdown", (event) => {
    plot.svg.setPointerCapture(event.pointerId);
    move(event);
  }, { signal: view.signal });
  plot.svg.addEventListener("pointermove", (event) => {
    if (plot.svg.hasPointerCapture(event.pointerId)) move(event);
  }, { signal: view.signal });

  const largest = view.readout({ name: "max_weight", label: "Largest weight" });
  const nats = view.readout({ name: "entropy", label: "Entropy" });
  const sign = view.readouts.appendChild(element("p", { class: "attention-formula" }));
  let shares = [];
  let listed = "";

  view.choice({ trait: "score", label: "Score", options: Object.keys(KINDS).map((score) => [score, score]) });
  for (const [trait, label] of [["query_x", "Query, across"], ["query_y", "Query, up"]]) {
    view.slider({ trait, label, min: -3, max: 3, step: 0.05, text: (value) => fixed(value, 2) });
  }

  let shades; // a pixel for each share from -1 to 1: alpha, blue, green, red
  function paint(settings, best) {
    if (shades === undefined) {
      const color = colorMap(view.root, "--aw-score-map");
      shades = Uint32Array.from({ length: 257 }, (_, i) => {
        const [red, green, blue] = color(i / 256);
        return (255 << 24) | (blue << 16) | (green << 8) | red;
      });
    }
    const [columns, rows] = [plot.width, height()].map((size) => 8 * Math.ceil(size / CELL / 8) + 1);
    const score = scorer(settings);
    const [limit, step, stride] = scaleOf(settings);
    const field = new Float64Array(columns * rows);
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    let [lowest, highest] = [Infinity, -Infinity];
    const [left, top, size] = [plot.width / 2, height() / 2, unit()];
    for (let i = 0; i < field.length; i += 1) {
      const column = i % columns;
      field[i] = score((column * CELL - left) / size, (top - ((i - column) / columns) * CELL) / size);
      lowest = Math.min(lowest, field[i]);
      highest = Math.max(highest, field[i]);
      pixels[i] = shades[Math.round(128 + 128 * Math.min(Math.max(field[i] / limit, -1), 1))];
    }
    Object.assign(canvas, { width: columns, height: rows });
    canvas.getContext("2d").putImageData(image, 0, 0);
    // The middle of a pixel stands where its score was computed.
    for (const [name, value] of Object.entries({ width: columns * CELL, height: rows * CELL, left: -CELL / 2, top: -CELL / 2 })) {
      canvas.style.setProperty(name, `${value}px`);
    }
    const [first, last] = [lowest, highest].map((bound) => Math.ceil(bound / step));
    const levels = Array.from({ length: last - first }, (_, i) => (first + i) * step);
    lines.setAttribute("d", contours(field, columns, levels, stride));
    winning.setAttribute("d", contours(field, columns, [best], 1));
    sign.replaceChildren(...formula(settings).map((line) => element(
      "span", {}, ...line.split(/_(\w)/).map((text, i) => (i % 2 ? element("sub", {}, text) : text)),
    )));
    low.textContent = fixed(-limit, 0);
    high.textContent = fixed(limit, 0);
    steps.textContent = `contours every ${step}; thick: as good as the best key`;
  }

  view.start(() => {
    const settings = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
    const { query_x, query_y, key_points, score } = settings;
    const seen = measure(settings);
    setAttributes(plot.svg, { height: height(), viewBox: `0 0 ${plot.width} ${height()}` });
    const [middle, query] = [at([0, 0]), at([query_x, query_y])];
    setAttributes(across, { x1: 0, x2: plot.width, y1: middle[1], y2: middle[1] });
    setAttributes(down, { x1: middle[0], x2: middle[0], y1: 0, y2: height() });
    paint(settings, Math.max(...seen.scores));
    reach.setAttribute("d", `M${middle.join(" ")}L${query.join(" ")}`);
    const points = key_points.map(([, x, y]) => at([x, y]));
    arrows.replaceChildren(...points.map((point, i) => svg("path", { d: arrow(query, point, seen.weights[i]) })));
    const top = seen.weights.indexOf(seen.max_weight);
    const named = points.map((point, i) => [point, "key", `${key_points[i][0]} ${fixed(seen.weights[i], 2)}`, i === top ? 9 : 7]);
    if (score === "bilinear") named.push([at(moved(settings)), "query", "Wᵀq", 5]);
    named.push([query, "query", "query", 9]);
    dots.replaceChildren(
      ...named.map(([[x, y], color, , r]) => svg("circle", { cx: x, cy: y, r, class: `attention-dot attention-${color}-dot` })),
      ...placeNames(named, plot.width, height()),
    );

    const names = JSON.stringify(key_points.map(([name]) => name));
    if (names !== listed) {
      for (const share of shares) share.card.remove();
      shares = key_points.map(([name], i) => view.readout({ name: `weight_${i}`, label: `Weight of ${name}` }));
      view.readouts.append(sign);
      listed = names;
    }
    shares.forEach((share, i) => share(seen.weights[i]));
    largest(seen.max_weight);
    nats(seen.entropy);
    view.say(words(settings, seen));
  });
  return view.cleanup;
}

export default { render };
