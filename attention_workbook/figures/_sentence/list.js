// Two lists that name a line between words, for the keyboard: the word that reads, and the one that
// it reads.

import { element, fixed, setText } from "../_shared/index.js";

/** The lists, on a figure's `view`, whose trait `opened` is the place of the word that reads in
    layer 1, or -1 for *it* in layer 2. Lines have the order of `linesOf`. */
export function createList(view) {
  const rows = element("select", { "aria-label": "The word that reads" });
  const keys = element("select", { "aria-label": "The word that it reads" });
  const node = element(
    "div",
    { class: "attention-pick", role: "group", "aria-label": "A line" },
    element("span", { class: "attention-name" }, "Line"),
    rows,
    element("span", { "aria-hidden": "true" }, "→"),
    keys,
  );
  rows.addEventListener("change", () => view.set("opened", Number(rows.value)), {
    signal: view.signal,
  });
  let sentence;
  const firstOf = (row) => (row < 0 ? sentence.words.length : row) * sentence.words.length;

  return {
    node,
    /** The number of the line that the lists name. */
    chosen: () => firstOf(Number(rows.value)) + Number(keys.value),
    /** Name a line by its number, or only the word that reads. */
    choose(line, isWhole = true) {
      const [layer, query, key] = sentence.lines[line];
      if (isWhole) keys.value = String(key);
      view.set("opened", layer === 0 ? query : -1);
    },
    /** Offer the words of a sentence. */
    fill(whole) {
      sentence = whole;
      const options = sentence.words.map((word, place) => [`${word} in layer 1`, place]);
      const made = ([text, value]) => element("option", { value }, text);
      rows.replaceChildren(...[["it in layer 2", -1], ...options].map(made));
      keys.replaceChildren(...options.map(made));
    },
    /** Say what the word at `opened` reads: which lines are cut, and the weights of the others. */
    show(opened, cuts, weights) {
      rows.value = String(opened < sentence.words.length ? opened : -1);
      const first = firstOf(Number(rows.value));
      sentence.words.forEach((word, key) => {
        const isCut = cuts.includes(sentence.lines[first + key]);
        setText(keys.children[key], `${word} ${isCut ? "cut" : fixed(weights[first + key], 2)}`);
      });
    },
  };
}
