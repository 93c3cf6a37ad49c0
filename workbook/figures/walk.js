import {
  breadth,
  addPatterns,
  colorMap,
  createView,
  element,
  fixed,
  isStill,
  linear,
  normalise,
  runReader,
  setAttributes,
  setChildren,
  softmax,
  svg,
  unpackReader,
} from "./_shared/index.js";

/** The steps, by their names; `Walk` in Python has the same ones. */
export const STEPS = [
  "The question",
  "Vectors",
  "Query and keys",
  "Scores",
  "Divide by √d",
  "The mask",
  "Softmax",
  "The mixture",
  "Several heads",
  "Two layers",
  "The answer",
  "Another word",
  "The brightest line",
];
const [
  WORDS,
  VECTORS,
  KEYS,
  SCORES,
  DIVIDED,
  MASKED,
  SOFTMAX,
  MIXTURE,
  HEADS,
  LAYERS,
  ANSWER,
  OTHER,
  BRIGHTEST,
] = STEPS.map((_, i) => i + 1);
const PADS = 2; // empty places after the sentence, in the step about the mask

// ---------------------------------------------------------------- the reader's numbers

const place = (numbers) => numbers.indexOf(Math.max(...numbers));
const quoted = (word) => `“${word}”`;

/** What the model would answer if *it* had this vector: the pointing head's weights. */
function answered({ pointing, width }, { pointing: { keys } }, vector) {
  const [query] = linear([vector], pointing.W_q);
  return softmax(
    keys.map(
      (key) => key.reduce((sum, number, i) => sum + number * query[i], 0) / Math.sqrt(width),
    ),
  );
}

/** What it would answer if one head of the first layer were the only one. */
function answeredAlone(reader, run, head, it) {
  const { input, joined } = run.layers[0];
  const size = joined[it].length / run.layers[0].heads.length;
  const [brought] = linear(
    [joined[it].map((number, i) => (Math.floor(i / size) === head ? number : 0))],
    reader.layers[0].W_o,
  );
  return answered(
    reader,
    run,
    normalise(
      input[it].map((number, i) => number + brought[i]),
      reader.layers[0],
    ),
  );
}

/** All that is to be seen of a sentence: its numbers, and those after a head's gift was swapped. */
export function measure(state, reader = unpackReader(state, state.vocabulary.length)) {
  const { vocabulary, text, word, choices, nouns, swap, head: followed } = state;
  const it = text.indexOf("it");
  const read = (last, lent) => {
    const words = [...text.slice(0, -1), last];
    const ids = words.map((one) => vocabulary.indexOf(one));
    const run = runReader(reader, ids, lent);
    const answers = [run.start, ...run.layers.map(({ output }) => output)].map((rows) =>
      answered(reader, run, rows[it]),
    );
    return { ...run, words, ids, answers, meant: place(answers.at(-1)) };
  };
  const seen = read(word);
  const other = choices.find((one) => read(one).meant !== seen.meant) ?? word;
  let swapped = seen;
  if (swap !== "nothing") {
    const [layer, head] = swap.split(".").map((number) => number - 1);
    swapped = read(word, {
      layer,
      head,
      place: it,
      vector: read(other).layers[layer].heads[head].output[it],
    });
  }
  const first = seen.layers[0].heads[followed];
  const size = first.keys[0].length;
  const padding = runReader(reader, [...seen.ids, ...Array(PADS).fill(0)]).layers[0].heads[
    followed
  ].keys.slice(-PADS);
  return {
    ...seen,
    it,
    nouns,
    other,
    swapped,
    first,
    followed,
    size,
    padding,
    row: first.weights[it],
    dots: first.dots[it],
    scores: first.scores[it],
    alone: answeredAlone(reader, seen, followed, it),
  };
}

/** What the model would answer at a step. */
export function believed(step, { answers, swapped, alone }) {
  if (step < MIXTURE) return answers[0];
  if (step === MIXTURE) return alone;
  if (step === HEADS) return answers[1];
  return step === BRIGHTEST ? swapped.answers[2] : answers[2];
}

