import {
  GRIP,
  createView,
  element,
  fixed,
  placeNames,
  readLines,
  readNumber,
  setAttributes,
  setChildren,
  setText,
  svg,
  writeTable,
} from "./_shared/index.js";

const TALLEST = 380;
const REACH = 3.5; // of the plane, up and down from the origin; points stay within 3
const FAR = 40; // beyond every edge of the plane

const dot = ([a, b], [x, y]) => a * x + b * y;
const apart = ([a, b], [x, y]) => Math.hypot(a - x, b - y);
const unitOf = ([x, y]) => [x, y].map((number) => number / (Math.hypot(x, y) || 1));

// The three scores, and where a query gives key k at least the score of key l: all q with q · a ≥ b.
// Each is a half-plane, so the queries for which two scores crown one key form a polygon.
const SCORES = {
  dot: {
    label: "Dot product: reach along the query",
    of: dot,
    half: ([a, b], [x, y]) => [[a - x, b - y], 0],
  },
  cosine: {
    label: "Cosine: direction alone",
    of: (query, key) => dot(unitOf(query), unitOf(key)),
    half: (k, l) => SCORES.dot.half(unitOf(k), unitOf(l)),
  },
  gaussian: {
    label: "Gaussian: distance alone",
    of: (query, key) => -(apart(query, key) ** 2) / 2,
    half: (k, l) => [SCORES.dot.half(k, l)[0], (dot(k, k) - dot(l, l)) / 2],
  },
};

const pointsOf = ({ query_x, query_y, key_points }) => [
  [query_x, query_y],
  key_points.map(([, x, y]) => [x, y]),
];

/** Each score's numbers for the keys, and which key it crowns; -1 where several are best. */
export function measure(settings) {
  const [query, keys] = pointsOf(settings);
  return Object.fromEntries(
    Object.entries(SCORES).map(([name, { of }]) => {
      const scores = keys.map((key) => of(query, key));
      const best = Math.max(...scores);
      const ties = scores.filter((score) => best - score < 1e-9).length;
      return [name, { scores, best, crowned: ties > 1 ? -1 : scores.indexOf(best) }];
    }),
  );
}

const CONTOURS =
  "As good as the winner: a line (dot product), two rays (cosine), a circle (Gaussian).";
const TINT = "Tint: queries for which two of them agree, darker where all three do.";

/** How many scores crown each key. */
export function votes(settings) {
  const crowned = Object.values(measure(settings)).map((score) => score.crowned);
  return settings.key_points.map((_, key) => crowned.filter((one) => one === key).length);
}

/** The finding in words. */
export function words(settings) {
  const counts = votes(settings);
  const most = Math.max(...counts);
  const name = settings.key_points[counts.indexOf(most)][0];
  if (most === 3)
    return `Done: all three crown ${name}. It reaches farthest along the query, lies nearest to its direction, and is nearest to it.`;
  if (most === 2) return `Two of the three crown ${name}.`;
  if (settings.query_x === 0 && settings.query_y === 0)
    return "A query at the origin has no direction: dot product and cosine give all keys the same.";
  return "No two of them crown the same key.";
}

/** What is left of a polygon where q · a ≥ b (Sutherland and Hodgman, 1974). */
function clipped(corners, [a, b]) {
  return corners.flatMap((corner, i) => {
    const next = corners[(i + 1) % corners.length];
    const [here, there] = [dot(corner, a) - b, dot(next, a) - b];
    const share = here / (here - there);
    const crossing = corner.map((number, axis) => number + share * (next[axis] - number));
    return [...(here >= 0 ? [corner] : []), ...(here >= 0 !== there >= 0 ? [crossing] : [])];
  });
}

