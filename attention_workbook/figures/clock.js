import { createView, element, grouped, setAttributes, setChildren, svg } from "./_shared/index.js";

const WIDTH = 128; // of queries and keys
const PAIRS = Array.from({ length: WIDTH / 2 }, (_, j) => j);
const DRAWN = [0, 9, 18, 27, 36, 45, 54, 63];
const TRAINED = 2048;
const LONGEST = 20_480;
const TIMES = LONGEST / TRAINED;
const METHODS = [
  ["unchanged", "unchanged"],
  ["interpolation", "interpolation"],
  ["ntk", "NTK-aware"],
  ["yarn", "YaRN"],
];

// ---------------------------------------------------------------- the numbers

const tokens = (count) => (count < 10 ? count.toFixed(1) : grouped(count));

/** Radians a token of each pair, as they were in training. */
export const speedsOf = (base) => PAIRS.map((j) => base ** ((-2 * j) / WIDTH));

/** The speeds with which ten times as long a text is read. */
export function slowed(speeds, method) {
  if (method === "interpolation") return speeds.map((speed) => speed / TIMES);
  if (method === "ntk") return speeds.map((speed, j) => speed * TIMES ** (-j / (PAIRS.length - 1)));
  if (method !== "yarn") return speeds;
  const turns = speeds.map((speed) => (TRAINED * speed) / (2 * Math.PI));
  const first = turns.filter((turn) => turn >= 32).length - 1;
  const last = turns.filter((turn) => turn >= 1).length;
  return speeds.map((speed, j) => {
    const mixed = Math.min(Math.max((j - first) / (last - first), 0), 1);
    return speed * (1 - mixed) + (speed / TIMES) * mixed;
  });
}

/** The arc between the two hands that a pair knew in training, and whether a distance leads out of it:
    `known` in radians, a whole turn at most. */
function arcOf(speed, slower, distance) {
  const known = Math.min((TRAINED - 1) * speed, 2 * Math.PI);
  return { known, isNew: known < 2 * Math.PI && distance * slower > TRAINED * speed };
}

/** All that is to be seen: for each drawn pair the hands' angles and its arc; the score of two equal
    vectors with these positions, as a share of what it is at distance 0; the new pairs of all. */
export function measure({ query, key, base, method }) {
  const speeds = speedsOf(base);
  const now = slowed(speeds, method);
  const distance = Math.abs(query - key);
  const arcs = now.map((slower, j) => arcOf(speeds[j], slower, distance));
  return {
    distance,
    score: now.reduce((sum, speed) => sum + Math.cos(distance * speed), 0) / now.length,
    isNew: arcs.filter((arc) => arc.isNew).length,
    clocks: DRAWN.map((j) => ({
      pair: j,
      angles: [query * now[j], key * now[j]],
      turn: (2 * Math.PI) / now[j],
      ...arcs[j],
    })),
  };
}

