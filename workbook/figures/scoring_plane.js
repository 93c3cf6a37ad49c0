import {
  GRIP,
  colorMap,
  createView,
  element,
  entropy,
  fadeOut,
  fixed,
  pixelMap,
  placeNames,
  readLines,
  readNumber,
  setAttributes,
  setChildren,
  setText,
  softmax,
  svg,
  writeTable,
} from "./_shared/index.js";

const HEIGHT = 280;
const REACH = 3.5; // of the plane, up and down from the origin; points stay within 3
const CELL = 8; // pixels from one place where the field is computed to the next

// What a score looks at, its formula with its matrices (`_` stands before an index), and what is said of it.
const KINDS = {
  dot: { hint: "reach", formula: ["qᵀk"], said: "A step across the query changes no dot product." },
  "scaled dot": {
    hint: "milder reach",
    formula: ["qᵀk / √2"],
    said: "The order of the dot product, with milder weights.",
  },
  cosine: {
    hint: "angle",
    formula: ["qᵀk / (‖q‖ ‖k‖)"],
    said: "The cosine ignores how long query and keys are.",
  },
  Gaussian: {
    hint: "nearness",
    formula: ["−½ ‖q − k‖²"],
    said: "The Gaussian score knows the distance alone.",
  },
  bilinear: {
    hint: "turned reach",
    formula: ["qᵀWk", "W"],
    said: "The dot product, after W has moved the query.",
  },
  additive: {
    hint: "a small network",
    formula: ["w_vᵀ tanh(W_q q + W_k k)", "W_q", "W_k", "w_v"],
    said: "Where tanh is flat, a step changes next to nothing.",
  },
};

/** How far the colours reach on both sides of 0, the step from contour to contour, and how many
    places apart a contour is looked for: straight lines need few. */
function scaleOf({ score, w_v }) {
  if (score === "additive") return [w_v.reduce((sum, w) => sum + Math.abs(w), 0) || 1, 0.25, 2];
  return { cosine: [1, 0.25, 2], Gaussian: [10, 1, 2] }[score] ?? [10, 1, 8];
}

/** The formula of a score, and its matrices, line by line. */
function formula({ score, ...matrices }) {
  const [first, ...names] = KINDS[score].formula;
  const written = (name) =>
    JSON.stringify(matrices[name]).replaceAll(",", ", ").replaceAll("-", "−");
  return [first, ...names.map((name) => `${name} = ${written(name)}`)];
}

/** Wᵀq: the bilinear score is the dot product with it. */
export function moved({ query_x, query_y, W: [[a, b], [c, d]] }) {
  return [query_x * a + query_y * c, query_x * b + query_y * d];
}

