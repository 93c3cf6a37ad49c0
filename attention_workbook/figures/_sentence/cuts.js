// A trained reader whose lines between words can be cut.

import { idOf, parseSentence, readLexicon, runReader, unpackReader } from "../_shared/index.js";

export const SURE = 0.75; // below this probability, the reader is unsure
export const PAIR = ["tired", "wide"]; // last words that turn the answer, offered side by side

/** A reader that can be asked: its numbers and its words. */
export function openReader(state) {
  const lexicon = readLexicon(state);
  return { ...unpackReader(state, lexicon.words.length), lexicon };
}

/** The lines between `count` words that can reach the answer, each `[layer, query, key]`, counted from
    0: all of layer 1, and those of the word *it* in layer 2. */
export function linesOf(count, it) {
  const words = Array.from({ length: count }, (_, i) => i);
  return [
    ...words.flatMap((query) => words.map((key) => [0, query, key])),
    ...words.map((key) => [1, it, key]),
  ];
}

export const nameOfLine = ([layer, query, key]) => `${layer + 1}:${query}-${key}`;

/** The lines that a text such as "1:12-7 2:9-12" names, of those that there are. */
export function parseCuts(text, lines) {
  const byName = new Map(lines.map((line) => [nameOfLine(line), line]));
  return [...new Set(text.split(" "))]
    .map((name) => byName.get(name))
    .filter((line) => line !== undefined);
}

const meanRow = (heads, query) =>
  heads[0].weights[query].map(
    (_, key) => heads.reduce((sum, { weights }) => sum + weights[query][key], 0) / heads.length,
  );
/** The place of the largest number. */
export const largest = (numbers) => numbers.indexOf(Math.max(...numbers));

/** What the reader computes of a sentence with some lines cut: the weight of every line, as the mean
    of the layer's heads, how probable each word is the one that *it* means, and which that is. */
export function readCut({ reader, ids, it, lines }, cuts) {
  const { layers, weights } = runReader(reader, ids, { cuts });
  const rows = [
    ids.map((_, query) => meanRow(layers[0].heads, query)),
    { [it]: meanRow(layers[1].heads, it) },
  ];
  const shares = weights.at(-1)[0][it];
  return {
    weights: lines.map(([layer, query, key]) => rows[layer][query][key]),
    shares,
    meant: largest(shares),
  };
}

/** A sentence, its lines, and what the reader makes of it when nothing is cut. `rivals` are the two
    words between which the lamp hangs: those that are most probable, in the sentence's order. */
export function openSentence(text, reader, longest) {
  const words = parseSentence(text, reader.lexicon, longest);
  const ids = words.map((word, place) => (place ? idOf(word, reader.lexicon) : 0));
  const it = words.indexOf("it");
  const sentence = { reader, words, ids, it, lines: linesOf(words.length, it) };
  const whole = readCut(sentence, []);
  const second = largest(whole.shares.map((share, place) => (place === whole.meant ? -1 : share)));
  return { ...sentence, whole, rivals: [whole.meant, second].sort((a, b) => a - b) };
}

/** Whether a line decides alone: with nothing else cut, *it* means another word without it. */
export const decides = (line, sentence) => readCut(sentence, [line]).meant !== sentence.whole.meant;

/** A word of a sentence in a sentence of ours: “the animal”, “my phone”, “none of the words”. */
export function inWords({ words }, place) {
  if (place === 0) return "none of the words";
  const before = words[place - 1];
  if (["the", "a", "an"].includes(before)) return `the ${words[place]}`;
  const isOwned = ["my", "your", "his", "her", "our", "their"].includes(before);
  return isOwned ? `${before} ${words[place]}` : words[place];
}
