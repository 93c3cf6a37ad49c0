import {
  attend,
  createView,
  fixed,
  linear,
  mixture,
  numbersOf,
  setChildren,
  sinusoid,
  softmax,
  svg,
} from "./_shared/index.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const [CELL, ABOVE, BELOW] = [22, 48, 42]; // pixels of a letter's height, and of the lines over and under it
const [LEAST, MOST] = [13.5, 34]; // pixels from letter to letter

// ---------------------------------------------------------------- the network

/** The matrices, (out, in) as in nn.Linear, in the order in which Python packs them. */
export function unpackCopier({ packed, bits, width, layers }) {
  const numbers = numbersOf(packed, bits);
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const embedding = take(LETTERS.length * width);
  const matrices = () => ({
    W_q: take(width * width),
    W_k: take(width * width),
    W_v: take(width * width),
    W_o: take(width * width),
  });
  return {
    width,
    embedding,
    layers: Array.from({ length: layers }, matrices),
    W_u: take(LETTERS.length * width),
  };
}

/** The letters of a text; an Error in a sentence if there are none or too many. */
export function parse(text, { longest }) {
  const letters = text.toLowerCase().replace(/[^a-z]/g, "");
  if (letters === "") throw new Error("There is no letter from a to z in it.");
  if (letters.length > longest)
    throw new Error(`These are ${letters.length} letters; the network reads at most ${longest}.`);
  return letters;
}

/** What the network computes: each layer's weights, a row a letter that ends with itself, and at
    each letter the probabilities of the next. With `without`, that layer (from 1) adds nothing. */
export function measure(state, { width, embedding, layers, W_u } = unpackCopier(state)) {
  const letters = parse(state.text, state);
  const x = [...letters].map((letter, place) =>
    sinusoid(place, width).map(
      (position, i) => embedding[LETTERS.indexOf(letter) * width + i] + 2 * position,
    ),
  );
  const weights = layers.map(({ W_q, W_k, W_v, W_o }, layer) => {
    const [queries, keys, values] = [W_q, W_k, W_v].map((matrix) => linear(x, matrix));
    const looks = queries.map(
      (query, place) => attend([query], keys.slice(0, place + 1), 0, width).weights[0],
    );
    if (state.without !== layer + 1) {
      linear(mixture(looks, values), W_o).forEach((row, place) =>
        row.forEach((number, i) => {
          x[place][i] += number;
        }),
      );
    }
    return looks;
  });
  return { letters, weights, probabilities: linear(x, W_u).map((scores) => softmax([...scores])) };
}

/** What is drawn: the letter that asks, where layer 2 looks from there, and where layer 1 looks from
    the letter that is looked at most. */
function hopsOf({ place }, { letters, weights, probabilities }) {
  const asking = place < 0 || place >= letters.length ? letters.length - 1 : place;
  const second = weights.at(-1)[asking];
  const target = second.indexOf(Math.max(...second));
  const first = weights[0][target];
  const next = probabilities[asking];
  const most = next.indexOf(Math.max(...next));
  return { asking, second, target, first, before: first.indexOf(Math.max(...first)), next, most };
}

/** Whether a text of the reader's own is copied: the letter that comes stood after the same one before. */
const isCopied = ({ letters }, { asking, target, before, next, most }) =>
  before < asking &&
  letters[before] === letters[asking] &&
  letters[target] === LETTERS[most] &&
  next[most] > 0.5;

