// A sentence as a trained reader takes it: its words, their base forms, and what to try for others.

const ENDINGS = [
  ["ies", ["y"]],
  ["es", ["e", ""]],
  ["s", [""]],
  ["ied", ["y"]],
  ["ed", ["e", ""]],
  ["ing", ["e", ""]],
  ["iest", ["y"]],
  ["est", ["", "e"]],
  ["ier", ["y"]],
  ["er", ["", "e"]],
  ["ily", ["y"]],
  ["ly", ["", "le"]],
];
const COMPARING = ["iest", "est", "ier", "er", "ily", "ly"]; // of adjectives; the others are of verbs and nouns
const CONTRACTIONS = [
  ["\\b(ca|wo|do|\\w+[ds])nt", "$1n't"],
  ["can't", "can not"],
  ["cannot", "can not"],
  ["won't", "will not"],
  ["n't", " not"],
  ["it's", "it is"],
  ["'ll", " will"],
  ["'d", " would"],
  ["'ve", " has"],
  ["'re", " is"],
  ["'m", " is"],
  ["'s", ""],
  ["\\bits(?= (?:too|so|very|not)\\b)", "it is"],
];

/** The words that a reader knows, as its figure has them: adjectives come first, after nothing.
    In `read_as`, each word is followed by those that are read as it. */
export function readLexicon({ vocabulary, forms, read_as, sections }) {
  const words = vocabulary.split(" ");
  const count = (wanted) =>
    sections.filter(([name]) => wanted(name)).reduce((sum, [, some]) => sum + some, 0);
  const groups = (text) => (text ? text.split(",").map((group) => group.split(" ")) : []);
  return {
    words,
    ids: new Map(words.map((word, id) => [word, id])),
    forms: new Map(groups(forms)),
    readAs: new Map(
      groups(read_as).flatMap(([base, ...others]) => others.map((other) => [other, base])),
    ),
    compared: count((name) => name === "adjectives"),
    named: count((name) => name !== "other words"), // ids up to
  };
}

/** The word whose vector stands for a word, as it is or by the lists; undefined if there is none. */
function own(word, { ids, forms, readAs }) {
  const form = forms.get(word) ?? word;
  const base = ids.has(form) ? form : readAs.get(form);
  return ids.has(base) ? base : undefined;
}

/** Whether all words are in the lists, so that more words could not change how they are read. */
export const areListed = (words, lexicon) =>
  words.every((word) => own(word, lexicon) !== undefined);

/** The word that a word is read as: "crossed" as "cross", "puppy" as "dog"; undefined if unknown. */
export function baseOf(word, lexicon) {
  const listed = own(word, lexicon);
  if (listed !== undefined) return listed;
  const { ids, compared } = lexicon;
  for (const [ending, instead] of ENDINGS) {
    const stem = word.endsWith(ending) ? word.slice(0, -ending.length) : "";
    if (stem.length < 2) continue;
    const tried = instead.map((end) => stem + end);
    if (ending !== "s" && ending !== "es" && stem.at(-1) === stem.at(-2))
      tried.push(stem.slice(0, -1));
    const base = tried
      .map((one) => own(one, lexicon))
      .find(
        (one) =>
          one !== undefined &&
          (!COMPARING.includes(ending) || (ids.get(one) > 0 && ids.get(one) <= compared)),
      );
    if (ending === "ed" && ids.has("used") && isNamed(base, lexicon)) return "used"; // the past of a noun is a verb, read as "used"
    if (base !== undefined) return base;
  }
  return lastPart(word, lexicon);
}

const isNamed = (base, { ids, compared, named }, from = compared) =>
  ids.get(base) > from && ids.get(base) <= named;

/** The known word that the last part of a compound is read as; undefined if there is none. */
function lastPart(word, lexicon) {
  const at = word.lastIndexOf("-");
  if (at >= 0) {
    const base = baseOf(word.slice(at + 1), lexicon);
    return isNamed(base, lexicon, 0) ? base : undefined;
  }
  const plain = (part) => own(part, lexicon) ?? own(part.replace(/s$/u, ""), lexicon);
  for (let end = 3; end < word.length - 2; end += 1) {
    const noun = plain(word.slice(end));
    if (isNamed(noun, lexicon) && plain(word.slice(0, end))) return noun;
  }
  return undefined;
}

/** The id of a word or of the word that it is read as; -1 if it is not known. */
export function idOf(word, lexicon) {
  return lexicon.ids.get(baseOf(word, lexicon)) ?? -1;
}

/** How alike two words are, 0 to 1, as Python's difflib reckons it. */
function likeness(a, b) {
  const matches = (a0, a1, b0, b1) => {
    let [best, at, bt] = [0, a0, b0];
    for (let i = a0; i < a1; i += 1) {
      for (let j = b0; j < b1; j += 1) {
        let n = 0;
        while (i + n < a1 && j + n < b1 && a[i + n] === b[j + n]) n += 1;
        if (n > best) [best, at, bt] = [n, i, j];
      }
    }
    return best === 0 ? 0 : best + matches(a0, at, b0, bt) + matches(at + best, a1, bt + best, b1);
  };
  return (2 * matches(0, b.length && a.length, 0, b.length)) / (a.length + b.length);
}

/** Up to three known words to try for an unknown one: those spelled nearly alike. */
function nearWords(word, { words, readAs }) {
  const couldBe = (known) =>
    2 * Math.min(known.length, word.length) > 0.6 * (known.length + word.length) - 1e-9;
  return [...words.slice(1), ...readAs.keys()]
    .filter(couldBe)
    .map((known) => [likeness(known, word), known])
    .filter(([alike]) => alike > 0.6 - 1e-12)
    .sort(([a, one], [b, other]) => b - a || (one < other ? 1 : -1))
    .slice(0, 3)
    .map(([, known]) => known);
}

/** The words of a text in small letters, contractions written out. */
export function wordsOf(text) {
  let small = text.toLowerCase().replaceAll("’", "'");
  for (const [short, long] of CONTRACTIONS)
    small = small.replace(new RegExp(`${short}(?![\\p{L}\\p{N}_'])`, "gu"), long);
  return small.match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu) ?? [];
}

/** The words of a sentence after the place for nothing. If it cannot be read, an Error in a
    sentence; for an unknown word with that `word` and the known words `near` it. */
export function parseSentence(text, lexicon, longest) {
  const words = wordsOf(text);
  if (words.length === 0)
    throw new Error("The sentence is empty: write a few words, one of them “it”.");
  for (const word of words) {
    if (idOf(word, lexicon) < 1) {
      const near = nearWords(word, lexicon);
      const others = near.map((other) => `“${other}”`).join(" or ");
      const hint = others ? `Try ${others}.` : "No word that it knows looks like it.";
      throw Object.assign(new Error(`The model does not know the word “${word}”. ${hint}`), {
        word,
        near,
      });
    }
  }
  if (words.length > longest) {
    throw new Error(`The sentence has ${words.length} words; the reader takes at most ${longest}.`);
  }
  const count = words.filter((word) => word === "it").length;
  if (count !== 1)
    throw new Error(`The sentence needs exactly one “it”; this one has ${count || "none"}.`);
  return [lexicon.words[0], ...words];
}
