// The picture of a sentence: its words, and the arcs by which one of them reads the others.

import { breadth, fixed } from "../_shared/index.js";
import { PAIR } from "./cuts.js";

const [SMALLEST, LARGEST, IN_LINES] = [14.5, 25, 20]; // sizes of the words: in one row, or in lines
const AIR = 0.55; // beside a word, in its heights
const PILL = 0.9; // beside a word of the pair, which can be pressed
const NUMBER = 1.75; // the breadth of a weight below its word, in the word's heights
const SLACK = 0.5; // by which a line may be longer than the narrowest lines
const SHOWN = 0.05; // the least weight that is drawn
const ANSWERS = 3; // at most so many words that *it* may mean have an arc

/** The place of the word that stands with its rival, side by side; -1 where none does. */
export const pillPlace = (words, exchanged) =>
  words.findLastIndex((word, i) => exchanged[i] && PAIR.includes(word));

const capital = (word) => `${word[0].toUpperCase()}${word.slice(1)}`;

/** What is written at each place: one word, or a pair of which one holds. */
function tokensOf(words, pill, isNothingSeen) {
  return words.map((word, i) => {
    if (i === 0) return { all: isNothingSeen ? [word] : [] };
    return i === pill ? { all: PAIR, pair: true } : { all: [i === 1 ? capital(word) : word] };
  });
}

/** How long a token is, in heights of its letters; and one word of it. */
const longOf = ({ all, pair }) => all.reduce((sum, word) => sum + longOne(word, pair), 0);
const longOne = (word, pair) =>
  pair ? breadth(word) + PILL : Math.max(breadth(word), NUMBER) + AIR;

/** Tokens in lines no longer than `room`, and little more uneven than they must be: with the slack the
    front page's *it* ends its line, on every phone, and no arc from above passes behind a word. */
function linesOf(tokens, room) {
  const fill = (width) => {
    const lines = [[]];
    let left = width;
    tokens.forEach((token, i) => {
      if (longOf(token) > left && lines.at(-1).length > 0) {
        lines.push([]);
        left = width;
      }
      left -= longOf(token);
      lines.at(-1).push(i);
    });
    return lines;
  };
  const count = fill(room).length;
  let width = room;
  while (width > 4 && fill(width - 0.05).length === count) width -= 0.05;
  return fill(Math.min(width + SLACK, room));
}

/**
 * Where the words stand: side by side where there is room, else in lines. `pill` is the place of a
 * word that stands with its rival; the place before the sentence is seen only with `isNothingSeen`.
 * `asking` is the word from which reading goes out, under its line; the answer goes over that of *it*.
 */
export function placeWords(words, width, { pill = -1, isNothingSeen = true, asking = 0 } = {}) {
  const tokens = tokensOf(words, pill, isNothingSeen);
  const whole = tokens.reduce((sum, token) => sum + longOf(token), 0);
  const isRow = width / whole >= SMALLEST;
  const size = isRow ? Math.min(width / whole, LARGEST) : IN_LINES;
  const lines = isRow ? [tokens.map((_, i) => i)] : linesOf(tokens, width / size);
  const room = isRow ? Math.min(Math.max(width * 0.11, 84), 120) : 54; // for arcs, above and below
  const above = lines[0].includes(words.indexOf("it")) ? room : 10;
  const below = lines.at(-1).includes(asking) ? room * 0.85 : 8;
  const base = size * 1.1; // of the letters, below a word's upper edge
  const [high, pillHigh] = [size * 1.3 + 17, size * 1.25 + 12];
  const boxes = [];
  lines.forEach((line, number) => {
    const top = above + number * (high + room);
    let x = (width - line.reduce((sum, i) => sum + longOf(tokens[i]) * size, 0)) / 2;
    for (const i of line) {
      const { all, pair } = tokens[i];
      const left = x;
      const options = all.map((word) => {
        const each = longOne(word, pair) * size;
        x += each;
        return { word, x: x - each, width: each, middle: x - each / 2 };
      });
      const { middle } = options.find(({ word }) => word === words[i]) ??
        options[0] ?? { middle: x };
      const [y, height] = pair
        ? [top + base - (0.35 * size + pillHigh / 2), pillHigh]
        : [top, high];
      boxes[i] = {
        x: left,
        y,
        width: x - left,
        height,
        base: top + base,
        middle,
        line: number,
        options,
        pair,
      };
    }
  });
  const height = above + lines.length * high + (lines.length - 1) * room + below;
  return { words, width, height, size, room, isRow, boxes };
}

/** An arc between two words, as the eight numbers of its curve: on its own line it goes over the
    words or, with `isAbove` false, under them; to another line through the room between. */
function arc({ boxes, room }, from, to, isAbove) {
  const [a, b] = [boxes[from], boxes[to]];
  const far = Math.abs(a.middle - b.middle);
  const bottom = ({ y, height }) => y + height;
  if (a.line === b.line) {
    const [y1, y2] = isAbove ? [a.y, b.y] : [bottom(a), bottom(b)];
    const rise = Math.min(26 + far * 0.3, (room * (isAbove ? 1 : 0.85) - 9) / 0.75);
    const [c1, c2] = [y1, y2].map((y) => (isAbove ? y - rise : y + rise));
    if (from === to)
      return [a.middle - 7, y1, a.middle - 26, c1, a.middle + 26, c2, a.middle + 7, y2];
    return [a.middle, y1, a.middle, c1, b.middle, c2, b.middle, y2];
  }
  const [y1, y2] = b.line < a.line ? [a.y, bottom(b)] : [bottom(a), b.y];
  const bend = (y2 - y1) * 0.6;
  const x = a.middle - (isAbove ? 0 : 7); // what is read does not cover the answer
  return [x, y1, x, y1 + bend, b.middle, y2 - bend, b.middle, y2];
}