/** Polygons of the queries for which two scores crown one key; where all three do, three overlap. */
export function agreeing({ key_points }) {
  const keys = key_points.map(([, x, y]) => [x, y]);
  const all = [
    [-FAR, -FAR],
    [FAR, -FAR],
    [FAR, FAR],
    [-FAR, FAR],
  ];
  const pairs = [
    ["dot", "cosine"],
    ["dot", "gaussian"],
    ["cosine", "gaussian"],
  ];
  return keys.flatMap((key, i) =>
    pairs.map((pair) =>
      keys
        .filter((_, j) => j !== i)
        .flatMap((other) => pair.map((name) => SCORES[name].half(key, other)))
        .reduce(clipped, all),
    ),
  );
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

/** What is set, for a still picture. */
function setting({ query_x, query_y, key_points }, measured) {
  const winners = Object.entries(measured).map(
    ([name, { crowned }]) => `${name}: ${key_points[crowned]?.[0] ?? "a tie"}`,
  );
  return `Query (${fixed(query_x, 2)}, ${fixed(query_y, 2)}). ${winners.join(", ")}.`;
}

/** Where a key would have each score's best: a line, two rays, a circle, as they are drawn. */
function drawContours(contours, query, bests, at, unit) {
  const path = (points) => `M${points.map((point) => at(point).join(" ")).join("L")}`;
  const [a, b] = unitOf(query);
  const length = Math.hypot(...query);
  const foot = bests.dot / length;
  const angle = Math.acos(Math.min(Math.max(bests.cosine, -1), 1));
  const ray = (turn) => {
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    return [FAR * (a * cos - b * sin), FAR * (a * sin + b * cos)];
  };
  setAttributes(contours.dot, {
    d: length
      ? path([
          [foot * a - FAR * b, foot * b + FAR * a],
          [foot * a + FAR * b, foot * b - FAR * a],
        ])
      : "",
  });
  setAttributes(contours.cosine, { d: length ? path([ray(angle), [0, 0], ray(-angle)]) : "" });
  const [cx, cy] = at(query);
  setAttributes(contours.gaussian, { cx, cy, r: unit * Math.sqrt(-2 * bests.gaussian) });
}

export function render({ model, el }) {
  const traits = ["query_x", "query_y", "key_points"];
  const view = createView(
    { model, el },
    {
      label: "Three scores, three winners",
      task: "Drag the query until all three scores crown the same key.",
      traits,
      aside: true,
    },
  );
  const plot = view.plot({
    height: TALLEST,
    description:
      "The query and the keys in the plane, with a line, two rays and a circle through the keys that win",
  });
  plot.svg.parentNode.classList.add("attention-field");
  const add = (tag, attributes) => plot.svg.appendChild(svg(tag, attributes));
  const tints = add("g", { class: "attention-area attention-query attention-faint", opacity: 0.5 });
  const across = add("line", { class: "attention-axis" });
  const down = add("line", { class: "attention-axis" });
  const contours = {
    dot: add("path", {
      class: "attention-contour attention-line attention-ink",
      "data-part": "dot",
    }),
    cosine: add("path", {
      class: "attention-contour attention-line attention-ink",
      "data-part": "cosine",
    }),
    gaussian: add("circle", {
      class: "attention-contour attention-line attention-ink",
      "data-part": "gaussian",
    }),
  };
  const reach = add("path", { class: "attention-line attention-query" });
  const crowns = add("g", { class: "attention-line attention-key" });
  const dots = add("g");
  const labels = add("g");
  const legend = element("span");
  view.stage.append(element("div", { class: "attention-legend", "data-drawn": true }, legend));
  const winners = Object.fromEntries(
    Object.entries(SCORES).map(([name, { label }]) => [name, view.readout({ name, label })]),
  );

  const height = () => Math.min(TALLEST, plot.width);
  const unit = () => height() / 2 / REACH;
  const at = ([x, y]) => [plot.width / 2 + unit() * x, height() / 2 - unit() * y];

  const move = (thing, point) => {
    const [x, y] = point.map((number) => Math.min(Math.max(Math.round(number * 20) / 20, -3), 3));
    if (thing === 0) view.setAll({ query_x: x, query_y: y });
    else
      view.set(
        "key_points",
        model.get("key_points").map((key, i) => (i === thing - 1 ? [key[0], x, y] : key)),
      );
  };
  const grip = plot.drag(
    (x, y, thing) => move(thing, [(x - plot.width / 2) / unit(), (height() / 2 - y) / unit()]),
    (right, up, thing) => {
      const [query, keys] = pointsOf(view.state());
      const [x, y] = [query, ...keys][thing];
      move(thing, [x + right / 20, y + up / 20]);
    },
  );
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

  let isSolved = false; // the tint shows where all agree: before, it would give that away
  view.onReset(() => {
    isSolved = false;
  });

  function fit() {
    plot.setHeight(height());
    const [x, y] = at([0, 0]);
    setAttributes(across, { x1: 0, x2: plot.width, y1: y, y2: y });
    setAttributes(down, { x1: x, x2: x, y1: 0, y2: height() });
  }

  view.start(() => {
    const settings = view.state();
    const { query_x, query_y, key_points } = settings;
    view.part("frame", String(plot.width), fit);
    const [query, ...keys] = view.glide("places", [
      [query_x, query_y],
      ...key_points.map(([, x, y]) => [x, y]),
    ]);
    const drawn = {
      query_x: query[0],
      query_y: query[1],
      key_points: key_points.map(([name], i) => [name, ...keys[i]]),
    };
    const now = measure(drawn);
    isSolved ||= view.hasArrived() && Math.max(...votes(settings)) === 3;
    setText(legend, isSolved ? `${CONTOURS} ${TINT}` : CONTOURS);
    view.part("tints", JSON.stringify([keys, plot.width, isSolved]), () =>
      setChildren(
        tints,
        (isSolved ? agreeing(drawn) : []).map((corners) => [
          "polygon",
          {
            points: corners
              .map((corner) =>
                at(corner)
                  .map((n) => n.toFixed(1))
                  .join(),
              )
              .join(" "),
          },
        ]),
      ),
    );
    const bests = Object.fromEntries(Object.entries(now).map(([name, { best }]) => [name, best]));
    drawContours(contours, query, bests, at, unit());
    setAttributes(reach, { d: `M${at([0, 0]).join(" ")}L${at(query).join(" ")}` });
    const named = keys.map((key, i) => ({
      at: at(key),
      color: "key",
      name: key_points[i][0],
      r: 7,
      clear: GRIP,
    }));
    named.push({ at: at(query), color: "query", name: "query", r: 9, clear: GRIP });
    setChildren(
      crowns,
      votes(drawn).flatMap((count, i) =>
        Array.from({ length: count }, (_, ring) => {
          const [cx, cy] = named[i].at;
          return ["circle", { cx, cy, r: 11 + 4 * ring }];
        }),
      ),
    );
    setChildren(
      dots,
      named.map(({ at: [cx, cy], color, r }) => [
        "circle",
        { cx, cy, r, class: `attention-area attention-${color} attention-edged` },
      ]),
    );
    setChildren(labels, placeNames(named, plot.width, height()));
    grip([query, ...keys].map(at), ["query", ...key_points.map(([name]) => `key of ${name}`)]);
    if (!view.hasArrived()) return;
    const measured = measure(settings);
    for (const [name, { best, crowned }] of Object.entries(measured))
      winners[name](best, key_points[crowned]?.[0] ?? "a tie");
    view.say(words(settings), setting(settings, measured));
  });
  return view.cleanup;
}

export default { render };