/** The finding of each step in words. */
export function words({ step, word, swap }, seen) {
  const { it, nouns, row, dots, scores, size, start, layers, swapped } = seen;
  const names = seen.words;
  const [one, two] = nouns.map((noun) => names[noun]);
  const odds = (answer) =>
    `${one} ${fixed(answer[nouns[0]], 2)}, ${two} ${fixed(answer[nouns[1]], 2)}`;
  const [best, first, second] = [place(dots), row[nouns[0]], row[nouns[1]]];
  const means = ({ meant, answers }) =>
    (meant === 0 ? "none of the words" : names[meant]) +
    ` (probability ${fixed(Math.max(...answers[2]), 2)})`;
  const head = `layer 1, head ${seen.followed + 1}`;
  const brightest = layers.map(({ heads }) =>
    heads.map(
      ({ weights }) => `${names[place(weights[it])]} ${fixed(Math.max(...weights[it]), 2)}`,
    ),
  );
  switch (step) {
    case WORDS:
      return `One of the ${names.length - 1} words is “it”. Does it mean the ${one} or the ${two}?`;
    case VECTORS:
      return `Each word is ${start[0].length} numbers; those of “it” run from ${fixed(Math.min(...start[it]), 2)} to ${fixed(Math.max(...start[it]), 2)}.`;
    case KEYS:
      return `In ${head}, “it” has a query of ${size} numbers, and every word has a key of ${size} numbers.`;
    case SCORES:
      return `The query of “it” matches the key of ${quoted(names[best])} best: score ${fixed(dots[best], 2)}.`;
    case DIVIDED:
      return `Divided by √${size} = ${fixed(Math.sqrt(size), 2)}, the score of ${quoted(names[best])} is ${fixed(scores[best], 2)}.`;
    case MASKED:
      return `The ${PADS} empty places get the score −∞. All ${names.length} others may be looked at.`;
    case SOFTMAX:
      return `${quoted(one)} gets the weight ${fixed(first, 2)}, ${quoted(two)} ${fixed(second, 2)}; the ${names.length - 2} others share ${fixed(1 - first - second, 2)}.`;
    case MIXTURE:
      return `${fixed(first, 2)} of the mixture comes from ${quoted(one)}, ${fixed(second, 2)} from ${quoted(two)}. Before this look, the model would answer ${odds(seen.answers[0])}; after it, ${odds(seen.alone)}.`;
    case HEADS:
      return `The ${layers[0].heads.length} heads of layer 1 let “it” look most at ${brightest[0].join(", ")}. With all of them, the model would answer ${odds(seen.answers[1])}.`;
    case LAYERS:
      return `Asked before layer 1, the model would answer ${odds(seen.answers[0])}; after it, ${odds(seen.answers[1])}; after layer 2, ${odds(seen.answers[2])}.`;
    case BRIGHTEST: {
      if (swap === "nothing")
        return `The heads of layer 2 look most at ${brightest[1].join(", ")}. “it” means ${means(seen)}.`;
      const [layer, number] = swap.split(".");
      return `The output of head ${layer}.${number} at “it” is taken from the sentence with “${seen.other}”: “it” means ${means(swapped)}${swapped.meant === seen.meant ? ", as before" : ""}.`;
    }
    default:
      return `With “${word}”, “it” means ${means(seen)}.`;
  }
}

// ---------------------------------------------------------------- where everything is

/** The measures of the picture at a width. */
export function sizes(width, count) {
  const wide = width >= 420;
  const [row, top, bottom] = wide ? [23, 46, 72] : [15, 30, 46];
  const name = wide ? 78 : 62;
  return {
    width,
    count,
    wide,
    row,
    top,
    name,
    left: name + 8,
    right: width - 4,
    font: wide ? 14 : 12,
    height: top + count * row + bottom,
    line: (i) => top + (i + 0.5) * row,
    floor: top + count * row,
    track: top + count * row + bottom - (wide ? 18 : 12),
  };
}

/** The words of the sentence as it is written, line by line: `[x, y, size]`. */
function written(names, { width, height, wide }) {
  const size = wide ? 22 : 18;
  const long = (name) => (breadth(name) + 0.35) * size;
  const lines = [[]];
  let room = width - 16;
  names.forEach((name, i) => {
    if (i === 0) return;
    if (long(name) > room || name === "because") {
      lines.push([]);
      room = width - 16;
    }
    room -= long(name);
    lines.at(-1).push(i);
  });
  const spots = [[width / 2, height / 2, size]];
  lines.forEach((line, number) => {
    let x = (width - line.reduce((sum, i) => sum + long(names[i]), 0)) / 2;
    for (const i of line) {
      spots[i] = [
        x + long(names[i]) / 2,
        height / 2 + (number - (lines.length - 1) / 2) * size * (lines.length > 2 ? 2.4 : 4),
        size,
      ];
      x += long(names[i]);
    }
  });
  return spots;
}

