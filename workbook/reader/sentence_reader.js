import { createView, element, fixed, runReader, setAttributes, setChildren, setText, svg, unpackReader } from "../../attention_lib/widgets/_shared/index.js";

// ---------------------------------------------------------------- words

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

/** Up to three known words that are spelled nearly like a word, the nearest first. */
export function near(word, vocabulary) {
  return vocabulary.slice(1)
    .map((known) => [likeness(known, word), known])
    .filter(([alike]) => alike > 0.6 - 1e-12)
    .sort(([a, one], [b, other]) => b - a || (one < other ? 1 : -1))
    .slice(0, 3).map(([, known]) => known);
}

/** The words of a sentence after the place for nothing; an Error in a sentence if it cannot be read. */
export function parse(text, { vocabulary, longest }) {
  const words = text.toLowerCase().replace(/(?<![\p{L}\p{N}_])didn['’]t(?![\p{L}\p{N}_])/gu, "did not")
    .match(/[\p{L}\p{N}_'’-]+/gu) ?? [];
  if (words.length === 0) throw new Error("The sentence is empty: write a few words, one of them “it”.");
  for (const word of words) {
    if (vocabulary.indexOf(word) < 1) {
      const others = near(word, vocabulary).map((other) => `“${other}”`).join(" or ");
      const hint = others ? `Did you mean ${others}?` : "No word that it knows looks like it.";
      throw new Error(`The reader does not know the word “${word}”. ${hint}`);
    }
  }
  if (words.length > longest) {
    throw new Error(`The sentence has ${words.length} words; the reader takes at most ${longest}.`);
  }
  const count = words.filter((word) => word === "it").length;
  if (count !== 1) throw new Error(`The sentence needs exactly one “it”; this one has ${count || "none"}.`);
  return [vocabulary[0], ...words];
}

/** All that is to be seen: the words, every head's weights, and the conclusion. */
export function measure(state, reader = unpackReader(state)) {
  const words = parse(state.text, state);
  const layers = runReader(reader, words.map((word) => state.vocabulary.indexOf(word))).weights;
  const it = words.indexOf("it");
  const answer = layers.at(-1)[0][it];
  const probability = Math.max(...answer);
  return { words, layers, it, meant: answer.indexOf(probability), probability };
}

/** Names of the heads, the pointing one first. */
export function headNames(num_heads) {
  return ["the pointing head", ...num_heads.flatMap((heads, layer) => (
    Array.from({ length: heads }, (_, head) => `layer ${layer + 1}, head ${head + 1}`)
  ))];
}

function weightsOf({ head, num_heads }, layers) {
  return head === 0 ? layers.at(-1)[0] : layers.slice(0, num_heads.length).flat()[head - 1];
}

/** The row that is drawn: who asks, and the weight it gives to every word. */
export function rowOf({ head, num_heads, word }, { layers, words, it }) {
  const asking = word < 0 || word >= words.length ? it : word;
  return { asking, weights: weightsOf({ head, num_heads }, layers)[asking] };
}

/** The finding in words; `SentenceReader.words` says the same in Python. */
export function words(state, seen) {
  const { asking, weights } = rowOf(state, seen);
  const most = Math.max(...weights);
  const target = weights.indexOf(most);
  const conclusion = seen.meant === 0 ? "it means none of the words" : `it means ${seen.words[seen.meant]}`;
  return `The reader says: ${conclusion} (probability ${fixed(seen.probability)}). `
    + `In ${headNames(state.num_heads)[state.head]}, “${seen.words[asking]}” looks most at `
    + `“${seen.words[target]}” (weight ${fixed(most)}).`;
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const traits = ["text", "head", "word"];
  const fixedTraits = ["packed", "bits", "vocabulary", "alike", "width", "num_heads", "longest", "examples"];
  const settings = () => Object.fromEntries([...traits, ...fixedTraits].map((trait) => [trait, model.get(trait)]));
  const given = settings();
  const reader = unpackReader(given);
  const view = createView({ model, el }, { label: "A reader at work", task: "Exchange a word, and see what “it” means then.", traits });

  const sentence = view.stage.appendChild(element("div", { class: "attention-sentence" }));
  const drawing = sentence.appendChild(svg("svg", { class: "attention-strands", role: "img", "aria-label": "Lines from the word that asks to the words it looks at, as thick as the weights" }));
  const cells = sentence.appendChild(element("div", { class: "attention-words" }));
  const verdict = view.stage.appendChild(element("div", { class: "attention-verdict" }));
  const meant = view.readout({ name: "meant", label: "“it” means", parent: verdict });
  const sure = view.readout({ name: "probability", label: "Probability", parent: verdict });
  const alternatives = new Map(given.alike.flatMap((group) => group.map((word) => [word, group])));
  let shown = [];
  let seen = measure(given, reader);

  /** The words as buttons; a word that has alternatives has a list of them below. */
  function writeWords(words) {
    shown = words.map((word, place) => {
      const button = element("button", { type: "button", class: "attention-word" }, word);
      button.addEventListener("click", () => view.set("word", place), { signal: view.signal });
      const weight = element("output", { "data-readout": `weight_${place}`, "aria-label": `Weight of ${word}`, "aria-live": "off" });
      const group = alternatives.get(word);
      const list = group && element(
        "select", { "aria-label": `Exchange “${word}”` },
        ...group.map((other) => element("option", { value: other }, other)),
      );
      if (list) {
        list.value = word;
        list.addEventListener("change", () => {
          view.set("text", words.slice(1).map((other, i) => (i + 1 === place ? list.value : other)).join(" "));
          cells.children[place]?.querySelector("select")?.focus();
        }, { signal: view.signal });
      }
      const exchange = list && element("label", { class: "attention-exchange" }, element("span", { "aria-hidden": "true" }, "▾"), list);
      return { button, weight, cell: element("div", { class: "attention-worded" }, button, weight, exchange) };
    });
    cells.replaceChildren(...shown.map(({ cell }) => cell));
  }

  /** Lines from the top of the asking word to the tops of the others; between rows, through the gap. */
  function drawStrands(asking, weights) {
    const top = ({ button }) => [button.offsetLeft + button.offsetWidth / 2, button.offsetTop];
    const bottom = ({ cell }) => cell.offsetTop + cell.offsetHeight;
    const [x1, y1] = top(shown[asking]);
    setAttributes(drawing, { width: sentence.clientWidth, height: sentence.clientHeight });
    setChildren(drawing, weights.flatMap((weight, place) => {
      if (weight < 0.02) return [];
      const [x2, y2] = top(shown[place]);
      const rise = Math.min(20 + Math.abs(x2 - x1) / 6, 44);
      let d = place === asking ? `M${x1 - 7} ${y1}c-14 -30 28 -30 14 0`
        : `M${x1} ${y1}C${x1} ${y1 - rise} ${x2} ${y2 - rise} ${x2} ${y2}`;
      if (y2 < y1 - 20) d = `M${x1} ${y1}C${x1} ${y1 - 30} ${x2} ${bottom(shown[place]) + 30} ${x2} ${bottom(shown[place])}`;
      if (y2 > y1 + 20) d = `M${x1} ${bottom(shown[asking])}C${x1} ${bottom(shown[asking]) + 30} ${x2} ${y2 - 30} ${x2} ${y2}`;
      return [["path", { d, "stroke-width": 1 + 7 * weight, "stroke-opacity": 0.25 + 0.75 * weight }]];
    }));
  }

  view.slider({
    trait: "word", label: "Word that asks", min: 0, max: () => seen.words.length - 1, more: true,
    position: (word) => rowOf(settings(), seen).asking, text: (word) => seen.words[rowOf({ ...settings(), word }, seen).asking],
  });
  view.choice({
    trait: "head", label: "Look through",
    options: headNames(given.num_heads).map((name, place) => [place, name]),
  });
  const typed = element("input", { type: "text", class: "attention-typed", "aria-label": "A sentence of your own", spellcheck: "false", autocomplete: "off" });
  const refusal = element("p", { class: "attention-refusal", role: "alert", hidden: true });
  const other = element("option", { value: "", hidden: true }); // what is read, where it is none of the examples
  const offered = element("select", { "aria-label": "Another sentence" }, other, ...given.examples.map((text) => element("option", { value: text }, text)));
  offered.addEventListener("change", () => { view.set("word", -1); view.set("text", offered.value); }, { signal: view.signal });
  typed.addEventListener("change", () => {
    try {
      const text = parse(typed.value, given).slice(1).join(" ");
      refusal.hidden = true;
      view.set("word", -1);
      view.set("text", text);
    } catch (error) {
      refusal.textContent = error.message;
      refusal.hidden = false;
    }
  }, { signal: view.signal });
  view.controls.append(element(
    "label", { class: "attention-line-of-text" }, element("span", { class: "attention-name" }, "Another sentence"), offered,
  ));
  view.more.place.append(
    element("label", { class: "attention-line-of-text" }, element("span", { class: "attention-name" }, "A sentence of your own, with “it” in it once; Enter reads it"), typed), refusal,
  );

  let strands = () => {};
  const resizing = new ResizeObserver(() => strands());
  view.start(() => {
    const state = settings();
    view.part("reading", state.text, () => { seen = measure(state, reader); });
    view.part("words", seen.words.join(" "), () => {
      writeWords(seen.words);
      typed.value = seen.words.slice(1).join(" ");
      setText(other, typed.value);
      offered.value = given.examples.includes(typed.value) ? typed.value : "";
      refusal.hidden = true;
    });
    const { asking, weights } = rowOf(state, seen);
    shown.forEach(({ button, weight, cell }, place) => {
      setAttributes(button, { "aria-pressed": String(place === asking) });
      setAttributes(cell, { "data-meant": String(place === seen.meant) });
      setText(weight, weights[place] < 0.005 ? "\u00a0" : fixed(weights[place], 2));
      setAttributes(weight, { "data-value": String(weights[place]) });
      cell.style.setProperty("--share", weights[place].toFixed(4));
    });
    strands = () => drawStrands(asking, weights);
    strands();
    meant(seen.meant, seen.meant === 0 ? "none of these" : seen.words[seen.meant]);
    sure(seen.probability);
    view.say(words(state, seen));
  });
  resizing.observe(sentence);
  return () => {
    resizing.disconnect();
    view.cleanup();
  };
}

export default { render };
