// The six scores: their numbers, their contours and what is said of them.

import { entropy, fixed, readLines, readNumber, softmax } from "../_shared/index.js";

export const CELL = 8; // pixels from one place where the field is computed to the next

// What a score looks at, its formula with its matrices (`_` stands before an index), and what is said of it.
export const KINDS = {
  dot: { hint: "reach", formula: ["qᵀk"], said: "A step across the query changes no dot product." },
  "scaled dot": {
    hint: "milder reach",
    formula: ["qᵀk / √2"],
    said: "The order of the dot product, with milder weights.",
  },
  cosine: {
    hint: "angle",
    formula: ["qᵀk / (‖q‖ ‖k‖)"],
    said: "The cosine ignores how long query and keys are.",
  },
  Gaussian: {
    hint: "nearness",
    formula: ["−½ ‖q − k‖²"],
    said: "The Gaussian score knows the distance alone.",
  },
  bilinear: {
    hint: "turned reach",
    formula: ["qᵀWk", "W"],
    said: "The dot product, after W has moved the query.",
  },
  additive: {
    hint: "a small network",
    formula: ["w_vᵀ tanh(W_q q + W_k k)", "W_q", "W_k", "w_v"],
    said: "Where tanh is flat, a step changes next to nothing.",
  },
};

/** How far the colours reach on both sides of 0, the step from contour to contour, and how many
    places apart a contour is looked for: straight lines need few. */
export function scaleOf({ score, w_v }) {
  if (score === "additive") return [w_v.reduce((sum, w) => sum + Math.abs(w), 0) || 1, 0.25, 2];
  return { cosine: [1, 0.25, 2], Gaussian: [10, 1, 2] }[score] ?? [10, 1, 8];
}

/** The formula of a score, and its matrices, line by line. */
export function formula({ score, ...matrices }) {
  const [first, ...names] = KINDS[score].formula;
  const written = (name) =>
    JSON.stringify(matrices[name]).replaceAll(",", ", ").replaceAll("-", "−");
  return [first, ...names.map((name) => `${name} = ${written(name)}`)];
}

/** Wᵀq: the bilinear score is the dot product with it. */
export function moved({ query_x, query_y, W: [[a, b], [c, d]] }) {
  return [query_x * a + query_y * c, query_x * b + query_y * d];
}

/** The score of the query with a key, as a function of the key's coordinates. */
export function scorer(settings) {
  const { score, query_x, query_y, W_q, W_k, w_v } = settings;
  const dot =
    ([a, b]) =>
    (x, y) =>
      a * x + b * y;
  if (score === "scaled dot") return dot([query_x / Math.SQRT2, query_y / Math.SQRT2]);
  if (score === "bilinear") return dot(moved(settings));
  if (score === "Gaussian") return (x, y) => -((x - query_x) ** 2 + (y - query_y) ** 2) / 2;
  if (score === "cosine") {
    const length = Math.hypot(query_x, query_y);
    if (length === 0) return () => 0;
    return (x, y) => (query_x * x + query_y * y) / (length * Math.hypot(x, y) || 1);
  }
  if (score === "additive") {
    const hidden = W_q.map(([a, b]) => a * query_x + b * query_y);
    return (x, y) =>
      w_v.reduce((sum, w, i) => sum + w * Math.tanh(hidden[i] + W_k[i][0] * x + W_k[i][1] * y), 0);
  }
  return dot([query_x, query_y]);
}

/** Scores and weights of the keys. */
export function measure(settings) {
  const at = scorer(settings);
  const scores = settings.key_points.map(([, x, y]) => at(x, y));
  const weights = softmax(scores);
  return { scores, weights, max_weight: Math.max(...weights), entropy: entropy(weights) };
}

