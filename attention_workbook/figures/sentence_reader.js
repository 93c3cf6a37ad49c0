import { createView, element, fixed, isStill, press, setChildren, svg } from "./_shared/index.js";
import { SURE, openReader } from "./_sentence/cuts.js";
import { createMenu } from "./_sentence/menu.js";
import { createOwn } from "./_sentence/own.js";
import { arcMarks, placeWords, titleMarks, wordMarks } from "./_sentence/picture.js";
import {
  alike,
  conclusion,
  headNames,
  measure,
  nameOf,
  rowOf,
  titleOf,
  titleOfLayer,
  wayOf,
  words,
} from "./_sentence/reading.js";

const DRAWN = 700; // milliseconds in which a step's arcs are drawn
const STANDS = 1500; // and those for which they stand before the next
const SHARES = Array.from({ length: 51 }, (_, i) => i / 50); // of the picture, in view

export function render({ model, el }) {
  const act = press();
  const task = `${act} an underlined word to exchange it, and see what “it” means then.`;
  const view = createView(
    { model, el },
    {
      label: "What does “it” mean?",
      task,
      traits: ["text", "hop", "head", "word"],
      given: [
        ...["packed", "scales", "vocabulary", "forms", "read_as", "sections", "offered"],
        ...["followed", "width", "num_heads", "longest", "examples"],
      ],
    },
  );
  view.root.classList.add("attention-reader");
  const given = view.state();
  let reader = openReader(given);
  let measured = measure(given, reader);
  let others = []; // for each word those that can take its place
  let isBegun = isStill() || given.head >= 0 || given.hop < 3; // else it plays once, when it is seen

  const place = view.stage.appendChild(element("div", { class: "attention-sentence" }));
  const plot = view.plot({
    height: 420,
    parent: place,
    description:
      "The sentence, with arcs from “it” to the words that it reads, as thick as the weights",
  });
  const [arcs, cells, title] = ["attention-arcs", "attention-cells-of-words", ""].map((kind) =>
    plot.svg.appendChild(svg("g", { class: kind })),
  );
  plot.svg.setAttribute("role", "group"); // what is in it can be pressed
  const menu = createMenu(place, view.signal);

  // ------------------------------------------------------------ exchanging words

  /** Read another sentence, and show what *it* does from the start. */
  function read(text) {
    playing.stop();
    view.task(task);
    isBegun = true;
    view.setAll({ text, word: -1 });
    if (model.get("head") >= 0 || isStill()) return;
    view.set("hop", 3); // at its end a play begins anew, with the first step
    playing.play();
  }
  /** Bring the picture into view, where a sentence was chosen below it. */
  function seePicture() {
    const { top, bottom } = plot.svg.getBoundingClientRect();
    if (top >= 0 && bottom <= innerHeight) return;
    const behavior = isStill() ? "instant" : "smooth";
    view.root.scrollIntoView({ block: "start", behavior });
  }
  function exchange({ target }) {
    const word = target.closest("[data-place]");
    const number = Number(word?.dataset.place);
    if (!word) return;
    if (!others[number]) {
      view.task(
        `“${measured.words[number]}” stays as it is. ${act} an underlined word, or write your own sentence below.`,
      );
      return;
    }
    view.task(task);
    menu.open(word, others[number], (chosen) => {
      const changed = measured.words.map((old, i) => (i === number ? chosen : old));
      read(changed.slice(1).join(" "));
      view.again();
    });
  }
  cells.addEventListener("click", exchange, { signal: view.signal });
  cells.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      exchange(event);
    },
    { signal: view.signal },
  );

  // ------------------------------------------------------------ controls

  const own = createOwn({
    view,
    model,
    given,
    reading: () => reader,
    opened() {
      reader = openReader(view.state());
    },
    read(text) {
      read(text);
      seePicture();
    },
  });
  const playing = view.play({
    next() {
      view.set("hop", Math.min(model.get("hop") + 1, 3));
      return model.get("hop") < 3;
    },
    rewind: () => view.setAll({ hop: 1, head: -1 }),
    atEnd: () => model.get("hop") === 3,
    every: DRAWN + STANDS,
  });
  view.choice({
    trait: "hop",
    label: "What “it” does",
    options: [
      [1, "1 · reads in layer 1"],
      [2, "2 · reads in layer 2"],
      [3, "3 · answers"],
    ],
  });
  view.controls.append(own.node);
  view.choice({
    trait: "head",
    label: "Look through",
    more: true,
    options: [
      [-1, "these three"],
      ...headNames(given.num_heads).map((name, number) => [number, name]),
    ],
  });
  view.slider({
    trait: "word",
    label: "Word that asks in this head",
    min: 0,
    max: () => measured.words.length - 1,
    more: true,
    position: (word) => rowOf({ ...view.state(), word }, measured).asking,
    text: (word) => measured.words[rowOf({ ...view.state(), word }, measured).asking],
  });
  view.onChange("word", () => {
    // a word asks in one head
    if (model.get("word") >= 0 && model.get("head") < 0) view.set("head", 0);
  });
  const numbers = view.numbers({ meant: "“It” means", probability: "Probability" });

  // ------------------------------------------------------------ drawing

  /** The arcs and numbers of the present step, as far as they are drawn. */
  function pictured(state) {
    if (state.head >= 0) {
      const { asking, weights } = rowOf(state, measured);
      const gliding = view.glide("row", [...weights]);
      const way = { weights: gliding, near: true, role: "weight", grown: 1 };
      return { asking, ways: [way], grown: [0, 0], numbers: weights };
    }
    const hop = isBegun ? state.hop : 0;
    const grown = view.glide(
      `grown ${measured.words.join(" ")}`,
      [1, 2, 3].map((step) => (step <= hop ? 1 : 0)),
      { length: DRAWN },
    );
    const rows = wayOf(state, measured);
    const last = grown.findLastIndex((share) => share === 1);
    const ways = rows.map((weights, i) => ({
      weights,
      near: i > 0,
      role: i === 2 ? "output" : "weight",
      grown: grown[i],
    }));
    const line = last < 0 ? [""] : titleOfLayer(last + 1, rows[last], measured.words);
    return { asking: measured.it, ways, grown, line, numbers: last < 0 ? null : rows[last] };
  }

  view.start(() => {
    const state = view.state();
    let problem = "";
    view.part("reading", `${state.text} ${state.read_as.length}`, () => {
      if (!own.canRead(state.text, view.again)) return;
      try {
        measured = measure(state, reader);
      } catch (error) {
        // an address typed by hand: say so, and read the first sentence
        problem = error.message;
        view.set("text", given.text);
      }
    });
    view.part("words", `${measured.words.join(" ")} ${state.read_as.length}`, () => {
      others = measured.words.map((word, i) => (i ? alike(word, reader, given) : []));
      others = others.map((some) => (some.length > 1 ? some : null));
      own.show(measured.words.slice(1));
    });
    if (problem) own.refuse(problem);

    const places = placeWords(measured.words, plot.width);
    plot.setHeight(places.height);
    const now = pictured(state);
    const isKnown = now.grown[2] === 1 || state.head >= 0;
    setChildren(arcs, arcMarks(places, now.asking, now.ways));
    setChildren(
      cells,
      wordMarks(places, {
        asking: now.asking,
        meant: isKnown && measured.probability >= SURE ? measured.meant : -1,
        numbers: now.numbers,
        exchanged: others,
      }),
    );
    setChildren(title, titleMarks(places, isKnown ? [titleOf(measured)] : now.line, now.grown));
    const answer = isKnown ? measured : { meant: NaN, probability: NaN };
    const short = (text) => (isKnown ? text : "not yet");
    const isSure = measured.probability >= SURE;
    numbers(answer, {
      meant: short(isSure ? nameOf(measured.words, measured.meant) : conclusion(measured)),
      probability: short(fixed(measured.probability, 2)),
    });
    const setting = `${state.text[0].toUpperCase()}${state.text.slice(1)}.`;
    if (!view.isMoving()) view.say(isBegun ? words(state, measured) : "", setting);
    else if (!isKnown && state.hop === 1) view.say(""); // what was said of another sentence
  });

  /** Play once when most of it is in view, unless the reader, Python or another view has set something before this was measured. */
  function begin() {
    if (isBegun) return;
    if (model.get("head") < 0 && model.get("hop") === 3) read(model.get("text"));
    isBegun = true;
    view.again();
  }
  if (!isBegun) {
    const first = new IntersectionObserver(
      (entries) => {
        const { intersectionRect: inView, boundingClientRect: all } = entries.at(-1);
        if (inView.height < 0.7 * Math.min(all.height, innerHeight)) return;
        first.disconnect();
        begin();
      },
      { threshold: SHARES },
    );
    first.observe(plot.svg);
    view.signal.addEventListener("abort", () => first.disconnect());
  }
  return view.cleanup;
}

export default { render };
