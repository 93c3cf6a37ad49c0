// What is computed before one's eyes in a step: marks that come, move and go while time goes from 0
// to 1. What stays at the end is drawn by the scene.

import { fixed } from "../_shared/index.js";
import { place } from "./numbers.js";
import { mixturePlaces } from "./scene.js";
import { KEYS, MIXTURE, SCORES, SOFTMAX } from "./steps.js";
import { pieceOf } from "./strips.js";
import { ramp } from "./time.js";

const mix = (from, to, share) => from + (to - from) * share;
const rect = (x, y, width, height, more) => ["rect", { x, y, width, height, ...more }];
const text = (x, y, anchor, said, more = {}) => [
  "text",
  { x, y, "text-anchor": anchor, class: "attention-muted", ...more },
  said,
];

/** The marks of a step at a time; `color(number, most)` is the map of signed numbers. */
export function computing(step, time, measured, at, color) {
  if (step === KEYS) return query(time, measured, at, color);
  if (step === SCORES) return score(time, measured, at, color);
  if (step === SOFTMAX) return exponential(time, measured, at);
  if (step === MIXTURE) return stacks(time, measured, at);
  return [];
}

/** The vector of *it* stands beside a matrix, and column by column a number of the query lights up. */
function query(time, { start, it, matrix, first, size }, at, color) {
  const { left, right, top, floor, line, row, wide } = at;
  const there = ramp(time, 0.08, 0.16) * (1 - ramp(time, 0.62, 0.7));
  if (there === 0) return [];
  const long = Math.min(size * (wide ? 18 : 15), (right - left) * 0.42);
  const [x0, high, cell] = [right - long, (floor - top) / matrix.length, long / size];
  const turned = ramp(time, 0.14, 0.28);
  const lit = ramp(time, 0.3, 0.6) * size;
  const vector = start[it];
  const most = Math.max(...vector.map(Math.abs));
  const heaviest = Math.max(...matrix.flat().map(Math.abs));
  const largest = Math.max(...first.queries[it].map(Math.abs));
  const flat = ((right - left) * 0.4) / vector.length;
  const thick = row * 0.66;
  const queryY = top - row * (wide ? 0.75 : 0.8) - thick / 2;
  return [
    ...matrix.flatMap((numbers, i) =>
      numbers.map((number, j) =>
        rect(x0 + j * cell, top + i * high, cell * 0.96, high * 1.04, {
          fill: color(number, heaviest),
          opacity: there * (Math.floor(lit) === j && lit < size ? 1 : 0.35),
        }),
      ),
    ),
    ...Array.from(vector, (number, i) =>
      rect(
        mix(left + i * flat, x0 - 22, turned),
        mix(line(it) - thick / 2, top + i * high, turned),
        mix(flat, 14, turned) * 1.02,
        mix(thick, high, turned) * 1.04,
        { fill: color(number, most), opacity: there },
      ),
    ),
    ...Array.from(first.queries[it], (number, j) =>
      rect(x0 + j * cell, queryY, cell * 1.02, thick, {
        fill: color(number, largest),
        opacity: there * ramp(lit, j, j + 1),
      }),
    ),
    text(x0 - 28, (top + floor) / 2, "end", "vector of “it”", { opacity: there * turned }),
    text(right, floor + 15, "end", `times a matrix of ${matrix.length} × ${size} learned numbers`, {
      opacity: there,
    }),
  ];
}

/** How far the products of a score stand below one another, 0 to 1. */
export const adding = (time) => ramp(time, 0.1, 0.16) * (1 - ramp(time, 0.66, 0.7));