/** The key that each score crowns, -1 for a tie; how many agree at most, and on which key. */
export function agreement(settings) {
  const crowned = Object.keys(KINDS).map((score) => {
    const at = scorer({ ...settings, score });
    const scores = settings.key_points.map(([, x, y]) => at(x, y));
    const most = Math.max(...scores);
    return most - Math.min(...scores) < 1e-9 ? -1 : scores.indexOf(most);
  });
  const counts = settings.key_points.map((_, key) => crowned.filter((one) => one === key).length);
  const count = Math.max(...counts);
  return { crowned, count, key: counts.indexOf(count) };
}

/** How many scores are seen to agree somewhere in the plane, in steps of a half. */
export function reachable(settings) {
  const steps = Array.from({ length: 13 }, (_, i) => i / 2 - 3);
  return Math.max(
    ...steps.flatMap((query_x) =>
      steps.map((query_y) => agreement({ ...settings, query_x, query_y }).count),
    ),
  );
}

/** How many scores agree in a sentence, and how many do elsewhere: `most`, as far as is seen. */
export function agreed({ count, name, most }) {
  if (count === 6) return `All 6 agree on ${name}.`;
  const elsewhere = `elsewhere ${most === 6 ? "all" : most} do`;
  if (count > 1 && count < most) return `${count} of 6 scores agree on ${name}; ${elsewhere}.`;
  if (count > 1) return `${count} of 6 scores agree on ${name}, as many as can.`;
  return most > 1 ? `No two scores agree; ${elsewhere}.` : "No two scores agree.";
}

/** The finding in words. */
export function words({ score }, { scores, max_weight, entropy: nats }) {
  const kind =
    Math.max(...scores) - Math.min(...scores) < 1e-9
      ? "All keys have the same score, so they share equally."
      : KINDS[score].said;
  return `The largest is ${fixed(max_weight)}, the entropy ${fixed(nats)}. ${kind}`;
}

/** Where a field, given row by row, has one of the levels: lines as an SVG path in tenths of a pixel
    (marching squares, `stride` places wide; plain loops, since this runs in every draw). */
export function contours(field, columns, levels, stride) {
  let path = "";
  let [x, y, pen] = [0, 0, "M"];
  const visit = (right, down) => {
    path += `${pen}${Math.round(10 * (x + right * stride * CELL))} ${Math.round(10 * (y + down * stride * CELL))}`;
    pen = pen === "M" ? "L" : "M";
  };
  const below = stride * columns;
  for (let start = 0; start + below < field.length; start += below) {
    y = (start / columns) * CELL;
    for (let column = 0; column + stride < columns; column += stride) {
      x = column * CELL;
      const here = start + column;
      const a = field[here];
      const b = field[here + stride];
      const c = field[here + below + stride];
      const d = field[here + below];
      const lowest = Math.min(a, b, c, d);
      const highest = Math.max(a, b, c, d);
      for (const level of levels) {
        if (level <= lowest || level > highest) continue;
        pen = "M";
        if (a < level !== b < level) visit((level - a) / (b - a), 0);
        if (b < level !== c < level) visit(1, (level - b) / (c - b));
        if (d < level !== c < level) visit((level - d) / (c - d), 1);
        if (a < level !== d < level) visit(0, (level - a) / (d - a));
      }
    }
  }
  return path;
}

/** Two to eight keys as a reader has written them, a line each: name, across, up. */
export function readKeys(text) {
  const lines = readLines(text.replaceAll('"', ""));
  if (lines.length < 2 || lines.length > 8)
    throw new Error(`These are ${lines.length} lines; two to eight keys are needed.`);
  return lines.map((parts) => {
    if (parts.length < 3) throw new Error(`“${parts.join(" ")}” is not a name and two numbers.`);
    const [x, y] = parts.slice(-2).map((part) => readNumber(part, { min: -3, max: 3 }));
    return [parts.slice(0, -2).join(" "), x, y];
  });
}

/** What is set, for a still picture. */
export function setting({ query_x, query_y, score, key_points }, { weights }) {
  return `Query (${fixed(query_x, 2)}, ${fixed(query_y, 2)}), score: ${score}. Weights: ${key_points.map(([name], i) => `${name} ${fixed(weights[i])}`).join(", ")}.`;
}
