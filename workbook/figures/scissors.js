import {
  addPatterns,
  breadth,
  createView,
  element,
  fixed,
  isStill,
  parseSentence,
  setAttributes,
  setChildren,
  setText,
  svg,
  textField,
} from "./_shared/index.js";
import {
  decides,
  inWords,
  nameOfLine,
  openReader,
  openSentence,
  parseCuts,
  readCut,
} from "./_sentence/cuts.js";
import { crosses, distance, lampMarks, layoutOf, pathsOf, pointOf } from "./_sentence/lines.js";

const WAVES = { recoil: 0, layer1: 120, layer2: 620, answer: 1120 }; // when what moves, in milliseconds
const LENGTH = 450; // of each of these
const STUMP = 0.09; // what a cut leaves at each end, as a share of the line
const NEAR = { mouse: 12, touch: 24 }; // pixels from a line that count as on it
const SWIPED = 0.05; // a swipe takes only lines of at least this weight

// ---------------------------------------------------------------- in words

const round = (number, digits = 1) => Number(number.toFixed(digits));
const lineInWords = ({ words }, [layer, query, key]) =>
  `“${words[query]}” → “${words[key]}” in layer ${layer + 1}`;

/** The finding in words; `decisive` is how many lines decide alone, if that is known. */
export function words(sentence, cuts, { meant, shares }, decisive) {
  const { lines, whole } = sentence;
  const means = `means ${inWords(sentence, meant)} (probability ${fixed(shares[meant], 2)})`;
  const changed = meant !== whole.meant;
  if (cuts.length === 0)
    return `“It” ${means}. Each of the ${lines.length} lines is a weight: the thicker it is, the more the upper word reads of the lower one.`;
  if (cuts.length > 1) return `After ${cuts.length} cuts, “it” ${changed ? "" : "still "}${means}.`;
  const conclusion = `Without ${lineInWords(sentence, cuts[0])}, “it” ${changed ? "" : "still "}${means}.`;
  if (!changed || decisive === null) return conclusion;
  return decisive === 1
    ? `${conclusion} None of the other ${lines.length - 1} lines decides alone.`
    : `${conclusion} Of the ${lines.length} lines, ${decisive} decide alone.`;
}

