// The reader's numbers for one sentence, and what each step shows in words.

import { fixed, linear, normalise, runReader, softmax, unpackReader } from "../_shared/index.js";
import {
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

/** The place of the largest number. */
export const place = (numbers) => numbers.indexOf(Math.max(...numbers));
export const quoted = (word) => `“${word}”`;

/** What the model would answer if *it* had this vector: the pointing head's weights. */
function answered({ pointing, width }, { pointing: { keys } }, vector) {
  const [query] = linear([vector], pointing.W_q);
  return softmax(
    keys.map(
      (key) => key.reduce((sum, number, i) => sum + number * query[i], 0) / Math.sqrt(width),
    ),
  );
}

/** What it would answer if one head of the first layer were the only one. */
function answeredAlone(reader, run, head, it) {
  const { input, joined } = run.layers[0];
  const size = joined[it].length / run.layers[0].heads.length;
  const [brought] = linear(
    [joined[it].map((number, i) => (Math.floor(i / size) === head ? number : 0))],
    reader.layers[0].W_o,
  );
  return answered(
    reader,
    run,
    normalise(
      input[it].map((number, i) => number + brought[i]),
      reader.layers[0],
    ),
  );
}

/** All that is to be seen of a sentence: its numbers, and those after a head's gift was swapped. */
export function measure(state, reader = unpackReader(state, state.vocabulary.length)) {
  const { vocabulary, text, word, choices, nouns, swap, head: followed } = state;
  const it = text.indexOf("it");
  const read = (last, lent) => {
    const words = [...text.slice(0, -1), last];
    const ids = words.map((one) => vocabulary.indexOf(one));
    const run = runReader(reader, ids, { lent });
    const answers = [run.start, ...run.layers.map(({ output }) => output)].map((rows) =>
      answered(reader, run, rows[it]),
    );
    return { ...run, words, ids, answers, meant: place(answers.at(-1)) };
  };
  const measured = read(word);
  const other = choices.find((one) => read(one).meant !== measured.meant) ?? word;
  let [swapped, patched] = [measured, -1];
  if (swap !== "nothing") {
    const [layer, head] = swap.split(".").map((number) => number - 1);
    patched = head + (layer ? measured.layers[0].heads.length : 0);
    swapped = read(word, {
      layer,
      head,
      place: it,
      vector: read(other).layers[layer].heads[head].output[it],
    });
  }
  const first = measured.layers[0].heads[followed];
  const size = first.keys[0].length;
  const padding = runReader(reader, [...measured.ids, ...Array(PADS).fill(0)]).layers[0].heads[
    followed
  ].keys.slice(-PADS);
  return {
    ...measured,
    it,
    nouns,
    other,
    swapped,
    patched,
    first,
    followed,
    size,
    padding,
    matrix: Array.from({ length: reader.width }, (_, i) =>
      Array.from(
        { length: size },
        (_, j) => reader.layers[0].W_q[(followed * size + j) * reader.width + i],
      ),
    ),
    row: first.weights[it],
    dots: first.dots[it],
    scores: first.scores[it],
    alone: answeredAlone(reader, measured, followed, it),
  };
}

/** What the model would answer by now, and what it would have answered before, by name: at most three
    answers, and none before the first look has brought anything. */
export function believed(step, { answers, swapped, alone }) {
  if (step < MIXTURE || step === MACHINE) return [];
  const before = ["before", answers[0]];
  if (step === MIXTURE) return [before, ["after this look", alone]];
  if (step === HEADS) return [before, ["after layer 1", answers[1]]];
  const last = step === BRIGHTEST ? swapped.answers[2] : answers[2];
  return [before, ["after layer 1", answers[1]], ["after layer 2", last]];
}

/** The finding of each step in words. */
export function words({ step, word, swap }, measured) {
  const { it, nouns, row, dots, scores, size, start, layers, swapped } = measured;
  const names = measured.words;
  const [one, two] = nouns.map((noun) => names[noun]);
  const odds = (answer) =>
    `${one} ${fixed(answer[nouns[0]], 2)}, ${two} ${fixed(answer[nouns[1]], 2)}`;
  const [best, first, second] = [place(dots), row[nouns[0]], row[nouns[1]]];
  const means = ({ meant, answers }) =>
    (meant === 0 ? "none of the words" : names[meant]) +
    ` (probability ${fixed(Math.max(...answers[2]), 2)})`;
  const head = `layer 1, head ${measured.followed + 1}`;
  const brightest = layers.map(({ heads }) =>
    heads.map(
      ({ weights }) => `${names[place(weights[it])]} ${fixed(Math.max(...weights[it]), 2)}`,
    ),
  );
  switch (step) {
    case WORDS:
      return `One of the ${names.length - 1} words is “it”. Does it mean the ${one} or the ${two}?`;
    case VECTORS:
      return (
        `Each word is ${start[0].length} numbers; those of “it” run from ` +
        `${fixed(Math.min(...start[it]), 2)} to ${fixed(Math.max(...start[it]), 2)}.`
      );
    case KEYS:
      return `In ${head}, “it” has a query of ${size} numbers, and every word has a key of ${size} numbers.`;
    case SCORES:
      return `The query of “it” matches the key of ${quoted(names[best])} best: score ${fixed(dots[best], 2)}.`;
    case DIVIDED:
      return (
        `Divided by √${size} = ${fixed(Math.sqrt(size), 2)}, ` +
        `the score of ${quoted(names[best])} is ${fixed(scores[best], 2)}.`
      );
    case MASKED:
      return `The ${PADS} empty places get the score −∞. All ${names.length} others may be looked at.`;
    case SOFTMAX:
      return (
        `${quoted(one)} gets the weight ${fixed(first, 2)}, ${quoted(two)} ${fixed(second, 2)}; ` +
        `the ${names.length - 2} others share ${fixed(1 - first - second, 2)}.`
      );
    case MIXTURE:
      return (
        `${fixed(first, 2)} of the mixture comes from ${quoted(one)}, ` +
        `${fixed(second, 2)} from ${quoted(two)}. ` +
        `Before this look, the model would answer ${odds(measured.answers[0])}; ` +
        `after it, ${odds(measured.alone)}.`
      );
    case HEADS:
      return (
        `The ${layers[0].heads.length} heads of layer 1 let “it” look most at ` +
        `${brightest[0].join(", ")}. ` +
        `With all of them, the model would answer ${odds(measured.answers[1])}.`
      );
    case LAYERS:
      return (
        `Asked before layer 1, the model would answer ${odds(measured.answers[0])}; ` +
        `after it, ${odds(measured.answers[1])}; after layer 2, ${odds(measured.answers[2])}.`
      );
    case MACHINE:
      return (
        `Words in, an answer out: ${layers.map(({ heads }) => heads.length).join(" and ")} heads ` +
        `in ${layers.length} layers, and one of them opened. “It” means ${means(measured)}.`
      );
    case BRIGHTEST: {
      if (swap === "nothing")
        return `The heads of layer 2 look most at ${brightest[1].join(", ")}. “It” means ${means(measured)}.`;
      const [layer, number] = swap.split(".");
      return (
        `The output of head ${layer}.${number} at “it” is taken from the sentence with ` +
        `“${measured.other}”: “it” means ${means(swapped)}` +
        `${swapped.meant === measured.meant ? ", as before" : ""}.`
      );
    }
    default:
      return `With “${word}”, “it” means ${means(measured)}.`;
  }
}
