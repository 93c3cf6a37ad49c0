import { createView, element, fixed, setAttributes, setChildren, setText, softmax, svg } from "../../attention_lib/widgets/_shared/index.js";

// ---------------------------------------------------------------- the reader, in plain numbers

/** Decode numbers of 16 or 32 bits, least significant byte first. */
export function numbersOf(packed, bits) {
  const view = new DataView(packed.buffer ?? packed, packed.byteOffset ?? 0, packed.byteLength);
  const numbers = new Float64Array(view.byteLength / (bits / 8));
  for (let i = 0; i < numbers.length; i += 1) {
    numbers[i] = bits === 32 ? view.getFloat32(4 * i, true) : half(view.getUint16(2 * i, true));
  }
  return numbers;
}

function half(bits) {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

/** The matrices of a reader, in the order in which Python packs them. */
export function unpack({ packed, bits, vocabulary, width, num_heads }) {
  const numbers = numbersOf(packed, bits);
  let at = 0;
  const take = (count) => numbers.subarray(at, at += count);
  const square = () => take(width * width);
  return {
    width,
    embedding: take(vocabulary.length * width),
    layers: num_heads.map((heads) => ({
      heads, W_q: square(), W_k: square(), W_v: square(), W_o: square(), scale: take(width), shift: take(width),
    })),
    pointing: { W_q: square(), W_k: square() },
  };
}

/** Each row times the transpose of a matrix (out, in), as nn.Linear has it. */
function linear(rows, matrix, width) {
  return rows.map((row) => Float64Array.from({ length: width }, (_, out) => {
    let sum = 0;
    for (let i = 0; i < width; i += 1) sum += row[i] * matrix[out * width + i];
    return sum;
  }));
}

/** Weights of every query over all keys, by the coordinates `from` up to `to`. */
function attend(queries, keys, from, to) {
  return queries.map((query) => softmax(keys.map((key) => {
    let sum = 0;
    for (let i = from; i < to; i += 1) sum += query[i] * key[i];
    return sum / Math.sqrt(to - from);
  })));
}

function normalise(row, { scale, shift }) {
  const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
  const spread = Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length + 1e-5);
  return row.map((x, i) => ((x - mean) / spread) * scale[i] + shift[i]);
}

/** The weights of every head for the words with these ids: a list of layers of heads, each
    len × len; last the pointing head. */
export function forward(reader, ids) {
  const { width } = reader;
  let x = ids.map((id, place) => Float64Array.from({ length: width }, (_, i) => {
    const angle = place / 10000 ** ((i - (i % 2)) / width);
    return reader.embedding[id * width + i] + (i % 2 ? Math.cos(angle) : Math.sin(angle));
  }));
  const start = x;
  const layers = [];
  for (const layer of reader.layers) {
    const [queries, keys, values] = [layer.W_q, layer.W_k, layer.W_v].map((matrix) => linear(x, matrix, width));
    const size = width / layer.heads;
    const weights = Array.from({ length: layer.heads }, (_, head) => attend(queries, keys, head * size, (head + 1) * size));
    const joined = x.map((_, query) => Float64Array.from({ length: width }, (__, i) => (
      weights[Math.floor(i / size)][query].reduce((sum, weight, key) => sum + weight * values[key][i], 0)
    )));
    const gathered = linear(joined, layer.W_o, width);
    x = x.map((row, i) => normalise(row.map((number, j) => number + gathered[i][j]), layer));
    layers.push(weights);
  }
  const { W_q, W_k } = reader.pointing;
  layers.push([attend(linear(x, W_q, width), linear(start, W_k, width), 0, width)]);
  return layers;
}

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
export function measure(state, reader = unpack(state)) {
  const words = parse(state.text, state);
  const layers = forward(reader, words.map((word) => state.vocabulary.indexOf(word)));
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
  const reader = unpack(given);
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
