import {
  GRIP,
  POWERS,
  createView,
  element,
  entropy,
  fixed,
  placeNames,
  readTable,
  setAttributes,
  setChildren,
  short,
  softmax,
  svg,
  writeTable,
} from "./_shared/index.js";

const [TALLEST, LOW] = [366, 252]; // of a plane, in pixels, where there is room and on a phone; its name below
const NAME = 22;

/** The weights of the keys for the query, and the mixture of the values. */
export function measure({ query_x, query_y, temperature, key_points, value_points }) {
  const weights = softmax(key_points.map(([x, y]) => (query_x * x + query_y * y) / temperature));
  const mix = (axis) => value_points.reduce((sum, value, i) => sum + weights[i] * value[axis], 0);
  const nats = entropy(weights);
  return {
    weights,
    output_x: mix(0),
    output_y: mix(1),
    entropy: nats,
    effective_keys: Math.exp(nats),
  };
}

/** The finding in words. */
export function words({ tokens }, { weights, output_x, output_y }, isDone = false) {
  const top = Math.max(...weights);
  const winner = tokens[weights.indexOf(top)];
  const at = `at (${fixed(output_x)},\u00a0${fixed(output_y)})`;
  if (isDone) return `Done: ${winner} wins. The output is ${at}.`;
  if (top > 0.99) return `Nearly a hard lookup: the output sits on the value of ${winner}, ${at}.`;
  if (top < 1 / weights.length + 0.01)
    return `Nearly the mean: every value has the same share of the output, ${at}.`;
  return `“${winner}” has the largest weight. The output is ${at}.`;
}

/** The corners of the convex hull, in order (Andrew's monotone chain). */
export function hull(points) {
  const ordered = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const corners = [];
    for (const [x, y] of list) {
      while (corners.length > 1) {
        const [[x1, y1], [x2, y2]] = corners.slice(-2);
        if ((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) > 0) break;
        corners.pop();
      }
      corners.push([x, y]);
    }
    return corners.slice(0, -1);
  };
  const corners = [...half(ordered), ...half([...ordered].reverse())];
  return corners.length ? corners : ordered.slice(0, 1);
}

/** Four words as a reader has written them. */
function readWords(text) {
  const tokens = text.split(/\s+/).filter(Boolean);
  if (tokens.length !== 4)
    throw new Error(
      `Four words are needed; ${tokens.length === 1 ? "this is 1" : `these are ${tokens.length}`}.`,
    );
  return tokens;
}

