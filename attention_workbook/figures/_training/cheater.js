// The model of the chapter on masks, and how it learns. It looks by place: `scores` has a number for
// each pair of places, `votes` for each letter a value, which is a list of votes for the next letter.
// A mask has 1 where a place may look, row by row.

import { softmaxRow, surprise } from "./losses.js";
import { adam, createState } from "./rules.js";

export const LENGTH = 9; // places of a text
export const ROWS = LENGTH - 1; // of them guess a letter: nothing comes after the last
export const LETTERS = 26;
export const STEPS = 100;
export const BATCH = 200; // texts a step
const [RATE, KEEP] = [0.3, 0.999];
/** The lowest loss without a look at the answer: one letter on has ¾, two letters on have ¼. */
export const BEST = -0.75 * Math.log(0.75) - 0.25 * Math.log(0.25);

/** Texts that walk through the alphabet, one letter or two at a time: `double` says which. */
function walk(count, random, double) {
  const texts = new Uint8Array(count * LENGTH);
  for (let at = 0; at < texts.length; at += 1) {
    const from = at % LENGTH === 0 ? Math.floor(LETTERS * random()) : texts[at - 1];
    texts[at] = (from + (double(at) ? 2 : 1)) % LETTERS;
  }
  return texts;
}

/** Texts to learn from: one step in four, on average, is a double one. */
export const walks = (count, random) => walk(count, random, () => random() < 0.25);

/** Texts to be judged by: exactly one step in four is a double one, so that chance favours nobody. */
export function fairWalks(count, random) {
  const places = Array.from({ length: count * LENGTH }, (_, at) => at).filter((at) => at % LENGTH);
  for (let i = places.length - 1; i > 0; i -= 1) {
    const other = Math.floor((i + 1) * random());
    [places[i], places[other]] = [places[other], places[i]];
  }
  const doubles = new Set(places.slice(0, places.length / 4));
  return walk(count, random, (at) => doubles.has(at));
}

/** The weights: the softmax of each row's scores over what its mask allows, 0 elsewhere. */
export function weigh(scores, mask, columns = LENGTH) {
  const weights = new Float64Array(scores.length);
  for (let start = 0; start < scores.length; start += LENGTH) {
    const open = [];
    for (let j = 0; j < columns; j += 1) if (mask[start + j]) open.push(j);
    const row = Float64Array.from(open, (j) => scores[start + j]);
    softmaxRow(row, 0, row.length);
    open.forEach((j, k) => {
      weights[start + j] = row[k];
    });
  }
  return weights;
}

/** The votes that a place gathers: those of the letters it looks at, each times its weight. */
function gather(tally, weights, row, votes, texts, text) {
  tally.fill(0);
  for (let j = 0; j < LENGTH; j += 1) {
    const weight = weights[row * LENGTH + j];
    const from = texts[text + j] * LETTERS;
    if (weight > 0) for (let c = 0; c < LETTERS; c += 1) tally[c] += weight * votes[from + c];
  }
}

/** The mean surprise at the next letters of texts. */
export function meanLoss({ scores, votes }, mask, texts) {
  const weights = weigh(scores, mask);
  const tally = new Float64Array(LETTERS);
  let total = 0;
  for (let text = 0; text < texts.length; text += LENGTH) {
    for (let i = 0; i < ROWS; i += 1) {
      gather(tally, weights, i, votes, texts, text);
      total += surprise(tally, 0, LETTERS, texts[text + i + 1]);
    }
  }
  return total / ((texts.length / LENGTH) * ROWS);
}

/** The loss on texts, and its gradient for scores and votes. */
export function gradients({ scores, votes }, mask, texts) {
  const weights = weigh(scores, mask);
  const toVotes = new Float64Array(votes.length);
  const toWeights = new Float64Array(weights.length);
  const tally = new Float64Array(LETTERS);
  const count = (texts.length / LENGTH) * ROWS;
  let total = 0;
  for (let text = 0; text < texts.length; text += LENGTH) {
    for (let i = 0; i < ROWS; i += 1) {
      gather(tally, weights, i, votes, texts, text);
      total += surprise(tally, 0, LETTERS, texts[text + i + 1]); // leaves the gradient in tally
      for (let j = 0; j < LENGTH; j += 1) {
        const weight = weights[i * LENGTH + j];
        const from = texts[text + j] * LETTERS;
        let sum = 0;
        for (let c = 0; c < LETTERS; c += 1) {
          toVotes[from + c] += (weight * tally[c]) / count;
          sum += tally[c] * votes[from + c];
        }
        toWeights[i * LENGTH + j] += sum / count;
      }
    }
  }
  return { loss: total / count, scores: throughSoftmax(weights, toWeights), votes: toVotes };
}

/** A score raises its own weight and lowers the others of its row: w (g − Σ w g). */
function throughSoftmax(weights, toWeights) {
  return weights.map((weight, at) => {
    const start = at - (at % LENGTH);
    let mean = 0;
    for (let j = start; j < start + LENGTH; j += 1) mean += weights[j] * toWeights[j];
    return weight * (toWeights[at] - mean);
  });
}

/** A model that knows nothing yet; `learn(texts)` takes one step of Adam and returns the loss. */
export function createCheater(mask) {
  const [scores, votes] = [ROWS * LENGTH, LETTERS ** 2].map((size) => new Float64Array(size));
  const states = [scores, votes].map(({ length }) => createState(length));
  let step = 0;
  return {
    scores,
    votes,
    learn(texts) {
      const found = gradients({ scores, votes }, mask, texts);
      step += 1;
      adam(scores, found.scores, states[0], step, RATE, KEEP);
      adam(votes, found.votes, states[1], step, RATE, KEEP);
      return found.loss;
    },
  };
}

/** What it writes after a letter, always the likeliest one. It looks only at what is there, and stops
    where its mask leaves it nothing of that. */
export function write({ scores, votes }, mask, letter) {
  const text = new Uint8Array(LENGTH);
  const tally = new Float64Array(LETTERS);
  text[0] = letter;
  for (let n = 1; n < LENGTH; n += 1) {
    const weights = weigh(scores, mask, n);
    const row = weights.subarray((n - 1) * LENGTH, n * LENGTH);
    if (!row.some((weight) => weight > 0)) return text.subarray(0, n);
    gather(tally, weights, n - 1, votes, text, 0);
    text[n] = tally.indexOf(Math.max(...tally));
  }
  return text;
}

/** A text in letters. */
export const spell = (text) => String.fromCharCode(...text.map((letter) => 97 + letter));