/** Everything that is drawn at a step, as numbers that can glide: strips are `[x, y, width, height,
    opacity]`, words `[x, y, size, opacity]`, bars strips, lines `[width, opacity]`. */
export function scene(step, seen, given) {
  const { row, name, left, right, font, line, floor, top, count, wide } = given;
  const { it, size, swapped } = seen;
  const span = right - left;
  const thick = row * 0.66;
  const strip = (x, y, width, opacity, height = thick) => [
    x,
    y - height / 2,
    width,
    height,
    opacity,
  ];
  const rows = Array.from({ length: count }, (_, i) => i);
  const between = (from, to) => step >= from && step <= to;

  const spots = written(seen.words, given);
  const names = rows.map((i) =>
    step === WORDS
      ? [...spots[i], i ? 1 : 0]
      : [name - (breadth(i ? seen.words[i] : "(nothing)") / 2) * font, line(i), font, 1],
  );
  const pads = Array.from({ length: PADS }, (_, i) => [
    name - (breadth("(empty)") / 2) * font,
    line(count + i),
    font,
    between(MASKED, SOFTMAX) ? 1 : 0,
  ]);

  const keyed = Math.min(size * (wide ? 18 : 15), span * 0.42);
  const near = Math.min(size * (wide ? 12 : 9), span * 0.3);
  const vector = rows.map((i) => {
    if (step === WORDS) return strip(spots[i][0], spots[i][1], 0, 0);
    return step === VECTORS
      ? strip(left, line(i), span, 1)
      : strip(left, line(i), step === KEYS ? span * 0.4 : 0, step === KEYS ? 1 : 0);
  });
  const keyAt =
    step <= VECTORS
      ? [left, span]
      : step === KEYS
        ? [right - keyed, keyed]
        : [left, step <= MASKED ? near : 0];
  const shown = between(KEYS, MASKED) ? 1 : 0;
  const key = [...rows, count, count + 1].map((i) =>
    strip(keyAt[0], line(i), keyAt[1], i < count || step === MASKED ? shown : 0),
  );
  const query = strip(
    keyAt[0],
    shown ? top - row * (wide ? 0.75 : 0.8) : line(it),
    keyAt[1],
    shown,
  );
  const valueAt = step < MIXTURE ? [left, 0] : [right - keyed, keyed];
  const value = rows.map((i) =>
    strip(valueAt[0], line(i), valueAt[1], step === MIXTURE ? 0.08 + 0.92 * seen.row[i] : 0),
  );
  const output = strip(
    valueAt[0],
    step === MIXTURE ? floor + row * 0.85 : line(place(seen.row)),
    valueAt[1],
    step === MIXTURE ? 1 : 0,
  );

  // Bars: first scores about a zero, then weights; the followed head's first, those of all heads later.
  const [from, to] = [left + near + 12, right - 48];
  const [low, high] = [Math.min(0, ...seen.dots), Math.max(0, ...seen.dots)];
  const scores = step >= DIVIDED ? seen.scores : seen.dots;
  const zero = from - (low / (high - low)) * (to - from);
  const unit = (to - from) / (high - low);
  const columns =
    step === BRIGHTEST
      ? seen.layers.flatMap(({ heads }) => heads).length
      : seen.layers[0].heads.length;
  const column = (span + 4) / columns;
  const grown = column * (wide ? 0.56 : 0.36); // and a number beside the bar
  const bars = swapped.layers.flatMap(({ heads }, layer) =>
    heads.map(({ weights }, head) => {
      const number = layer * seen.layers[0].heads.length + head;
      const mine = layer === 0 && head === seen.followed;
      const spread = step === BRIGHTEST || (step === HEADS && layer === 0);
      return rows.map((i) => {
        if (spread)
          return strip(left + number * column, line(i), Math.max(weights[it][i] * grown, 0.5), 1);
        if (!mine) return strip(left + (layer ? columns : number) * column, line(i), 0, 0);
        if (step < SCORES) return strip(step < KEYS ? left : right - keyed / 2, line(i), 0, 0);
        if (step <= MASKED)
          return strip(
            scores[i] < 0 ? zero + scores[i] * unit : zero,
            line(i),
            Math.abs(scores[i]) * unit,
            1,
          );
        const long = step === SOFTMAX ? right - 40 - left : span - keyed - 52;
        return strip(
          left,
          line(i),
          step <= MIXTURE ? Math.max(seen.row[i] * long, 0.5) : 0,
          step <= MIXTURE ? 1 : 0,
        );
      });
    }),
  );

  // Lines: into each word of layer 1, into *it* in layer 2, and from *it* to the word that it means.
  const mean = (layer, query) =>
    rows.map(
      (i) =>
        layer.heads.reduce((sum, { weights }) => sum + weights[query][i], 0) / layer.heads.length,
    );
  const read = mean(seen.layers[1], it);
  const flows = between(LAYERS, OTHER);
  const faint = step === LAYERS ? 1 : 0.35;
  const looks = (weight) => [
    0.6 + (wide ? 11 : 8) * Math.sqrt(weight),
    flows ? faint * Math.min(1, 4 * weight) : 0,
  ];
  const firstHop = rows.map((i) =>
    mean(seen.layers[0], i).map((weight) => looks(read[i] * weight)),
  );
  const secondHop = read.map(looks);
  const pointing = seen.answers[2].map((weight) => [
    1 + (wide ? 9 : 6) * weight,
    flows && step >= ANSWER ? Math.max(weight, 0) : 0,
  ]);
  const middle = rows.map(() => [flows ? faint : 0]);

  const odds = (answer) => answer[seen.nouns[0]] - answer[seen.nouns[1]];
  const told = believed(step, seen);
  const tracked = step >= MIXTURE ? 1 : 0;
  const past = [
    [odds(seen.answers[0]), tracked],
    [odds(seen.answers[1]), step >= LAYERS ? 1 : 0],
    [odds(told), tracked],
  ];
  return {
    names,
    pads,
    vector,
    key,
    query: [query],
    value,
    output: [output],
    bars,
    axis: [zero, between(SCORES, MASKED) ? 1 : 0],
    firstHop,
    secondHop,
    pointing,
    middle,
    past,
  };
}

