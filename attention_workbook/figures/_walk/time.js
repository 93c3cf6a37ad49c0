// Time within a step: what moves when, as shares of the step from 0 to 1.

import { between, sameShape } from "../_shared/index.js";
import { DIVIDED, KEYS, MASKED, MIXTURE, SCORES, SOFTMAX } from "./steps.js";

/** How long a step plays, in milliseconds: where something is computed, as long as it takes to see. */
const lengthOf = (step) =>
  ({ [KEYS]: 5200, [SCORES]: 6000, [SOFTMAX]: 5200, [MIXTURE]: 5600 })[step] ?? 1100;

// When the marks of a kind go from the step before to this one; what is not named goes first. A pair
// `[from, to]`, and a third number where rows follow each other, over how much time.
const WINDOWS = {
  [KEYS]: { vector: [0, 0.12], query: [0.6, 0.64], key: [0.7, 0.8, 0.18] },
  [SCORES]: { key: [0, 0.1], query: [0, 0.1], bars: [0.68, 0.74, 0.24], axis: [0.1, 0.14] },
  [DIVIDED]: { bars: [0.15, 0.85] },
  [MASKED]: { pads: [0.1, 0.5], key: [0.1, 0.5] },
  [SOFTMAX]: { key: [0, 0.1], query: [0, 0.1], bars: [0.84, 0.9, 0.08], axis: [0, 0.1] },
  [MIXTURE]: { value: [0.04, 0.16], output: [0.9, 0.96], beliefs: [0.92, 1] },
};

/** How much of a change is done: from 0 to 1 while the time goes from `from` to `to`. */
export function ramp(time, from, to) {
  const share = Math.min(Math.max((time - from) / (to - from), 0), 1);
  return share * share * (3 - 2 * share);
}

/** Whether the step's labels have arrived, 0 to 1: they come with their marks. */
export const arrived = (step, time) =>
  step in WINDOWS ? ramp(time, 0.9, 0.97) : ramp(time, 0.55, 0.85);

/** The scene at a time of a step, between those of the step before and of this one. */
export function sceneAt(step, time, before, goal) {
  const windows = WINDOWS[step] ?? {};
  return Object.fromEntries(
    Object.keys(goal).map((kind) => {
      const [from, to, spread] = windows[kind] ?? [0, WINDOWS[step] ? 0.12 : 0.7];
      const [old, next] = [before[kind], goal[kind]];
      if (!spread || !Array.isArray(next)) return [kind, between(old, next, ramp(time, from, to))];
      return [
        kind,
        rowByRow(old, next, (share) => ramp(time, from + share * spread, to + share * spread)),
      ];
    }),
  );
}

/** Rows that follow one another; where heads hold rows, the rows within each head. */
function rowByRow(old, next, shareAt) {
  const isRow = (part) => typeof part[0] === "number";
  if (!isRow(next[0])) return next.map((part, i) => rowByRow(old[i], part, shareAt));
  return next.map((part, i) => between(old[i], part, shareAt(i / next.length)));
}

/**
 * The clock of the walk. A step that follows the one before plays from 0 to 1, or follows the page as
 * it is scrolled; any other change morphs from what stands. `at(step)` is the time now.
 */
export function createClock({ again, isStill, now = () => performance.now() }) {
  let [step, begun, time, from, morphed] = [0, null, 1, null, 0];
  return {
    /** Another step stands. With `isNext` it is computed; else the picture goes from `drawn` to it. */
    turn(next, isNext, drawn) {
      [step, begun, time, from] = [next, null, 1, null];
      if (isStill()) return;
      if (isNext) [begun, time] = [now(), 0];
      else [from, morphed] = [drawn, now()];
    },
    /** The page has been scrolled to a time of the step. */
    scrub(share) {
      if (isStill()) return;
      [begun, time] = [null, share];
      again();
    },
    time() {
      if (begun !== null) time = Math.min((now() - begun) / lengthOf(step), 1);
      if (time === 1) begun = null;
      if (begun !== null) again();
      return time;
    },
    /** What to draw on the way from another picture to `goal`. */
    morph(goal) {
      if (!from) return goal;
      const share = ramp(now(), morphed, morphed + 360);
      if (share === 1) from = null;
      else again();
      if (!from) return goal;
      return Object.fromEntries(
        Object.keys(goal).map((kind) => [
          kind,
          sameShape(from[kind], goal[kind]) ? between(from[kind], goal[kind], share) : goal[kind],
        ]),
      );
    },
  };
}
