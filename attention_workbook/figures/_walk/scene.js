// Where everything stands at a step.

import { breadth } from "../_shared/index.js";
import {
  ANSWER,
  BRIGHTEST,
  DIVIDED,
  HEADS,
  KEYS,
  LAYERS,
  MACHINE,
  MASKED,
  MIXTURE,
  PADS,
  SCORES,
  SOFTMAX,
  VECTORS,
  WORDS,
} from "./steps.js";
import { believed } from "./numbers.js";

/** The measures of the picture at a width; the whole machine leaves room for a head below. */
export function sizes(width, count, step) {
  const wide = width >= 448;
  const [most, top, bottom] = wide ? [21, 42, 92] : [15, 30, 66];
  const usual = step === BRIGHTEST ? (wide ? 19 : 20) : most; // six bars hold words
  const row = step === MACHINE ? usual / 2 : usual;
  const name = wide ? 78 : 62;
  return {
    width,
    count,
    wide,
    row,
    top,
    name,
    left: name + 8,
    right: width - 4,
    font: step === MACHINE ? 11 : wide ? 14 : 12,
    height: top + count * usual + bottom,
    line: (i) => top + (i + 0.5) * row,
    floor: top + count * row,
    track: top + count * row + (wide ? 48 : 31), // the bars of what the model would answer
  };
}

/** The words of the sentence as it is written, line by line: `[x, y, size]`. */
function written(names, { width, height, wide }) {
  const size = wide ? 22 : 18;
  const long = (name) => (breadth(name) + 0.35) * size;
  const lines = [[]];
  let room = width - 16;
  names.forEach((name, i) => {
    if (i === 0) return;
    if (long(name) > room || name === "because") {
      lines.push([]);
      room = width - 16;
    }
    room -= long(name);
    lines.at(-1).push(i);
  });
  const spots = [[width / 2, height / 2, size]];
  lines.forEach((line, number) => {
    let x = (width - line.reduce((sum, i) => sum + long(names[i]), 0)) / 2;
    for (const i of line) {
      spots[i] = [
        x + long(names[i]) / 2,
        height / 2 + (number - (lines.length - 1) / 2) * size * (lines.length > 2 ? 2.4 : 4),
        size,
      ];
      x += long(names[i]);
    }
  });
  return spots;
}

/** Where values and their mixture stand, at `long` pixels each; the weights are left of them. */
export function mixturePlaces({ size }, { left, right, wide }) {
  const long = Math.min(size * (wide ? 18 : 11), (right - left) * 0.34);
  return { long, values: right - 2 * long - (wide ? 34 : 12), mixed: right - long };
}

/** The rulers of the heads, one below the other: each a bar of length 1. */
export function rulerPlaces(step, { layers }, { left, right, top, floor, wide }) {
  const heads = step === BRIGHTEST ? layers.flatMap(({ heads: all }) => all) : layers[0].heads;
  const each = (floor - top) / heads.length;
  return heads.map((_, i) => ({
    x: left,
    y: top + (i + 0.5) * each,
    each,
    long: right - left,
    high: Math.min(each * 0.5, wide ? 34 : 26),
  }));
}

/** Everything that is drawn at a step, as numbers that can glide: strips are `[x, y, width, height,
    opacity]`, words `[x, y, size, opacity]`, bars strips, lines `[width, opacity]`. */
