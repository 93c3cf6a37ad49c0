import {
  bytesOf,
  colorMap,
  createView,
  element,
  entropy,
  fadeOut,
  fixed,
  packedHeads,
  pixelMap,
  readLines,
  readNumber,
  readableOn,
  setAttributes,
  setChildren,
  setText,
  svg,
  unpackHead,
  unpackMask,
} from "./_shared/index.js";

const TALLEST = 360; // of the cells, in pixels
const LARGEST = 60; // side of a cell
const ROOMY = 38; // side of a cell in which every face has room for 0.00
const AXES = ["layer", "head", "query", "key"];
const FEW = 24; // tokens whose lines can be told apart
const MOST = 64; // rows and columns of a pasted table

// ---------------------------------------------------------------- numbers and words

/** The rows of a table of weights that a reader has pasted; an Error that says what is wrong. */
export function readWeights(text) {
  const rows = readLines(text).map((line) =>
    line.map((part) => readNumber(part, { min: 0, max: 1 })),
  );
  const other = rows.findIndex((row) => row.length !== rows[0].length);
  if (other > 0)
    throw new Error(
      `Line ${other + 1} has ${rows[other].length} number${rows[other].length === 1 ? "" : "s"}, line 1 has ${rows[0].length}.`,
    );
  if (Math.max(rows.length, rows[0]?.length ?? 0) > MOST)
    throw new Error(`At most ${MOST} lines of ${MOST} numbers are shown.`);
  return rows;
}

/** What is shown: the table that the reader has pasted, else what Python has packed, with the tokens
    that the reader has typed where they are as many. A place beyond the last one is the last. */
export function given(state) {
  const own = state.pasted ? readWeights(state.pasted) : null;
  const shape = own ? [1, 1, own.length, own[0].length] : state.shape;
  const typed = state.typed.split(/\s+/).filter(Boolean);
  const tokens = (kind, count) => {
    if (typed.length === count) return typed;
    return own ? Array.from({ length: count }, (_, i) => String(i)) : state[`${kind}_tokens`];
  };
  return {
    own,
    shape,
    query_tokens: tokens("query", shape[2]),
    key_tokens: tokens("key", shape[3]),
    head_names: state.head_names,
    beside: own ? -1 : state.beside,
    ...Object.fromEntries(AXES.map((axis, i) => [axis, Math.min(state[axis], shape[i] - 1)])),
  };
}

/** A head as it is drawn and read: its weights in steps of 1/levels, and which cells are allowed. */
function tableOf({ own, shape: [, heads, len_q, len_k], layer }, head, content, packed_mask) {
  if (own) {
    return {
      steps: Float64Array.from(own.flat()),
      levels: 1,
      allowed: new Uint8Array(len_q * len_k).fill(1),
      leaks: false,
      len_k,
    };
  }
  const number = layer * heads + head;
  const steps = unpackHead(content, number, len_q * len_k);
  const allowed = unpackMask(packed_mask, number, len_q * len_k);
  return {
    steps,
    levels: content.levels,
    allowed,
    leaks: steps.some((step, i) => step > 0 && !allowed[i]),
    len_k,
  };
}

/** The numbers of a cell, its row and its column, and the cell's weight in the head beside; `now` is
    what is shown, and `table` gives a head. */
export function measure(state, table, now = given(state)) {
  const tables =
    table ??
    ((head) => tableOf(now, head, now.own ? null : packedHeads(state.packed), state.packed_mask));
  const { beside, query, key } = now;
  const { steps, allowed, levels, len_k } = tables(now.head);
  const row = Array.from(
    steps.subarray(query * len_k, (query + 1) * len_k),
    (step) => step / levels,
  );
  let column = 0;
  for (let i = key; i < steps.length; i += len_k) column += steps[i] / levels;
  const row_max = Math.max(...row);
  return {
    weight: row[key],
    row_max,
    row_entropy: entropy(row),
    effective_keys: Math.exp(entropy(row)),
    column_mean: column / (steps.length / len_k),
    largest: row.indexOf(row_max),
    masked: allowed[query * len_k + key] === 0,
    other: beside < 0 ? null : tables(beside).steps[query * len_k + key] / levels,
  };
}

