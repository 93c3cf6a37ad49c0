import { colorMap, createView, element, entropy, fixed, pixelMap, readableOn, setAttributes, setChildren, setText, svg } from "./_shared/index.js";

const TALLEST = 520; // of the cells, in pixels
const LARGEST = 72; // side of a cell
const AXES = ["layer", "head", "query", "key"];
const FEW = 24; // tokens whose lines can be told apart

// ---------------------------------------------------------------- what Python has packed

function bytesOf(data) {
  return data.buffer ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : Uint8Array.from(data);
}

/** Where each head's code words begin, of which order they are, and what a step is. */
export function contents(packed) {
  const bytes = bytesOf(packed);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const tables = [];
  for (let at = 1; at < bytes.length; at += 5 + view.getUint32(at, true)) {
    tables.push({ start: at + 5, order: bytes[at + 4] });
  }
  return { bytes, levels: 2 ** bytes[0] - 1, tables };
}

/** The weights of one head, in steps of 1/levels: exponential Golomb code words. */
export function unpack({ bytes, tables }, number, count) {
  const { start, order } = tables[number];
  const steps = new Int32Array(count);
  let at = start * 8; // in bits
  const next = () => { // 25 bits or more, which is as long as numbers are
    const i = at >>> 3;
    return ((bytes[i] << 24) | (bytes[i + 1] << 16) | (bytes[i + 2] << 8) | bytes[i + 3]) << (at & 7);
  };
  for (let i = 0; i < count; i += 1) {
    const zeros = Math.clz32(next());
    at += zeros;
    const length = zeros + 1 + order;
    steps[i] = (next() >>> (32 - length)) - 2 ** order;
    at += length;
  }
  return steps;
}

/** Whether there is one mask for all heads, and not one each. */
function isShared(bytes, count) {
  return bytes.length === Math.ceil(count / 8);
}

/** For each cell of a head, whether it may be attended to. */
export function unpackMask(packed, number, count) {
  const bytes = bytesOf(packed);
  if (bytes.length === 0) return new Uint8Array(count).fill(1);
  const from = isShared(bytes, count) ? 0 : number * 8 * Math.ceil(count / 8);
  const allowed = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) allowed[i] = (bytes[(from + i) >> 3] >> (7 - ((from + i) & 7))) & 1;
  return allowed;
}

// ---------------------------------------------------------------- numbers and words

/** The numbers of a cell, its row and its column. */
export function measure({ shape: [, heads, len_q, len_k], layer, head, query, key, packed, packed_mask }) {
  const number = layer * heads + head;
  const content = contents(packed);
  const steps = unpack(content, number, len_q * len_k);
  const allowed = unpackMask(packed_mask, number, len_q * len_k);
  return read({ steps, allowed, levels: content.levels, len_k }, query, key);
}

function read({ steps, allowed, levels, len_k }, query, key) {
  const row = Array.from(steps.subarray(query * len_k, (query + 1) * len_k), (step) => step / levels);
  let column = 0;
  for (let i = key; i < steps.length; i += len_k) column += steps[i] / levels;
  const row_max = Math.max(...row);
  return {
    weight: row[key], row_max, row_entropy: entropy(row), effective_keys: Math.exp(entropy(row)),
    column_mean: column / (steps.length / len_k), largest: row.indexOf(row_max),
    masked: allowed[query * len_k + key] === 0,
  };
}

/** A token whose blanks can be seen. */
export function visible(token) {
  return token.replace(/\s/gu, "␣");
}

/** A position with its token, where it has one: 1 “cat”. */
function named(position, tokens) {
  const token = tokens[position];
  return token === String(position) ? token : `${position} “${visible(token)}”`;
}

