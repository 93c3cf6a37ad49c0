// What a reader of Scissors is to do, what has been found, and hints towards the line that decides.

import { asDone, fixed } from "../_shared/index.js";
import { SURE, inWords } from "./cuts.js";

const lineInWords = ({ words }, [layer, query, key]) =>
  `“${words[query]}” → “${words[key]}” in layer ${layer + 1}`;

/** What is to be done; `decisive` are the lines that decide alone, null while they are not known, and
    `act` is what a hand does to a word. */
export function taskOf(sentence, decisive, act) {
  const { whole, rivals } = sentence;
  const other = inWords(
    sentence,
    rivals.find((place) => place !== whole.meant),
  );
  if (decisive?.length === 0)
    return `No single line decides here: how many cuts make “it” mean ${other}?`;
  const which =
    decisive?.length > 1 ? `one of the ${decisive.length} lines that make` : "the line that makes";
  return `Cut ${which} “it” mean ${inWords(sentence, whole.meant)}; a ${act} on a word shows what it reads.`;
}

/** The answer after some cuts, and which of them decide; `reason` is that of a single one. */
export function findingOf(sentence, cuts, { meant, shares, reason }, decisive) {
  const { lines, whole } = sentence;
  const likely = shares[meant] < SURE ? "most likely means" : "means";
  const means = `${likely} ${inWords(sentence, meant)} (probability ${fixed(shares[meant], 2)})`;
  if (cuts.length === 0)
    return `“It” ${means}. Each of the ${lines.length} lines is one word reading another: the thicker the line, the more it reads.`;
  const isTurned = meant !== whole.meant;
  const without =
    cuts.length > 1 ? `After ${cuts.length} cuts` : `Without ${lineInWords(sentence, cuts[0])}`;
  const said = `${without}, “it” ${isTurned ? "" : "still "}${means}.`;
  // What the task asks for: one line, or where no line does it alone, as many as it takes.
  const isDone = isTurned && (cuts.length === 1 || decisive?.length === 0);
  const conclusion = isDone ? asDone(said) : said;
  if (decisive === null) return conclusion;
  const alone = cuts.find((cut) => decisive.includes(cut));
  if (cuts.length > 1) {
    if (!alone) return isTurned ? `${conclusion} None of these cuts decides alone.` : conclusion;
    const line = lineInWords(sentence, alone);
    if (isTurned) return `${conclusion} Of these, ${line} decides alone.`;
    return cuts.length < 4 ? `${conclusion} Cut alone, ${line} turns the answer.` : conclusion;
  }
  if (!isTurned) return conclusion;
  const others =
    decisive.length === 1
      ? `None of the other ${lines.length - 1} lines does that alone.`
      : `Of the ${lines.length} lines, ${decisive.length} do that alone.`;
  return `${conclusion} ${others} ${reason}`;
}

/** What a cut that has turned the answer has made stronger. Whether that is what turned it, the reader
    finds out. */
export function reasonOf({ words, lines, whole }, [layer, query], weights) {
  const row = lines.flatMap((line, i) => (line[0] === layer && line[1] === query ? [i] : []));
  const growth = (i) => weights[i] - whole.weights[i];
  const most = row.reduce((best, i) => (growth(i) > growth(best) ? i : best));
  const key = lines[most][2];
  const [before, now] = [whole.weights[most], weights[most]].map((weight) => fixed(weight, 2));
  const reads = `“${words[query]}” now reads ${key === query ? "itself" : `“${words[key]}”`} more`;
  return `The weight goes to other lines: ${reads}, ${now} instead of ${before}.`;
}

/** Hints towards the first of the lines that decide alone, one after the other: its layer, the word
    that reads, the line. Each has a `text` and says which lines it `fits`. In layer 2 only *it*
    reads, so there the word would be no help. */
export function hintsOf(sentence, decisive) {
  if (decisive.length === 0) return [];
  const [line] = decisive;
  const [layer, query] = line;
  const what =
    decisive.length === 1
      ? "the line that decides"
      : `one of the ${decisive.length} lines that decide`;
  const ofLayer = {
    text: `Look at layer ${layer + 1}: ${what} is there.`,
    fits: (other) => other[0] === layer,
  };
  const ofWord = {
    text: `Look at what “${sentence.words[query]}” reads in layer ${layer + 1}.`,
    fits: (other) => other[0] === layer && other[1] === query,
  };
  const itself = {
    text: `Cut only ${lineInWords(sentence, line)}.`,
    fits: (other) => other === line,
  };
  return layer === 0 ? [ofLayer, ofWord, itself] : [ofLayer, itself];
}