function createPlane(view, parent, name, description) {
  const plot = view.plot({ height: TALLEST, description, parent });
  const across = plot.svg.appendChild(svg("line", { class: "attention-grid" }));
  const down = plot.svg.appendChild(svg("line", { class: "attention-grid" }));
  const area = plot.svg.appendChild(
    svg("polygon", { fill: "var(--aw-value)", "fill-opacity": 0.12 }),
  );
  const trail = plot.svg.appendChild(svg("g", { class: "attention-area attention-output" }));
  const lines = plot.svg.appendChild(
    svg("g", { stroke: "var(--aw-weight)", "stroke-opacity": 0.55, "stroke-linecap": "round" }),
  );
  const shadows = plot.svg.appendChild(svg("g", { stroke: "var(--aw-muted)" }));
  const dots = plot.svg.appendChild(svg("g"));
  const title = plot.svg.appendChild(
    svg("text", { class: "attention-muted", "text-anchor": "middle" }, name),
  );
  const height = () => Math.min(plot.width + NAME, plot.width < 340 ? LOW : TALLEST);
  const middle = () => (height() - NAME) / 2;
  // Points stay within 2 of the middle, and the rings around them within the picture.
  const unit = () => (Math.min(plot.width / 2, middle()) - GRIP - 1) / 2;
  const at = ([x, y]) => [plot.width / 2 + unit() * x, middle() - unit() * y];
  return {
    plot,
    at,
    /** The point of the plane at a place of the picture, within its bounds and in steps of 0.05. */
    under(x, y) {
      const place = (distance) =>
        Math.min(Math.max(Math.round((distance / unit()) * 20) / 20, -2), 2);
      return [place(x - plot.width / 2), place(middle() - y)];
    },
    /** Where a point has been, the older the fainter. */
    drawTrail(places) {
      setChildren(
        trail,
        places.map((point, i) => {
          const [cx, cy] = at(point);
          return ["circle", { cx, cy, r: 3, "fill-opacity": (0.5 * (i + 1)) / places.length }];
        }),
      );
    },
    /** The shaft of the query, the line that it lies on, and where each key drops its shadow there. */
    drawShadows(query, keys) {
      const length = Math.hypot(...query);
      const line = (start, end, rest) => {
        const [[x1, y1], [x2, y2]] = [at(start), at(end)];
        return ["line", { x1, y1, x2, y2, ...rest }];
      };
      if (length < 0.05) return setChildren(shadows, []);
      const [x, y] = query.map((part) => (2 * part) / length);
      const feet = keys.map((key) => {
        const along = (key[0] * query[0] + key[1] * query[1]) / length ** 2;
        return [key, [along * query[0], along * query[1]]];
      });
      return setChildren(shadows, [
        line([-x, -y], [x, y], { "stroke-opacity": 0.5 }),
        line([0, 0], query, { stroke: "var(--aw-query)", "stroke-width": 3 }),
        ...feet.map(([key, foot]) => line(key, foot, { "stroke-dasharray": "2 4" })),
      ]);
    },
    /** What moves and the points it is joined to; where it sits on one of them, it is a ring around it.
        Keys are joined to the origin: what counts is how far they reach along the query. */
    draw(moving, points, weights, corners) {
      plot.setHeight(height());
      const [[left, top], [right, bottom]] = [at([-2, 2]), at([2, -2])];
      setAttributes(across, { x1: left, x2: right, y1: middle(), y2: middle() });
      setAttributes(down, { x1: plot.width / 2, x2: plot.width / 2, y1: top, y2: bottom });
      setAttributes(title, { x: plot.width / 2, y: height() - 4 });
      setAttributes(area, { points: corners.map((corner) => at(corner).join(",")).join(" ") });
      const named = [moving, ...points].map((one, i) => ({
        ...one,
        at: at(one.point),
        r: i === 0 ? 10 : 6,
      }));
      const [start, ...ends] = named.map((one) => one.at);
      const [x1, y1] = corners.length ? start : at([0, 0]);
      setChildren(
        lines,
        ends.map(([x2, y2], i) => [
          "line",
          { x1, y1, x2, y2, "stroke-width": 1 + 11 * weights[i] },
        ]),
      );
      // The weights stand on their strands, or behind the names where a strand is short.
      const shares =
        corners.length === 0
          ? []
          : ends.flatMap(([x2, y2], i) => {
              const name = fixed(weights[i], 2);
              if (Math.hypot(x2 - x1, y2 - y1) > 56)
                return [
                  { at: [(x1 + x2) / 2, (y1 + y2) / 2], color: "weight", name, r: 0, spare: true },
                ];
              named[i + 1].name += ` ${name}`;
              return [];
            });
      setChildren(dots, [
        ...named.map(({ at: [cx, cy], color, r }) => [
          "circle",
          { cx, cy, r, fill: `var(--aw-${color})`, stroke: "var(--aw-paper)", "stroke-width": 1.5 },
        ]),
        ...placeNames([...named, ...shares], plot.width, height() - 18),
      ]);
    },
  };
}

/** What is set, for a still picture. */
export function setting({ query_x, query_y, temperature, tokens }, { weights }) {
  return `Query (${fixed(query_x, 2)}, ${fixed(query_y, 2)}), temperature ${short(temperature)}. Weights: ${tokens.map((token, i) => `${token} ${fixed(weights[i])}`).join(", ")}.`;
}

