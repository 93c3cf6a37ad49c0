// Lines between rows of words, as thick as their weights: where they are, and which one is near.

import { breadth, fixed } from "../_shared/index.js";

const STUMP = 0.09; // what a cut leaves at each end, as a share of the line
const AROUND = 432; // pixels of a window that the page's bar and the rest of the figure take
const [LOWEST, HIGHEST] = [312, 420]; // of upright rows, in pixels
const BESIDE = 570; // of a phone's screen: the bar, title and lamp, the finding, the first controls
const [NARROW, BROAD] = [21, 33]; // from word to word in a column, in pixels
const SAMPLES = Array.from({ length: 17 }, (_, i) => i / 16); // along a line

/** Where the rows of words stand: upright rows one above the other where there is room for the
    sentence, as high as lets the figure fit into the window, else columns side by side.
    `at(row, place)` is the middle of a word. */
export function layoutOf(width, all, windowHeight = AROUND + HIGHEST) {
  const long = (place, size) => (breadth(all[place]) + 0.55) * size;
  const whole = all.reduce((sum, _, place) => sum + long(place, 1), 0);
  const font = Math.min(Math.floor((2 * width) / whole) / 2, 17);
  if (font >= 12.5) {
    const air = (width - whole * font) / all.length;
    let left = 0;
    const middles = all.map((_, place) => {
      const middle = left + (long(place, font) + air) / 2;
      left += long(place, font) + air;
      return middle;
    });
    const height = Math.min(Math.max(windowHeight - AROUND, LOWEST), HIGHEST);
    const rows = [height - 18, 0.59 * height, 0.266 * height];
    return {
      width,
      height,
      font,
      upright: true,
      unit: Math.min(width / 36, 22),
      at: (row, place) => [middles[place], rows[row]],
      half: 13,
      lamp: { y: 0.083 * height, from: width * 0.22, to: width * 0.78 },
    };
  }
  const [size, top] = [14, 100];
  const step = Math.min(Math.max((windowHeight - BESIDE) / all.length, NARROW), BROAD);
  const widest = Math.max(...all.map((_, place) => long(place, size)));
  const columns = [widest / 2, width * 0.57, width - 12];
  return {
    width,
    height: top + step * all.length + 22,
    font: size,
    upright: false,
    unit: 17,
    at: (row, place) => [columns[row], top + (place + 0.5) * step],
    half: widest / 2 + 1,
    lamp: { y: 50, from: 26, to: width - 26 },
  };
}

/** Where lines lie across, and a swipe along the screen cuts them: between the columns of words. */
export function fieldMarks({ width, height, half, upright, at }) {
  if (upright) return [];
  const top = at(0, -0.5)[1];
  return [
    [at(0, 0)[0] + half, at(1, 0)[0] - half],
    [at(1, 0)[0] + half, width - 42],
  ].map(([x, end]) => ["rect", { x, y: top, width: end - x, height: height - top - 22 }]);
}

/** The word at a place, as the layer in which it reads and its number, or null where there is none. */
export function wordAt({ at, font, half, upright }, { words, it }, [x, y]) {
  for (const [row, places] of [words, words, [words[it]]].entries()) {
    for (let place = 0; place < places.length; place += 1) {
      const number = row === 2 ? it : place;
      const [middle, centre] = at(row, number);
      const wide = upright ? (breadth(words[number]) * font) / 2 : row === 2 ? 14 : half - 2;
      if (Math.abs(x - middle) < wide && Math.abs(y - centre) < font / 2 + 2)
        return [row === 2 ? 1 : 0, number];
    }
  }
  return null;
}

/** The path of each line from the word that is read to the word that reads: where they arrive, lines
    lie side by side, as wide as their weights, and together fill the row's length of 1. */
export function pathsOf(layout, lines, weights) {
  const { at, upright, unit, half } = layout;
  const filled = new Map();
  return lines.map(([layer, query, key], i) => {
    const row = `${layer} ${query}`;
    const before = filled.get(row) ?? 0;
    filled.set(row, before + weights[i]);
    const aside = (before + weights[i] / 2 - 0.5) * unit;
    const [[x1, y1], [x2, y2]] = [at(layer, key), at(layer + 1, query)];
    const bend = 0.42 * (y1 - y2 - 2 * half);
    const points = upright
      ? [
          [x1, y1 - half],
          [x1, y1 - half - bend],
          [x2 + aside, y2 + half + bend],
          [x2 + aside, y2 + half],
        ]
      : [
          [x1 + half, y1],
          [x1 + half + 30, y1],
          [x2 - (layer ? 12 : half) - 30, y2 + aside],
          [x2 - (layer ? 12 : half), y2 + aside],
        ];
    return { points, width: Math.max(weights[i] * unit, 0.5) };
  });
}