/** The finding in words; `HeatmapExplorer.words` says the same in Python. */
export function words({ shape, layer, head, query, key, query_tokens, key_tokens }, seen) {
  const where = [shape[0] > 1 && `layer ${layer}`, shape[1] > 1 && `head ${head}`].filter(Boolean).join(", ");
  const asked = `${where && `${where}: `}query ${named(query, query_tokens)}`;
  const told = `key ${named(key, key_tokens)}`;
  let cell = `gives ${told} the weight ${fixed(seen.weight)}.`;
  if (seen.masked) {
    cell = `may not attend to ${told}${seen.weight === 0 ? "." : `, yet gives it the weight ${fixed(seen.weight)}: a leak.`}`;
  }
  const row = seen.row_max === 0 ? "This row has no weight at all."
    : `The largest weight of this row is ${fixed(seen.row_max)}, at key ${named(seen.largest, key_tokens)}; `
      + `its entropy is ${fixed(seen.row_entropy)}, as of ${fixed(seen.effective_keys, 1)} equal weights.`;
  return `${asked[0].toUpperCase()}${asked.slice(1)} ${cell} ${row}`;
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
  return [...places.filter((place) => Math.abs(place - chosen) >= gap), chosen].sort((a, b) => a - b);
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
    if (fine === 1) {
      if (allowed[i]) pixels[i] = shades[Math.round(steps[i] * scale)];
    } else {
      const corner = Math.floor(i / len_k) * fine * width + (i % len_k) * fine;
      for (let part = 0; part < 9; part += 1) {
        if (allowed[i] || (part === 4 && steps[i] > 0)) {
          pixels[corner + Math.floor(part / 3) * width + (part % 3)] = shades[Math.round(steps[i] * scale)];
        }
      }
    }
  }
  context.putImageData(image, 0, 0);
}

/** Whether the tokens are more than numbers. */
function plotsWords({ query, key }) {
  return [...query, ...key].some((token) => !/^\d+$/.test(token));
}