// ---------------------------------------------------------------- the view

const text = (x, y, said, anchor = "start", kind = "attention-muted") => [
  "text",
  { x, y, "text-anchor": anchor, class: kind },
  said,
];

/** What is written beside the pictures of a step. */
function labels(
  step,
  seen,
  { width, left, right, name, row, top, line, floor, track, wide, count, font },
) {
  const { it, size, dots, scores, layers, nouns, swapped } = seen;
  const head = top - row * (wide ? 0.6 : 0.65);
  const keyed = Math.min(size * (wide ? 18 : 15), (right - left) * 0.42);
  const base = (i) => line(i) + 4.5;
  const rows = scores.map((_, i) => i);
  const beside = (numbers) =>
    rows.map((i) =>
      text(
        right,
        base(i),
        fixed(numbers[i], 2),
        "end",
        i === place(numbers) ? "attention-chosen" : "attention-muted",
      ),
    );
  const found = [];
  if (step === WORDS)
    found.push(text(width / 2, wide ? 60 : 44, "Which word does “it” stand for?", "middle"));
  if (step === VECTORS)
    found.push(text(left, head, `each word as ${seen.start[0].length} numbers`));
  if (step === KEYS)
    found.push(
      text(right - keyed - 8, head, "query of “it”", "end", "attention-query"),
      text(right - keyed / 2, base(count), "keys", "middle", "attention-key"),
      text(left, base(count), "vectors"),
    );
  if (step >= SCORES && step <= MASKED)
    found.push(
      text(name, head, "query", "end", "attention-query"),
      text(right, head, step === SCORES ? "query · key" : `query · key ÷ √${size}`, "end"),
    );
  if (step === SCORES) found.push(...beside(dots));
  if (step === DIVIDED || step === MASKED) found.push(...beside(scores));
  if (step === MASKED || step === SOFTMAX)
    found.push(
      ...[count, count + 1].map((i) => text(right, base(i), step === MASKED ? "−∞" : "0", "end")),
    );
  if (step === SOFTMAX)
    found.push(text(left, head, "weights, which sum to 1"), ...beside(seen.row));
  if (step === MIXTURE) {
    found.push(
      text(left, head, "weights"),
      text(right, head, "values", "end", "attention-value"),
      text(right - keyed - 8, floor + row * 0.85 + 4.5, "their mixture", "end", "attention-output"),
    );
    found.push(
      ...rows
        .filter((i) => seen.row[i] >= 0.05)
        .map((i) =>
          text(right - keyed - 10, base(i), fixed(seen.row[i], 2), "end", "attention-chosen"),
        ),
    );
  }
  if (step === HEADS || step === BRIGHTEST) {
    const all = step === HEADS ? layers[0].heads : swapped.layers.flatMap(({ heads }) => heads);
    const column = (right - left + 4) / all.length;
    const y = wide ? head : top - 4; // room for the layers above
    all.forEach(({ weights }, i) => {
      const [layer, number] = i < layers[0].heads.length ? [1, i] : [2, i - layers[0].heads.length];
      const best = place(weights[it]);
      found.push(
        text(
          left + i * column,
          y,
          wide ? `head ${number + 1}` : `h ${number + 1}`,
          "start",
          layer === 1 && number === seen.followed && step === HEADS
            ? "attention-chosen"
            : "attention-muted",
        ),
      );
      if (number === 0 && step === BRIGHTEST)
        found.push(text(left + i * column, y - font - 3, `layer ${layer}`));
      if (wide || step === HEADS)
        found.push(
          text(
            left + i * column + column * (wide ? 0.58 : 0.38) * weights[it][best] + 3,
            base(best),
            fixed(weights[it][best], 2),
            "start",
            "attention-chosen",
          ),
        );
    });
  }
  if (step >= LAYERS && step < BRIGHTEST) {
    found.push(
      text(name, head, "words", "end"),
      text((left + right) / 2, head, "after layer 1", "middle"),
      text(right, head, wide ? "after layer 2" : "layer 2", "end"),
    );
    found.push(text(right, base(it), "it", "end", "attention-query"));
  }
  if (step >= ANSWER && step < BRIGHTEST)
    found.push(
      text(
        left + 30,
        base(seen.meant) - 9,
        fixed(Math.max(...seen.answers[2]), 2),
        "start",
        "attention-output",
      ),
    );
  if (step >= MIXTURE)
    found.push(
      text(4, track + 4.5, seen.words[nouns[1]]),
      text(width - 4, track + 4.5, seen.words[nouns[0]], "end"),
    );
  if (step >= MIXTURE && wide)
    found.push(
      text(
        width / 2,
        track - 17,
        "what the model would answer now",
        step === MIXTURE ? "end" : "middle",
      ),
    );
  return found;
}