/** What is to be done. */
function taskOf(sentence, decisive) {
  const { whole, rivals } = sentence;
  const other = inWords(
    sentence,
    rivals.find((place) => place !== whole.meant),
  );
  return decisive === 0
    ? `No single line decides here: how many cuts make “it” mean ${other}?`
    : `Cut the line that makes “it” mean ${inWords(sentence, whole.meant)}.`;
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const view = createView(
    { model, el },
    {
      label: "Which line decides?",
      task: "Cut the line that makes “it” mean the animal.",
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
  let decisive = null; // how many of them decide alone, once that is known
  let lifted = -1; // the line under the pointer
  let isBegun = isStill(); // the lines grow once, when the figure is first seen
  let paths = [];

  const plot = view.plot({
    height: 456,
    description:
      "The words, the words after layer 1, and “it” after layer 2, with lines as thick as the weights between them; above, a lamp between two words",
  });
  const layer = (kind) => plot.svg.appendChild(svg("g", { class: kind }));
  const { masked } = addPatterns(plot.svg);
  const [strands, stumps, names, lamp, tag] = [
    "attention-scissors-lines",
    "attention-scissors-stumps",
    "attention-scissors-names",
    "attention-scissors-lamp",
    "attention-scissors-tag",
  ].map(layer);
  plot.svg.classList.add("attention-scissors-picture");

  // ------------------------------------------------------------ cutting

  const write = (lines) => view.set("cuts", lines.map(nameOfLine).join(" "));
  function toggle(line) {
    const name = nameOfLine(line);
    const without = cuts.filter((cut) => nameOfLine(cut) !== name);
    write(without.length < cuts.length ? without : [...cuts, line]);
  }
  /** The line at a place, of which those that are thick and those of the opened row come first. */
  function lineAt(spot, kind) {
    let [best, closest] = [-1, NEAR[kind] ?? NEAR.mouse];
    paths.forEach((path, i) => {
      const far = distance(path, spot) - Math.min(path.width / 4, 2);
      if (far < closest) [best, closest] = [i, far];
    });
    return best;
  }
  function lift(i) {
    if (lifted === i) return;
    lifted = i;
    view.again();
  }
  let held = null;
  const on = (type, listener) => plot.svg.addEventListener(type, listener, { signal: view.signal });
  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = { at: plot.under(event), swiped: false };
    lift(lineAt(held.at, event.pointerType));
  });
  on("pointermove", (event) => {
    const spot = plot.under(event);
    if (!held) {
      lift(lineAt(spot, event.pointerType));
      return;
    }
    if (Math.hypot(spot[0] - held.at[0], spot[1] - held.at[1]) < 8) return;
    const taken = sentence.lines.filter(
      (line, i) =>
        read.weights[i] >= SWIPED && !cuts.includes(line) && crosses(paths[i], held.at, spot),
    );
    held = { at: spot, swiped: true };
    if (taken.length) write([...cuts, ...taken]);
  });
  on("pointerup", (event) => {
    if (held && !held.swiped) {
      const line = lineAt(held.at, event.pointerType);
      if (line >= 0) toggle(sentence.lines[line]);
    }
    held = null;
  });
  on("pointercancel", () => {
    held = null;
    lift(-1);
  });
  on("pointerleave", () => !held && lift(-1));

  // ------------------------------------------------------------ controls

  const bar = view.controls.appendChild(element("div", { class: "attention-scissors-bar" }));
  const button = (text, act) => {
    const made = bar.appendChild(
      element("button", { type: "button", class: "attention-button" }, text),
    );
    made.addEventListener("click", act, { signal: view.signal });
    return made;
  };
  const undo = button("Undo", () => write(cuts.slice(0, -1)));
  const mend = button("Mend all", () => write([]));
  const counter = view.readout({ name: "cuts", label: "Cuts", parent: bar });
  const shares = view.numbers({ meant: "“It” means", probability: "Probability" });

  function take(text) {
    view.setAll({ text, cuts: "", opened: -1 });
  }
  const places = given.choices.map((word) => {
    const made = element("button", { type: "button", class: "attention-chip" }, word);
    made.addEventListener(
      "click",
      () => take([...given.text.split(" ").slice(0, -1), word].join(" ")),
      { signal: view.signal },
    );
    return made;
  });
  view.controls.append(
    element(
      "div",
      { class: "attention-chips", role: "group", "aria-label": "Last word" },
      element("span", { class: "attention-name" }, "Last word"),
      ...places,
    ),
  );

  const rows = element("select");
  rows.addEventListener("change", () => view.set("opened", Number(rows.value)), {
    signal: view.signal,
  });
  const list = element("div", { class: "attention-chips", role: "group", "aria-label": "Lines" });
  view.more.place.prepend(
    element(
      "div",
      { class: "attention-scissors-list" },
      element(
        "label",
        { class: "attention-pick" },
        element("span", { class: "attention-name" }, "The lines of"),
        rows,
      ),
      list,
    ),
  );
  const field = textField({
    label: "A sentence of your own, with “it” in it once; Enter reads it",
    signal: view.signal,
  });
  view.more.place.append(field.node);
  view.stage.append(
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
      take(parseSentence(field.input.value, reader.lexicon, given.longest).slice(1).join(" "));
      field.refuse("");
    } catch (error) {
      field.refuse(error.message);
    }
  }
  field.input.addEventListener("change", readOwn, { signal: view.signal });
  view.onChange("read_as", () => {
    reader = openReader(view.state());
    if (field.input.value !== sentence.words.slice(1).join(" ")) readOwn();
    view.again();
  });
  view.onChange("wanted", () => {
    if (!model.get("wanted"))
      field.refuse("The words could not be fetched. Check the connection, then try again.");
  });

  function writeRows() {
    rows.replaceChildren(
      element("option", { value: -1 }, "“it” in layer 2"),
      ...sentence.words.map((word, place) =>
        element("option", { value: place }, `“${word}” in layer 1`),
      ),
    );
    field.input.value = sentence.words.slice(1).join(" ");
  }

  /** The opened row's lines as buttons, which cut and mend. */
  function writeList(opened) {
    rows.value = String(opened);
    const [number, query] = opened < 0 ? [1, sentence.it] : [0, opened];
    const own = sentence.lines.flatMap((line, i) =>
      line[0] === number && line[1] === query ? [[line, i]] : [],
    );
    while (list.children.length > own.length) list.lastChild.remove();
    own.forEach(([line, i], place) => {
      let chip = list.children[place];
      if (!chip) {
        chip = list.appendChild(element("button", { type: "button", class: "attention-chip" }));
        for (const type of ["focus", "pointerenter"])
          chip.addEventListener(type, () => lift(chip.line), { signal: view.signal });
        for (const type of ["blur", "pointerleave"])
          chip.addEventListener(type, () => lift(-1), { signal: view.signal });
        chip.addEventListener("click", () => toggle(sentence.lines[chip.line]), {
          signal: view.signal,
        });
      }
      chip.line = i;
      const isCut = cuts.includes(line);
      setText(chip, `${sentence.words[line[2]]} ${isCut ? "cut" : fixed(read.weights[i], 2)}`);
      setAttributes(chip, { "aria-pressed": String(isCut) });
    });
  }

  /** Count the lines that decide alone, a few at a time while nothing else is to be done. */
  function count() {
    if (counting === sentence) return;
    counting = sentence;
    const [found, left] = [[], [...sentence.lines]];
    const go = () => {
      if (counting !== sentence || view.signal.aborted) return;
      found.push(...left.splice(0, 6).filter((line) => decides(line, counting)));
      if (left.length) setTimeout(go, 10);
      else {
        decisive = found.length;
        view.again();
      }
    };
    go();
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

  function drawLines(now, layout) {
    paths = pathsOf(layout, sentence.lines, now.weights);
    const isFound = cuts.length === 1 && read.meant !== sentence.whole.meant && !view.isMoving();
    const row = lifted >= 0 ? sentence.lines[lifted] : null;
    const d = ({ points: [a, b, c, e] }) =>
      `M${a.map(round)}C${b.map(round)} ${c.map(round)} ${e.map(round)}`;
    setAttributes(plot.svg, { "data-found": isFound ? "true" : null });
    setChildren(
      strands,
      paths.map((path, i) => {
        const [number, query, key] = sentence.lines[i];
        const isCut = now.gaps[i] > 0;
        const isInRow = row?.[0] === number && row[1] === query;
        const carries = isFound && number === 1 && cuts[0][0] === 0 && key === cuts[0][1];
        return [
          "path",
          {
            d: d(path),
            "stroke-width": path.width,
            "data-look": i === lifted ? "lifted" : isInRow ? "row" : carries ? "way" : null,
            visibility: isCut || path.width < 0.05 ? "hidden" : null,
          },
        ];
      }),
    );
    setChildren(
      stumps,
      cuts.flatMap((line) => {
        const i = sentence.lines.indexOf(line);
        const gap = now.gaps[i];
        const left = 0.5 - (0.5 - STUMP) * gap - 0.05 * Math.sin(Math.PI * gap);
        const width = Math.max(sentence.whole.weights[i] * layout.unit, 6);
        const drawn = {
          d: d(paths[i]),
          pathLength: 1,
          "stroke-dasharray": `${round(left, 3)} ${round(1 - 2 * left, 3)} ${round(left, 3)} 1`,
          "data-look": i === lifted ? "lifted" : null,
        };
        return [
          ["path", { ...drawn, "stroke-width": width + 3 }],
          ["path", { ...drawn, "stroke-width": width, stroke: masked }],
        ];
      }),
    );
  }

  function drawNames(layout) {
    const { at, font, upright, height } = layout;
    const word = (row, place) => {
      const [x, y] = at(row, place);
      const isIt = place === sentence.it;
      return [
        "text",
        {
          x: row === 2 && !upright ? x + 12 : x,
          y: y + font * 0.35,
          "font-size": row === 2 ? font + 3 : row === 1 ? font - 1 : font,
          "text-anchor": row === 2 && !upright ? "end" : "middle",
          class: isIt ? "attention-query" : row === 1 || place === 0 ? "attention-muted" : "",
        },
        sentence.words[place],
      ];
    };
    setChildren(names, [
      ...sentence.words.map((_, place) => word(0, place)),
      ...sentence.words.map((_, place) => word(1, place)),
      word(2, sentence.it),
      ...[0, 1].map((row) => {
        const [[x1, y1], [x2, y2]] = [at(row, 0), at(row + 1, 0)];
        const spot = upright ? { x: 0, y: (y1 + y2) / 2 } : { x: (x1 + x2) / 2, y: height - 6 };
        return [
          "text",
          { ...spot, "text-anchor": upright ? "start" : "middle", class: "attention-muted" },
          `layer ${row + 1}`,
        ];
      }),
    ]);
  }

  /** What the lifted line says, at its middle. */
  function drawTag(now, layout) {
    if (lifted < 0) {
      setChildren(tag, []);
      return;
    }
    const [, query, key] = sentence.lines[lifted];
    const isCut = cuts.includes(sentence.lines[lifted]);
    const label = isCut
      ? `${sentence.words[query]} reads ${sentence.words[key]} no more: mend it`
      : `${sentence.words[query]} reads ${sentence.words[key]}, ${fixed(now.weights[lifted], 2)}`;
    const [x, y] = pointOf(paths[lifted].points, 0.55);
    const half = (breadth(label) * 14) / 2 + 10;
    const middle = Math.min(Math.max(x, half), layout.width - half);
    setChildren(tag, [
      ["rect", { x: middle - half, y: y - 14, width: 2 * half, height: 28, rx: 14 }],
      ["text", { x: middle, y: y + 5, "text-anchor": "middle" }, label],
    ]);
  }

  view.start(() => {
    const state = view.state();
    view.part("sentence", `${state.text} ${state.vocabulary.length}`, () => {
      try {
        sentence = openSentence(state.text, reader, state.longest);
      } catch (error) {
        field.refuse(error.message);
        return;
      }
      [counting, decisive, lifted] = [null, null, -1];
      writeRows();
    });
    view.part("cuts", `${state.text} ${state.cuts} ${state.vocabulary.length}`, () => {
      cuts = parseCuts(state.cuts, sentence.lines);
      read = cuts.length ? readCut(sentence, cuts) : sentence.whole;
    });
    if (cuts.length) count();
    const layout = layoutOf(plot.width, sentence.words);
    plot.setHeight(layout.height);
    const now = wave();
    drawLines(now, layout);
    drawNames(layout);
    setChildren(lamp, lampMarks(sentence, now.shares, layout));
    drawTag(now, layout);
    writeList(state.opened < sentence.words.length ? state.opened : -1);
    for (const tool of [undo, mend]) setAttributes(tool, { disabled: cuts.length === 0 });
    counter(cuts.length, String(cuts.length));
    places.forEach((chip, i) =>
      setAttributes(chip, { "aria-pressed": String(state.text.endsWith(` ${given.choices[i]}`)) }),
    );
    if (view.isMoving()) return;
    view.task(taskOf(sentence, decisive));
    shares(
      { meant: read.meant, probability: read.shares[read.meant] },
      { meant: inWords(sentence, read.meant) },
    );
    view.say(
      words(sentence, cuts, read, decisive),
      `${state.text[0].toUpperCase()}${state.text.slice(1)}.`,
    );
  });

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