export function render({ model, el }) {
  const traits = ["query_x", "query_y", "temperature", "key_points", "value_points", "tokens"];
  const view = createView(
    { model, el },
    {
      label: "Soft lookup",
      task: "Leave the query where it is, and make another word win by dragging its key.",
      traits,
    },
  );
  const pair = view.stage.appendChild(
    element("div", { class: "attention-pair", "data-columns": 2 }),
  );
  const queryPlane = createPlane(
    view,
    pair,
    "query and keys",
    "The query and four keys as arrows; a key's arrow is as thick as its weight, and dotted lines drop to its shadow on the query",
  );
  const outputPlane = createPlane(
    view,
    pair,
    "values and output",
    "Four values, their convex hull, and the output inside it",
  );

  // Drag the query, or a key, or move it by the arrow keys.
  const moved = (thing, point) => {
    if (thing === 0) view.setAll({ query_x: point[0], query_y: point[1] });
    else
      view.set(
        "key_points",
        model.get("key_points").map((key, i) => (i === thing - 1 ? point : key)),
      );
  };
  const grip = queryPlane.plot.drag(
    (x, y, thing) => moved(thing, queryPlane.under(x, y)),
    (right, up, thing) => {
      const { query_x, query_y, key_points } = view.state();
      const from = [[query_x, query_y], ...key_points][thing];
      const step = (number, way) =>
        way ? Math.min(Math.max(Math.round(20 * number + way) / 20, -2), 2) : number;
      moved(thing, [step(from[0], right), step(from[1], up)]);
    },
  );

  // The task is done where the query stands as it stood, and another word has the most weight.
  const start = view.state();
  const winner = (settings) => {
    const { weights } = measure(settings);
    return weights.indexOf(Math.max(...weights));
  };
  const isDone = (settings) =>
    settings.query_x === start.query_x &&
    settings.query_y === start.query_y &&
    winner(settings) !== winner(start);
  let trail = []; // where the output has been
  view.onReset(() => {
    trail = [];
  });

  let shares = [];
  const rest = view.numbers({
    output_x: "Output, across",
    output_y: "Output, up",
    entropy: "Entropy",
    effective_keys: "Effective keys",
  });

  for (const [trait, label] of [
    ["query_x", "Query, across"],
    ["query_y", "Query, up"],
  ]) {
    view.slider({
      trait,
      label,
      more: true,
      min: -2,
      max: 2,
      step: 0.05,
      text: (value) => fixed(value, 2),
    });
  }
  view.slider({
    trait: "temperature",
    label: "Temperature",
    min: -5,
    max: 5,
    step: 0.5,
    ...POWERS,
    text: (temperature) => short(temperature),
    words: (temperature) => `temperature ${short(temperature)}`,
  });

  view.field({
    trait: "key_points",
    label: "Your own keys, one a line: across, up; from −2 to 2",
    rows: 4,
    write: writeTable,
    read: (text) => readTable(text, { rows: 4, columns: 2, min: -2, max: 2 }),
  });

  view.field({
    trait: "tokens",
    label: "Your own words: four, with blanks between them",
    rows: 1,
    write: (tokens) => tokens.join(" "),
    read: readWords,
  });

  view.start(() => {
    const settings = view.state();
    const measured = measure(settings);
    const { value_points, tokens } = settings;
    // Drawn is where things are on their way, and the weights and the output that belong there.
    const [query_x, query_y, temperature, key_points] = view.glide(
      "settings",
      ["query_x", "query_y", "temperature", "key_points"].map((trait) => settings[trait]),
    );
    const drawn = measure({ ...settings, query_x, query_y, temperature, key_points });
    const query = [query_x, query_y];
    const output = [drawn.output_x, drawn.output_y];
    queryPlane.draw(
      { point: query, color: "query", name: "query", clear: GRIP },
      key_points.map((point, i) => ({ point, color: "key", name: tokens[i], clear: GRIP })),
      drawn.weights,
      [],
    );
    queryPlane.drawShadows(query, key_points);
    outputPlane.draw(
      { point: output, color: "output", name: "output" },
      value_points.map((point, i) => ({ point, color: "value", name: tokens[i] })),
      drawn.weights,
      hull(value_points),
    );
    grip(
      [query, ...key_points].map(queryPlane.at),
      [[settings.query_x, settings.query_y], ...settings.key_points].map(
        ([x, y], i) =>
          `${i ? `key of ${tokens[i - 1]}` : "query"} at (${fixed(x, 2)}, ${fixed(y, 2)})`,
      ),
    );
    const [x, y] = trail.at(-1) ?? [Infinity, 0];
    if (Math.hypot(x - output[0], y - output[1]) > 0.02) trail = [...trail.slice(-119), output];
    outputPlane.drawTrail(trail.slice(0, -1));
    view.part("cards", JSON.stringify(tokens), () => {
      for (const { card } of shares) card.remove();
      shares = tokens.map((token, i) =>
        view.readout({
          name: `weight_${i}`,
          label: `Weight of ${token}`,
          parent: view.more.readouts,
        }),
      );
    });
    if (!view.hasArrived()) return;
    shares.forEach((show, i) => show(measured.weights[i]));
    rest(measured);
    view.say(words(settings, measured, isDone(settings)), setting(settings, measured));
  });
  return view.cleanup;
}

export default { render };