/** The finding in words. */
export function words({ method }, { distance, isNew }) {
  const how = {
    unchanged: "",
    interpolation: "With interpolation, ",
    ntk: "With NTK-aware speeds, ",
    yarn: "With YaRN, ",
  }[method];
  const hands = ["no hand is", "1 of the 64 hands is"][isNew] ?? `${isNew} of the 64 hands are`;
  const sentence = `${how}${hands} at an angle that training never showed.`;
  const isDone = isNew === 0 && method !== "unchanged" && distance > TRAINED;
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}${isDone ? ` Done, for a distance of ${tokens(distance)} tokens.` : ""}`;
}

// ---------------------------------------------------------------- the view

/** Where the text's line and the clocks are. */
function sizes(width) {
  const columns = width >= 560 ? 8 : 4;
  const each = width / columns;
  const radius = Math.min(each * 0.4, 44);
  const high = 2 * radius + (columns === 4 ? 54 : 46);
  const top = 132;
  return {
    width,
    radius,
    roomy: each > 90,
    height: top + (high * DRAWN.length) / columns,
    x: (position) => 14 + (position / LONGEST) * (width - 28),
    position: (x) => ((x - 14) / (width - 28)) * LONGEST,
    clock: (i) => [((i % columns) + 0.5) * each, top + Math.floor(i / columns) * high + radius + 2],
  };
}

const onCircle = ([x, y], radius, angle) => [
  x + radius * Math.sin(angle),
  y - radius * Math.cos(angle),
];

/** The part of a circle from one angle on, as a path. */
function sector(middle, radius, start, angle) {
  const [x, y] = middle;
  if (angle > 2 * Math.PI - 0.01) return `M${x} ${y - radius}a${radius} ${radius} 0 1 1 -0.01 0Z`;
  const [from, to] = [start, start + angle].map((at) =>
    onCircle(middle, radius, at % (2 * Math.PI))
      .map((number) => number.toFixed(2))
      .join(" "),
  );
  return `M${x} ${y}L${from}A${radius} ${radius} 0 ${angle > Math.PI ? 1 : 0} 1 ${to}Z`;
}

export function render({ model, el }) {
  const view = createView(
    { model, el },
    {
      label: "Hands that turn with the position",
      task: "Find a way to read this text in which no clock shows a new angle.",
      traits: ["query", "key", "base", "method"],
    },
  );
  const plot = view.plot({
    height: 340,
    description: `A text of ${grouped(LONGEST)} tokens with a query and a key, and eight clocks with a hand of each`,
  });
  const [line, clocks] = [0, 1].map(() => plot.svg.appendChild(svg("g")));
  const both = plot.svg.appendChild(
    svg("text", { class: "attention-muted", "text-anchor": "middle", "data-live": true }, "both"),
  );
  const bounded = (position) => Math.min(Math.max(Math.round(position), 0), LONGEST - 1);
  let held = 0; // from the query to the key, while both are moved
  const grips = plot.drag((x, _, thing) => {
    const at = bounded(sizes(plot.width).position(x));
    if (thing === 1) view.set("key", at);
    else if (thing === 2) view.set("query", at);
    else {
      const half = held / 2;
      const middle = Math.min(Math.max(at, Math.abs(half)), LONGEST - 1 - Math.abs(half));
      view.setAll({ query: bounded(middle - half), key: bounded(middle + half) });
    }
  });
  plot.svg.addEventListener(
    "pointerdown",
    () => {
      held = model.get("key") - model.get("query");
    },
    { signal: view.signal, capture: true },
  );
  view.choice({ trait: "method", label: "Speeds for a text ten times as long", options: METHODS });
  view.choice({
    trait: "base",
    label: "Base",
    options: [
      [10_000, grouped(10_000)],
      [500_000, grouped(500_000)],
    ],
  });
  for (const [trait, label] of [
    ["query", "Position of the query"],
    ["key", "Position of the key"],
  ])
    view.slider({ trait, label, min: 0, max: LONGEST - 1, more: true, text: tokens });
  const numbers = view.numbers({
    distance: "Distance",
    score: "Score, as a share of that at distance 0",
    new_hands: "Hands in a new place, of 64",
  });
  view.stage.append(
    element(
      "p",
      { class: "attention-note", "data-drawn": true },
      "Each clock is a pair of coordinates. Shaded: angles that training showed.",
    ),
  );

  view.start(() => {
    const state = view.state();
    const measured = measure(state);
    const at = sizes(plot.width);
    plot.setHeight(at.height);
    const [query, key] = view.glide("places", [state.query, state.key]);
    const middle = (at.x(query) + at.x(key)) / 2;
    const mark = (position, role, name, y) => [
      [
        "line",
        {
          x1: at.x(position),
          x2: at.x(position),
          y1: 34,
          y2: 74,
          class: `attention-line attention-${role}`,
        },
      ],
      ["circle", { cx: at.x(position), cy: 54, r: 8, class: `attention-area attention-${role}` }],
      [
        "text",
        {
          x: Math.min(Math.max(at.x(position), 44), at.width - 44),
          y,
          "text-anchor": "middle",
          class: `attention-${role}`,
        },
        `${name} ${tokens(Math.round(position))}`,
      ],
    ];
    setChildren(line, [
      [
        "rect",
        {
          x: at.x(0),
          y: 50,
          width: at.x(LONGEST) - at.x(0),
          height: 8,
          rx: 4,
          class: "attention-area attention-grid",
        },
      ],
      [
        "rect",
        {
          x: at.x(0),
          y: 50,
          width: at.x(TRAINED) - at.x(0),
          height: 8,
          rx: 4,
          class: "attention-area attention-masked",
        },
      ],
      [
        "text",
        { x: at.x(0), y: 105, class: "attention-muted" },
        `trained on ${grouped(TRAINED)} tokens`,
      ],
      [
        "text",
        { x: at.x(LONGEST), y: 105, "text-anchor": "end", class: "attention-muted" },
        grouped(LONGEST),
      ],
      [
        "line",
        {
          x1: at.x(query),
          x2: at.x(key),
          y1: 54,
          y2: 54,
          "stroke-width": 6,
          class: "attention-line attention-accent",
        },
      ],
      ...mark(query, "query", "query", 22),
      ...mark(key, "key", "key", Math.abs(at.x(query) - at.x(key)) < 110 ? 86 : 22),
    ]);
    // Near each other, query and key leave no room for the name of what moves both.
    setAttributes(both, {
      x: middle,
      y: 86,
      visibility: Math.abs(at.x(query) - at.x(key)) < 110 ? "hidden" : null,
    });
    grips([
      [middle, 54],
      [at.x(key), 54],
      [at.x(query), 54],
    ]);
    const speeds = view.glide(
      "speeds",
      measured.clocks.map(({ turn }) => (2 * Math.PI) / turn),
    );
    const known = view.glide(
      "known",
      measured.clocks.map((clock) => clock.known),
    );
    const isBehind = state.key < state.query;
    setChildren(
      clocks,
      measured.clocks.flatMap(({ turn, isNew }, i) => {
        const place = at.clock(i);
        const [x, y] = place;
        const hand = (position, role) => {
          const [x2, y2] = onCircle(place, at.radius - 5, (position * speeds[i]) % (2 * Math.PI));
          return ["line", { x1: x, y1: y, x2, y2, class: `attention-line attention-${role}` }];
        };
        const start = query * speeds[i] - (isBehind ? known[i] : 0);
        const label = { x, "text-anchor": "middle" };
        return [
          [
            "circle",
            {
              cx: x,
              cy: y,
              r: at.radius,
              class: `attention-box attention-${isNew ? "nan attention-thick" : "muted"}`,
            },
          ],
          [
            "path",
            {
              d: sector(place, at.radius - 2, start, known[i]),
              class: "attention-area attention-muted attention-faint",
            },
          ],
          hand(query, "query"),
          hand(key, "key"),
          ["circle", { cx: x, cy: y, r: 3, class: "attention-area attention-ink" }],
          [
            "text",
            { ...label, y: y + at.radius + 16, class: "attention-muted" },
            `${tokens(turn)}${i === 0 || at.roomy ? " tokens" : ""}`,
          ],
          ...(i === 0 || i === DRAWN.length - 1
            ? [
                [
                  "text",
                  {
                    x: i === 0 ? x - at.radius : x + at.radius,
                    y: y - at.radius - 7,
                    "text-anchor": i === 0 ? "start" : "end",
                    class: "attention-chosen",
                  },
                  i === 0 ? "fast: once round in" : "slow: once round in",
                ],
              ]
            : []),
          [
            "text",
            {
              ...label,
              y: y + at.radius + 31,
              class: "attention-nan",
              visibility: isNew ? null : "hidden",
            },
            "new angle",
          ],
        ];
      }),
    );
    if (!view.hasArrived()) return;
    numbers(
      { distance: measured.distance, score: measured.score, new_hands: measured.isNew },
      { distance: tokens(measured.distance), new_hands: String(measured.isNew) },
    );
    view.say(
      words(state, measured),
      `Query at ${tokens(state.query)}, key at ${tokens(state.key)}.`,
    );
  });
  return view.cleanup;
}

export default { render };