export function render({ model, el }) {
  const view = createView({ model, el }, { label: "Who looks at whom", task: "Point at a word to see where it looks, and who looks at it.", traits: AXES, aside: true });
  const shape = model.get("shape");
  const [layers, heads, len_q, len_k] = shape;
  const tokens = { query: model.get("query_tokens"), key: model.get("key_tokens") };
  const content = contents(model.get("packed"));

  const known = new Map(); // heads of the present layer, unpacked
  function table(layer, head) {
    const number = layer * heads + head;
    if (!known.has(number)) {
      const steps = unpack(content, number, len_q * len_k);
      const allowed = unpackMask(model.get("packed_mask"), number, len_q * len_k);
      const leaks = steps.some((step, i) => step > 0 && !allowed[i]);
      known.set(number, { steps, allowed, leaks, levels: content.levels, len_k });
    }
    return known.get(number);
  }

  // The heatmap: a canvas for the cells, hatched behind, and an SVG above it for all else.
  const plot = view.plot({ height: 100, description: "Weights: queries down, keys across" });
  const map = plot.svg.parentNode;
  const canvas = element("canvas", { class: "attention-cells", "aria-hidden": "true" });
  setAttributes(map, {
    class: "attention-frame attention-map", tabindex: 0, role: "application",
    "aria-label": "Heatmap of weights; arrow keys move from cell to cell",
  });
  map.prepend(canvas);
  const group = (attributes) => plot.svg.appendChild(svg("g", attributes));
  const lines = plot.svg.appendChild(svg("path", { class: "attention-seams" }));
  const numbers = group({ "text-anchor": "middle" });
  const names = { query: group({ "text-anchor": "end" }), key: group({}) };
  const titles = group({});
  const marks = ["attention-key-mark", "attention-query-mark", "attention-halo", "attention-cell"]
    .map((name) => plot.svg.appendChild(svg("rect", { class: name })));

  const shows = [
    ["weight", "Weight"], ["row_max", "Largest in row"], ["row_entropy", "Entropy of row"],
    ["effective_keys", "Effective keys"], ["column_mean", "Mean of column"],
  ].map(([name, title]) => [name, view.readout({ name, label: title })]);
  const legend = element(
    "div", { class: "attention-legend", "aria-hidden": "true" },
    element("span", {}, "0"), element("span", { class: "attention-ramp" }), element("span", {}, "1"),
  );
  if (bytesOf(model.get("packed_mask")).length) {
    legend.append(element("span", { class: "attention-swatch" }), element("span", {}, "masked"));
  }
  view.readouts.append(legend);

  // The tokens in two rows, queries above and keys below, with lines as strong as the weights. A
  // token that is pointed at shows its own alone: a query its row of the map, a key its column.
  const few = Math.max(len_q, len_k) <= FEW && plotsWords(tokens);
  const lookers = few && view.plot({ height: 190, description: "The tokens, queries above and keys below; lines as strong as the weights" });
  const strands = few && lookers.svg.appendChild(svg("g", { class: "attention-strands-of-tokens" }));
  const labels = few && lookers.svg.appendChild(svg("g"));
  let pointed = null; // the token that is pointed at, as [axis, position]
  function drawLines(steps, levels, query) {
    const widths = ["query", "key"].map((kind) => lookers.width / tokens[kind].length);
    const x = (row, i) => (i + 0.5) * widths[row];
    const [axis, position] = pointed ?? ["query", query];
    const here = (i, j) => (axis === "query" ? i === position : j === position);
    setChildren(strands, [...steps.keys()].flatMap((cell) => {
      const [i, j, weight] = [Math.floor(cell / len_k), cell % len_k, steps[cell] / levels];
      if (weight < 0.02 || !here(i, j)) return [];
      const [x1, x2] = [x(0, i), x(1, j)];
      return [["path", { d: `M${x1} 34C${x1} 95 ${x2} 95 ${x2} 156`, "stroke-width": 1 + 7 * weight, "stroke-opacity": 0.25 + 0.75 * weight }]];
    }));
    setChildren(labels, ["query", "key"].flatMap((kind, row) => tokens[kind].flatMap((token, i) => {
      const chosen = kind === axis && i === position;
      const { text } = clipped(visible(token), Math.max(widths[row] - 8, 14));
      const at = { "data-axis": kind, "data-position": i };
      return [
        ["rect", { ...at, x: i * widths[row] + 1, y: row ? 160 : 4, width: widths[row] - 2, height: 28, rx: 6, fill: chosen ? "var(--aw-surface)" : "transparent", stroke: chosen ? `var(--aw-${kind})` : "none" }],
        ["text", { ...at, class: `attention-${kind}${chosen ? " attention-chosen" : ""}`, x: x(row, i), y: row ? 179 : 23, "text-anchor": "middle" }, text],
      ];
    })));
  }
  if (few) {
    const aim = (event) => {
      const { axis, position } = event.target.dataset ?? {};
      if (axis === undefined) return;
      pointed = [axis, Number(position)];
      go({ [axis]: Number(position) });
      redrawLines();
    };
    for (const type of ["pointermove", "pointerdown"]) lookers.svg.addEventListener(type, aim, { signal: view.signal });
    lookers.svg.addEventListener("pointerleave", () => { pointed = null; redrawLines(); }, { signal: view.signal });
    view.stage.prepend(lookers.svg.parentNode);
  }
  function redrawLines() {
    const { steps, levels } = table(model.get("layer"), model.get("head"));
    drawLines(steps, levels, model.get("query"));
  }

  for (const [i, trait] of AXES.entries()) {
    if (shape[i] > 1) {
      const text = tokens[trait] ? (position) => named(position, tokens[trait]) : String;
      view.slider({
        trait, more: i > 1, label: `${trait[0].toUpperCase()}${trait.slice(1)}`, min: 0, max: shape[i] - 1,
        text: (position) => clipped(text(position), 150).text, words: (position) => `${trait} ${text(position)}`,
      });
    }
  }

  // All heads of the layer, small: a click takes one. The slider does the same for keyboards.
  const strip = element("div", { class: "attention-strip", "aria-hidden": "true" });
  const small = heads === 1 ? [] : Array.from({ length: heads }, (_, head) => {
    const picture = element("canvas", { class: "attention-cells" });
    const card = strip.appendChild(element("div", { class: "attention-thumb" }, picture, element("span", {}, String(head))));
    card.addEventListener("click", () => view.set("head", head), { signal: view.signal });
    return { picture, card };
  });
  const stripName = element("p", { class: "attention-name" });
  if (heads > 1) view.readouts.append(element("div", {}, stripName, strip));
  const error = content.levels > 4095 ? "less than 10⁻⁷" : `at most 1/${2 * content.levels}`;
  view.more.place.append(element(
    "p", { class: "attention-note" },
    `The weights have ${content.bytes[0]} bits each: they are rounded by ${error}.`,
  ));

  const place = {}; // of the cells: left, top, side
  const color = colorMap(view.root);
  let pixels;
  const shades = () => (pixels ??= pixelMap(color));

  function fit() {
    const room = Math.min(Math.max(plot.width * 0.28, 70), 124);
    const all = (kind) => tokens[kind].map((token) => clipped(visible(token), Math.min(room - 30, kind === "query" ? Infinity : 84)));
    const [down, across] = [all("query"), all("key")];
    const widest = (labels) => labels.reduce((most, { width }) => Math.max(most, width), 0);
    const left = Math.ceil(widest(down)) + 34;
    const flat = widest(across) + 6 <= Math.min((plot.width - left - 2) / len_k, LARGEST);
    const right = flat ? 2 : widest(across) / 2;
    let side = Math.min((plot.width - left - right) / len_k, TALLEST / len_q, LARGEST);
    if (side >= 4) side = Math.floor(side);
    const top = flat ? 42 : Math.ceil(widest(across) * 0.87) + 34;
    Object.assign(place, {
      left, top, side, down, across, flat, width: plot.width, height: Math.ceil(top + side * len_q + 4),
    });
    const [width, height] = [side * len_k, side * len_q];
    for (const [name, value] of Object.entries({ left, top, width, height })) {
      canvas.style.setProperty(name, `${value}px`);
    }
    setChildren(titles, [
      ["text", { class: "attention-key attention-chosen", x: left + width / 2, y: 14, "text-anchor": "middle" }, "keys"],
      ["text", {
        class: "attention-query", x: 14, y: top + height / 2, "text-anchor": "middle",
        transform: `rotate(-90 14 ${top + height / 2})`,
      }, "queries"],
    ]);
    const seams = [];
    if (side >= 12) {
      for (let i = 1; i < len_q; i += 1) seams.push(`M${left} ${top + i * side}h${width}`);
      for (let j = 1; j < len_k; j += 1) seams.push(`M${left + j * side} ${top}v${height}`);
    }
    setAttributes(lines, { d: seams.join("") });
  }

  function drawNames(query, key) {
    const { left, top, side, down, across, flat } = place;
    setChildren(names.query, thinned(len_q, Math.ceil(15 / side), query).map((i) => ["text", {
      class: i === query ? "attention-query" : null, x: left - 8, y: top + (i + 0.5) * side + 4.5,
    }, down[i].text]));
    setChildren(names.key, thinned(len_k, flat ? 1 : Math.ceil(15 / side), key).map((j) => {
      const [x, y] = [left + (j + 0.5) * side, top - 8];
      return ["text", {
        class: j === key ? "attention-key attention-chosen" : null,
        ...(flat ? { x, y, "text-anchor": "middle" } : { x: x + 4, y, transform: `rotate(-60 ${x + 4} ${y})` }),
      }, across[j].text];
    }));
  }

  function drawNumbers({ steps, allowed, levels }) {
    const { left, top, side } = place;
    const shown = side < 38 ? [] : [...steps.keys()].filter((i) => allowed[i]);
    setChildren(numbers, shown.map((i) => ["text", {
      class: readableOn(color(steps[i] / levels)),
      x: left + (i % len_k + 0.5) * side, y: top + (Math.floor(i / len_k) + 0.5) * side + 4.5,
    }, fixed(steps[i] / levels, 2)]));
  }

  function drawMarks(query, key) {
    const { left, top, side } = place;
    const [x, y] = [left + key * side, top + query * side];
    const [down, across, ...cell] = marks;
    setAttributes(down, { x, y: top, width: side, height: side * len_q });
    setAttributes(across, { x: left, y, width: side * len_k, height: side });
    for (const mark of cell) setAttributes(mark, { x: x - 1, y: y - 1, width: side + 2, height: side + 2 });
  }

  // The cell under the pointer is read; arrow keys go from cell to cell.
  function point(event) {
    if (event.type === "pointermove" && event.pointerType !== "mouse" && event.buttons === 0) return;
    const box = plot.svg.getBoundingClientRect();
    const key = Math.floor((event.clientX - box.left - place.left) / place.side);
    const query = Math.floor((event.clientY - box.top - place.top) / place.side);
    if (key < 0 || key >= len_k || query < 0 || query >= len_q) return;
    go({ query, key });
  }
  function go(cell) {
    for (const [trait, position] of Object.entries(cell)) {
      const most = shape[AXES.indexOf(trait)] - 1;
      const there = Math.min(Math.max(position, 0), most);
      if (there !== model.get(trait)) view.set(trait, there);
    }
  }
  for (const type of ["pointerdown", "pointermove"]) map.addEventListener(type, point, { signal: view.signal });
  map.addEventListener("keydown", (event) => {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    const [row, column] = [model.get("query"), model.get("key")];
    const cell = {
      ArrowUp: { query: row - 1 }, ArrowDown: { query: row + 1 },
      ArrowLeft: { key: column - 1 }, ArrowRight: { key: column + 1 }, Home: { key: 0 }, End: { key: len_k - 1 },
    }[key];
    if (!cell || ctrlKey || altKey || metaKey || shiftKey) return;
    event.preventDefault();
    event.stopPropagation(); // in a notebook, arrows would go to the next cell of the notebook
    go(cell);
  }, { signal: view.signal });

  // After the first draw one small head a frame, so that no frame is long.
  let painting = 0;
  const paintSmall = (layerNow, i) => paint(small[i].picture, table(layerNow, i), shades());
  function paintFrom(layerNow, i) {
    if (i === small.length) return;
    painting = requestAnimationFrame(() => {
      paintSmall(layerNow, i);
      paintFrom(layerNow, i + 1);
    });
  }
  view.signal.addEventListener("abort", () => cancelAnimationFrame(painting));

  const drawn = {}; // what stands on the canvases
  view.start(() => {
    const [layerNow, head, query, key] = AXES.map((trait) => model.get(trait));
    if (layerNow !== drawn.layer) {
      known.clear();
      setText(stripName, layers > 1 ? `The heads of layer ${layerNow}` : "The heads");
      cancelAnimationFrame(painting);
      if (drawn.layer === undefined) small.forEach((_, i) => paintSmall(layerNow, i));
      else paintFrom(layerNow, 0);
    }
    const now = table(layerNow, head);
    const resized = plot.width !== place.width;
    if (resized) fit();
    if (resized || layerNow !== drawn.layer || head !== drawn.head) {
      paint(canvas, now, shades());
      drawNumbers(now);
      small.forEach(({ card }, i) => card.classList.toggle("attention-chosen", i === head));
    }
    Object.assign(drawn, { layer: layerNow, head });
    setAttributes(plot.svg, { height: place.height, viewBox: `0 0 ${plot.width} ${place.height}` });
    drawNames(query, key);
    drawMarks(query, key);
    if (few) view.part("lines", JSON.stringify([lookers.width, layerNow, head, query, pointed]), redrawLines);
    const seen = read(now, query, key);
    for (const [name, show] of shows) {
      show(seen[name], name === "weight" && seen.masked && seen.weight === 0 ? "masked" : undefined);
    }
    view.say(words({ shape, layer: layerNow, head, query, key, query_tokens: tokens.query, key_tokens: tokens.key }, seen));
  });
  return view.cleanup;
}

export default { render };