/** The finding in words. */
export function words({ without, text }, measured, hops, begun = text) {
  const { letters } = measured;
  const { asking, second, target, first, before, next, most } = hops;
  const off = without ? ` Layer ${without} is switched off: it looks, but adds nothing.` : "";
  const done = text !== begun && isCopied(measured, hops) ? " Done: it copies your text." : "";
  return (
    `In layer 2, “${letters[asking]}” looks most at “${letters[target]}” (${fixed(second[target], 2)}), ` +
    `which in layer 1 looked most at “${letters[before]}” (${fixed(first[before], 2)}): ` +
    `next comes “${LETTERS[most]}” (probability ${fixed(next[most], 2)}).${off}${done}`
  );
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const traits = ["text", "place", "without"];
  const view = createView(
    { model, el },
    {
      label: "Two heads that copy",
      task: "Type a text that says something twice, and stop in the middle.",
      traits,
      given: ["packed", "bits", "width", "layers", "longest"],
    },
  );
  const first = view.state();
  const copier = unpackCopier(first);
  let measured = measure(first, copier);

  view.field({
    trait: "text",
    label: `Your text, up to ${first.longest} letters from a to z`,
    more: false,
    write: String,
    read: (text) => parse(text, first),
    take: (text) => view.setAll({ text, place: -1 }),
  });

  const plot = view.plot({
    height: 200,
    description:
      "The letters; lines over them show where layer 2 looks, lines under them where layer 1 looked",
  });
  const [lines, boxes] = [svg("g"), svg("g")];
  plot.svg.append(lines, boxes);
  const bars = view.plot({
    height: 92,
    description: "The probability of each of the 26 letters to come next",
  });
  const show = view.numbers({
    next: "Next letter",
    probability: "Probability",
    second: "Layer 2, largest weight",
    first: "Layer 1, largest weight there",
  });

  // As few rows as there is room for, and all of one length: of the letters and the one that comes.
  const places = () => measured.letters.length + 1;
  const rows = () => Math.ceil((places() * LEAST) / plot.width);
  const columns = () => Math.ceil(places() / rows());
  const across = () => Math.min(plot.width / columns(), MOST); // from letter to letter
  const at = (place) => [
    ((place % columns()) + 0.5) * across(),
    ABOVE + Math.floor(place / columns()) * (ABOVE + CELL + BELOW),
  ];
  plot.svg.addEventListener(
    "click",
    (event) => {
      const [x, y] = plot.under(event);
      const place = Math.floor(x / across()) + columns() * Math.floor(y / (ABOVE + CELL + BELOW));
      if (x < columns() * across() && place < measured.letters.length) view.set("place", place);
    },
    { signal: view.signal },
  );
  view.choice({
    trait: "without",
    label: "At work",
    options: [
      [0, "both layers"],
      [1, "not layer 1"],
      [2, "not layer 2"],
    ],
  });
  view.slider({
    trait: "place",
    label: "Letter that asks",
    min: 0,
    max: () => measured.letters.length - 1,
    more: true,
    position: (place) => hopsOf({ place }, measured).asking,
    text: (place) =>
      `${measured.letters[hopsOf({ place }, measured).asking]}, letter ${hopsOf({ place }, measured).asking + 1}`,
  });

  /** Lines from one letter to others, as thick as the weights; `side` is −1 above and 1 below. A line to
      another row runs between the rows, so that it crosses no letter. */
  function strands(from, weights, side) {
    const edge = side < 0 ? 0 : CELL;
    const [x1, y1] = at(from);
    return weights.flatMap((weight, key) => {
      if (weight < 0.03) return [];
      const [x2, y2] = at(key);
      if (y1 !== y2) {
        const [top, low] = y1 < y2 ? [y1 + CELL, y2] : [y1, y2 + CELL];
        const middle = (top + low) / 2;
        return [strand(`M${x1} ${top}C${x1} ${middle} ${x2} ${middle} ${x2} ${low}`, weight)];
      }
      const bend = side * Math.min(12 + Math.abs(x2 - x1) / 6, side < 0 ? ABOVE - 4 : BELOW - 12);
      const d =
        key === from
          ? `M${x1 - 5} ${y1 + edge}c-9 ${side * 20} 19 ${side * 20} 10 0`
          : `M${x1} ${y1 + edge}C${x1} ${y1 + edge + bend} ${x2} ${y2 + edge + bend} ${x2} ${y2 + edge}`;
      return [strand(d, weight)];
    });
  }
  const strand = (d, weight) => [
    "path",
    {
      d,
      fill: "none",
      stroke: "var(--aw-weight)",
      "stroke-width": 0.75 + 5.5 * weight,
      "stroke-linecap": "round",
    },
  ];

  view.start(() => {
    const state = view.state();
    view.part("reading", `${state.text} ${state.without}`, () => {
      measured = measure(state, copier);
    });
    const hops = hopsOf(state, measured);
    plot.setHeight(rows() * (ABOVE + CELL + BELOW));
    setChildren(lines, [
      ...strands(hops.asking, view.glide("second", hops.second), -1),
      ...strands(hops.target, view.glide("first", hops.first), 1),
      ...["layer 2", "layer 1"].map((name, i) => [
        "text",
        {
          x: 0,
          y: i ? ABOVE + CELL + BELOW - 3 : 12,
          class: "attention-muted",
          visibility: rows() > 1 ? "hidden" : null,
        },
        name,
      ]),
    ]);
    const cell = (place, letter, role, rest) => {
      const [x, y] = at(place);
      return [
        [
          "rect",
          {
            x: x - across() / 2 + 0.75,
            y,
            width: across() - 1.5,
            height: CELL,
            rx: 4,
            fill: "var(--aw-paper)",
            stroke: `var(--aw-${role})`,
            "stroke-width": role === "grid" ? 1 : 2,
            ...rest,
          },
        ],
        [
          "text",
          {
            x,
            y: y + CELL - 6,
            "text-anchor": "middle",
            class: role === "grid" ? null : `attention-${role}`,
          },
          letter,
        ],
      ];
    };
    const isLast = hops.asking === measured.letters.length - 1;
    setChildren(boxes, [
      ...[...measured.letters].flatMap((letter, place) => {
        const looked = place === hops.target || place === hops.before ? "weight" : "grid";
        return cell(place, letter, place === hops.asking ? "query" : looked);
      }),
      // The guess stands where it would go on.
      ...(isLast
        ? cell(measured.letters.length, LETTERS[hops.most], "output", { "stroke-dasharray": "3 2" })
        : []),
    ]);
    const step = bars.width / LETTERS.length;
    setChildren(
      bars.svg,
      view.glide("next", hops.next).flatMap((probability, i) => [
        [
          "rect",
          {
            x: i * step + 1,
            y: 72 - 70 * probability,
            width: step - 2,
            height: 70 * probability,
            fill: "var(--aw-output)",
          },
        ],
        [
          "text",
          {
            x: (i + 0.5) * step,
            y: 87,
            "text-anchor": "middle",
            class: i === hops.most ? "attention-chosen" : "attention-muted",
          },
          LETTERS[i],
        ],
      ]),
    );
    if (!view.hasArrived()) return;
    const { most, next, second, target, first: other, before } = hops;
    show(
      { next: most, probability: next[most], second: second[target], first: other[before] },
      { next: LETTERS[most] },
    );
    view.say(words(state, measured, hops, first.text));
  });
  return view.cleanup;
}

export default { render };
