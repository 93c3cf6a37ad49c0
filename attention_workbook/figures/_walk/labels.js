// What is written beside the pictures of a step.

import { breadth, fixed } from "../_shared/index.js";
import { believed, place } from "./numbers.js";
import { mixturePlaces, rulerPlaces } from "./scene.js";
import {
  ANSWER,
  BRIGHTEST,
  DIVIDED,
  HEADS,
  KEYS,
  MACHINE,
  MASKED,
  MIXTURE,
  SCORES,
  SOFTMAX,
  VECTORS,
  WORDS,
} from "./steps.js";
import { pieceOf } from "./strips.js";
import { arrived, ramp } from "./time.js";

const text = (x, y, said, anchor = "start", kind = "attention-muted", opacity = 1) => [
  "text",
  {
    x,
    y,
    "text-anchor": anchor,
    class: kind,
    opacity,
    visibility: opacity < 0.01 ? "hidden" : null,
  },
  said,
];

/** The numbers beside the bars, each as far as its bar has come. */
function besideBars(step, time, measured, now, { right, line }) {
  const { dots, scores, row, followed } = measured;
  const rows = row.map((_, i) => i);
  const goal = { [SCORES]: dots, [SOFTMAX]: row }[step];
  const far = ramp(time, 0.15, 0.85);
  const numbers =
    goal ?? rows.map((i) => (step === DIVIDED ? dots[i] + (scores[i] - dots[i]) * far : scores[i]));
  const longest = Math.max(...now.bars[followed].map(([, , long]) => long), 1e-9);
  const most = Math.max(...numbers.map(Math.abs));
  return rows.map((i) => {
    const isThere = now.bars[followed][i][2] / longest >= (0.98 * Math.abs(numbers[i])) / most;
    const opacity = goal && !(isThere && arrivedRow(time, i, rows.length)) ? 0 : 1;
    const kind = i === place(numbers) ? "attention-chosen" : "attention-muted";
    return text(right, line(i) + 4.5, fixed(numbers[i], 2), "end", kind, opacity);
  });
}

/** Whether a row's bar has grown, where rows follow one another. */
const arrivedRow = (time, i, count) => time > 0.74 + (0.24 * i) / count || time === 1;

/** The names on the heads' rulers, and each head's own. */
function onRulers(step, measured, at, opacity) {
  const { layers, swapped, patched, it, followed, words } = measured;
  const { left, font, wide } = at;
  const all = step === HEADS ? layers[0].heads : swapped.layers.flatMap(({ heads }) => heads);
  return rulerPlaces(step, measured, at).flatMap(({ x, y, long, high }, i) => {
    const [layer, head] = i < layers[0].heads.length ? [1, i] : [2, i - layers[0].heads.length];
    const weights = all[i].weights[it];
    const isFollowed = step === HEADS && head === followed;
    let before = 0;
    const names = weights.flatMap((weight, place) => {
      const middle = x + (before + weight / 2) * long;
      before += weight;
      const room = weight * long - 6;
      const [name, number] = [words[place], fixed(weight, 2)];
      if (room < breadth(name) * font) return [];
      const isNumbered = room > breadth(`${name} ${number}`) * font;
      return [
        text(
          middle,
          y + 4.5,
          isNumbered ? `${name} ${number}` : name,
          "middle",
          i === patched ? "attention-muted" : "attention-paper",
          opacity,
        ),
      ];
    });
    const title = `${step === BRIGHTEST ? `layer ${layer}, ` : ""}head ${head + 1}`;
    const kind = isFollowed ? "attention-chosen" : "attention-muted";
    const place = wide || step === HEADS ? [left, y - high / 2 - 5] : [left, y - high / 2 - 3];
    return [
      ...names,
      text(...place, isFollowed ? `${title}, the one we followed` : title, "start", kind, opacity),
    ];
  });
}

/** Whose the pieces of the stacks are, by their fill: a line that ends at `right`. */
function legend(words, right, y, opacity) {
  const long = (word) => 18 + breadth(word) * 12.5;
  let end = right - words.reduce((sum, word) => sum + long(word), 0);
  return words.flatMap((word) => {
    const x = end;
    end += long(word);
    const kind = "attention-muted attention-small";
    const swatch = { x, y: y - 8, width: 9, height: 8, class: pieceOf(word), opacity };
    return [["rect", swatch], text(x + 13, y, word, "start", kind, opacity)];
  });
}