/** Draw strips of cells, each as wide and high as it is told; `color` gives a cell's fill. */
function strips(parent, kind, rows, color) {
  const groups = rows.map((numbers) =>
    parent.appendChild(
      svg(
        "g",
        { class: "attention-strip-of-cells" },
        ...Array.from(numbers, (_, i) => svg("rect", { x: i, width: 1.02, height: 1 })),
        svg("rect", { width: numbers.length, height: 1, class: `attention-frame-of-${kind}` }),
      ),
    ),
  );
  return {
    paint(tables) {
      const most = Math.max(...tables.flatMap((numbers) => Array.from(numbers, Math.abs)), 1e-9);
      tables.forEach((numbers, row) =>
        numbers.forEach((number, i) =>
          setAttributes(groups[row].children[i], { fill: color(0.5 + number / (2 * most)) }),
        ),
      );
    },
    move(places) {
      places.forEach(([x, y, width, height, opacity], row) =>
        setAttributes(groups[row], {
          transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${(width / rows[row].length).toFixed(4)} ${height.toFixed(2)})`,
          opacity,
          visibility: opacity < 0.01 || width < 0.1 ? "hidden" : null,
        }),
      );
    },
  };
}

/** The page's text in step with the figure: a section a step, if there are that many; says whether. */
function walkWithPage(view, model, el) {
  const figure = el.closest(".attention-widget");
  const sections = [
    ...((view.onPage && figure.parentElement.querySelectorAll(":scope > section")) || []),
  ].slice(0, STEPS.length);
  if (sections.length < STEPS.length) return false;
  let told = model.get("step");
  let aim = 0; // where a scroll of ours goes; what it passes does not count
  const arrive = ({ isIntersecting, target }) => {
    const step = sections.indexOf(target) + 1;
    if (!isIntersecting || (aim && step !== aim)) return;
    [told, aim] = [step, 0];
    view.set("step", step);
  };
  let reading;
  const watch = () => {
    reading?.disconnect();
    const beside = figure.clientWidth < 0.75 * figure.parentElement.clientWidth;
    const line = beside
      ? 0.4 * innerHeight
      : Math.min(figure.clientHeight + 130, 0.9 * innerHeight);
    reading = new IntersectionObserver((entries) => entries.forEach(arrive), {
      rootMargin: `${-Math.round(line)}px 0px ${Math.round(line) - innerHeight + 1}px`,
    });
    sections.forEach((section) => reading.observe(section));
  };
  const scroll = (behavior) => sections[told - 1].scrollIntoView({ behavior, block: "start" });
  const begin = () => {
    if (told > 1) scroll("instant");
    watch();
  };
  for (const type of ["scrollend", "wheel", "touchstart"])
    addEventListener(
      type,
      () => {
        aim = 0;
      },
      { signal: view.signal, passive: true },
    );
  addEventListener("resize", watch, { signal: view.signal });
  view.onChange("step", () => {
    if (model.get("step") === told) return;
    told = aim = model.get("step");
    scroll(isStill() ? "instant" : "smooth");
  });
  view.signal.addEventListener("abort", () => reading?.disconnect());
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin, { signal: view.signal, once: true });
  told = model.get("step");
  return true;
}

export function render({ model, el }) {
  const traits = ["step", "word", "swap"];
  const view = createView(
    { model, el },
    {
      label: "A sentence goes through attention",
      task: "Go on step by step, and watch how “it” finds its meaning.",
      traits,
      given: [
        "text",
        "choices",
        "nouns",
        "head",
        "packed",
        "scales",
        "vocabulary",
        "width",
        "num_heads",
      ],
    },
  );
  const given = view.state();
  const reader = unpackReader(given, given.vocabulary.length);
  view.root.classList.add("attention-walk");
  setAttributes(view.root, { "data-lm-suppress-shortcuts": "true" }); // JupyterLab's own arrow keys
  let seen = measure(given, reader);
  let isWithPage = false;
  const ways = {}; // the lines' paths

  const shown = view.readout({ name: "step", label: "Step", parent: view.stage });
  const plot = view.plot({
    height: 420,
    description: "The words of the sentence and what the reader computes of them at this step",
  });
  const layer = (kind) => plot.svg.appendChild(svg("g", { class: kind }));
  const { masked } = addPatterns(plot.svg);
  const band = plot.svg.appendChild(svg("rect", { class: "attention-walk-band", rx: 4 }));
  const [lines, points, bars, hatched] = [
    "attention-walk-lines",
    "attention-walk-points",
    "attention-walk-bars",
    "",
  ].map(layer);
  const cells = layer("attention-walk-cells");
  const map = colorMap(view.root, "--aw-score-map");
  const color = (share) => `rgb(${map(share).join()})`;
  const rowsOf = ({ start, first, padding, it }) => ({
    vector: start,
    key: [...first.keys, ...padding],
    query: [first.queries[it]],
    value: first.values,
    output: [first.output[it]],
  });
  const drawings = Object.entries(rowsOf(seen)).map(([kind, rows]) => [
    kind,
    strips(cells, kind, rows, color),
  ]);
  const [track, names, said, hits] = [
    "attention-walk-track",
    "attention-walk-names",
    "",
    "attention-walk-hits",
  ].map(layer);

  const go = (by) => view.set("step", Math.min(Math.max(model.get("step") + by, 1), STEPS.length));
  const back = view.button("Back", () => go(-1));
  view.slider({
    trait: "step",
    label: "Step",
    min: 1,
    max: STEPS.length,
    text: (step) => `${step} of ${STEPS.length}`,
    words: (step) => `${step} of ${STEPS.length}: ${STEPS[step - 1]}`,
  });
  const next = view.button("Next", () => go(1));
  const pick = (trait, label, options) => {
    const list = element(
      "select",
      {},
      ...options.map(([option, title]) => element("option", { value: option }, title)),
    );
    list.addEventListener("change", () => view.set(trait, list.value), { signal: view.signal });
    const control = view.controls.appendChild(
      element(
        "label",
        { class: "attention-pick" },
        element("span", { class: "attention-name" }, label),
        list,
      ),
    );
    return () => {
      list.value = model.get(trait);
      return control;
    };
  };
  const heads = given.num_heads.flatMap((count, number) =>
    Array.from({ length: count }, (_, i) => `${number + 1}.${i + 1}`),
  );
  const showWord = pick(
    "word",
    "Last word",
    given.choices.map((word) => [word, word]),
  );
  const showSwap = pick("swap", "Swap what comes from", [
    ["nothing", "no head"],
    ...heads.map((head) => [head, `layer ${head.replace(".", ", head ")}`]),
  ]);
  hits.addEventListener(
    "click",
    ({ target }) => {
      const head = heads[[...hits.children].indexOf(target)];
      view.set("swap", model.get("swap") === head ? "nothing" : head);
    },
    { signal: view.signal },
  );
  names.addEventListener(
    "click",
    ({ target }) => {
      if (target !== names.children[seen.words.length - 1]) return;
      view.set(
        "word",
        given.choices[(given.choices.indexOf(model.get("word")) + 1) % given.choices.length],
      );
    },
    { signal: view.signal },
  );

  // Whoever comes to the step about another word finds the word exchanged, and as it was on leaving.
  let before = model.get("step");
  const exchange = () => {
    const [from, now, [one, two]] = [before, model.get("step"), given.choices];
    before = now;
    if (now === OTHER && from !== OTHER && model.get("word") === one) view.set("word", two);
    if (from === OTHER && now !== OTHER && model.get("word") === two) view.set("word", one);
  };
  view.onChange("step", exchange);
  document.addEventListener(
    "keydown",
    (event) => {
      const whole = document.fullscreenElement === view.root;
      const inside =
        whole || view.root.contains(event.target) || (isWithPage && event.target === document.body);
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: whole ? 1 : 0, PageUp: whole ? -1 : 0 }[
        event.key
      ];
      if (
        !by ||
        !inside ||
        event.target.matches("input, select, textarea") ||
        event.altKey ||
        event.ctrlKey ||
        event.metaKey
      )
        return;
      event.preventDefault();
      event.stopPropagation();
      go(by);
    },
    { signal: view.signal },
  );

  view.start(() => {
    const { step, word, swap } = view.state();
    view.part("numbers", `${word} ${swap}`, () => {
      seen = measure(view.state(), reader);
    });
    view.part("colours", word, () => {
      const rows = rowsOf(seen);
      for (const [kind, drawing] of drawings) drawing.paint(rows[kind]);
    });
    const at = sizes(plot.width, seen.words.length);
    plot.setHeight(at.height);
    const goal = scene(step, seen, at);
    const kinds = Object.keys(goal);
    const gliding = view.glide(
      "scene",
      kinds.map((kind) => goal[kind]),
    );
    draw(step, Object.fromEntries(kinds.map((kind, i) => [kind, gliding[i]])), at);
    shown(step, `${step}. ${STEPS[step - 1]}`);
    setAttributes(back, { "aria-disabled": String(step === 1) });
    setAttributes(next, { "aria-disabled": String(step === STEPS.length) });
    showWord().hidden = step === BRIGHTEST;
    showSwap().hidden = step !== BRIGHTEST;
    view.say(words(view.state(), seen));
  });

  /** Draw what stands at a moment, be it on the way from one step to the next. */
  function draw(step, now, at) {
    const { row, top, left, right, width, line, floor, font, name, track: level, wide } = at;
    const { it, words: written } = seen;
    setAttributes(band, {
      x: 0,
      y: line(it) - row / 2,
      width,
      height: row,
      visibility: step === WORDS ? "hidden" : null,
    });
    for (const [kind, drawing] of drawings) drawing.move(now[kind]);

    const middle = (left + right) / 2;
    const wayTo = (x1, i, x2, j) =>
      `M${x1} ${line(i)}C${(x1 + x2) / 2} ${line(i)} ${(x1 + x2) / 2} ${line(j)} ${x2} ${line(j)}`;
    view.part("ways", `${width} ${written.length}`, () => {
      const rows = written.map((_, i) => i);
      ways.first = rows.map((to) =>
        rows.map((from) => wayTo(name + 5, from, middle - (wide ? 34 : 28), to)),
      );
      ways.second = rows.map((from) => wayTo(middle + (wide ? 34 : 28), from, right - 14, it));
      ways.back = rows.map((to) => wayTo(right - 14, it, name + 5, to));
    });
    const drawn = (d, [thick, opacity]) => [
      "path",
      opacity < 0.01
        ? { d, visibility: "hidden" }
        : { d, "stroke-width": thick, "stroke-opacity": opacity },
    ];
    setChildren(lines, [
      ...now.firstHop.flatMap((froms, to) =>
        froms.map((look, from) => drawn(ways.first[to][from], look)),
      ),
      ...now.secondHop.map((look, from) => drawn(ways.second[from], look)),
    ]);
    const arc = (noun) => {
      const [[x1, y1, size], [x2, y2]] = [now.names[it], now.names[noun]];
      return [
        "path",
        {
          d: `M${x1} ${y1 - size * 0.8}C${x1} ${y1 - size * 2} ${x2} ${y2 + size * 2} ${x2} ${y2 + size * 0.8}`,
          class: "attention-walk-guess",
        },
      ];
    };
    setChildren(points, [
      ...now.pointing.map((look, to) => drawn(ways.back[to], look)),
      ...(step === WORDS ? seen.nouns.map(arc) : []),
    ]);

    const patched = step === BRIGHTEST ? heads.indexOf(model.get("swap")) : -1;
    setAttributes(bars, {
      class: `attention-walk-bars${step <= MASKED ? " attention-walk-scores" : ""}`,
    });
    setChildren(
      bars,
      now.bars.flatMap((rows, head) =>
        rows.map(([x, y, long, high, opacity]) => [
          "rect",
          {
            x,
            y: y + high * 0.08,
            width: long,
            height: high * 0.84,
            opacity: patched === head ? opacity * 0.35 : opacity,
            visibility: opacity < 0.01 ? "hidden" : null,
          },
        ]),
      ),
    );
    setChildren(
      hatched,
      step === MASKED
        ? [
            [
              "rect",
              { x: left, y: floor, width: right - left - 40, height: PADS * row, fill: masked },
            ],
          ]
        : [],
    );

    const color = (i) =>
      i === it
        ? "attention-query"
        : i === seen.meant && step >= ANSWER && step < BRIGHTEST
          ? "attention-output"
          : "attention-plain";
    const word = (x, y, size, opacity, kind, said) => [
      "text",
      {
        x,
        y: y + size * 0.35,
        "text-anchor": "middle",
        class: kind,
        opacity,
        visibility: opacity < 0.01 ? "hidden" : null,
      },
      said,
    ];
    setAttributes(names, { "font-size": now.names[0][2] });
    setChildren(names, [
      ...now.names.map(([x, y, size, opacity], i) =>
        word(x, y, size, opacity, color(i), i ? written[i] : "(nothing)"),
      ),
      ...now.pads.map(([x, y, size, opacity]) =>
        word(x, y, size, opacity, "attention-muted", "(empty)"),
      ),
      ...now.middle.map(([opacity], i) =>
        word(middle, line(i), font, opacity, color(i), i ? written[i] : "(nothing)"),
      ),
    ]);

    const reach = width / 2 - (wide ? 78 : 62);
    setChildren(track, [
      ["line", { x1: now.axis[0], x2: now.axis[0], y1: top - 2, y2: floor, opacity: now.axis[1] }],
      [
        "line",
        {
          x1: width / 2 - reach,
          x2: width / 2 + reach,
          y1: level,
          y2: level,
          opacity: now.past[0][1],
        },
      ],
      ...now.past.map(([odds, opacity], i) => [
        "circle",
        {
          cx: width / 2 + odds * reach,
          cy: level,
          r: i === 2 ? 7 : 5,
          opacity,
          class: i === 2 ? "attention-output-dot" : "attention-walk-past",
        },
      ]),
    ]);
    setChildren(said, labels(step, seen, at));
    const column = (right - left + 4) / heads.length;
    setChildren(
      hits,
      step === BRIGHTEST
        ? heads.map((_, i) => [
            "rect",
            {
              x: left + i * column - 2,
              y: top,
              width: column,
              height: floor - top,
              "data-chosen": patched === i ? "true" : null,
            },
          ])
        : [],
    );
  }

  isWithPage = walkWithPage(view, model, el);
  return view.cleanup;
}

export default { render };