/** The score of the query with a key, as a function of the key's coordinates. */
export function scorer(settings) {
  const { score, query_x, query_y, W_q, W_k, w_v } = settings;
  const dot =
    ([a, b]) =>
    (x, y) =>
      a * x + b * y;
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
    return (x, y) =>
      w_v.reduce((sum, w, i) => sum + w * Math.tanh(hidden[i] + W_k[i][0] * x + W_k[i][1] * y), 0);
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

/** The key that each score crowns, -1 for a tie; how many agree at most, and on which key. */
export function agreement(settings) {
  const crowned = Object.keys(KINDS).map((score) => {
    const at = scorer({ ...settings, score });
    const scores = settings.key_points.map(([, x, y]) => at(x, y));
    const most = Math.max(...scores);
    return most - Math.min(...scores) < 1e-9 ? -1 : scores.indexOf(most);
  });
  const counts = settings.key_points.map((_, key) => crowned.filter((one) => one === key).length);
  const count = Math.max(...counts);
  return { crowned, count, key: counts.indexOf(count) };
}

/** How many scores are seen to agree somewhere in the plane, in steps of a half. */
export function reachable(settings) {
  const steps = Array.from({ length: 13 }, (_, i) => i / 2 - 3);
  return Math.max(
    ...steps.flatMap((query_x) =>
      steps.map((query_y) => agreement({ ...settings, query_x, query_y }).count),
    ),
  );
}

/** How many scores agree in a sentence, and how many do elsewhere: `most`, as far as is seen. */
export function agreed({ count, name, most }) {
  if (count === 6) return `All 6 agree on ${name}.`;
  const elsewhere = `elsewhere ${most === 6 ? "all" : most} do`;
  if (count > 1 && count < most) return `${count} of 6 scores agree on ${name}; ${elsewhere}.`;
  if (count > 1) return `${count} of 6 scores agree on ${name}, as many as can.`;
  return most > 1 ? `No two scores agree; ${elsewhere}.` : "No two scores agree.";
}

/** The finding in words. */
export function words({ score }, { scores, max_weight, entropy: nats }) {
  const kind =
    Math.max(...scores) - Math.min(...scores) < 1e-9
      ? "All keys have the same score, so they share equally."
      : KINDS[score].said;
  return `The largest is ${fixed(max_weight)}, the entropy ${fixed(nats)}. ${kind}`;
}

/** Where a field, given row by row, has one of the levels: lines as an SVG path in tenths of a pixel
    (marching squares, `stride` places wide; plain loops, since this runs in every draw). */
export function contours(field, columns, levels, stride) {
  let path = "";
  let [x, y, pen] = [0, 0, "M"];
  const visit = (right, down) => {
    path += `${pen}${Math.round(10 * (x + right * stride * CELL))} ${Math.round(10 * (y + down * stride * CELL))}`;
    pen = pen === "M" ? "L" : "M";
  };
  const below = stride * columns;
  for (let start = 0; start + below < field.length; start += below) {
    y = (start / columns) * CELL;
    for (let column = 0; column + stride < columns; column += stride) {
      x = column * CELL;
      const here = start + column;
      const a = field[here];
      const b = field[here + stride];
      const c = field[here + below + stride];
      const d = field[here + below];
      const lowest = Math.min(a, b, c, d);
      const highest = Math.max(a, b, c, d);
      for (const level of levels) {
        if (level <= lowest || level > highest) continue;
        pen = "M";
        if (a < level !== b < level) visit((level - a) / (b - a), 0);
        if (b < level !== c < level) visit(1, (level - b) / (c - b));
        if (d < level !== c < level) visit((level - d) / (c - d), 1);
        if (a < level !== d < level) visit(0, (level - a) / (d - a));
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
    [start, half],
    [end - head, half],
    [end - head, half + 3 + 2 * weight],
    [end, 0],
    [end - head, -half - 3 - 2 * weight],
    [end - head, -half],
    [start, -half],
  ].map(
    ([along, across]) =>
      `${(x1 + ux * along - uy * across).toFixed(1)} ${(y1 + uy * along + ux * across).toFixed(1)}`,
  );
  return `M${corners.join("L")}Z`;
}

/** Two to eight keys as a reader has written them, a line each: name, across, up. */
export function readKeys(text) {
  const lines = readLines(text.replaceAll('"', ""));
  if (lines.length < 2 || lines.length > 8)
    throw new Error(`These are ${lines.length} lines; two to eight keys are needed.`);
  return lines.map((parts) => {
    if (parts.length < 3) throw new Error(`“${parts.join(" ")}” is not a name and two numbers.`);
    const [x, y] = parts.slice(-2).map((part) => readNumber(part, { min: -3, max: 3 }));
    return [parts.slice(0, -2).join(" "), x, y];
  });
}

const SMALL = 33; // places across a small plane
const smallAt = (i) => ((i + 0.5) / SMALL - 0.5) * 2 * REACH;

/** Paint a score on a canvas, a pixel for each place of the plane: `across` and `up` say where a column
    and a row stand. Returns the scores, row by row. */
function paintField(canvas, settings, shades, across, up) {
  const { width } = canvas;
  const image = new ImageData(width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const score = scorer(settings);
  const [limit] = scaleOf(settings);
  const field = Float64Array.from(pixels, (_, i) =>
    score(across(i % width), up(Math.floor(i / width))),
  );
  for (let i = 0; i < field.length; i += 1) {
    const share = field[i] / limit;
    pixels[i] = shades[share <= -1 ? 0 : share >= 1 ? 255 : Math.round(127.5 + 127.5 * share)];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return field;
}

/** What is set, for a still picture. */
export function setting({ query_x, query_y, score, key_points }, { weights }) {
  return `Query (${fixed(query_x, 2)}, ${fixed(query_y, 2)}), score: ${score}. Weights: ${key_points.map(([name], i) => `${name} ${fixed(weights[i])}`).join(", ")}.`;
}

export function render({ model, el }) {
  const traits = ["query_x", "query_y", "score", "key_points", "W", "W_q", "W_k", "w_v"];
  const view = createView(
    { model, el },
    {
      label: "Six ways to score",
      task: "Drag the query until all six scores crown the same key.",
      traits,
      aside: true,
    },
  );
  const plot = view.plot({
    height: HEIGHT,
    description:
      "The query and the keys in the plane, arrows as thick as the weights; colours and contours show the score of every place",
  });
  const frame = plot.svg.parentNode;
  frame.classList.add("attention-field");
  const canvas = element("canvas", { "aria-hidden": "true" });
  frame.prepend(canvas);
  const add = (tag, attributes) => plot.svg.appendChild(svg(tag, attributes));
  const across = add("line", { class: "attention-axis" });
  const down = add("line", { class: "attention-axis" });
  const lines = add("path", { class: "attention-contour", transform: "scale(0.1)" });
  const winning = add("path", {
    class: "attention-contour attention-strong",
    transform: "scale(0.1)",
  });
  const reach = add("path", { class: "attention-reach" });
  const arrows = add("g", { class: "attention-arrows" });
  const crown = add("circle", { class: "attention-crown", r: 14 });
  const dots = add("g");
  const labels = add("g");

  const low = element("span");
  const high = element("span");
  const steps = element("span");
  view.stage.append(
    element(
      "div",
      { class: "attention-legend", "data-drawn": true },
      element("span", {}, "score"),
      low,
      element("span", { class: "attention-ramp attention-scores" }),
      high,
      steps,
    ),
  );

  const height = () => Math.min(HEIGHT, plot.width);
  const unit = () => Math.min(height() / 2 / REACH, plot.width / 2 / REACH);
  const at = ([x, y]) => [plot.width / 2 + unit() * x, height() / 2 - unit() * y];

  // Drag the query, or a key. Sliders and the field under More do the same for keyboards.
  const grip = plot.drag((x, y, thing) => {
    const place = (distance) =>
      Math.min(Math.max(Math.round((distance / unit()) * 20) / 20, -3), 3);
    const point = [place(x - plot.width / 2), place(height() / 2 - y)];
    if (thing === 0) view.setAll({ query_x: point[0], query_y: point[1] });
    else
      view.set(
        "key_points",
        model.get("key_points").map((key, i) => (i === thing - 1 ? [key[0], ...point] : key)),
      );
  });

  const show = view.numbers({ max_weight: "Largest weight", entropy: "Entropy" });
  const among = view.readouts.appendChild(element("p", { class: "attention-agreed" }));
  const sign = view.readouts.appendChild(element("p", { class: "attention-formula" }));
  let shares = [];

  // Six planes, small: each with its field, and the name of the key that wins there.
  const small = Object.entries(KINDS).map(([score, { hint }]) => {
    const picture = element("canvas", { width: SMALL, height: SMALL, "aria-hidden": "true" });
    const winner = element("span", { class: "attention-winner" });
    const card = element(
      "span",
      { class: "attention-small" },
      picture,
      element("span", {}, score),
      element("span", { class: "attention-note" }, hint),
      winner,
    );
    return { score, picture, winner, card };
  });
  view.choice({
    trait: "score",
    label: "Score, and the key that it crowns",
    options: small.map(({ score, card }) => [score, card]),
  });
  for (const [trait, label] of [
    ["query_x", "Query, across"],
    ["query_y", "Query, up"],
  ]) {
    view.slider({
      trait,
      label,
      more: true,
      min: -3,
      max: 3,
      step: 0.05,
      text: (value) => fixed(value, 2),
    });
  }

  view.field({
    trait: "key_points",
    label: "Your own keys, one a line: name, across, up; from −3 to 3",
    rows: 4,
    write: writeTable,
    read: readKeys,
  });

  // The canvas: a pixel for each place where the score is computed, and what is written there.
  const shades = pixelMap(colorMap(view.root, "--aw-score-map")); // from -1 to 1
  let most; // scores that can agree
  let isPainted = false;
  function fit() {
    const [columns, rows] = [plot.width, height()].map(
      (size) => 8 * Math.ceil(size / CELL / 8) + 1,
    );
    Object.assign(canvas, { width: columns, height: rows });
    // The middle of a pixel stands where its score was computed.
    for (const [name, value] of Object.entries({
      width: columns * CELL,
      height: rows * CELL,
      left: -CELL / 2,
      top: -CELL / 2,
    })) {
      canvas.style.setProperty(name, `${value}px`);
    }
    plot.setHeight(height());
    const [x, y] = at([0, 0]);
    setAttributes(across, { x1: 0, x2: plot.width, y1: y, y2: y });
    setAttributes(down, { x1: x, x2: x, y1: 0, y2: height() });
  }

  function paint(settings, best) {
    const [, step, stride] = scaleOf(settings);
    const [[left, top], size] = [at([0, 0]), unit()];
    const field = paintField(
      canvas,
      settings,
      shades(),
      (column) => (column * CELL - left) / size,
      (row) => (top - row * CELL) / size,
    );
    const [first, last] = [Math.min(...field), Math.max(...field)].map((bound) =>
      Math.ceil(bound / step),
    );
    const levels = Array.from({ length: last - first }, (_, i) => (first + i) * step);
    setAttributes(lines, { d: contours(field, canvas.width, levels, stride) });
    setAttributes(winning, { d: contours(field, canvas.width, [best], 1) });
  }

  function describe(settings) {
    const [limit, step] = scaleOf(settings);
    sign.replaceChildren(
      ...formula(settings).map((line, first) =>
        element(
          "span",
          {},
          first === 0 ? "score = " : "",
          ...line.split(/_(\w)/).map((text, i) => (i % 2 ? element("sub", {}, text) : text)),
        ),
      ),
    );
    setText(low, fixed(-limit, 0));
    setText(high, fixed(limit, 0));
    setText(steps, `contours every ${step}; thick: as good as the best key`);
  }

  view.start(() => {
    const settings = view.state();
    const { query_x, query_y, key_points, score, ...matrices } = settings;
    const seen = measure(settings);
    const [place, ...keys] = view.glide("places", [
      [query_x, query_y],
      ...key_points.map(([, x, y]) => [x, y]),
    ]);
    const [middle, query] = [at([0, 0]), at(place)];
    view.part("frame", String(plot.width), fit);
    view.part("formula", JSON.stringify([score, matrices]), () => {
      describe(settings);
      if (isPainted) fadeOut(canvas);
    });
    const drawn = {
      ...settings,
      query_x: place[0],
      query_y: place[1],
      key_points: key_points.map(([name], i) => [name, ...keys[i]]),
    };
    paint(drawn, Math.max(...measure(drawn).scores));
    isPainted = true;
    setAttributes(reach, { d: `M${middle.join(" ")}L${query.join(" ")}` });
    const points = keys.map(at);
    const thickness = view.glide("weights", seen.weights);
    view.part("small", JSON.stringify([query_x, query_y, key_points, matrices]), () => {
      view.part("reachable", JSON.stringify([key_points, matrices]), () => {
        most = reachable(settings);
      });
      const { crowned, count, key } = agreement(settings);
      small.forEach(({ score: kind, picture, winner }, i) => {
        setText(winner, key_points[crowned[i]]?.[0] ?? "a tie");
        paintField(
          picture,
          { ...settings, score: kind },
          shades(),
          smallAt,
          (row) => -smallAt(row),
        );
      });
      setText(among, agreed({ count, most, name: key_points[key][0] }));
      among.classList.toggle("attention-won", count === 6);
    });
    setChildren(
      arrows,
      points.map((point, i) => ["path", { d: arrow(query, point, thickness[i]) }]),
    );
    const top = seen.weights.indexOf(seen.max_weight);
    const named = points.map((point, i) => ({
      at: point,
      color: "key",
      name: key_points[i][0],
      r: i === top ? 10 : 7,
      clear: GRIP,
    }));
    setAttributes(crown, { cx: points[top][0], cy: points[top][1] });
    if (score === "bilinear")
      named.push({ at: at(moved(settings)), color: "query", name: "Wᵀq", r: 5 });
    named.push({ at: query, color: "query", name: "query", r: 9, clear: GRIP });
    setChildren(
      dots,
      named.map(({ at: [cx, cy], color, r }) => [
        "circle",
        { cx, cy, r, class: `attention-dot attention-${color}-dot` },
      ]),
    );
    setChildren(labels, placeNames(named, plot.width, height()));
    grip([query, ...points]);

    view.part("cards", JSON.stringify(key_points.map(([name]) => name)), () => {
      for (const share of shares) share.card.remove();
      shares = key_points.map(([name], i) =>
        view.readout({ name: `weight_${i}`, label: `Weight of ${name}` }),
      );
      view.readouts.append(sign);
    });
    shares.forEach((share, i) => {
      share(seen.weights[i]);
      share.card.classList.toggle("attention-won", i === top);
    });
    show(seen);
    view.say(words(settings, seen), setting(settings, seen));
  });
  return view.cleanup;
}

export default { render };
