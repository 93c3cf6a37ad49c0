import {
  areListed,
  baseOf,
  breadth,
  createView,
  element,
  fixed,
  parseSentence,
  idOf,
  isStill,
  readLexicon,
  runReader,
  setChildren,
  setText,
  svg,
  textField,
  unpackReader,
  wordsOf,
} from "./_shared/index.js";

const SURE = 0.75; // below, the reader says that it is unsure
const OFFERED = 14; // nouns to exchange a noun for
const OTHER = "other words";
const STEPS = ["key", "query", "weight"]; // the colours of what *it* reads first, reads then, and means

// ---------------------------------------------------------------- what it reads

/** A reader that can be asked: its numbers and its words. */
export function openReader(state) {
  const lexicon = readLexicon(state);
  return { ...unpackReader(state, lexicon.words.length), lexicon };
}

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

const nameOf = (words, place) => (place === 0 ? "none of these words" : words[place]);

const rivals = ({ words, meant, second, shares }) =>
  [meant, second].map((place) => `${nameOf(words, place)} ${fixed(shares[place], 2)}`).join(", ");

/** What the reader concludes, in a sentence. */
export function conclusion(seen) {
  if (seen.probability < SURE) return `Unsure: ${rivals(seen)}.`;
  return `“It” means ${nameOf(seen.words, seen.meant)} (probability ${fixed(seen.probability, 2)}).`;
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
    ? ` It reads ${pairs.map(([word, base]) => `“${word}” as “${base}”`).join(", ")}.`
    : "";
}

/** The finding in words. */
export function words(state, seen) {
  const said = conclusion(seen) + seen.replaced;
  if (state.head < 0) return said;
  const { asking, weights } = rowOf(state, seen);
  const most = Math.max(...weights);
  return (
    `${said} In ${headNames(state.num_heads)[state.head]}, “${seen.words[asking]}” looks most at ` +
    `“${seen.words[weights.indexOf(most)]}” (weight ${fixed(most)}).`
  );
}

/** Words that may stand in a word's place, by the part of the vocabulary it is in. */
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
      return [...new Set([word, ...some])];
    }
    start += count;
  }
  return [];
}

// ---------------------------------------------------------------- where everything is

const [LETTER, BOX, ABOVE, STEP] = [17, 34, 46, 102]; // a word, its box, and from line to line