/** A token whose blanks can be seen. */
export const visible = (token) => token.replace(/\s/gu, "␣");

/** A position with its token, where it has one: 1 “cat”. */
function named(position, tokens) {
  const token = tokens[position];
  return token === String(position) ? token : `${position} “${visible(token)}”`;
}

const headName = (names, head) => names[head] ?? `head ${head}`;

/** The finding in words. */
export function words(state, seen, now = given(state)) {
  const { shape, layer, head, beside, head_names, query, key, query_tokens, key_tokens } = now;
  const where = [shape[0] > 1 && `layer ${layer}`, shape[1] > 1 && headName(head_names, head)]
    .filter(Boolean)
    .join(", ");
  const asked = `${where && `${where}: `}query ${named(query, query_tokens)}`;
  const told = `key ${named(key, key_tokens)}`;
  let cell = `gives ${told} the weight ${fixed(seen.weight)}.`;
  if (seen.masked) {
    cell = `may not attend to ${told}${seen.weight === 0 ? "." : `, yet gives it the weight ${fixed(seen.weight)}: a leak.`}`;
  }
  const row =
    seen.row_max === 0
      ? "This row has no weight at all."
      : `The largest weight of this row is ${fixed(seen.row_max)}, at key ${named(seen.largest, key_tokens)}; ` +
        `its entropy is ${fixed(seen.row_entropy)}, that of ${fixed(seen.effective_keys, 1)} equal weights.`;
  const other =
    beside < 0
      ? ""
      : ` Beside it: ${headName(head_names, beside)}, where this cell has ${fixed(seen.other)}.`;
  return `${asked[0].toUpperCase()}${asked.slice(1)} ${cell} ${row}${other}`;
}

/** What is set, for a still picture. */
export function setting({ shape }) {
  const names = [["layer"], ["head"], ["query", "queries"], ["key"]];
  const counts = shape.map((count, i) => {
    const [one, many = `${one}s`] = names[i];
    return `${count} ${count === 1 ? one : many}`;
  });
  return `${counts.join(", ")}.`;
}

// ---------------------------------------------------------------- drawing

const wide = (character) => (character.codePointAt(0) > 0x2e7f ? 13 : 7.6);

/** As much of a text as so many pixels hold, by a rough measure of letters, and its width. */
export function clipped(whole, most) {
  let width = 0;
  let text = "";
  for (const character of whole) {
    if (text && width + wide(character) > most) return { text: `${text}…`, width: width + 10 };
    text += character;
    width += wide(character);
  }
  return { text, width };
}

/** Which of `count` labels stand `gap` cells apart and leave room for the chosen one. */
export function thinned(count, gap, chosen) {
  const places = Array.from({ length: Math.ceil(count / gap) }, (_, i) => i * gap);
  return [...places.filter((place) => Math.abs(place - chosen) >= gap), chosen].sort(
    (a, b) => a - b,
  );
}

/** Paint a head on a canvas, one pixel a cell; masked cells stay clear, and the ground shows. */
function paint(canvas, { steps, allowed, levels, len_k, leaks }, shades) {
  const fine = leaks ? 3 : 1; // a leak is a spot in the middle of its cell
  const [width, height] = [len_k * fine, (steps.length / len_k) * fine];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = (shades.length - 1) / levels;
  for (let i = 0; i < steps.length; i += 1) {
    const corner = Math.floor(i / len_k) * fine * width + (i % len_k) * fine;
    for (let part = 0; part < fine * fine; part += 1) {
      if (allowed[i] || (part === 4 && steps[i] > 0)) {
        pixels[corner + Math.floor(part / fine) * width + (part % fine)] =
          shades[Math.round(steps[i] * scale)];
      }
    }
  }
  context.putImageData(image, 0, 0);
}