/** What is written beside the pictures of a step, at a time of it. */
export function labels(step, time, measured, now, at) {
  const { width, left, right, name, row, top, line, floor, wide, count } = at;
  const { it, size } = measured;
  const head = top - row * (wide ? 0.6 : 0.65);
  const keyed = Math.min(size * (wide ? 18 : 15), (right - left) * 0.42);
  const base = (i) => line(i) + 4.5;
  const come = arrived(step, time);
  const late = (x, y, said, anchor, kind) => text(x, y, said, anchor, kind, come);
  switch (step) {
    case WORDS:
      return [text(width / 2, wide ? 60 : 44, "Which word does “it” stand for?", "middle")];
    case VECTORS:
      return [late(left, head, `each word as ${measured.start[0].length} numbers`)];
    case KEYS:
      return [
        text(
          right - keyed - 8,
          head,
          "query of “it”",
          "end",
          "attention-query",
          ramp(time, 0.3, 0.36),
        ),
        text(right - keyed / 2, base(count), "keys", "middle", "attention-key", come),
        text(left, base(count), "vectors", "start", "attention-muted", come),
      ];
    case SCORES:
    case DIVIDED:
    case MASKED:
      return [
        text(name, head, "query", "end", "attention-query"),
        late(right, head, step === SCORES ? "query · key" : `query · key ÷ √${size}`, "end"),
        ...besideBars(step, time, measured, now, at),
        ...(step === MASKED ? [0, 1] : []).map((i) => late(right, base(count + i), "−∞", "end")),
      ];
    case SOFTMAX:
      return [
        late(left, head - row * 0.55, "weights, which sum to 1"),
        ...besideBars(step, time, measured, now, at),
        ...[0, 1].map((i) => late(right, base(count + i), "0", "end")),
      ];
    case MIXTURE: {
      const { values, mixed, long } = mixturePlaces(measured, at);
      const nouns = measured.nouns.map((noun) => measured.words[noun]);
      return [
        ...legend([...nouns, "others"], right, head - (wide ? 18 : 12), ramp(time, 0.2, 0.3)),
        text(left, head, "weights"),
        text(values + long, head, "values", "end", "attention-value", ramp(time, 0.1, 0.18)),
        text(mixed - 8, floor + row * 0.5 + 4.5, "mixture", "end", "attention-output", come),
        ...measured.row.flatMap((weight, i) =>
          weight < 0.05
            ? []
            : [text(values - 8, base(i), fixed(weight, 2), "end", "attention-chosen")],
        ),
      ];
    }
    case HEADS:
    case BRIGHTEST:
      return onRulers(step, measured, at, come);
    default:
      return [
        late(name, head, "words", "end"),
        ...(step === MACHINE
          ? [late(4, floor + (wide ? 50 : 24), "inside one head of layer 1")]
          : []),
        late((left + right) / 2, head, "after layer 1", "middle"),
        late(right, head, wide ? "after layer 2" : "layer 2", "end"),
        text(right, base(it), "it", "end", "attention-query", come),
        ...(step >= ANSWER && wide
          ? [
              late(left + (right - left) * 0.28, floor + 13, "4 heads", "middle"),
              late(left + (right - left) * 0.72, floor + 13, "2 heads", "middle"),
            ]
          : []),
      ];
  }
}

/** What the model would answer now and would have answered before, as bars of length 1: the nouns at
    the ends, and between them what goes to another word. */
export function beliefMarks(step, time, measured, now, { width, track, wide }) {
  const belief = believed(step, measured);
  if (!now.beliefs.some(([, , opacity]) => opacity > 0.01)) return [];
  const [x1, x2] = wide ? [150, width - 60] : [106, width - 34];
  const [high, gap] = wide ? [10, 15] : [8, 12];
  const names = track - (wide ? 8 : 6);
  const [one, two] = measured.nouns.map((noun) => measured.words[noun]);
  const last = Math.max(belief.length - 1, 0);
  const [left, right] = now.beliefs[last];
  const ahead = (mine) => (mine > 0.5 ? "attention-output" : "attention-muted");
  const other = Math.max(1 - left - right, 0);
  const shown = now.beliefs[0][2];
  const room = x2 - x1 - breadth(`${one} ${two}`) * 12 - 12;
  const between = (
    other > 0.04
      ? [`another word ${fixed(other, 2)}`, `other ${fixed(other, 2)}`]
      : ["what the model would answer", "model’s answer"]
  ).find((said) => breadth(said) * 12 < room);
  return [
    text(x1, names, two, "start", ahead(left), shown),
    text(x2, names, one, "end", ahead(right), shown),
    text((x1 + x2) / 2, names, between ?? "", "middle", "attention-muted", shown),
    ...now.beliefs.flatMap(([street, animal, opacity], i) => {
      const y = track + i * gap;
      const bar = (x, long, kind) => [
        "rect",
        {
          x,
          y,
          width: long,
          height: high,
          opacity: opacity * (i === last ? 1 : 0.55),
          class: `attention-${kind}`,
        },
      ];
      const long = x2 - x1;
      const paint = i === last ? "attention-output" : "attention-muted";
      return [
        bar(x1, long, "area attention-grid"),
        bar(x1, long * street, `line attention-pale ${paint}`),
        bar(x2 - long * animal, long * animal, `area ${paint}`),
        text(
          x1 - 6,
          y + high - 0.5,
          fixed(street, 2),
          "end",
          "attention-muted attention-small",
          opacity,
        ),
        text(
          x2 + 6,
          y + high - 0.5,
          fixed(animal, 2),
          "start",
          "attention-muted attention-small",
          opacity,
        ),
        ...(belief[i]
          ? [
              text(
                0,
                y + high - 0.5,
                belief[i][0],
                "start",
                "attention-muted attention-small",
                opacity,
              ),
            ]
          : []),
      ];
    }),
  ];
}
