import {
  createView,
  fixed,
  label,
  readTable,
  setAttributes,
  setChildren,
  short,
  softmax,
  svg,
  writeTable,
} from "./_shared/index.js";

const WORDS = ["it", "animal", "street"];
const MATRICES = [
  ["W_q", "query", "queries"],
  ["W_k", "key", "keys"],
  ["W_v", "value", "values"],
];
const STEP = 0.5; // of an entry, and its bounds
const MOST = 5;
const [TOP, CELL, BELOW] = [26, 56, 40]; // of a matrix, in pixels, and what its button takes
const ROW = 62; // from word to word

const times = (rows, matrix) =>
  rows.map((row) => [0, 1].map((j) => row[0] * matrix[0][j] + row[1] * matrix[1][j]));

/** Queries, keys and values of the words, the weights of each word's lookup, and what it gets. */
export function measure({ W_q, W_k, W_v, vectors }) {
  const [queries, keys, values] = [W_q, W_k, W_v].map((matrix) => times(vectors, matrix));
  const weights = queries.map((query) =>
    softmax(keys.map((key) => (query[0] * key[0] + query[1] * key[1]) / Math.SQRT2)),
  );
  const output = weights.map((row) =>
    [0, 1].map((j) => row.reduce((sum, weight, i) => sum + weight * values[i][j], 0)),
  );
  return { queries, keys, values, weights, output };
}

/** The finding in words. */
export function words({ weights }) {
  const isDone = weights[0][1] > 0.5 && weights[1][0] > 0.5;
  const looks = weights.map((row, i) => {
    const most = Math.max(...row);
    if (most - Math.min(...row) < 0.01) return `“${WORDS[i]}” at all three alike`;
    const found = row.indexOf(most);
    return `“${WORDS[i]}” at ${found === i ? "itself" : `“${WORDS[found]}”`} (${fixed(most, 2)})`;
  });
  const done = isDone ? "Done: “it” and “animal” have found each other. " : "";
  return `${done}Each looks most: ${looks.join(", ")}.`;
}

const pair = (numbers) =>
  `(${numbers.map((number) => short(Number(number.toFixed(2)), 4)).join(",\u00a0")})`;

/** A matrix whose entries are set by a press on their upper or lower half, or by the arrow keys. */
function createMatrix(view, plot, trait, kind) {
  const place = plot.svg.appendChild(svg("g"));
  const still = place.appendChild(svg("g"));
  const cells = place.appendChild(svg("g"));
  const add = (i, j, by) => {
    const matrix = view.state()[trait].map((row) => [...row]);
    matrix[i][j] = Math.min(Math.max(matrix[i][j] + by, -MOST), MOST);
    view.set(trait, matrix);
  };
  const at = (node) => [...cells.children].indexOf(node);
  const on = (type, listener) => cells.addEventListener(type, listener, { signal: view.signal });
  const exchange = () =>
    view.set(
      trait,
      view.state()[trait].map(([one, two]) => [two, one]),
    );
  on("click", (event) => {
    const number = at(event.target);
    if (number === 4) exchange();
    else if (number >= 0) {
      const { top, height } = event.target.getBoundingClientRect();
      add(number >> 1, number & 1, event.clientY < top + height / 2 ? STEP : -STEP);
    }
  });
  on("keydown", (event) => {
    const number = at(event.target);
    const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    const end = { Home: -2 * MOST, End: 2 * MOST }[event.key];
    const isPressed = number === 4 && ["Enter", " "].includes(event.key);
    if (!isPressed && (number === 4 || !(way || end))) return;
    event.preventDefault();
    if (isPressed) exchange();
    else add(number >> 1, number & 1, end ?? way * STEP);
  });
  return (x, cell, drawn, set) => {
    setAttributes(place, { transform: `translate(${x} ${TOP})` });
    const text = (across, down, said, more) => [
      "text",
      { x: across, y: down, "text-anchor": "middle", ...more },
      said,
    ];
    const spots = [0, 1, 2, 3].map((number) => [(number & 1) * cell, (number >> 1) * CELL]);
    setChildren(still, [
      text(cell, -9, `W_${trait.at(-1)}`, { class: `attention-${kind}` }),
      ...spots.flatMap(([left, top], number) => {
        const middle = left + cell / 2;
        const mark = { class: "attention-muted attention-small", "data-live": true };
        return [
          [
            "rect",
            {
              x: left + 1,
              y: top + 1,
              width: cell - 2,
              height: CELL - 2,
              rx: 5,
              class: `attention-box attention-${kind}`,
            },
          ],
          text(middle, top + CELL / 2 + 5, short(drawn.flat()[number])),
          text(middle, top + 13, "+", mark),
          text(middle, top + CELL - 6, "−", mark),
        ];
      }),
      text(cell, 2 * CELL + 25, cell > 50 ? "⇄ columns" : "⇄", { "data-live": true }),
    ]);
    setChildren(cells, [
      ...spots.map(([left, top], number) => [
        "rect",
        {
          x: left + 1,
          y: top + 1,
          width: cell - 2,
          height: CELL - 2,
          class: "attention-press",
          "data-live": true,
          tabindex: "0",
          role: "spinbutton",
          "aria-label": `${trait}, row ${(number >> 1) + 1}, column ${(number & 1) + 1}`,
          "aria-valuenow": String(set.flat()[number]),
          "aria-valuemin": String(-MOST),
          "aria-valuemax": String(MOST),
        },
      ]),
      [
        "rect",
        {
          x: 4,
          y: 2 * CELL + 5,
          width: 2 * cell - 8,
          height: 32,
          rx: 8,
          class: "attention-press attention-swap",
          "data-live": true,
          tabindex: "0",
          role: "button",
          "aria-label": `Swap the columns of ${trait}`,
        },
      ],
    ]);
  };
}

