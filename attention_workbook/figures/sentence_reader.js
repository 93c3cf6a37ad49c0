import {
  createView,
  element,
  fixed,
  isStill,
  press,
  setAttributes,
  setChildren,
  svg,
} from "./_shared/index.js";
import { SURE, openReader } from "./_sentence/cuts.js";
import { createMenu } from "./_sentence/menu.js";
import { createOwn } from "./_sentence/own.js";
import {
  answerStrands,
  arcMarks,
  pillPlace,
  placeWords,
  readStrands,
  wordMarks,
} from "./_sentence/picture.js";
import { alike, headNames, measure, nameOf, rowOf, wayOf, words } from "./_sentence/reading.js";

const STEP = 700; // milliseconds from one step to the next
const DRAWN = 500; // in which a step's arcs are drawn
const SWING = 600; // in which they move to other words
const STANDS = 1800; // for which the answer stands before the pair is exchanged
const SHARES = Array.from({ length: 51 }, (_, i) => i / 50); // of the picture, in view

export function render({ model, el }) {
  const act = press();
  const isCover = model.get("hop") === 0; // it plays when it is seen, and exchanges the pair itself
  const task = isCover
    ? "Your turn: change a word, or write a sentence."
    : `${act} an underlined word to swap it, and see what “it” means then.`;
  const view = createView(
    { model, el },
    {
      label: "What does “it” mean?",
      traits: ["text", "hop", "head", "word"],
      given: [
        ...["packed", "scales", "vocabulary", "forms", "read_as", "sections", "offered"],
        ...["followed", "width", "num_heads", "longest", "examples"],
      ],
      isQuiet: true,
    },
  );
  view.root.classList.add("attention-reader");
  const given = view.state();
  let reader = openReader(given);
  let measured = measure(given, reader);
  let others = []; // for each word those that can take its place
  let pill = -1; // the place of the word that stands beside its rival
  let isBegun = isStill() || !isCover;
  let isShow = !isBegun; // until a reader does something, or the pair has been exchanged
  let run = 0; // the arcs are drawn from nothing once in each
  let isFresh = true;
  if (isBegun) view.task(task);

  const place = view.stage.appendChild(element("div", { class: "attention-sentence" }));
  const plot = view.plot({
    height: 260,
    parent: place,
    description:
      "The sentence, with arcs from “it” to the words that it reads, as thick as the weights",
  });
  const [arcs, cells] = [
    "attention-arcs attention-strands attention-line attention-weight",
    "attention-cells-of-words",
  ].map((kind) => plot.svg.appendChild(svg("g", { class: kind })));
  plot.svg.setAttribute("role", "group"); // what is in it can be pressed
  const menu = createMenu(place, view.signal);

  // ------------------------------------------------------------ reading another sentence

  /** Draw the three steps of a sentence, from nothing. */
  function playAnew() {
    playing.stop();
    if (isStill()) return view.set("hop", 3);
    view.set("hop", 3); // at its end a play begins anew
    playing.play();
  }
  /** Read another sentence. If one word is another, the arcs move; else they are drawn anew. */
  function read(text) {
    endShow();
    playing.stop();
    const [before, now] = [model.get("text"), text].map((sentence) => sentence.split(" "));
    const changed = now.filter((word, i) => word !== before[i]).length;
    view.setAll({ text, word: -1, hop: 3 });
    if (model.get("head") < 0 && (now.length !== before.length || changed > 1)) playAnew();
  }
  /** Bring the picture into view, where a sentence was chosen below it. */
  function seePicture() {
    const { top, bottom } = plot.svg.getBoundingClientRect();
    if (top >= 0 && bottom <= innerHeight) return;
    const behavior = isStill() ? "instant" : "smooth";
    view.root.scrollIntoView({ block: "start", behavior });
  }
  const withWord = (number, chosen) =>
    measured.words
      .map((old, i) => (i === number ? chosen : old))
      .slice(1)
      .join(" ");
  function exchange({ target }) {
    const word = target.closest("[data-place]");
    const number = Number(word?.dataset.place);
    if (!word) return;
    if (!others[number]) {
      view.task(
        `“${measured.words[number]}” stays as it is. ${act} an underlined word, or write your own sentence.`,
      );
      return;
    }
    view.task(task);
    const rival = word.dataset.option;
    if (rival && rival !== measured.words[number]) return read(withWord(number, rival));
    menu.open(word, others[number], (chosen) => {
      read(withWord(number, chosen));
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
  const { folded } = view.more;
  view.controls.append(own.node, folded);
  folded.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    folded.open = false;
    folded.firstChild.focus();
  });
  const playing = view.play({
    next() {
      view.set("hop", Math.min(model.get("hop") + 1, 3));
      if (model.get("hop") === 3 && isShow) showing = setTimeout(exchangePair, DRAWN + STANDS);
      return model.get("hop") < 3;
    },
    rewind() {
      startRun();
      view.setAll({ hop: 1, head: -1 });
    },
    atEnd: () => model.get("hop") === 3,
    every: STEP,
  });
  view.more.controls.append(playing.button, ...own.further);
  view.choice({
    trait: "head",
    label: "Look through",
    more: true,
    options: [
      [-1, "all three steps"],
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

  // ------------------------------------------------------------ the cover's own play

  let showing = 0; // the timer of what it does next
  function startRun() {
    run += 1;
    isFresh = true;
  }
  function exchangePair() {
    isShow = false;
    const rival = others[pill]?.find((word) => word !== measured.words[pill]);
    if (!rival || model.get("text") !== given.text) return view.task(task);
    view.set("text", withWord(pill, rival));
    showing = setTimeout(() => view.task(task), SWING + 200);
  }
  function endShow() {
    clearTimeout(showing);
    if (isBegun) view.task(task);
    if (isBegun && isShow) view.set("hop", 3);
    isShow = false;
  }
  for (const type of ["pointerdown", "keydown"])
    view.root.addEventListener(type, endShow, { signal: view.signal, capture: true });
  view.signal.addEventListener("abort", () => clearTimeout(showing));

  // ------------------------------------------------------------ drawing

  /** The arcs and numbers of the present step, as far as they are drawn. */
  function pictured(state, places, key) {
    if (state.head >= 0) {
      const { asking, weights } = rowOf(state, measured);
      const strands = view.glide(`row ${key}`, readStrands(places, asking, weights));
      return { asking, ways: [{ strands, role: "weight", grown: 1 }], hop: 3, numbers: weights };
    }
    const name = `grown ${run}`;
    if (isFresh) view.glide(name, [0, 0, 0]);
    isFresh = false;
    const steps = [1, 2, 3].map((step) => (isBegun && step <= state.hop ? 1 : 0));
    const grown = view.glide(name, steps, { length: DRAWN });
    const rows = wayOf(state, measured);
    const ways = rows.map((weights, i) => {
      const strandsOf = i === 2 ? answerStrands : readStrands;
      const strands = strandsOf(places, measured.it, weights);
      return {
        strands: view.glide(`way ${i} ${key}`, strands, { length: SWING }),
        role: i === 2 ? "output" : "weight",
        grown: grown[i],
        dim: i === 0 ? grown[1] : 0, // the second layer's come to the fore
      };
    });
    const hop = grown.findLastIndex((share) => share === 1) + 1;
    return { asking: measured.it, ways, hop, numbers: hop ? rows[hop - 1] : null };
  }

  view.start(() => {
    const state = view.state();
    if (state.hop === 0 && isStill()) state.hop = 3;
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
      pill = pillPlace(measured.words, others);
      own.show(measured.words.slice(1));
    });
    if (problem) own.refuse(problem);

    const isNothingSeen =
      state.head >= 0 || wayOf(state, measured).some((weights) => weights[0] >= 0.05);
    const { asking } = rowOf(state, measured);
    const places = placeWords(measured.words, plot.width, { pill, isNothingSeen, asking });
    plot.setHeight(places.height);
    const now = pictured(state, places, `${plot.width} ${measured.words.length}`);
    const isDrawn = now.hop === 3;
    const isKnown = isDrawn && view.hasArrived();
    setChildren(
      arcs,
      now.ways.flatMap((way) => arcMarks(places, way)),
    );
    setAttributes(cells, { "font-size": places.size });
    setChildren(
      cells,
      wordMarks(places, {
        asking: now.asking,
        meant: isKnown && measured.probability >= SURE ? measured.meant : -1,
        numbers: isKnown || !isDrawn ? now.numbers : null,
        areWritten: state.head >= 0 || !isDrawn,
        exchanged: others,
      }),
    );
    const answer = isKnown ? measured : { meant: NaN, probability: NaN };
    const short = (text) => (isKnown ? text : "not yet");
    const isSure = measured.probability >= SURE;
    numbers(answer, {
      meant: short(isSure ? nameOf(measured.words, measured.meant) : "unsure"),
      probability: short(fixed(measured.probability, 2)),
    });
    const setting = `${state.text[0].toUpperCase()}${state.text.slice(1)}.`;
    const isStep = now.hop > 0 && !isDrawn;
    view.say(isKnown || isStep ? words({ ...state, hop: now.hop }, measured) : "", setting);
  });

  /** Play once when most of it is in view, unless the reader, Python or another view has set something before this was measured. */
  function begin() {
    if (isBegun) return;
    isBegun = true;
    if (model.get("hop") === 0) playing.play();
    else endShow();
    view.again();
  }
  view.onChange("hop", () => {
    if (isBegun && model.get("hop") === 0) playAnew(); // a reset
  });
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
