// A run of training: a small transformer learns a text, letter by letter, and writes.

import { softmaxRow, surprise } from "./losses.js";
import { createRandom } from "./random.js";
import { createState, descent, uncorrected } from "./rules.js";
import { backward, createParameters, forward } from "./transformer.js";

const [WIDTH, HIDDEN, HEADS, LENGTH, BATCH] = [48, 192, 4, 32, 8];
const STRETCHES = 128; // of the held-out text, evenly spread: the loss is measured on them
const TEMPERATURE = 0.8;
const RULES = { adam: uncorrected, descent };

/** Every tenth paragraph is held out, as attention_workbook.writer.split_prose does it. */
export function splitProse(prose) {
  const paragraphs = prose.replace(/\n$/, "").split("\n");
  const isHeldOut = (_, i) => i % 10 === 9;
  return {
    learned: paragraphs.filter((paragraph, i) => !isHeldOut(paragraph, i)).join("\n"),
    heldOut: paragraphs.filter(isHeldOut).join("\n"),
  };
}

/**
 * A run with a rule, a rate, a seed and perhaps something broken. `step` counts the steps so far.
 * A step is `gradient()`, which draws stretches of the text and returns their loss, and then
 * `update()`; a rule of somebody else's writes into `parameters` itself.
 */
export function createRun(prose, { rule = "adam", rate, seed, isScaled = true, isMasked = true }) {
  const letters = [...new Set(prose)].sort();
  const idsOf = (text) => Array.from(text, (letter) => letters.indexOf(letter));
  const { learned, heldOut } = splitProse(prose);
  const [known, unseen] = [idsOf(learned), idsOf(heldOut)];
  const random = createRandom(seed);
  const parameters = createParameters(letters.length, WIDTH, HIDDEN, random);
  const states = Object.values(parameters).map(({ values }) => createState(values.length));
  const options = { heads: HEADS, isScaled, isMasked };

  /** Stretches of a text and, for each of their letters, the next one. */
  function stretches(ids, starts) {
    const cut = (shift) =>
      starts.flatMap((start) => ids.slice(start + shift, start + shift + LENGTH));
    return [cut(0), cut(1)];
  }

  const run = {
    step: 0,
    parameters,

    gradient() {
      const starts = Array.from({ length: BATCH }, () =>
        Math.floor(random() * (known.length - LENGTH)),
      );
      const [ids, targets] = stretches(known, starts);
      run.step += 1;
      return backward(parameters, forward(parameters, ids, LENGTH, options), targets);
    },

    update() {
      Object.values(parameters).forEach(({ values, gradient }, i) => {
        RULES[rule](values, gradient, states[i], run.step, rate);
      });
    },

    /** The loss on text that it does not learn from. */
    loss() {
      const gap = (unseen.length - LENGTH - 1) / STRETCHES;
      let loss = 0;
      for (let begin = 0; begin < STRETCHES; begin += BATCH) {
        const starts = Array.from({ length: BATCH }, (_, i) => Math.floor((begin + i) * gap));
        const [ids, targets] = stretches(unseen, starts);
        const { scores } = forward(parameters, ids, LENGTH, options);
        targets.forEach((target, row) => {
          loss += surprise(scores, row * letters.length, letters.length, target);
        });
      }
      return loss / (STRETCHES * LENGTH);
    },

    /** Continue a text, a letter at a time; each is drawn by its probability, a little boldly less. */
    write(beginning, count) {
      const draw = createRandom(seed); // its own numbers, so that writing changes no training
      const ids = idsOf(beginning);
      for (let more = 0; more < count; more += 1) {
        const seen = ids.slice(-LENGTH);
        const padded = [...seen, ...new Array(LENGTH - seen.length).fill(0)]; // later ones are not seen
        const { scores } = forward(parameters, padded, LENGTH, { ...options, isMasked: true });
        const from = (seen.length - 1) * letters.length;
        const chances = scores
          .subarray(from, from + letters.length)
          .map((score) => score / TEMPERATURE);
        softmaxRow(chances, 0, chances.length);
        let left = draw();
        const drawn = chances.findIndex((chance) => (left -= chance) < 0);
        ids.push(drawn < 0 ? chances.indexOf(Math.max(...chances)) : drawn);
      }
      return ids.map((id) => letters[id]).join("");
    },
  };
  return run;
}
