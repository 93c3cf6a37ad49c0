// The picture of a sentence: its words, and the arcs by which one of them reads the others.

import { breadth, fixed } from "../_shared/index.js";

const LETTER = 18; // a word's size where there is room
const TOP = 40; // a step's line of words stands there
const ROW = 34; // from word to word where they stand in a column
const SHOWN = 0.05; // the least weight that is drawn
const NUMBER = 1.75; // the breadth of a weight below its word, in the word's heights

/** Where the words stand: side by side where there is room, else one below the other. */
export function placeWords(words, width) {
  const wide = (word, size) => (Math.max(breadth(word), NUMBER) + 0.55) * size;
  const whole = words.reduce((sum, word) => sum + wide(word, 1), 0);
  const size = Math.min(width / whole, LETTER);
  if (size >= 13.5) {
    const air = Math.min((width - whole * size) / words.length, 14);
    let x = (width - whole * size - air * words.length) / 2;
    const [above, high, below] = [150, 46, 90];
    const boxes = words.map((word) => {
      const long = wide(word, size) + air;
      x += long;
      return { x: x - long, y: TOP + above, width: long, height: high, middle: x - long / 2 };
    });
    return { words, width, height: TOP + above + high + below, size, inRow: true, boxes };
  }
  const long = Math.max(...words.map((word) => wide(word, 17))) + 44; // and a number beside it
  const x = Math.max(width * 0.28, 70);
  const boxes = words.map((_, i) => ({
    x,
    y: TOP + i * ROW,
    width: Math.min(long, width - x - 60),
    height: ROW - 4,
    middle: TOP + i * ROW + ROW / 2 - 2,
  }));
  return {
    words,
    width,
    height: TOP + 24 + ROW * words.length,
    size: 17,
    inRow: false,
    boxes,
  };
}

/** An arc from word to word: on the `near` side above the words, or left of their column; else on the
    other. It begins at the word `from`. */
function arc({ boxes, inRow, width }, from, to, near) {
  const [a, b] = [boxes[from], boxes[to]];
  const far = Math.abs(a.middle - b.middle);
  if (inRow) {
    const y = near ? a.y : a.y + a.height;
    const rise = (near ? -1 : 1) * Math.min(36 + far * 0.3, near ? 188 : 108);
    if (from === to)
      return `M${a.middle - 7} ${y}C${a.middle - 30} ${y + rise} ${a.middle + 30} ${y + rise} ${a.middle + 7} ${y}`;
    return `M${a.middle} ${y}C${a.middle} ${y + rise} ${b.middle} ${y + rise} ${b.middle} ${y}`;
  }
  const x = near ? a.x + a.width : a.x;
  const room = near ? width - x : x;
  const out = (near ? 1 : -1) * Math.min(30 + far * 0.4, room * 1.25);
  const [y1, y2] = from === to ? [a.middle - 7, a.middle + 7] : [a.middle, b.middle];
  return `M${x} ${y1}C${x + out} ${y1} ${x + out} ${y2} ${x} ${y2}`;
}

/**
 * Arcs as marks for `setChildren`. Of `ways` each has `weights` of the word `it`, a `side` (near is
 * true), a `role` that gives the colour, and `grown`, 0 to 1, how much of its arcs is drawn: what is
 * read comes from the other word to *it*; the answer goes out from *it*.
 */
export function arcMarks(places, it, ways) {
  return ways.flatMap(({ weights, near, role, grown }) =>
    weights.flatMap((weight, place) => {
      if (weight < SHOWN || grown <= 0) return [];
      const [from, to] = role === "output" ? [it, place] : [place, it];
      return [
        [
          "path",
          {
            d: arc(places, from, to, near),
            pathLength: 1,
            "stroke-dasharray": grown < 1 ? `${grown.toFixed(3)} 2` : null,
            "data-strand": role,
            "stroke-width": 1 + 13 * weight,
            "stroke-opacity": 0.75 + 0.25 * weight,
          },
        ],
      ];
    }),
  );
}

/** Words and numbers as marks: `numbers` are weights to write, none where they are not drawn yet; the
    word that asks and the one that is `meant` stand out; `exchanged` are those that can be. */
export function wordMarks({ words, boxes, inRow, size }, { asking, meant, numbers, exchanged }) {
  return words.flatMap((word, i) => {
    const { x, y, width, height } = boxes[i];
    const letters = i ? size : Math.min(size, 14);
    const base = inRow ? y + 21 : y + height / 2 + size * 0.35;
    const number = inRow
      ? { x: x + width / 2, y: y + 39, "text-anchor": "middle" }
      : { x: x + width - 8, y: base, "text-anchor": "end" };
    const long = breadth(word) * letters;
    const left = inRow ? x + width / 2 - long / 2 : x + 8;
    const weight = numbers?.[i] ?? 0;
    return [
      [
        "rect",
        {
          x: x + 1,
          y,
          width: width - 2,
          height,
          rx: 7,
          class: "attention-word",
          "data-asks": String(i === asking),
          "data-meant": String(i === meant),
          "data-place": i,
          ...(exchanged[i] && {
            tabindex: 0,
            role: "button",
            "aria-haspopup": "listbox",
            "aria-label": `Exchange “${word}”`,
          }),
        },
      ],
      [
        "path",
        {
          d: `M${left.toFixed(1)} ${base + 5}h${long.toFixed(1)}`,
          class: "attention-exchanged",
          "data-live": true,
          visibility: exchanged[i] ? null : "hidden",
        },
      ],
      [
        "text",
        {
          x: inRow ? x + width / 2 : left,
          y: base,
          "text-anchor": inRow ? "middle" : "start",
          "font-size": letters,
          class: `attention-cell${i === asking ? " attention-query" : ""}${i === meant ? " attention-output" : ""}${i ? "" : " attention-muted"}`,
        },
        word,
      ],
      [
        "text",
        {
          ...number,
          class: "attention-muted",
          "data-readout": `weight_${i}`,
          "data-value": numbers ? String(weight) : "",
        },
        numbers && weight >= 0.005 ? fixed(weight, 2) : "\u00a0",
      ],
    ];
  });
}

/** What the step shows, in a line of words above the picture (in two where it is narrow), and the
    names of the layers beside their arcs. */
export function titleMarks({ width, height, inRow, boxes }, [first, then = ""], grown) {
  const names = inRow
    ? [
        { x: 0, y: boxes[0].y + boxes[0].height + 34 },
        { x: 0, y: boxes[0].y - 26 },
      ]
    : [
        { x: 0, y: height - 6 },
        { x: width, y: height - 6, "text-anchor": "end" },
      ];
  const lines = inRow ? [`${first} ${then}`.trim()] : [first, then];
  return [
    ...lines.map((line, i) => [
      "text",
      {
        x: width / 2,
        y: 18 + 17 * i,
        "text-anchor": "middle",
        "font-size": Math.min(inRow ? 20 : 16, (0.96 * width) / breadth(line || "x")),
        class: "attention-cell attention-answer",
      },
      line,
    ]),
    ...names.map((place, i) => [
      "text",
      { ...place, class: "attention-muted", opacity: grown[i] },
      `layer ${i + 1}`,
    ]),
  ];
}