/** A strand for each word that *it* reads: its curve and its weight, nine numbers that can glide. */
export const readStrands = (places, it, weights) =>
  Array.from(weights, (weight, word) => [...arc(places, it, word, false), weight]);

/** Strands from *it* to the words that it may mean, the likeliest first. */
export function answerStrands(places, it, weights) {
  const order = Array.from(weights, (_, word) => word).sort((a, b) => weights[b] - weights[a]);
  return order.slice(0, ANSWERS).map((word, i) => {
    const isDrawn = i === 0 || weights[word] >= SHOWN;
    return [...arc(places, it, isDrawn ? word : order[0], true), isDrawn ? weights[word] : 0];
  });
}

/**
 * Strands as marks for `setChildren`: `grown`, 0 to 1, is how much of them is drawn, `dim` how far
 * they step back. What is read comes from the other word to *it*; the answer goes out from *it*.
 */
export function arcMarks({ isRow }, { strands, role, grown, dim = 0 }) {
  if (grown <= 0) return [];
  const thickest = isRow ? 13 : 9;
  return strands.flatMap(([x1, y1, x2, y2, x3, y3, x4, y4, weight]) => {
    if (weight < SHOWN) return [];
    const isAnswer = role === "output";
    const d = isAnswer
      ? `M${x1} ${y1}C${x2} ${y2} ${x3} ${y3} ${x4} ${y4}`
      : `M${x4} ${y4}C${x3} ${y3} ${x2} ${y2} ${x1} ${y1}`;
    return [
      [
        "path",
        {
          d: d.replace(/\.\d+/g, (digits) => digits.slice(0, 3)),
          pathLength: 1,
          "stroke-dasharray": grown < 1 ? `${grown.toFixed(3)} 2` : null,
          "data-strand": role,
          class: `attention-line attention-${role}`,
          "stroke-width": 1 + thickest * weight,
          "stroke-opacity": (0.75 + 0.25 * weight) * (1 - 0.55 * dim),
        },
      ],
    ];
  });
}

/** What makes a shape a button that exchanges a word, by the menu or by its rival. */
const button = (label, opens) => ({
  tabindex: 0,
  role: "button",
  "aria-haspopup": opens ? "listbox" : null,
  "aria-label": label,
});

/** The two words of a pill: the one that holds is filled, the other waits to be pressed. */
function pillMarks({ x, y, width, height, base, options }, place, word, state) {
  return [
    ["rect", { x, y, width, height, rx: height / 2, class: "attention-line attention-ink" }],
    ...options.flatMap((option) => {
      const holds = option.word === word;
      const label = holds ? `Swap “${word}”` : `Read “${option.word}” in place of “${word}”`;
      return [
        [
          "rect",
          {
            x: option.x + 3,
            y: y + 3,
            width: option.width - 6,
            height: height - 6,
            rx: height / 2 - 3,
            class: `attention-word attention-press attention-${holds ? "ink" : "paper"}`,
            "data-place": place,
            "data-option": option.word,
            ...(holds && state),
            ...button(label, holds),
          },
        ],
        [
          "text",
          {
            x: option.middle,
            y: base,
            "text-anchor": "middle",
            class: `attention-beneath${holds ? " attention-paper" : ""}`,
          },
          option.word,
        ],
      ];
    }),
  ];
}

/** Words and numbers as marks: `numbers` are weights, none where they are not drawn yet, and written
    with `areWritten`; the word that asks and the one that is `meant` stand out; `exchanged` are those
    that can be. */
export function wordMarks(
  { words, boxes, size },
  { asking, meant, numbers, areWritten, exchanged },
) {
  return words.flatMap((word, i) => {
    const { x, y, width, height, base, middle, options, pair } = boxes[i];
    const long = breadth(options[0]?.word ?? "") * size;
    const state = { "data-asks": String(i === asking), "data-meant": String(i === meant) };
    const weight = numbers?.[i] ?? 0;
    const isSeen = options.length > 0;
    const one = [
      [
        "rect",
        {
          x: x + 1,
          y,
          width: Math.max(width - 2, 0),
          height,
          rx: 7,
          class: `attention-word attention-area attention-paper${exchanged[i] ? " attention-press" : ""}`,
          ...state,
          "data-place": i,
          visibility: isSeen ? null : "hidden",
          ...(exchanged[i] && button(`Swap “${word}”`, true)),
        },
      ],
      [
        "path",
        {
          d: `M${(middle - long / 2).toFixed(1)} ${(base + 5).toFixed(1)}h${long.toFixed(1)}`,
          class: "attention-line attention-muted attention-dashed attention-beneath",
          "data-live": true,
          visibility: exchanged[i] ? null : "hidden",
        },
      ],
      [
        "text",
        {
          x: middle,
          y: base,
          "text-anchor": "middle",
          class: `attention-beneath${i === asking ? " attention-query" : ""}${i === meant ? " attention-output" : ""}${i ? "" : " attention-muted"}`,
        },
        options[0]?.word ?? "",
      ],
    ];
    const isWritten = areWritten && isSeen && !pair && weight >= SHOWN;
    return [
      ...(pair ? pillMarks(boxes[i], i, word, state) : one),
      [
        "text",
        {
          x: middle,
          y: y + height - 3,
          "text-anchor": "middle",
          class: "attention-beneath attention-muted attention-small",
          "data-readout": `weight_${i}`,
          "data-value": numbers ? String(weight) : "",
        },
        isWritten ? fixed(weight, 2) : "\u00a0",
      ],
    ];
  });
}