/** Ten products, numbered, add up end to end to the score of one word. */
function score(time, measured, at, color) {
  const { left, right, top, floor, line, row, wide } = at;
  const there = adding(time);
  const stays = ramp(time, 0.1, 0.16) * (1 - ramp(time, 0.92, 0.98)); // what has added up
  if (stays === 0) return [];
  const { first, it, size, dots } = measured;
  const best = place(dots);
  const [asked, key] = [first.queries[it], first.keys[best]];
  const products = Array.from(asked, (number, j) => number * key[j]);
  const sums = products.reduce((all, product) => [...all, all.at(-1) + product], [0]);
  const [low, high] = [Math.min(...sums, ...dots, 0), Math.max(...sums, ...dots, 0)];
  const near = Math.min(size * (wide ? 12 : 9), (right - left) * 0.3);
  const [from, to] = [left + near + 12, right - 48];
  const isLong = at.width > 560; // there is room for both factors, beside the bars
  const room = isLong ? 200 : 80;
  const x = (sum) => from + ((sum - low) / (high - low)) * (right - room - from);
  const scoreLow = Math.min(0, ...dots);
  const scoreX = (sum) =>
    from + ((sum - scoreLow) / (Math.max(0, ...dots) - scoreLow)) * (to - from);
  const done = ramp(time, 0.18, 0.52) * size;
  const fallen = ramp(time, 0.56, 0.65);
  const each = (floor - top) / size;
  const most = Math.max(...products.map(Math.abs));
  const cell = near / size;
  const thick = row * 0.66;
  const now = Math.min(Math.floor(done), size - 1);
  const slid = ramp(time, 0.1, 0.18);
  const queryY = mix(top - row * 0.75 - thick / 2, line(best) - thick * 1.15, slid);
  const strongest = Math.max(...asked.map(Math.abs));
  return [
    ...Array.from(asked, (number, j) =>
      rect(left + j * cell, queryY, cell * 1.02, thick * 0.6, {
        fill: color(number, strongest),
        opacity: there,
      }),
    ),
    rect(left + now * cell, queryY - 1, cell, thick * 1.75, {
      class: "attention-line attention-ink",
      opacity: there * (done < size ? 1 : 0),
    }),
    ...products.flatMap((product, j) => {
      const grown = ramp(done, j, j + 1);
      if (grown === 0) return [];
      const [a, b] = [sums[j], sums[j] + product * grown];
      const [start, end] = [mix(x(a), scoreX(a), fallen), mix(x(b), scoreX(b), fallen)];
      const y = mix(top + (j + 0.5) * each, line(best), fallen);
      const tall = mix(each * 0.62, thick * 0.84, fallen);
      return [
        rect(Math.min(start, end), y - tall / 2, Math.abs(end - start), tall, {
          fill: color(product, most),
          class: "attention-axis",
          opacity: stays,
        }),
        text(
          right,
          y + 4.5,
          "end",
          isLong
            ? `${j + 1}:  ${fixed(asked[j], 2)} × ${fixed(key[j], 2)} = ${fixed(product, 2)}`
            : `${j + 1}:  ${fixed(product, 2)}`,
          { opacity: grown * (1 - ramp(fallen, 0, 0.5)) },
        ),
      ];
    }),
    text(left, floor + 15, "start", `query · key of “${measured.words[best]}”, number by number`, {
      opacity: there,
    }),
  ];
}

/** Scores climb the exponential; their heights lie down as parts of one bar of length 1. */
function exponential(time, { scores, row: weights, words }, at) {
  const { left, right, top, floor, row, wide } = at;
  const there = ramp(time, 0.06, 0.12) * (1 - ramp(time, 0.8, 0.86));
  const high = Math.max(...scores);
  const low = Math.min(...scores) - 0.4;
  const [from, to, base] = [left + 6, right - 52, floor - 16];
  const x = (number) => from + ((number - low) / (high - low)) * (to - from);
  const tall = base - top - 26;
  const height = (number) => Math.exp(number - high) * tall;
  const climbed = ramp(time, 0.2, 0.44);
  const lying = ramp(time, 0.54, 0.76);
  const ruler = { x: left, y: top - row * (wide ? 0.3 : 0.55), long: right - 40 - left };
  const order = weights.map((_, i) => i);
  const starts = weights.reduce((all, weight) => [...all, all.at(-1) + weight], [0]);
  const curve = Array.from({ length: 61 }, (_, i) => low + ((high - low) * i) / 60);
  const two = [...order].sort((a, b) => weights[b] - weights[a]).slice(0, 2);
  const bar = Math.max(ramp(time, 0.54, 0.76), 0);
  return [
    ...(there > 0
      ? [
          [
            "path",
            {
              d: `M${curve.map((number) => `${x(number).toFixed(1)} ${(base - height(number)).toFixed(1)}`).join("L")}`,
              class: "attention-line attention-accent",
              pathLength: 1,
              "stroke-dasharray": `${ramp(time, 0.14, 0.36).toFixed(3)} 2`,
              opacity: there,
            },
          ],
          [
            "line",
            { x1: from, x2: to, y1: base, y2: base, class: "attention-grid", opacity: there },
          ],
          text(from, base + 14, "start", "score", { opacity: there }),
          text(to - 4, top + 12, "end", "e to the score", { opacity: there * climbed }),
        ]
      : []),
    ...order.flatMap((i) => {
      const tip = height(scores[i]) * climbed;
      const place = ruler.x + starts[i] * ruler.long;
      const grown = weights[i] * ruler.long;
      const [x1, y1] = [mix(x(scores[i]), place, lying), mix(base, ruler.y, lying)];
      const [x2, y2] = [
        mix(x(scores[i]), place + grown - 1, lying),
        mix(base - tip, ruler.y, lying),
      ];
      const seenAt = Math.max(there, bar);
      return [
        [
          "line",
          {
            x1,
            y1,
            x2,
            y2,
            class: "attention-line attention-weight",
            "stroke-width": mix(3, wide ? 12 : 9, lying),
            opacity: seenAt,
          },
        ],
        ...(lying < 1
          ? [
              [
                "circle",
                {
                  cx: x2,
                  cy: y2,
                  r: 4 * (1 - lying),
                  class: "attention-area attention-ink",
                  opacity: there,
                },
              ],
            ]
          : []),
        ...(two.includes(i)
          ? [text(x2 + 6, y2 - 6, "start", words[i], { opacity: there * climbed * (1 - lying) })]
          : []),
      ];
    }),
    text(right, ruler.y + 4.5, "end", "= 1", { opacity: bar }),
  ];
}

