// What a trained reader reads in a sentence, head by head, and what it concludes.

import { baseOf, fixed, idOf, parseSentence, readLexicon, runReader } from "../_shared/index.js";
import { SURE, openReader } from "./cuts.js";

const OFFERED = 14; // words to swap a word for: one glance
const OTHER = "other words";
// Offered first: some are said of animals, some of streets, and the last of both.
const FIRST = ["tired", "wide", "hungry", "steep", "lazy", "narrow", "dangerous"];

/** The words of a sentence, or an Error in a sentence. */
export function parse(text, state) {
  return parseSentence(text, readLexicon(state), state.longest);
}

/** All that is to be seen: the words, every head's weights, and the conclusion. */
export function measure(state, reader = openReader(state)) {
  const words = parseSentence(state.text, reader.lexicon, state.longest);
  const layers = runReader(
    reader,
    words.map((word, place) => (place ? idOf(word, reader.lexicon) : 0)),
  ).weights;
  const it = words.indexOf("it");
  const shares = layers.at(-1)[0][it];
  const order = shares.map((_, place) => place).sort((a, b) => shares[b] - shares[a]);
  return {
    words,
    layers,
    it,
    shares,
    meant: order[0],
    second: order[1],
    probability: shares[order[0]],
    replaced: replaced(words, reader),
  };
}

/** Names of the heads, the pointing one first. */
export function headNames(num_heads) {
  return [
    "the pointing head",
    ...num_heads.flatMap((heads, layer) =>
      Array.from({ length: heads }, (_, head) => `layer ${layer + 1}, head ${head + 1}`),
    ),
  ];
}

function weightsOf({ head, num_heads }, layers) {
  return head <= 0 ? layers.at(-1)[0] : layers.slice(0, num_heads.length).flat()[head - 1];
}

/** The row that is drawn of one head: who asks, and the weight it gives to every word. */
export function rowOf(state, { layers, words, it }) {
  const asking = state.head < 0 || state.word < 0 || state.word >= words.length ? it : state.word;
  return { asking, weights: weightsOf(state, layers)[asking] };
}

/** One head of a layer, or the mean of all where none is followed. */
function mapOf(layer, head) {
  if (head !== undefined) return layer[head];
  return layer[0].map((row, i) =>
    row.map((_, j) => layer.reduce((sum, each) => sum + each[i][j], 0) / layer.length),
  );
}

/** What *it* reads in the last two layers, and where it points. */
export function wayOf({ followed }, { layers, it, shares, words }) {
  const rows = layers.slice(-3, -1).map((layer, i) => mapOf(layer, followed[i])[it]);
  const none = words.map(() => 0);
  return [...rows, none, none].slice(0, 2).concat([shares]);
}

export const nameOf = (words, place) => (place === 0 ? "none of these words" : words[place]);

export const rivals = ({ words, meant, second, shares }) =>
  [meant, second].map((place) => `${nameOf(words, place)} ${fixed(shares[place], 2)}`).join(", ");

/** What the reader concludes: in a sentence, or as the end of one. */
const concluded = (measured) =>
  measured.probability < SURE
    ? `is unsure: ${rivals(measured)}`
    : `means ${nameOf(measured.words, measured.meant)}`;
const conclusion = (measured) => `“It” ${concluded(measured)}.`;

/** The one or two words that a row of weights reads most; none where it reads nothing much. */
export function mostRead(weights, words) {
  const most = Math.max(...weights);
  const order = weights.map((_, place) => place).sort((a, b) => weights[b] - weights[a]);
  return order
    .slice(0, 2)
    .filter((place) => weights[place] > most / 2 && weights[place] >= 0.05)
    .map((place) => `“${words[place]}”`)
    .join(" and ");
}

/** The words that another word stands for, in a sentence. */
export function replaced(all, { lexicon: { ids, forms, readAs }, lexicon }) {
  const isOther = (word) => ids.has(word) === forms.has(word); // neither, or both: a word with a better one
  const pairs = all
    .slice(1)
    .filter(isOther)
    .map((word) => [word, baseOf(word, lexicon)])
    .filter(([word, base]) => readAs.has(word) || base.slice(0, 2) !== word.slice(0, 2));
  return pairs.length
    ? ` The model reads ${pairs.map(([word, base]) => `“${word}” as “${base}”`).join(", ")}.`
    : "";
}

/** The finding in words: a sentence that grows with the picture, step by step. */
export function words(state, measured) {
  if (state.head < 0) {
    const [first, second] = wayOf(state, measured).map((row) => mostRead(row, measured.words));
    const looks = [
      first && `looks at ${first}`,
      second && (second === first ? "then there again" : `then at ${second}`),
    ];
    const parts = [...looks, `and ${concluded(measured)}.`].slice(0, state.hop);
    const said = `“It” ${parts.filter(Boolean).join(", ")}`;
    return state.hop < 3 ? said : said + measured.replaced;
  }
  const { asking, weights } = rowOf(state, measured);
  const most = Math.max(...weights);
  return (
    `${conclusion(measured)}${measured.replaced} In ${headNames(state.num_heads)[state.head]}, ` +
    `“${measured.words[asking]}” looks most at “${measured.words[weights.indexOf(most)]}” ` +
    `(weight ${fixed(most)}).`
  );
}

/** Words that may stand in a word's place, by the part of the vocabulary it is in; itself first. */
export function alike(word, { lexicon }, { sections, offered }) {
  const id = idOf(word, lexicon);
  let start = 1;
  for (const [name, count] of sections) {
    if (id >= start && id < start + count) {
      if (name === OTHER) return [];
      const some =
        name === "adjectives"
          ? offered.split(" ")
          : lexicon.words.slice(start, start + Math.min(count, OFFERED));
      const first = FIRST.filter((other) => some.includes(other));
      return [...new Set([word, ...first, ...some.sort()])].slice(0, OFFERED);
    }
    start += count;
  }
  return [];
}
