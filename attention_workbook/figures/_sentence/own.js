// A sentence of the reader's own: its field, what to try for a word that is not known, all words that
// are, and fetching those that a page does not carry.

import { areListed, element, parseSentence, textField, wordsOf } from "../_shared/index.js";

/**
 * The field, as a `node`, and what belongs under More, as `further`. `reading()` is the reader with
 * its words, `opened()` makes it anew when all words have come, and `read(text)` reads a sentence.
 * `canRead(text, next)` says whether all words of a text are here. If not, it asks a kernel or the
 * page's host for them, which sets `read_as`, and goes on with `next`.
 */
export function createOwn({ view, model, given, reading, opened, read }) {
  let isWhole = model.get("wanted"); // all words are here
  let lacking; // the text that needed others, which did not come
  const waiting = new Set(); // what goes on when they are here

  const field = textField({
    label: "A sentence of your own",
    class: "attention-typed",
    placeholder: "A sentence with “it”",
    enterkeyhint: "go",
  });
  const typed = field.input;
  const enter = element("button", { type: "button", class: "attention-button" }, "Read it");
  const tries = element("div", { class: "attention-tries", hidden: true });
  const list = element(
    "details",
    { class: "attention-known" },
    element("summary", {}, "The words that it knows"),
  );
  const samples = element("div", { class: "attention-samples" });

  function fetchWords(next) {
    if (isWhole) return true;
    waiting.add(next);
    view.set("wanted", true);
    return false;
  }
  const canRead = (text, next) =>
    given.examples.includes(text) ||
    areListed(wordsOf(text), reading().lexicon) ||
    fetchWords(next);
  view.onChange("read_as", () => {
    isWhole = true;
    opened();
    refuse("");
    for (const next of waiting) next();
    view.again();
  });
  view.onChange("wanted", () => {
    if (isWhole || model.get("wanted") || waiting.size === 0) return; // else the words did not come
    const isForList = waiting.has(tell) && waiting.size === 1;
    if (!isForList) lacking = typed.value = waiting.has(take) ? typed.value : model.get("text");
    refuse(
      isForList
        ? "The words could not be fetched. Check the connection, then open the list again."
        : "This sentence needs words that could not be fetched. Check the connection, then press Enter again.",
    );
    waiting.clear();
  });

  function refuse(problem) {
    field.refuse(problem);
    tries.hidden = true;
  }
  function take() {
    if (!canRead(typed.value, take)) return;
    try {
      const [, ...words] = parseSentence(typed.value, reading().lexicon, given.longest);
      refuse("");
      read(words.join(" "));
    } catch (error) {
      refuse(error.message);
      tries.replaceChildren(...(error.near ?? []).map((other) => trial(error.word, other)));
      tries.hidden = !error.near?.length;
    }
  }
  function trial(word, other) {
    const button = element(
      "button",
      { type: "button", class: "attention-button" },
      `Read “${other}” instead`,
    );
    button.addEventListener(
      "click",
      () => {
        const whole = new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, "iu");
        typed.value = typed.value.replace(whole, other);
        take();
      },
      { signal: view.signal },
    );
    return button;
  }
  /** Let what was typed go, unless it is what is read now. */
  function settle() {
    for (const next of [take, view.again]) waiting.delete(next);
    if (wordsOf(typed.value).join(" ") !== model.get("text")) typed.value = "";
    refuse("");
  }
  view.onChange("text", settle);
  view.onReset(settle);
  typed.addEventListener("change", () => typed.value && take(), { signal: view.signal });
  typed.addEventListener(
    "keydown",
    ({ key }) => key === "Enter" && typed.value === lacking && take(),
    { signal: view.signal },
  );
  enter.addEventListener("click", take, { signal: view.signal });

  function tell() {
    if (!list.open || list.children.length > 1 || !fetchWords(tell)) return;
    const { words, forms } = reading().lexicon;
    const line = (name, some) =>
      list.append(element("p", {}, element("strong", {}, `${name}: `), some.join(", ")));
    let start = 1;
    for (const [name, count] of given.sections) {
      const own = words.slice(start, start + count).filter((word) => !forms.has(word));
      line(`${name[0].toUpperCase()}${name.slice(1)}`, own);
      start += count;
    }
    for (const group of model.get("read_as").split(",")) {
      const [base, ...others] = group.split(" ");
      line(`Read as ${base}`, others);
    }
  }
  list.addEventListener("toggle", tell, { signal: view.signal });

  samples.append(
    element("p", { class: "attention-name" }, "Read one of these"),
    ...given.examples.map((text) => {
      const button = element("button", { type: "button", class: "attention-sample" }, text);
      button.addEventListener("click", () => read(text), { signal: view.signal });
      return button;
    }),
  );
  const node = element("div", { class: "attention-own" }, field.node, enter, tries);
  return {
    node,
    further: [samples, list],
    canRead,
    /** Say why a sentence that stands in an address cannot be read. */
    refuse,
    show(words) {
      for (const button of samples.querySelectorAll("button"))
        button.setAttribute("aria-pressed", String(button.textContent === words.join(" ")));
    },
  };
}
