import {
  bytesOf,
  colorMap,
  createView,
  element,
  fadeOut,
  packedHeads,
  pixelMap,
  setAttributes,
  setChildren,
  setText,
  svg,
} from "./_shared/index.js";
import { TALLEST, clipped, paint, fit, drawNames, drawNumbers, drawMarks } from "./_heatmap/map.js";
import {
  AXES,
  readWeights,
  given,
  tableOf,
  measure,
  visible,
  named,
  headName,
  words,
  setting,
} from "./_heatmap/numbers.js";

const FEW = 24; // tokens whose lines can be told apart

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
      lines: plot.svg.appendChild(
        svg("path", { class: "attention-line attention-paper attention-thin" }),
      ),
      numbers: group({ "text-anchor": "middle" }),
      names: { query: group({ "text-anchor": "end" }), key: group({}) },
      titles: group({}),
      marks: ["attention-dashed", "", "attention-halo", "attention-cell"].map((name) =>
        plot.svg.appendChild(svg("rect", { class: name })),
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
  looks.append(legend);

  // The tokens in two columns, queries and keys, with lines as strong as the weights. A token that is
  // pointed at shows its own alone: a query its row of the map, a key its column.
  const lookers = view.plot({
    height: 190,
    parent: looks,
    description: "The tokens, queries left and keys right; lines as strong as the weights",
  });
  const strands = lookers.svg.appendChild(
    svg("g", { class: "attention-strands attention-line attention-weight" }),
  );
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
  function pointAt(axis, position) {
    pointed = [axis, position];
    go({ [axis]: position });
    view.again();
  }
  const aim = (event) => {
    const { axis, position } = event.target.dataset ?? {};
    if (axis !== undefined) pointAt(axis, Number(position));
  };
  for (const type of ["pointermove", "pointerdown"])
    lookers.svg.addEventListener(type, aim, { signal: view.signal });
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
  const stripPlace = element("div", { class: "attention-heads" }, stripName, strip);
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

  /** Draw a head on a map; what stands as it should is left. */
  function drawMap(one, head) {
    const place = `${one.plot.width} ${drawn.arrangement}`;
    if (place !== one.placed) one.place = fit(one, now);
    const painted = `${place} ${now.layer} ${head}`;
    if (painted !== one.painted) {
      if (place === one.placed) fadeOut(one.canvas);
      paint(one.canvas, table(head), shades());
      drawNumbers(one, table(head), color);
    }
    Object.assign(one, { placed: place, painted });
    const title =
      heads > 1 && !now.own
        ? `Weights of ${headName(names, head)}: queries down, keys across`
        : "Weights: queries down, keys across";
    one.plot.setHeight(one.place.height);
    setAttributes(one.plot.svg, { "aria-label": title });
    drawNames(one, now);
    drawMarks(one, now);
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

  // The cell under the pointer is read, or a row or a column at its name; arrow keys go from cell to
  // cell.
  function point({ plot, place }, event) {
    if (event.type === "pointermove" && event.pointerType !== "mouse" && event.buttons === 0)
      return;
    const box = plot.svg.getBoundingClientRect();
    const key = Math.floor((event.clientX - box.left - place.left) / place.side);
    const query = Math.floor((event.clientY - box.top - place.top) / place.side);
    const [isRow, isColumn] = [query >= 0 && query < now.shape[2], key >= 0 && key < now.shape[3]];
    if (isRow && key < 0) pointAt("query", query);
    if (isColumn && query < 0) pointAt("key", key);
    if (!isRow || !isColumn) return;
    pointed = null;
    go({ query, key });
    view.again();
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
    pointed = null;
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
    const measured = measure(view.state(), table, now);
    show(measured, { weight: measured.masked && measured.weight === 0 ? "masked" : undefined });
    mean(measured.column_mean);
    const column = `Mean of column ${clipped(named(now.key, now.key_tokens), 150).text}`;
    setText(mean.card.firstChild, column);
    setAttributes(mean.card.lastChild, { "aria-label": column });
    view.say(words(view.state(), measured, now, pointed?.[0]), setting(now));
  });
  return view.cleanup;
}

export default { render };