/** The boxes of the words, line by line in a width: `x` and `y` of each, and how `wide` it is. */
export function layWords(words, width) {
  let [x, y] = [0, ABOVE];
  return words.map((word) => {
    const wide = Math.min(Math.max(breadth(word) * LETTER + 14, BOX), width);
    if (x > 0 && x + wide > width) [x, y] = [0, y + STEP];
    const box = { x, y, wide, middle: x + wide / 2 };
    x += wide + 2;
    return box;
  });
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const traits = ["text", "hop", "head", "word"];
  const view = createView(
    { model, el },
    {
      label: "A reader at work",
      task: "Click a word to exchange it, and see what “it” means then.",
      traits,
      given: [
        "packed",
        "scales",
        "vocabulary",
        "forms",
        "read_as",
        "sections",
        "offered",
        "followed",
        "width",
        "num_heads",
        "longest",
        "examples",
      ],
    },
  );
  const given = view.state();
  let reader = openReader(given);

  const sentence = view.stage.appendChild(element("div", { class: "attention-sentence" }));
  const plot = view.plot({
    height: STEP,
    parent: sentence,
    description: "Lines from words to the words they read, as thick as the weights",
  });
  const drawing = plot.svg.appendChild(svg("g", { class: "attention-strands" }));
  const cells = plot.svg.appendChild(svg("g", { "text-anchor": "middle" }));
  const lists = sentence.appendChild(element("div"));
  const verdict = view.stage.appendChild(element("div", { class: "attention-verdict" }));
  const meant = view.readout({ name: "meant", label: "“it” means", parent: verdict });
  const sure = view.readout({ name: "probability", label: "Probability", parent: verdict });
  let boxes = [];
  let exchanges = [];
  let seen = measure(given, reader);

  let whole = model.get("wanted"); // all words are here
  let lacking; // the text that needed others, which did not come
  const waiting = new Set(); // what goes on when they are here
  /** Whether all words are here. If not, ask a kernel or the page's host, which sets `read_as`; then go on. */
  function isWhole(next) {
    if (whole) return true;
    waiting.add(next);
    view.set("wanted", true);
    return false;
  }
  const canRead = (text, next) =>
    given.examples.includes(text) || areListed(wordsOf(text), reader.lexicon) || isWhole(next);
  function arrived() {
    whole = true;
    reader = openReader(view.state());
    field.refuse("");
    for (const next of waiting) next();
    view.again();
  }
  view.onChange("read_as", arrived);
  function lost() {
    // the words did not come
    if (whole || model.get("wanted") || waiting.size === 0) return;
    const isForList = waiting.has(tell) && waiting.size === 1;
    if (!isForList) lacking = typed.value = waiting.has(take) ? typed.value : model.get("text");
    refuse(
      isForList
        ? "The words could not be fetched. Check the connection, then open the list again."
        : "This sentence needs words that could not be fetched. Check the connection, then press Enter again.",
    );
    waiting.clear();
  }
  view.onChange("wanted", lost);

  /** Read another sentence, and show what *it* does from the start. */
  function read(text) {
    playing.stop();
    view.setAll({ text, word: -1 });
    if (model.get("head") >= 0 || isStill()) return;
    view.set("hop", 3); // at its end a play begins anew, with the first step
    playing.play();
  }

  /** Over each word that may be exchanged, a list of the words to take. */
  function writeLists(all) {
    exchanges = all.map((word, place) => {
      const others = place ? alike(word, reader, given) : [];
      if (others.length < 2) return null;
      const list = element(
        "select",
        { "aria-label": `Exchange “${word}”` },
        ...others.map((other) => element("option", { value: other }, other)),
      );
      list.value = word;
      list.addEventListener(
        "change",
        () => {
          const words = all.slice(1).map((other, i) => (i + 1 === place ? list.value : other));
          read(words.join(" "));
          exchanges[place]?.querySelector("select").focus();
        },
        { signal: view.signal },
      );
      return element("span", { class: "attention-exchange" }, list);
    });
    lists.replaceChildren(...exchanges.filter(Boolean));
  }

  /** Give the words their places, and the lists with them. */
  function place() {
    boxes = layWords(seen.words, plot.width);
    const high = boxes.at(-1).y + BOX + 22;
    plot.setHeight(high);
    exchanges.forEach((exchange, i) => {
      const { x, y, wide } = boxes[i];
      const shares = { left: x / plot.width, top: y / high, width: wide / plot.width };
      for (const [name, share] of Object.entries({ ...shares, height: BOX / high }))
        exchange?.style.setProperty(name, `${(100 * share).toFixed(3)}%`);
    });
  }

  /** The words, and below each the weight that it gets from the one that asks. */
  function drawWords(asking, weights) {
    const text = (x, y, more, said) => ["text", { x, y, ...more }, said];
    setChildren(
      cells,
      seen.words.flatMap((word, i) => {
        const { x, y, wide, middle } = boxes[i];
        const box = { x, y, width: wide, height: BOX, rx: 6, class: "attention-word" };
        const isMeant = i === seen.meant && seen.probability >= SURE;
        const bold = isMeant || i === asking;
        const long = breadth(word) * LETTER * 0.45;
        const under = { x1: middle - long, x2: middle + long, y1: y + 28, y2: y + 28 };
        return [
          ["rect", { ...box, "data-asks": i === asking }],
          ["rect", { ...box, class: "attention-share", "fill-opacity": 0.3 * weights[i] }],
          ["line", { ...under, class: "attention-meant", display: isMeant ? null : "none" }],
          [
            "path",
            {
              d: `M${x + 5} ${y + BOX}h${wide - 10}`,
              class: "attention-exchanged",
              "data-live": true,
              display: exchanges[i] ? null : "none",
            },
          ],
          text(
            middle,
            y + 23,
            {
              class: `attention-cell ${i ? "" : "attention-muted"}${bold ? "attention-chosen" : ""}`,
              "font-size": i ? LETTER : 14,
            },
            word,
          ),
          text(
            middle,
            y + BOX + 15,
            {
              class: "attention-muted",
              "data-readout": `weight_${i}`,
              "data-value": String(weights[i]),
            },
            weights[i] < 0.005 ? "\u00a0" : fixed(weights[i], 2),
          ),
        ];
      }),
    );
  }

  /** Lines from the tops of words to the tops of others; between rows, through the gap. */
  function drawStrands(lines) {
    setChildren(
      drawing,
      lines
        .filter(([, , weight]) => weight >= 0.05)
        .map(([by, of, weight, role]) => {
          const [{ middle: x1, y: y1 }, { middle: x2, y: y2 }] = [boxes[by], boxes[of]];
          const [b1, b2] = [y1 + BOX + 18, y2 + BOX + 18];
          const rise = Math.min(20 + Math.abs(x2 - x1) / 6, 44);
          let d =
            by === of
              ? `M${x1 - 7} ${y1}c-14 -30 28 -30 14 0`
              : `M${x1} ${y1}C${x1} ${y1 - rise} ${x2} ${y2 - rise} ${x2} ${y2}`;
          if (y2 < y1) d = `M${x1} ${y1}C${x1} ${y1 - 30} ${x2} ${b2 + 30} ${x2} ${b2}`;
          if (y2 > y1) d = `M${x1} ${b1}C${x1} ${b1 + 30} ${x2} ${y2 - 30} ${x2} ${y2}`;
          return [
            "path",
            {
              d,
              "data-strand": role,
              "stroke-width": 1 + (role === "weight" ? 7 : 3) * weight,
              "stroke-opacity": 0.25 + 0.75 * weight,
            },
          ];
        }),
    );
  }

  /** The lines of what is to be seen, as numbers that can glide. */
  function linesOf(state) {
    if (state.head >= 0) {
      const { asking, weights } = rowOf(state, seen);
      return view.glide("row", weights).map((weight, of) => [asking, of, weight, "weight"]);
    }
    const way = view.glide(
      "way",
      wayOf(state, seen).map((row, step) => row.map((weight) => (step < state.hop ? weight : 0))),
    );
    return way.flatMap((row, step) => row.map((weight, of) => [seen.it, of, weight, STEPS[step]]));
  }

  const field = textField({
    label: "A sentence of your own, with “it” in it once; Enter reads it",
    class: "attention-typed",
    "aria-label": "A sentence of your own",
    signal: view.signal,
  });
  const typed = field.input;
  const tries = element("div", { class: "attention-tries", hidden: true });
  function refuse(said) {
    field.refuse(said);
    tries.hidden = true;
  }
  function take() {
    if (!canRead(typed.value, take)) return;
    try {
      const text = parseSentence(typed.value, reader.lexicon, given.longest).slice(1).join(" ");
      refuse("");
      read(text);
    } catch (error) {
      refuse(error.message);
      tries.replaceChildren(
        ...(error.near ?? []).map((other) => {
          const button = element(
            "button",
            { type: "button", class: "attention-button" },
            `Read “${other}” instead`,
          );
          button.addEventListener(
            "click",
            () => {
              typed.value = typed.value.replace(
                new RegExp(`(?<![\\p{L}\\p{N}])${error.word}(?![\\p{L}\\p{N}])`, "iu"),
                other,
              );
              take();
            },
            { signal: view.signal },
          );
          return button;
        }),
      );
      tries.hidden = !error.near?.length;
    }
  }
  /** Let what was typed go: the sentence that is read stands in the field. */
  function settle() {
    for (const next of [take, view.again]) waiting.delete(next);
    typed.value = model.get("text");
    refuse("");
  }
  view.onChange("text", settle);
  view.onReset(settle);
  typed.addEventListener("change", take, { signal: view.signal });
  typed.addEventListener(
    "keydown",
    ({ key }) => key === "Enter" && typed.value === lacking && take(),
    { signal: view.signal },
  );

  const list = element(
    "details",
    { class: "attention-known" },
    element("summary", {}, "The words that it knows"),
  );
  function tell() {
    if (!list.open || list.children.length > 1 || !isWhole(tell)) return;
    let start = 1;
    for (const [name, count] of given.sections) {
      list.append(
        element(
          "p",
          {},
          element("strong", {}, `${name[0].toUpperCase()}${name.slice(1)}: `),
          reader.lexicon.words
            .slice(start, start + count)
            .filter((word) => !reader.lexicon.forms.has(word))
            .join(", "),
        ),
      );
      start += count;
    }
    for (const group of model.get("read_as").split(",")) {
      const [base, ...others] = group.split(" ");
      list.append(element("p", {}, element("strong", {}, `Read as ${base}: `), others.join(", ")));
    }
  }
  list.addEventListener("toggle", tell, { signal: view.signal });

  view.controls.append(element("div", { class: "attention-own" }, field.node, tries, list));
  const playing = view.play({
    next() {
      view.set("hop", Math.min(model.get("hop") + 1, 3));
      return model.get("hop") < 3;
    },
    rewind: () => view.setAll({ hop: 1, head: -1 }),
    atEnd: () => model.get("hop") === 3,
    every: 900,
  });
  view.choice({
    trait: "hop",
    label: "What “it” does",
    options: [
      [1, "1 · reads in layer 1"],
      [2, "2 · reads in layer 2"],
      [3, "3 · points"],
    ],
  });
  view.choice({
    trait: "head",
    label: "Look through",
    more: true,
    options: [
      [-1, "these three"],
      ...headNames(given.num_heads).map((name, place) => [place, name]),
    ],
  });
  view.slider({
    trait: "word",
    label: "Word that asks in this head",
    min: 0,
    max: () => seen.words.length - 1,
    more: true,
    position: (word) => rowOf({ ...view.state(), word }, seen).asking,
    text: (word) => seen.words[rowOf({ ...view.state(), word }, seen).asking],
  });
  view.onChange("word", () => {
    // a word asks in one head
    if (model.get("word") >= 0 && model.get("head") < 0) view.set("head", 0);
  });
  const other = element("option", { value: "", hidden: true }); // what is read, where it is none of the examples
  const offered = element(
    "select",
    { "aria-label": "Another sentence" },
    other,
    ...given.examples.map((text) => element("option", { value: text }, text)),
  );
  offered.addEventListener(
    "change",
    () => read(parseSentence(offered.value, reader.lexicon, given.longest).slice(1).join(" ")),
    { signal: view.signal },
  );
  view.more.place.append(
    element(
      "label",
      { class: "attention-line-of-text" },
      element("span", { class: "attention-name" }, "Another sentence"),
      offered,
    ),
  );

  view.start(() => {
    const state = view.state();
    let problem = "";
    view.part("reading", `${state.text} ${state.read_as.length}`, () => {
      if (!canRead(state.text, view.again)) return;
      try {
        seen = measure(state, reader);
      } catch (error) {
        // an address typed by hand: say so, and read the first sentence
        problem = error.message;
        view.set("text", given.text);
      }
    });
    view.part("words", seen.words.join(" "), () => {
      writeLists(seen.words);
      typed.value = seen.words.slice(1).join(" ");
      setText(other, typed.value);
      offered.value = given.examples.includes(typed.value) ? typed.value : "";
      refuse("");
    });
    if (problem) refuse(problem);
    const { asking, weights } = rowOf(state, seen);
    view.part("places", `${seen.words.join(" ")} ${plot.width}`, place);
    drawWords(asking, weights);
    drawStrands(linesOf(state));
    meant(
      seen.meant,
      seen.probability < SURE ? `unsure: ${rivals(seen)}` : nameOf(seen.words, seen.meant),
    );
    sure(seen.probability, fixed(seen.probability, 2));
    view.say(words(state, seen), `${state.text[0].toUpperCase()}${state.text.slice(1)}.`);
  });
  return view.cleanup;
}

export default { render };
