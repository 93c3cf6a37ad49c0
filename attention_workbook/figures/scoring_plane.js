import {
  GRIP,
  colorMap,
  createView,
  element,
  fadeOut,
  fixed,
  pixelMap,
  placeNames,
  setAttributes,
  setChildren,
  setText,
  svg,
  writeTable,
} from "./_shared/index.js";
import {
  CELL,
  KINDS,
  scaleOf,
  formula,
  moved,
  scorer,
  measure,
  agreement,
  reachable,
  agreed,
  words,
  contours,
  readKeys,
  setting,
} from "./_plane/scores.js";

const HEIGHT = 280;
const REACH = 3.5; // of the plane, up and down from the origin; points stay within 3

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
      element("span", {}, "━━ as good as the best key"),
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
    setText(steps, `── contours, ${step} apart`);
  }

  view.start(() => {
    const settings = view.state();
    const { query_x, query_y, key_points, score, ...matrices } = settings;
    const measured = measure(settings);
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
    const thickness = view.glide("weights", measured.weights);
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
    const top = measured.weights.indexOf(measured.max_weight);
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
    if (!view.hasArrived()) return;
    shares.forEach((share, i) => {
      share(measured.weights[i]);
      share.card.classList.toggle("attention-won", i === top);
    });
    show(measured);
    view.say(words(settings, measured), setting(settings, measured));
  });
  return view.cleanup;
}

export default { render };