export function render({ model, el }) {
  const view = createView(
    { model, el },
    {
      label: "One head and its matrices",
      task: "Make “it” and “animal” find each other.",
      traits: MATRICES.map(([trait]) => trait),
      given: ["vectors"],
    },
  );
  const plot = view.plot({
    height: 400,
    description:
      "Three matrices; below them three words that ask, with lines as thick as weights to the words that they find",
  });
  setAttributes(plot.svg, { role: "group" }); // what is in a picture cannot have the focus
  const lines = plot.svg.appendChild(
    svg("g", {
      class: "attention-strands attention-line attention-weight",
      "data-part": "weights",
    }),
  );
  const names = plot.svg.appendChild(svg("g"));
  const matrices = MATRICES.map(([trait, kind]) => createMatrix(view, plot, trait, kind));

  const pairs = WORDS.flatMap((_, i) => WORDS.map((_, j) => [i, j]));
  const numbers = view.numbers(
    Object.fromEntries([
      ...pairs.map(([i, j]) => [`weight_${i}_${j}`, `“${WORDS[i]}” looks at “${WORDS[j]}”`]),
      ...WORDS.flatMap((word, i) =>
        [0, 1].map((j) => [`output_${i}_${j}`, `“${word}” gets, ${j + 1}`]),
      ),
    ]),
  );
  for (const [trait, , many] of MATRICES)
    view.field({
      trait,
      label: `${trait}, which makes the ${many}: two lines of two numbers from −5 to 5`,
      rows: 2,
      write: writeTable,
      read: (text) => readTable(text, { rows: 2, columns: 2, min: -MOST, max: MOST }),
    });

  view.start(() => {
    const settings = view.state();
    const set = MATRICES.map(([trait]) => settings[trait]);
    const drawn = view.glide("matrices", set);
    const [W_q, W_k, W_v] = drawn;
    const now = measure({ W_q, W_k, W_v, vectors: settings.vectors });
    const { width } = plot;
    const cell = Math.min((width - 40) / 6, 72);
    const gap = Math.min((width - 6 * cell) / 2 - 2, 60);
    const start = (width - 6 * cell - 2 * gap) / 2;
    matrices.forEach((draw, i) => draw(start + i * (2 * cell + gap), cell, drawn[i], set[i]));

    const top = TOP + 2 * CELL + BELOW + 20;
    const isNarrow = width < 300; // smaller letters leave the lines some room
    const small = isNarrow ? " attention-small" : "";
    const asks = isNarrow ? 98 : Math.min(Math.max(0.36 * width, 150), 200);
    const found = width - (isNarrow ? 93 : Math.min(Math.max(0.3 * width, 110), 200));
    const line = (i) => top + (i + 0.5) * ROW;
    setChildren(
      lines,
      pairs.map(([i, j]) => {
        const middle = (asks + found) / 2;
        return [
          "path",
          {
            d: `M${asks + 6} ${line(i)}C${middle} ${line(i)} ${middle} ${line(j)} ${found - 6} ${line(j)}`,
            "stroke-width": 0.5 + 15 * now.weights[i][j],
            "stroke-opacity": 0.75,
          },
        ];
      }),
    );
    setChildren(
      names,
      WORDS.flatMap((word, i) => [
        label(word, "chosen", asks - 8, line(i) - 12, "end"),
        label(`asks ${pair(now.queries[i])}`, `query${small}`, asks - 8, line(i) + 5, "end"),
        label(`gets ${pair(now.output[i])}`, `output${small}`, asks - 8, line(i) + 22, "end"),
        label(word, "chosen", found + 8, line(i) - 12, "start"),
        label(`key ${pair(now.keys[i])}`, `key${small}`, found + 8, line(i) + 5, "start"),
        label(`value ${pair(now.values[i])}`, `value${small}`, found + 8, line(i) + 22, "start"),
      ]),
    );
    plot.setHeight(top + 3 * ROW + 4);
    if (!view.hasArrived()) return;
    const { weights, output } = measure(settings);
    numbers(
      Object.fromEntries([
        ...pairs.map(([i, j]) => [`weight_${i}_${j}`, weights[i][j]]),
        ...output.flatMap((row, i) => row.map((number, j) => [`output_${i}_${j}`, number])),
      ]),
    );
    view.say(
      words({ weights }),
      MATRICES.map(([trait], i) => `${trait} = (${set[i].map(pair).join(", ")})`).join(", ") + ".",
    );
  });
  return view.cleanup;
}

export default { render };