/** The words of all rows and the layers' names: marks for `setChildren`. */
export function nameMarks({ words, it }, { at, font, upright, height }) {
  const word = (row, place) => {
    const [x, y] = at(row, place);
    return [
      "text",
      {
        x: row === 2 && !upright ? x + 12 : x,
        y: y + font * 0.35,
        "font-size": row === 2 ? font + 3 : row === 1 ? font - 1 : font,
        "text-anchor": row === 2 && !upright ? "end" : "middle",
        class: place === it ? "attention-query" : row === 1 || place === 0 ? "attention-muted" : "",
      },
      words[place],
    ];
  };
  const layer = (row) => {
    const [[x1, y1], [x2, y2]] = [at(row, 0), at(row + 1, 0)];
    const spot = upright ? { x: 0, y: (y1 + y2) / 2 } : { x: (x1 + x2) / 2, y: height - 6 };
    return [
      "text",
      { ...spot, "text-anchor": upright ? "start" : "middle", class: "attention-muted" },
      `layer ${row + 1}`,
    ];
  };
  return [
    ...words.map((_, place) => word(0, place)),
    ...words.map((_, place) => word(1, place)),
    word(2, it),
    layer(0),
    layer(1),
  ];
}

/** A label of some lines of text beside a path, where it covers least of it, and of rows of words:
    marks for `setChildren`. */
export function tagMarks(texts, path, { width, height, upright, at }) {
  const half = [(Math.max(...texts.map(breadth)) * 14) / 2 + 10, 4 + 10 * texts.length];
  const within = (at, axis) =>
    Math.min(Math.max(at, half[axis]), [width, height][axis] - half[axis]);
  const besides = [0.5, 0.4, 0.6, 0.3, 0.7].flatMap((share) => {
    const [[x1, y1], spot, [x2, y2]] = [-0.1, 0, 0.1].map((by) => pointOf(path.points, share + by));
    const long = Math.hypot(x2 - x1, y2 - y1);
    const across = [(y2 - y1) / long, (x1 - x2) / long]; // at right angles to the line
    const away =
      Math.abs(across[0]) * half[0] + Math.abs(across[1]) * half[1] + path.width / 2 + 12;
    return [-away, away].map((by) => spot.map((to, axis) => within(to + by * across[axis], axis)));
  });
  const rows = upright ? [0, 1, 2].map((row) => at(row, 0)[1]) : [];
  const covered = (middle) =>
    2 *
      SAMPLES.filter((share) =>
        pointOf(path.points, share).every(
          (to, axis) => Math.abs(to - middle[axis]) < half[axis] + 4,
        ),
      ).length +
    8 * rows.filter((y) => Math.abs(y - middle[1]) < half[1] + 9).length;
  const [middle, centre] = besides.reduce((best, next) =>
    covered(next) < covered(best) ? next : best,
  );
  return [
    [
      "rect",
      {
        x: middle - half[0],
        y: centre - half[1],
        width: 2 * half[0],
        height: 2 * half[1],
        rx: 14,
        class: "attention-area attention-ink",
      },
    ],
    ...texts.map((text, i) => [
      "text",
      {
        x: middle,
        y: centre - half[1] + 19 + 20 * i,
        "text-anchor": "middle",
        class: "attention-paper",
      },
      text,
    ]),
  ];
}

const round = (number, digits = 1) => Number(number.toFixed(digits));
export const pathData = ({ points: [a, b, c, d] }) =>
  `M${a.map(round)}C${b.map(round)} ${c.map(round)} ${d.map(round)}`;

/** The two ends of a line that is cut, or is on its way there while `gap` goes from 0 to 1: marks for
    `setChildren`. */
export function stumpMarks(path, gap, { width, look, pattern }) {
  const left = 0.5 - (0.5 - STUMP) * gap - 0.05 * Math.sin(Math.PI * gap);
  const drawn = {
    d: pathData(path),
    pathLength: 1,
    "stroke-dasharray": `${round(left, 3)} ${round(1 - 2 * left, 3)} ${round(left, 3)} 1`,
    "data-look": look,
  };
  return [
    ["path", { ...drawn, "stroke-width": width + 3 }],
    ["path", { ...drawn, "stroke-width": width, stroke: pattern }],
  ];
}