/** Values, each times its weight, fall into ten columns and stack with their signs, on one scale. */
function stacks(time, measured, at) {
  const { first, row: weights, nouns, words, size, it } = measured;
  const { top, floor, line, row, wide } = at;
  const { values: from, mixed, long } = mixturePlaces(measured, at);
  const cell = long / size;
  const pieces = weights.map((weight, i) => Array.from(first.values[i], (value) => weight * value));
  const reach = (sign) =>
    Math.max(
      ...Array.from({ length: size }, (_, j) =>
        pieces.reduce((sum, numbers) => sum + Math.max(sign * numbers[j], 0), 0),
      ),
    );
  const [up, down] = [reach(1), reach(-1)];
  const unit = (floor - top - 12) / (up + down);
  const zero = top + 6 + up * unit;
  const filled = Array.from({ length: size }, () => [0, 0]);
  const order = [...nouns, ...weights.keys()].filter((i, n, all) => all.indexOf(i) === n);
  const marks = order.flatMap((i, turn) =>
    pieces[i].map((piece, j) => {
      const side = piece < 0 ? 1 : 0;
      const before = filled[j][side];
      filled[j][side] += Math.abs(piece);
      const begin = 0.2 + 0.4 * (turn / order.length);
      const fallen = ramp(time, begin, begin + 0.14);
      const tall = Math.abs(piece) * unit;
      const y = side ? zero + before * unit : zero - (before + Math.abs(piece)) * unit;
      return rect(
        mix(from + j * cell, mixed + j * cell, fallen),
        mix(line(i) - row * 0.33, y, fallen),
        cell * 0.86,
        mix(row * 0.66, tall, fallen),
        {
          class: pieceOf(nouns.includes(i) ? words[i] : "others"),
          "data-sign": piece < 0 ? "minus" : "plus",
          opacity: ramp(time, begin - 0.02, begin + 0.02),
        },
      );
    }),
  );
  const net = ramp(time, 0.8, 0.88);
  return [
    [
      "line",
      {
        x1: mixed - 4,
        x2: mixed + long + 2,
        y1: zero,
        y2: zero,
        class: "attention-axis",
        opacity: ramp(time, 0.16, 0.22),
      },
    ],
    ...marks,
    ...Array.from(first.output[it], (number, j) =>
      rect(
        mixed + j * cell - 1,
        number < 0 ? zero : zero - number * unit,
        cell * 0.86 + 2,
        Math.max(Math.abs(number) * unit, 1),
        {
          class: "attention-line attention-output",
          opacity: net,
        },
      ),
    ),
    text(
      mixed + long,
      top - row * (wide ? 0.6 : 0.65),
      "end",
      wide ? "weight × value, stacked" : "stacked",
      { opacity: ramp(time, 0.2, 0.3) },
    ),
  ];
}