/** Whether the tokens are few enough for lines between them, and more than numbers. */
function haveLines({ query_tokens, key_tokens }) {
  const tokens = [...query_tokens, ...key_tokens];
  return (
    Math.max(query_tokens.length, key_tokens.length) <= FEW &&
    tokens.some((token) => !/^\d+$/.test(token))
  );
}

export function render({ model, el }) {
  const traits = [...AXES, "beside", "pasted", "typed"];
  const view = createView(
    { model, el },
    {
      label: "Who looks at whom",
      task: "Point at a word: where does it look, and who looks at this word?",
      traits,
      given: ["shape", "query_tokens", "key_tokens", "packed", "packed_mask", "head_names"],
    },
  );
  const [layers, heads] = model.get("shape");
  const names = model.get("head_names");
  const content = packedHeads(model.get("packed"));
  let now = given(view.state());

  const known = new Map(); // heads that were unpacked, of the present layer or the pasted table
  function table(head) {
    if (!known.has(head)) known.set(head, tableOf(now, head, content, model.get("packed_mask")));
    return known.get(head);
  }

  // A heatmap: a canvas for the cells, hatched behind, and an SVG above it for all else.
  const looks = view.stage.appendChild(element("div", { class: "attention-looks" }));
  const pair = looks.appendChild(element("div", { class: "attention-pair", "data-columns": 2 }));
  function createMap() {
    const plot = view.plot({
      height: 100,
      parent: pair,
      description: "Weights: queries down, keys across",
    });
    const frame = plot.svg.parentNode;
    const canvas = element("canvas", { class: "attention-cells", "aria-hidden": "true" });
    setAttributes(frame, {
      class: "attention-frame attention-map",
      tabindex: 0,
      role: "application",
      "aria-label": "Heatmap of weights; arrow keys move from cell to cell",
    });
    frame.prepend(canvas);
    const group = (attributes) => plot.svg.appendChild(svg("g", attributes));
    const map = {
      plot,
      frame,
      canvas,
      lines: plot.svg.appendChild(svg("path", { class: "attention-seams" })),
      numbers: group({ "text-anchor": "middle" }),
      names: { query: group({ "text-anchor": "end" }), key: group({}) },
      titles: group({}),
      marks: ["attention-key-mark", "attention-query-mark", "attention-halo", "attention-cell"].map(
        (name) => plot.svg.appendChild(svg("rect", { class: name })),
      ),
    };
    for (const type of ["pointerdown", "pointermove"])
      frame.addEventListener(type, (event) => point(map, event), { signal: view.signal });
    frame.addEventListener("keydown", step, { signal: view.signal });
    return map;
  }
  const map = createMap();
  let second = null; // the map of the head beside, once there was one

  const show = view.numbers({
    weight: "Weight",
    row_max: "Largest in row",
    row_entropy: "Entropy of row",
    effective_keys: "Effective keys",
  });
  const mean = view.readout({
    name: "column_mean",
    label: "Mean of column",
    parent: view.more.readouts,
  });
  const legend = element(
    "div",
    { class: "attention-legend", "aria-hidden": "true", "data-drawn": true },
    element("span", {}, "0"),
    element("span", { class: "attention-ramp" }),
    element("span", {}, "1"),
  );
  const masked = [element("span", { class: "attention-swatch" }), element("span", {}, "masked")];
  if (bytesOf(model.get("packed_mask")).length) legend.append(...masked);
  view.stage.append(legend);

  // The tokens in two columns, queries and keys, with lines as strong as the weights. A token that is
  // pointed at shows its own alone: a query its row of the map, a key its column.
  const lookers = view.plot({
    height: 190,
    parent: looks,
    description: "The tokens, queries left and keys right; lines as strong as the weights",
  });
  const strands = lookers.svg.appendChild(svg("g", { class: "attention-strands-of-tokens" }));
  const labels = lookers.svg.appendChild(svg("g"));
  let pointed = null; // the token that is pointed at, as [axis, position]
  let texts; // the tokens, as much of each as there is room for
  function drawLines() {
    const { steps, levels, len_k } = table(now.head);
    const tokens = [now.query_tokens, now.key_tokens];
    const rows = Math.max(...tokens.map(({ length }) => length));
    const [top, step] = [24, Math.min(Math.max(TALLEST / rows, 19), 34)];
    const y = (i) => top + (i + 0.5) * step;
    view.part("texts", JSON.stringify([lookers.width, tokens]), () => {
      texts = tokens.map((row) =>
        row.map((token) => clipped(visible(token), lookers.width * 0.34)),
      );
    });
    const wide = (row, least) => Math.ceil(Math.max(least, ...row.map(({ width }) => width))) + 14; // at least as its title
    const [widthOfQueries, widthOfKeys] = [wide(texts[0], 48), wide(texts[1], 28)];
    const edges = [widthOfQueries, lookers.width - widthOfKeys];
    lookers.setHeight(Math.ceil(y(rows - 0.5) + 4));
    const [axis, position] = pointed ?? ["query", now.query];
    const own = axis === "query" ? 0 : 1;
    const given = tokens[1 - own].map(
      (_, i) => steps[own ? i * len_k + position : position * len_k + i] / levels,
    );
    const [here, ...weights] = view.glide(`strands of a ${axis}`, [y(position), ...given]);
    const middle = (edges[0] + edges[1]) / 2;
    setChildren(
      strands,
      weights.flatMap((weight, i) =>
        weight < 0.02
          ? []
          : [
              [
                "path",
                {
                  d: `M${edges[own]} ${here}C${middle} ${here} ${middle} ${y(i)} ${edges[1 - own]} ${y(i)}`,
                  "stroke-width": 1 + 7 * weight,
                  "stroke-opacity": 0.75 + 0.25 * weight,
                },
              ],
            ],
      ),
    );
    setChildren(
      labels,
      ["query", "key"].flatMap((kind, column) => [
        [
          "text",
          {
            class: "attention-muted",
            x: edges[column] + (column ? 8 : -8),
            y: 13,
            "text-anchor": column ? "start" : "end",
          },
          column ? "keys" : "queries",
        ],
        ...tokens[column].flatMap((_, i) => {
          const chosen = kind === axis && i === position;
          const at = { "data-axis": kind, "data-position": i };
          return [
            [
              "rect",
              {
                ...at,
                x: column ? edges[1] : 0,
                y: y(i) - step / 2 + 1,
                width: column ? widthOfKeys : widthOfQueries,
                height: step - 2,
                rx: 6,
                fill: chosen ? "var(--aw-surface)" : "transparent",
                stroke: chosen ? `var(--aw-${kind})` : "none",
              },
            ],
            [
              "text",
              {
                ...at,
                x: edges[column] + (column ? 8 : -8),
                y: y(i) + 4.5,
                "text-anchor": column ? "start" : "end",
                class: `attention-${kind}${chosen ? " attention-chosen" : ""}`,
              },
              texts[column][i].text,
            ],
          ];
        }),
      ]),
    );
  }
  const aim = (event) => {
    const { axis, position } = event.target.dataset ?? {};
    if (axis === undefined) return;
    pointed = [axis, Number(position)];
    go({ [axis]: Number(position) });
    drawLines();
  };
  for (const type of ["pointermove", "pointerdown"])
    lookers.svg.addEventListener(type, aim, { signal: view.signal });
  lookers.svg.addEventListener(
    "pointerleave",
    () => {
      pointed = null;
      drawLines();
    },
    { signal: view.signal },
  );
  looks.prepend(lookers.svg.parentNode);

  const sliders = AXES.map((trait, i) => {
    if (i < 2 && model.get("shape")[i] === 1) return null;
    const text = (position) => {
      if (trait === "head") return names[position] ?? String(position);
      return i < 2 ? String(position) : named(position, now[`${trait}_tokens`]);
    };
    return view.slider({
      trait,
      more: i > 0,
      label: `${trait[0].toUpperCase()}${trait.slice(1)}`,
      min: 0,
      max: () => now.shape[i] - 1,
      text: (position) => clipped(text(position), 150).text,
      words: (position) =>
        names[position] && trait === "head" ? text(position) : `${trait} ${text(position)}`,
    });
  });
  const besides =
    heads === 1
      ? null
      : view.slider({
          trait: "beside",
          more: true,
          label: "Head beside it",
          min: -1,
          max: heads - 1,
          text: (head) => (head < 0 ? "none" : (names[head] ?? String(head))),
          words: (head) => (head < 0 ? "none" : headName(names, head)),
        });
  view.field({
    trait: "pasted",
    label: "Weights of your own: a line for each query, numbers from 0 to 1",
    rows: 4,
    write: String,
    read: (text) => readWeights(text) && text,
  });
  view.field({
    trait: "typed",
    label: "Tokens of your own, with blanks between them",
    rows: 1,
    write: String,
    read: (text) => text.replace(/\s+/g, " "),
  });

  // All heads of the layer, small: a click takes one. The slider does the same for keyboards.
  const strip = element("div", { class: "attention-strip", "aria-hidden": "true" });
  const small =
    heads === 1
      ? []
      : Array.from({ length: heads }, (_, head) => {
          const picture = element("canvas", { class: "attention-cells" });
          const card = strip.appendChild(
            element(
              "div",
              { class: "attention-thumb" },
              picture,
              element("span", {}, names[head] ?? String(head)),
            ),
          );
          card.addEventListener("click", () => view.set("head", head), { signal: view.signal });
          return { picture, card };
        });
  const stripName = element("p", { class: "attention-name" });
  const stripPlace = element("div", {}, stripName, strip);
  if (heads > 1) view.controls.prepend(stripPlace);
  const error = content.levels > 4095 ? "less than 10⁻⁷" : `at most 1/${2 * content.levels}`;
  const note = element(
    "p",
    { class: "attention-note" },
    `The weights have ${content.bytes[0]} bits each: they are rounded by ${error}.`,
  );
  view.more.place.append(note);
  view.saving("HeatmapExplorer");

  const color = colorMap(view.root);
  const shades = pixelMap(color);

  /** Find the place of the cells, left, top, side, and write what depends on it alone. */
  function fit({ plot, canvas, titles, lines }) {
    const [, , len_q, len_k] = now.shape;
    const room = Math.min(Math.max(plot.width * 0.28, 70), 124);
    const all = (kind) =>
      now[`${kind}_tokens`].map((token) =>
        clipped(visible(token), Math.min(room - 30, kind === "query" ? Infinity : 84)),
      );
    const [down, across] = [all("query"), all("key")];
    const widest = (texts) => texts.reduce((most, { width }) => Math.max(most, width), 0);
    const left = Math.ceil(widest(down)) + 34;
    const flat = widest(across) + 6 <= Math.min((plot.width - left - 2) / len_k, LARGEST);
    const right = flat ? 2 : widest(across) / 2;
    let side = Math.min((plot.width - left - right) / len_k, TALLEST / len_q, LARGEST);
    if (side >= 4) side = Math.floor(side);
    const top = flat ? 42 : Math.ceil(widest(across) * 0.87) + 34;
    const [width, height] = [side * len_k, side * len_q];
    for (const [name, value] of Object.entries({ left, top, width, height })) {
      canvas.style.setProperty(name, `${value}px`);
    }
    setChildren(titles, [
      [
        "text",
        {
          class: "attention-key attention-chosen",
          x: left + width / 2,
          y: 14,
          "text-anchor": "middle",
        },
        "keys",
      ],
      [
        "text",
        {
          class: "attention-query",
          x: 14,
          y: top + height / 2,
          "text-anchor": "middle",
          transform: `rotate(-90 14 ${top + height / 2})`,
        },
        "queries",
      ],
    ]);
    const seams = [];
    if (side >= 12) {
      for (let i = 1; i < len_q; i += 1) seams.push(`M${left} ${top + i * side}h${width}`);
      for (let j = 1; j < len_k; j += 1) seams.push(`M${left + j * side} ${top}v${height}`);
    }
    setAttributes(lines, { d: seams.join("") });
    return { left, top, side, down, across, flat, height: Math.ceil(top + height + 4) };
  }

  function drawNames({ names: groups, place: { left, top, side, down, across, flat } }) {
    const { query, key } = now;
    setChildren(
      groups.query,
      thinned(down.length, Math.ceil(15 / side), query).map((i) => [
        "text",
        {
          class: i === query ? "attention-query" : null,
          x: left - 8,
          y: top + (i + 0.5) * side + 4.5,
        },
        down[i].text,
      ]),
    );
    setChildren(
      groups.key,
      thinned(across.length, flat ? 1 : Math.ceil(15 / side), key).map((j) => {
        const [x, y] = [left + (j + 0.5) * side, top - 8];
        return [
          "text",
          {
            class: j === key ? "attention-key attention-chosen" : null,
            ...(flat
              ? { x, y, "text-anchor": "middle" }
              : { x: x + 4, y, transform: `rotate(-60 ${x + 4} ${y})` }),
          },
          across[j].text,
        ];
      }),
    );
  }

  function drawNumbers({ numbers, place: { left, top, side } }, { steps, allowed, levels, len_k }) {
    const shown = side < 32 ? [] : [...steps.keys()].filter((i) => allowed[i]);
    setChildren(
      numbers,
      shown.map((i) => [
        "text",
        {
          class: readableOn(color(steps[i] / levels)),
          x: left + ((i % len_k) + 0.5) * side,
          y: top + (Math.floor(i / len_k) + 0.5) * side + 4.5,
        },
        fixed(steps[i] / levels, 2),
      ]),
    );
    numbers.classList.toggle("attention-long", side < ROOMY); // whatever the face
  }

  function drawMarks({ marks, place: { left, top, side, down, across } }) {
    const [x, y] = [left + now.key * side, top + now.query * side];
    const [column, row, ...cell] = marks;
    setAttributes(column, { x, y: top, width: side, height: side * down.length });
    setAttributes(row, { x: left, y, width: side * across.length, height: side });
    for (const mark of cell)
      setAttributes(mark, { x: x - 1, y: y - 1, width: side + 2, height: side + 2 });
  }

  /** Draw a head on a map; what stands as it should is left. */
  function drawMap(one, head) {
    const place = `${one.plot.width} ${drawn.arrangement}`;
    if (place !== one.placed) one.place = fit(one);
    const painted = `${place} ${now.layer} ${head}`;
    if (painted !== one.painted) {
      if (place === one.placed) fadeOut(one.canvas);
      paint(one.canvas, table(head), shades());
      drawNumbers(one, table(head));
    }
    Object.assign(one, { placed: place, painted });
    const title =
      heads > 1 && !now.own
        ? `Weights of ${headName(names, head)}: queries down, keys across`
        : "Weights: queries down, keys across";
    one.plot.setHeight(one.place.height);
    setAttributes(one.plot.svg, { "aria-label": title });
    drawNames(one);
    drawMarks(one);
  }

  /** Show what there is something to show in, each as wide as its place. */
  function arrange() {
    const isOwn = now.own !== null;
    for (const part of [stripPlace, note, ...masked]) part.hidden = isOwn;
    [...sliders, besides].forEach((slider, i) => {
      if (slider) slider.closest("label").hidden = i < 4 ? now.shape[i] < 2 : isOwn;
    });
    lookers.svg.parentNode.hidden = !haveLines(now);
    if (now.beside >= 0) pair.append((second ??= createMap()).frame);
    else second?.frame.remove();
    for (const plot of [lookers, map.plot, second?.plot]) plot?.fit();
  }

  // The cell under the pointer is read; arrow keys go from cell to cell.
  function point({ plot, place }, event) {
    if (event.type === "pointermove" && event.pointerType !== "mouse" && event.buttons === 0)
      return;
    const box = plot.svg.getBoundingClientRect();
    const key = Math.floor((event.clientX - box.left - place.left) / place.side);
    const query = Math.floor((event.clientY - box.top - place.top) / place.side);
    if (key < 0 || key >= now.shape[3] || query < 0 || query >= now.shape[2]) return;
    go({ query, key });
  }
  function go(cell) {
    for (const [trait, position] of Object.entries(cell)) {
      const there = Math.min(Math.max(position, 0), now.shape[AXES.indexOf(trait)] - 1);
      if (there !== model.get(trait)) view.set(trait, there);
    }
  }
  function step(event) {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    const cell = {
      ArrowUp: { query: now.query - 1 },
      ArrowDown: { query: now.query + 1 },
      ArrowLeft: { key: now.key - 1 },
      ArrowRight: { key: now.key + 1 },
      Home: { key: 0 },
      End: { key: now.shape[3] - 1 },
    }[key];
    if (!cell || ctrlKey || altKey || metaKey || shiftKey) return;
    event.preventDefault();
    event.stopPropagation(); // in a notebook, arrows would go to the next cell of the notebook
    go(cell);
  }

  // After the first draw one small head a frame, so that no frame is long.
  let painting = 0;
  const paintSmall = (i) => paint(small[i].picture, table(i), shades());
  function paintFrom(i) {
    if (i === small.length) return;
    painting = requestAnimationFrame(() => {
      paintSmall(i);
      paintFrom(i + 1);
    });
  }
  view.signal.addEventListener("abort", () => cancelAnimationFrame(painting));

  const drawn = {}; // what `known` holds, and what the small canvases show
  view.start(() => {
    now = given(view.state());
    const { layer, head, beside } = now;
    const source = model.get("pasted") || `layer ${layer}`;
    if (source !== drawn.source) {
      known.clear();
      pointed = null;
      cancelAnimationFrame(painting);
    }
    if (!now.own && layer !== drawn.layer) {
      setText(stripName, layers > 1 ? `The heads of layer ${layer}` : "The heads");
      if (drawn.layer === undefined) small.forEach((_, i) => paintSmall(i));
      else paintFrom(0);
    }
    Object.assign(drawn, { source, layer: now.own ? null : layer });
    const arrangement = JSON.stringify([model.get("pasted"), model.get("typed"), beside >= 0]);
    if (arrangement !== drawn.arrangement) arrange();
    drawn.arrangement = arrangement;
    drawMap(map, head);
    if (beside >= 0) drawMap(second, beside);
    small.forEach(({ card }, i) => {
      card.classList.toggle("attention-chosen", i === head);
      card.classList.toggle("attention-beside", i === beside);
    });
    if (!lookers.svg.parentNode.hidden) drawLines();
    const seen = measure(view.state(), table, now);
    show(seen, { weight: seen.masked && seen.weight === 0 ? "masked" : undefined });
    mean(seen.column_mean);
    const column = `Mean of column ${clipped(named(now.key, now.key_tokens), 150).text}`;
    setText(mean.card.firstChild, column);
    setAttributes(mean.card.lastChild, { "aria-label": column });
    view.say(words(view.state(), seen, now), setting(now));
  });
  return view.cleanup;
}

export default { render };