export function scene(step, measured, given) {
  const { row, name, left, right, font, line, floor, top, count, wide } = given;
  const { it, size, swapped, nouns } = measured;
  const span = right - left;
  const thick = row * 0.66;
  const strip = (x, y, width, opacity, height = thick) => [
    x,
    y - height / 2,
    width,
    height,
    opacity,
  ];
  const rows = Array.from({ length: count }, (_, i) => i);
  const between = (from, to) => step >= from && step <= to;

  const spots = written(measured.words, given);
  // Half as high, a narrow picture has room for the words that the story is about.
  const isNamed = (i) => wide || step !== MACHINE || [...nouns, it, count - 1].includes(i);
  const names = rows.map((i) =>
    step === WORDS
      ? [...spots[i], i ? 1 : 0]
      : [
          name - (breadth(i ? measured.words[i] : "(nothing)") / 2) * font,
          line(i),
          font,
          step === HEADS || step === BRIGHTEST || !isNamed(i) ? 0 : 1,
        ],
  );
  const pads = Array.from({ length: PADS }, (_, i) => [
    name - (breadth("(empty)") / 2) * font,
    line(count + i),
    font,
    between(MASKED, SOFTMAX) ? 1 : 0,
  ]);

  const keyed = Math.min(size * (wide ? 18 : 15), span * 0.42);
  const near = Math.min(size * (wide ? 12 : 9), span * 0.3);
  const vector = rows.map((i) => {
    if (step === WORDS) return strip(spots[i][0], spots[i][1], 0, 0);
    return step === VECTORS
      ? strip(left, line(i), span, 1)
      : strip(left, line(i), step === KEYS ? span * 0.4 : 0, step === KEYS ? 1 : 0);
  });
  const keyAt =
    step <= VECTORS
      ? [left, span]
      : step === KEYS
        ? [right - keyed, keyed]
        : [left, step <= MASKED ? near : 0];
  const shown = between(KEYS, MASKED) ? 1 : 0;
  const key = [...rows, count, count + 1].map((i) =>
    strip(keyAt[0], line(i), keyAt[1], i < count || step === MASKED ? shown : 0),
  );
  const query = strip(
    keyAt[0],
    shown ? top - row * (wide ? 0.75 : 0.8) : line(it),
    keyAt[1],
    shown,
  );
  const isMixed = step === MIXTURE ? 1 : 0;
  const { values, mixed, long: column } = mixturePlaces(measured, given);
  const value = rows.map((i) => strip(values, line(i), isMixed ? column : 0, isMixed));
  const output = strip(mixed, floor + row * 0.5, isMixed ? column : 0, isMixed);

  // Bars: first scores about a zero, then weights; the followed head's first, those of all heads later.
  const [from, to] = [left + near + 12, right - 48];
  const [low, high] = [Math.min(0, ...measured.dots), Math.max(0, ...measured.dots)];
  const scores = step >= DIVIDED ? measured.scores : measured.dots;
  const zero = from - (low / (high - low)) * (to - from);
  const unit = (to - from) / (high - low);
  const rulers = rulerPlaces(step, measured, given);
  const bars = swapped.layers.flatMap(({ heads }, layer) =>
    heads.map(({ weights }, head) => {
      const number = layer * measured.layers[0].heads.length + head;
      const isFollowed = layer === 0 && head === measured.followed;
      const ruler = rulers[Math.min(number, rulers.length - 1)];
      let before = 0;
      return rows.map((i) => {
        if (step === BRIGHTEST || (step === HEADS && layer === 0)) {
          const x = ruler.x + before * ruler.long;
          before += weights[it][i];
          return strip(x, ruler.y, weights[it][i] * ruler.long, 1, ruler.high);
        }
        if (!isFollowed) return strip(ruler.x, ruler.y, 0, 0, ruler.high);
        if (step < SCORES) return strip(step < KEYS ? left : zero, line(i), 0, 0);
        if (step <= MASKED)
          return strip(
            scores[i] < 0 ? zero + scores[i] * unit : zero,
            line(i),
            Math.abs(scores[i]) * unit,
            1,
          );
        const long = step === SOFTMAX ? right - 40 - left : values - left - 52;
        return strip(
          left,
          line(i),
          step <= MIXTURE ? Math.max(measured.row[i] * long, 0.5) : 0,
          step <= MIXTURE ? 1 : 0,
        );
      });
    }),
  );

  // Lines: into each word of layer 1, into *it* in layer 2, and from *it* to the word that it means.
  const mean = (layer, query) =>
    rows.map(
      (i) =>
        layer.heads.reduce((sum, { weights }) => sum + weights[query][i], 0) / layer.heads.length,
    );
  const read = mean(measured.layers[1], it);
  const flows = between(LAYERS, MACHINE);
  const faint = step === LAYERS ? 1 : 0.35;
  const looks = (weight) => [
    Math.max((wide ? 22 : 15) * weight, 0.4),
    flows ? faint * (weight < 0.004 ? 0 : 0.85) : 0,
  ];
  const firstHop = rows.map((i) =>
    mean(measured.layers[0], i).map((weight) => looks(read[i] * weight)),
  );
  const secondHop = read.map(looks);
  const pointing = measured.answers[2].map((weight) => [
    (wide ? 8 : 5) * weight,
    flows && step >= ANSWER && weight >= 0.05 ? 1 : 0,
  ]);
  const middle = rows.map((i) => [flows && isNamed(i) ? faint : 0]);

  const belief = believed(step, measured);
  const beliefs = Array.from({ length: 3 }, (_, i) => {
    const answer = belief[i]?.[1] ?? measured.answers[0];
    return [answer[measured.nouns[1]], answer[measured.nouns[0]], belief[i] ? 1 : 0];
  });
  // The whole machine: the words' vectors stand beside them again.
  const machine = between(ANSWER, MACHINE) ? 1 : 0;
  if (machine) rows.forEach((i) => (vector[i] = strip(name + 6, line(i), wide ? 64 : 34, 1)));
  return {
    names,
    pads,
    vector,
    key,
    query: [query],
    value,
    output: [output],
    bars,
    axis: [zero, between(SCORES, MASKED) ? 1 : 0],
    firstHop,
    secondHop,
    pointing,
    middle,
    beliefs,
    machine: [machine],
  };
}