/** A point of a cubic curve. */
export function pointOf([a, b, c, d], share) {
  const rest = 1 - share;
  const [p, q, r, s] = [rest ** 3, 3 * rest ** 2 * share, 3 * rest * share ** 2, share ** 3];
  return [0, 1].map((axis) => p * a[axis] + q * b[axis] + r * c[axis] + s * d[axis]);
}

/** How far a place is from a line's edge, along a way of a few points of it. */
export function distance({ points, width }, [x, y]) {
  const nearest = Math.min(
    ...SAMPLES.map((share) => {
      const [px, py] = pointOf(points, share);
      return Math.hypot(px - x, py - y);
    }),
  );
  return nearest - width / 2;
}

/** Whether a line crosses the way from one place to another. */
export function crosses({ points }, from, to) {
  const side = ([ax, ay], [bx, by], [x, y]) =>
    Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax));
  const spots = SAMPLES.map((share) => pointOf(points, share));
  return spots.some((spot, i) => {
    const before = spots[i - 1];
    if (!before || side(from, to, before) === side(from, to, spot)) return false;
    return side(before, spot, from) !== side(before, spot, to);
  });
}

/** A lamp between the two words that are most probable for *it*, and how probable each of them is:
    marks for `setChildren`. Before anything is known, it is dark. */
export function lampMarks({ words, rivals, it }, shares, layout) {
  const known = shares.reduce((sum, share) => sum + share, 0); // less than 1 while they come
  const isKnown = known > 0.99;
  const { at, lamp, upright, unit } = layout;
  const { y, from, to } = lamp;
  const long = to - from;
  const [left, right] = rivals.map((place) => shares[place]);
  const [bright, other] = [Math.max(left, right), Math.max(1 - left - right, 0)];
  const x = from + (long * (1 - left + right)) / 2;
  const [fromX, fromY] = at(2, it);
  const bend = upright ? [fromX, fromY - 40, x, y + 48] : [fromX, y + 32, fromX, y + 22];
  const rival = (place, anchor, edge) => [
    "text",
    {
      x: edge,
      y: upright ? y + 5 : y - 33,
      "text-anchor": anchor,
      class: `attention-big attention-${shares[place] > 0.5 ? "output" : "muted"}`,
    },
    isKnown ? `${words[place]} ${fixed(shares[place], 2)}` : words[place],
  ];
  const bar = (x1, part, kind) => [
    "rect",
    {
      x: x1,
      y: y - 3,
      width: long * part,
      height: 6,
      class: `attention-area attention-${kind}`,
    },
  ];
  const others = shares.map((share, place) => (rivals.includes(place) ? -1 : share));
  const third = other > 0.5 ? words[others.indexOf(Math.max(...others))] : "another word";
  return [
    [
      "path",
      {
        d: `M${fromX} ${fromY - 13}C${bend.map((number) => number.toFixed(1))} ${x.toFixed(1)} ${y + 12}`,
        class: "attention-line attention-output",
        "stroke-opacity": known * (0.1 + 0.9 * bright),
        "stroke-width": unit * 0.4,
      },
    ],
    // Each word has the half beside it, and fills it from its own end.
    bar(from, 0.495, "grid"),
    bar(to - 0.495 * long, 0.495, "grid"),
    bar(from, 0.495 * left, left > 0.5 ? "output" : "muted"),
    bar(to - 0.495 * long * right, 0.495 * right, right > 0.5 ? "output" : "muted"),
    [
      "circle",
      {
        cx: x,
        cy: y,
        r: 24,
        class: "attention-area attention-output attention-faint",
        opacity: bright,
      },
    ],
    [
      "circle",
      {
        cx: x,
        cy: y,
        r: 10,
        class: "attention-lamp-bulb attention-area attention-output attention-edged",
        opacity: 0.25 + bright,
      },
    ],
    rival(rivals[0], upright ? "end" : "start", upright ? from - 34 : 0),
    rival(rivals[1], upright ? "start" : "end", upright ? to + 34 : to + 26),
    [
      "text",
      {
        x: (from + to) / 2,
        y: y - 14,
        "text-anchor": "middle",
        class: "attention-muted",
        visibility: isKnown && other > 0.03 ? null : "hidden",
      },
      `${third} ${fixed(other, 2)}`,
    ],
  ];
}
