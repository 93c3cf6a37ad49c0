import {
  addPatterns,
  createView,
  element,
  fixed,
  isStill,
  parseSentence,
  press,
  setAttributes,
  setChildren,
  setText,
  svg,
  textField,
} from "./_shared/index.js";
import {
  PAIR,
  decides,
  inWords,
  nameOfLine,
  openReader,
  openSentence,
  parseCuts,
  readCut,
} from "./_sentence/cuts.js";
import { findingOf, hintsOf, reasonOf, taskOf } from "./_sentence/finding.js";
import { createList } from "./_sentence/list.js";
import {
  crosses,
  distance,
  fieldMarks,
  lampMarks,
  layoutOf,
  nameMarks,
  pathData,
  pathsOf,
  stumpMarks,
  tagMarks,
  wordAt,
} from "./_sentence/lines.js";

const WAVES = { recoil: 0, layer1: 120, layer2: 620, answer: 1120 }; // when what moves, in milliseconds
const LENGTH = 450; // of each of these
const NEAR = { mouse: 12, touch: 24 }; // pixels from a line that count as on it
const SWIPED = 0.05; // a swipe takes only lines of at least this weight
const TRIES = 2; // cuts without result before a hint is offered

export function render({ model, el }) {
  const view = createView(
    { model, el },
    {
      label: "Which line decides?",
      traits: ["text", "cuts", "opened"],
      given: [
        ...["choices", "packed", "scales", "vocabulary", "forms", "read_as", "sections"],
        ...["width", "num_heads", "longest"],
      ],
    },
  );
  view.root.classList.add("attention-scissors");
  const given = view.state();
  let reader = openReader(given);
  let sentence = openSentence(given.text, reader, given.longest);
  let read = sentence.whole;
  let cuts = [];
  let counting; // the sentence whose lines are counted
  let decisive = null; // those of them that decide alone, once they are known
  let hints = []; // towards the first of these
  let hinted = 0; // how many of the hints have been given
  let tries = 0; // cuts without result
  let isSolved = false; // a line that decides has been found
  let dropped = 0; // cuts that another sentence or a hint has mended
  let note = ""; // a sentence that stands before the finding until the next cut
  let lifted = -1; // the line under the pointer, or that the list has chosen
  let isTouched = false; // it was lifted by a finger, which cuts it at the next tap
  let isFollowed = false; // the lines of the opened word stand out, until something else is pressed
  let layout;
  let isBegun = isStill(); // the lines grow once, when the figure is first seen
  let paths = [];

  const plot = view.plot({
    height: 456,
    description:
      "The words, the words after layer 1, and “it” after layer 2, with lines as thick as the weights between them; above, a lamp between two words. Lists under More name each line and cut it",
  });
  const layer = (kind) => plot.svg.appendChild(svg("g", { class: kind }));
  const { masked } = addPatterns(plot.svg);
  const [field, strands, stumps, names, lamp, tag] = [
    "attention-scissors-field",
    "attention-scissors-lines attention-line attention-weight attention-beneath",
    "attention-scissors-stumps attention-line attention-masked attention-beneath",
    "attention-scissors-names attention-over attention-beneath",
    "attention-scissors-lamp",
    "attention-scissors-tag",
  ].map(layer);
  plot.svg.classList.add("attention-grab");

  // ------------------------------------------------------------ cutting

  const steps = []; // what each cut, swipe and mending changed
  /** Cut these lines and no others; what continues a swipe is the `sameStep` for Undo. */
  function write(lines, { sameStep = false } = {}) {
    const [before, after] = [model.get("cuts"), lines.map(nameOfLine).join(" ")];
    if (before === after) return;
    if (sameStep) steps.at(-1).after = after;
    else steps.push({ before, after });
    view.set("cuts", after);
  }
  function takeBack() {
    const step = steps.pop();
    if (step?.after === model.get("cuts")) {
      view.set("cuts", step.before);
      return;
    }
    steps.length = 0; // a link or a kernel has set the cuts since
    view.set("cuts", cuts.slice(0, -1).map(nameOfLine).join(" "));
  }
  /** Forget what has been tried. */
  function beginAnew() {
    [tries, hinted, steps.length, isFollowed, isSolved] = [0, 0, 0, false, false];
  }
  function toggle(line) {
    write(cuts.includes(line) ? cuts.filter((cut) => cut !== line) : [...cuts, line]);
  }
  /** Whether a line belongs to what is followed: the lines of a word, or those that a hint marks. */
  function isMarked(line) {
    if (!isFollowed) return hints[hinted - 1]?.fits(line) ?? false;
    const opened = model.get("opened");
    return opened < 0 ? line[0] === 1 : line[0] === 0 && line[1] === opened;
  }
  /** The line at a place; of those that are near, the thick ones come first, and before all others
      those that are marked. */
  function lineAt(spot, kind) {
    const near = NEAR[kind] ?? NEAR.mouse;
    const thick = kind === "touch" ? 4 : 0.25;
    let [best, closest] = [-1, near];
    paths.forEach((path, i) => {
      const far = distance(path, spot) - Math.min(path.width * thick, near / 2.5);
      const rank = isMarked(sentence.lines[i]) ? far - 2 * near : far;
      if (far < near && rank < closest) [best, closest] = [i, rank];
    });
    return best;
  }
  function lift(i, byTouch = false) {
    if (lifted === i && isTouched === byTouch) return;
    [lifted, isTouched] = [i, byTouch];
    view.again();
  }
  let held = null;
  const on = (type, listener) => plot.svg.addEventListener(type, listener, { signal: view.signal });
  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    plot.svg.setPointerCapture(event.pointerId); // it may be let go outside
    const at = plot.under(event);
    const byTouch = event.pointerType === "touch";
    const word = wordAt(layout, sentence, at);
    const nearest = word ? -1 : lineAt(at, event.pointerType);
    const isAgain = lifted >= 0 && (tag.contains(event.target) || nearest === lifted);
    held = {
      at,
      byTouch,
      word,
      line: byTouch && isAgain ? lifted : nearest,
      mayCut: !byTouch || isAgain,
      mayScroll: byTouch && !field.contains(event.target),
      before: cuts,
      taken: [], // by a swipe
      isSwiped: false,
    };
    lift(held.line, byTouch);
    if (held.line >= 0) list.choose(held.line);
  });
  on("pointermove", (event) => {
    const spot = plot.under(event);
    if (!held) {
      const isOnWord = wordAt(layout, sentence, spot) !== null;
      setAttributes(plot.svg, { "data-on-word": isOnWord });
      lift(isOnWord ? -1 : lineAt(spot, event.pointerType));
      return;
    }
    const { at, before, taken, mayScroll } = held;
    const [aside, down] = [0, 1].map((axis) => Math.abs(spot[axis] - at[axis]));
    if (Math.hypot(aside, down) < 8) return;
    if (mayScroll && down > aside) return; // a finger that goes up or down scrolls the page
    const crossed = sentence.lines.filter(
      (line, i) =>
        read.weights[i] >= SWIPED &&
        ![...before, ...taken].includes(line) &&
        crosses(paths[i], at, spot),
    );
    Object.assign(held, { at: spot, taken: [...taken, ...crossed], isSwiped: true });
    lift(-1);
    if (crossed.length === 0) return;
    write([...before, ...held.taken], { sameStep: taken.length > 0 });
    list.choose(sentence.lines.indexOf(crossed.at(-1)));
  });
  on("pointerup", () => {
    if (!held) return;
    const { line, word, mayCut, byTouch, isSwiped } = held;
    held = null;
    if (!isSwiped && line >= 0) {
      if (mayCut) toggle(sentence.lines[line]);
      if (mayCut && byTouch) lift(-1); // its label would cover what comes next
    } else if (!isSwiped && word) {
      const opened = word[0] === 0 ? word[1] : -1;
      isFollowed = !isFollowed || opened !== model.get("opened");
      view.set("opened", opened);
      view.again();
    }
  });
  on("pointercancel", () => {
    held = null;
    lift(-1);
  });
  on("pointerleave", ({ pointerType }) => {
    if (!held && pointerType !== "touch") lift(-1);
  });

  // ------------------------------------------------------------ controls

  const list = createList(view);
  const row = (...nodes) =>
    element("div", { class: "attention-scissors-bar attention-tries" }, ...nodes);
  const button = (text, act, kind = "attention-button") => {
    const made = element("button", { type: "button", class: kind }, text);
    made.addEventListener("click", act, { signal: view.signal });
    return made;
  };
  const cutter = button("Cut", () => toggle(sentence.lines[list.chosen()]));
  const undo = button("Undo", takeBack);
  const mend = button("Mend all", () => write([]));
  const hint = button("Hint", () => {
    if (hinted < hints.length) {
      hinted += 1;
      [dropped, note] = [cuts.length, ""]; // beside other cuts, the line might turn nothing
      write([]);
      if (hinted > 1) list.choose(sentence.lines.indexOf(decisive[0]), hinted === hints.length);
      isFollowed = false;
      lift(-1); // what a finger has lifted would hide what is marked
      view.again();
    } else {
      write([decisive[0]]);
      undo.focus({ preventScroll: true }); // this button goes away
    }
  });
  for (const node of [list.node, cutter]) {
    node.addEventListener("focusin", () => lift(list.chosen()), { signal: view.signal });
    node.addEventListener("focusout", () => lift(-1), { signal: view.signal });
  }
  list.node.addEventListener("change", () => lift(list.chosen()), { signal: view.signal });
  const numbers = view.numbers({ meant: "“It” means", probability: "Probability", cuts: "Cuts" });
  view.onReset(() => {
    beginAnew();
    note = "";
  });

  function take(text) {
    if (text === model.get("text")) return;
    dropped = cuts.length;
    view.setAll({ text, cuts: "", opened: -1 });
  }
  const places = given.choices.map((word) =>
    button(word, () => take([...sentence.words.slice(1, -1), word].join(" ")), "attention-chip"),
  );
  const lastWords = (name, chips) =>
    element(
      "div",
      { class: "attention-chips", role: "group", "aria-label": name },
      element("span", { class: "attention-name" }, name),
      ...chips,
    );
  const chips = (isInPair) => places.filter((_, i) => PAIR.includes(given.choices[i]) === isInPair);
  view.controls.append(row(lastWords("Last word", chips(true)), undo, hint));
  view.more.controls.append(
    row(list.node, cutter, mend),
    lastWords("Other last words", chips(false)),
  );

  const own = textField({
    label: "A sentence of your own, with “it” in it once; Enter reads it",
  });
  view.more.place.append(own.node);
  view.more.place.append(
    element(
      "p",
      { class: "attention-note" },
      "A cut line’s share goes to the other lines of the same word, so a cut also strengthens these. The model never met a cut in training.",
    ),
  );
  /** Read a text, once all words are here. */
  function readOwn() {
    if (!model.get("wanted")) {
      view.set("wanted", true);
      return;
    }
    try {
      take(parseSentence(own.input.value, reader.lexicon, given.longest).slice(1).join(" "));
      own.refuse("");
    } catch (error) {
      own.refuse(error.message);
    }
  }
  own.input.addEventListener("change", readOwn, { signal: view.signal });
  view.onChange("read_as", () => {
    reader = openReader(view.state());
    if (own.input.value !== sentence.words.slice(1).join(" ")) readOwn();
    view.again();
  });
  view.onChange("wanted", () => {
    if (!model.get("wanted"))
      own.refuse("The words could not be fetched. Check the connection, then try again.");
  });

  /** Count the lines that decide alone, a few at a time while nothing else is to be done. */
  function count() {
    if (counting === sentence) return;
    counting = sentence;
    const [found, left] = [[], [...sentence.lines]];
    const go = () => {
      if (counting !== sentence || view.signal.aborted) return;
      found.push(...left.splice(0, 3).filter((line) => decides(line, counting)));
      if (left.length) setTimeout(go, 10);
      else {
        decisive = found;
        hints = hintsOf(sentence, decisive);
        view.again();
      }
    };
    setTimeout(go, 10);
  }

  // ------------------------------------------------------------ drawing

  /** The numbers that stand now: a change begins where the line is cut, and the lamp moves last. */
  function wave() {
    const nowhere = sentence.lines.map(() => 0);
    const isCut = sentence.lines.map((line) => (cuts.includes(line) ? 1 : 0));
    const half = sentence.words.length ** 2;
    const weights = isBegun ? read.weights : nowhere;
    const glide = (name, target, delay) =>
      view.glide(`${name} ${sentence.words.join(" ")}`, target, {
        delay,
        length: LENGTH,
      });
    return {
      gaps: glide("gaps", isCut, WAVES.recoil),
      weights: [
        ...glide("layer 1", weights.slice(0, half), WAVES.layer1),
        ...glide("layer 2", weights.slice(half), WAVES.layer2),
      ],
      shares: glide("shares", isBegun ? [...read.shares] : [...read.shares].fill(0), WAVES.answer),
    };
  }

  /** Whether one cut alone has turned the answer, and the lamp shows it. */
  const isFound = () =>
    cuts.length === 1 && read.meant !== sentence.whole.meant && !view.isMoving();

  function drawLines(now, layout) {
    paths = pathsOf(layout, sentence.lines, now.weights);
    const row = lifted >= 0 ? sentence.lines[lifted] : null;
    const stands = row ? ([number, query]) => row[0] === number && row[1] === query : isMarked;
    const lookOf = (i) => {
      const isAlone = !row && !isFollowed && hinted === hints.length; // and no other is marked
      if (!stands(sentence.lines[i])) return null;
      return i === lifted || isAlone ? "lifted" : "row";
    };
    setAttributes(plot.svg, { "data-found": isFound() ? "true" : null });
    setChildren(
      strands,
      paths.map((path, i) => {
        const [number, , key] = sentence.lines[i];
        const isCut = now.gaps[i] > 0;
        const carries = isFound() && number === 1 && cuts[0][0] === 0 && key === cuts[0][1];
        return [
          "path",
          {
            d: pathData(path),
            "stroke-width": path.width,
            "data-look": lookOf(i) ?? (carries ? "way" : null),
            visibility: isCut || path.width < 0.05 ? "hidden" : null,
          },
        ];
      }),
    );
    setChildren(
      stumps,
      cuts.flatMap((line) => {
        const i = sentence.lines.indexOf(line);
        const width = Math.max(sentence.whole.weights[i] * layout.unit, 6);
        return stumpMarks(paths[i], now.gaps[i], { width, look: lookOf(i), pattern: masked });
      }),
    );
  }

  /** What the lifted line says. */
  function drawTag(now, layout) {
    if (lifted < 0) {
      const found = isFound() ? paths[sentence.lines.indexOf(cuts[0])] : null;
      setChildren(tag, found ? tagMarks(["This line decides"], found, layout) : []);
      return;
    }
    const [, query, key] = sentence.lines[lifted];
    const isCut = cuts.includes(sentence.lines[lifted]);
    const label = isCut
      ? `“${sentence.words[query]}” no longer reads “${sentence.words[key]}”`
      : `“${sentence.words[query]}” reads “${sentence.words[key]}”, ${fixed(now.weights[lifted], 2)}`;
    const again = isTouched ? [`Tap again to ${isCut ? "mend" : "cut"}`] : [];
    setChildren(tag, tagMarks([label, ...again], paths[lifted], layout));
  }

  view.start(() => {
    const state = view.state();
    view.part("sentence", `${state.text} ${state.vocabulary.length}`, () => {
      try {
        sentence = openSentence(state.text, reader, state.longest);
      } catch (error) {
        own.refuse(error.message);
        return;
      }
      [counting, decisive, hints, lifted] = [null, null, [], -1];
      beginAnew();
      own.refuse("");
      list.fill(sentence);
      own.input.value = sentence.words.slice(1).join(" ");
    });
    view.part("cuts", `${state.text} ${state.cuts} ${state.vocabulary.length}`, () => {
      const before = cuts.length;
      cuts = parseCuts(state.cuts, sentence.lines);
      read = cuts.length ? readCut(sentence, cuts) : sentence.whole;
      if (cuts.length === 1 && read.meant !== sentence.whole.meant)
        read.reason = reasonOf(sentence, cuts[0], read.weights);
      if (cuts.length > before && read.meant === sentence.whole.meant) tries += 1;
      note = dropped ? `Your ${dropped === 1 ? "cut is" : `${dropped} cuts are`} mended.` : "";
      dropped = 0;
      view.say(""); // until the lamp has come to rest: what stands here is of other cuts
    });
    if (cuts.length || state.text !== given.text) count();
    const { clientHeight } = document.documentElement;
    layout = layoutOf(plot.width, sentence.words, clientHeight);
    plot.setHeight(layout.height);
    const now = wave();
    const isTurned = read.meant !== sentence.whole.meant;
    if (isTurned && !view.isMoving()) hinted = 0;
    drawLines(now, layout);
    setChildren(field, fieldMarks(layout));
    setChildren(names, nameMarks(sentence, layout));
    setChildren(lamp, lampMarks(sentence, now.shares, layout));
    drawTag(now, layout);
    list.show(state.opened, cuts, read.weights);
    setText(cutter, cuts.includes(sentence.lines[list.chosen()]) ? "Mend" : "Cut");
    setAttributes(undo, { "aria-disabled": String(cuts.length + steps.length === 0) });
    setAttributes(mend, { "aria-disabled": String(cuts.length === 0) });
    places.forEach((chip, i) =>
      setAttributes(chip, { "aria-pressed": String(state.text.endsWith(` ${given.choices[i]}`)) }),
    );
    view.task(taskOf(sentence, decisive, press().toLowerCase()));
    if (hinted && !cuts.length) view.say([note, hints[hinted - 1].text].filter(Boolean).join(" "));
    if (view.isMoving()) return;
    numbers(
      { meant: read.meant, probability: read.shares[read.meant], cuts: cuts.length },
      { meant: inWords(sentence, read.meant), cuts: String(cuts.length) },
    );
    isSolved ||= isTurned;
    const isOffered = tries >= TRIES && hints.length > 0 && !isSolved;
    setAttributes(hint, { hidden: !isOffered });
    const further = ["Cut it", "Show it", "Next hint"][hints.length - hinted];
    setText(hint, hinted ? further : "Hint");
    if (hinted && !cuts.length) return;
    const help = hinted ? hints[hinted - 1].text : isOffered ? "Would a hint help?" : "";
    const finding = findingOf(sentence, cuts, read, decisive);
    view.say(
      [note, finding, help].filter(Boolean).join(" "),
      `${state.text[0].toUpperCase()}${state.text.slice(1)}.`,
    );
  });
  addEventListener("resize", view.again, { signal: view.signal });

  if (!isBegun) {
    const begin = () => {
      isBegun = true;
      view.again();
    };
    const visibility = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        visibility.disconnect();
        begin();
      },
      { threshold: 0.4 },
    );
    visibility.observe(plot.svg);
    view.signal.addEventListener("abort", () => visibility.disconnect());
    addEventListener("beforeprint", begin, { signal: view.signal });
  }
  return view.cleanup;
}

export default { render };
