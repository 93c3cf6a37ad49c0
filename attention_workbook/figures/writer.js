import {
  attend,
  bytesOf,
  createView,
  fixed,
  linear,
  mixture,
  normalise,
  press,
  setChildren,
  setText,
  softmax,
  textField,
} from "./_shared/index.js";

const WINDOW = 128; // letters that a head sees, as in network.py
const LONGEST = 400; // letters of a text, as in writer.py
const SHOWN = 5; // candidates for the next letter
const [CELL, LINE, BAR] = [9.6, 27, 22]; // a letter, a line of letters, a line of candidates

// ---------------------------------------------------------------- the model

/** The tensors of a safetensors file, and what is told of them; of 8 bits, times their scales. */
export function unpackModel(packed) {
  const bytes = bytesOf(packed);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const { __metadata__: told, ...entries } = JSON.parse(
    new TextDecoder().decode(bytes.subarray(8, start)),
  );
  const read = ({ dtype, data_offsets: [from, to] }, scale) => {
    if (dtype === "F32")
      return Float32Array.from({ length: (to - from) / 4 }, (_, i) =>
        view.getFloat32(start + from + 4 * i, true),
      );
    const columns = (to - from) / scale.length;
    return Float32Array.from(
      { length: to - from },
      (_, i) => view.getInt8(start + from + i) * scale[Math.floor(i / columns)],
    );
  };
  const tensors = {};
  for (const name in entries) {
    const scale = entries[`${name}.scale`];
    tensors[name] = read(entries[name], scale && read(scale));
  }
  const { length: width } = tensors["add_norms.0.norm.weight"];
  const layers = Object.keys(tensors).filter((name) => name.endsWith("W_q.weight")).length;
  return { letters: told.letters, heads: Number(told.num_heads), width, layers, tensors };
}

/** A matrix, (out, in), times a vector, plus a bias. */
const times = (matrix, x, bias) =>
  linear([x], matrix)[0].map((sum, out) => sum + (bias ? bias[out] : 0));

/** Turn each pair of coordinates of each head by the angles of a position, in place. */
function rotate(x, size, position) {
  for (let i = 0; i < x.length; i += 2) {
    const angle = position / 10000 ** ((i % size) / size);
    const [cos, sin, a, b] = [Math.cos(angle), Math.sin(angle), x[i], x[i + 1]];
    x[i] = a * cos - b * sin;
    x[i + 1] = a * sin + b * cos;
  }
  return x;
}

/** What reads letter after letter: `read(text)` gives for each letter the scores of the next one and
    the weights of every head. It keeps keys and values, so a letter more costs one letter. */
export function createWriter({ letters, heads, width, layers, tensors }) {
  const size = width / heads;
  const caches = Array.from({ length: layers }, () => ({ keys: [], values: [] }));
  const lettersRead = [];
  let known = "";

  function look(layer, x, position) {
    const part = (which) => times(tensors[`attentions.${layer}.W_${which}.weight`], x);
    const { keys, values } = caches[layer];
    const query = rotate(part("q"), size, position);
    keys[position] = rotate(part("k"), size, position);
    values[position] = part("v");
    const [near, theirs] = [keys, values].map((rows) =>
      rows.slice(Math.max(0, position + 1 - WINDOW), position + 1),
    );
    const headWeights = Array.from({ length: heads }, (_, head) => {
      const [from, to] = [head * size, (head + 1) * size];
      const { weights } = attend([query], near, from, to);
      return {
        row: weights[0],
        output: mixture(
          weights,
          theirs.map((value) => value.subarray(from, to)),
        )[0],
      };
    });
    const gathered = headWeights.flatMap(({ output }) => [...output]);
    return {
      weights: headWeights.map(({ row }) => row),
      output: times(tensors[`attentions.${layer}.W_o.weight`], gathered),
    };
  }

  function readLetter(letter, position) {
    const id = letters.indexOf(letter);
    let x = Float64Array.from(tensors["embedding.weight"].subarray(id * width, (id + 1) * width));
    const weights = [];
    const add = (number, y) =>
      normalise(
        x.map((value, i) => value + y[i]),
        {
          gain: tensors[`add_norms.${number}.norm.weight`],
          shift: tensors[`add_norms.${number}.norm.bias`],
        },
      );
    for (let layer = 0; layer < layers; layer += 1) {
      const attended = look(layer, x, position);
      weights.push(...attended.weights);
      x = add(2 * layer, attended.output);
      const [inner, outer] = [0, 2].map((i) =>
        ["weight", "bias"].map((kind) => tensors[`feed_forwards.${layer}.${i}.${kind}`]),
      );
      const hidden = times(inner[0], x, inner[1]).map((value) => Math.max(value, 0));
      x = add(2 * layer + 1, times(outer[0], hidden, outer[1]));
    }
    return { weights, logits: [...times(tensors["W_out.weight"], x, tensors["W_out.bias"])] };
  }

  return {
    letters,
    read(text) {
      let same = 0;
      while (same < text.length && text[same] === known[same]) same += 1;
      for (let i = same; i < text.length; i += 1) lettersRead[i] = readLetter(text[i], i);
      known = text;
      return lettersRead;
    },
  };
}

// ---------------------------------------------------------------- what is seen

/** Probabilities of the letters at a temperature; at 0 the most probable one has all. */
export function chances(logits, temperature) {
  const top = logits.indexOf(Math.max(...logits));
  return temperature > 0
    ? softmax(logits.map((logit) => logit / temperature))
    : logits.map((_, i) => Number(i === top));
}

/** The place of the letter that is asked about: the next one, or one that stands. */
export function placeOf({ text, place }) {
  return place >= 1 && place < text.length ? place : text.length;
}

/** Where the writer looks before it writes the letter at that place, and what it expects there.
    Head 0 is the mean of all heads. */
export function measure(state, writer) {
  const at = placeOf(state) - 1;
  const { logits, weights } = writer.read(state.text)[at];
  const rows = state.head === 0 ? weights : [weights[state.head - 1]];
  const mean = rows[0].map((_, key) => rows.reduce((sum, row) => sum + row[key], 0) / rows.length);
  return { logits, weights: [...new Array(at + 1 - mean.length).fill(0), ...mean] };
}

/** The letter that a number from 0 to 1 draws. */
export function next(writer, text, temperature, drawn) {
  const probabilities = chances(writer.read(text)[text.length - 1].logits, temperature);
  let left = drawn;
  const id = probabilities.findIndex((share) => (left -= share) < 0);
  return writer.letters[id < 0 ? probabilities.indexOf(Math.max(...probabilities)) : id];
}

export const visible = (letter) => ({ " ": "␣", "\n": "↵" })[letter] ?? letter;

export function headName({ head, num_heads }) {
  if (head === 0) return "all heads, averaged";
  return `layer ${Math.floor((head - 1) / num_heads) + 1}, head ${((head - 1) % num_heads) + 1}`;
}

/** The finding in words: what comes next, or why a letter came that stands. */
export function words(state, { logits, weights }) {
  const probabilities = chances(logits, state.temperature);
  const most = Math.max(...weights);
  const target = weights.lastIndexOf(most);
  const place = placeOf(state);
  const likely = Math.max(...probabilities);
  const expected = `“${visible(state.letters[probabilities.indexOf(likely)])}” (${fixed(likely, 2)})`;
  const back = place - target === 1 ? "the letter before" : `${place - target} letters back`;
  const look = `through ${headName(state)}, at “${visible(state.text[target])}”, ${back} (${fixed(most, 2)})`;
  if (place === state.text.length) return `Next it expects ${expected}. It looks most, ${look}.`;
  const letter = state.text[place];
  const share = fixed(probabilities[state.letters.indexOf(letter)], 2);
  return `Before “${visible(letter)}” it looked most, ${look}. It gave “${visible(letter)}” ${share}, and most to ${expected}.`;
}

// ---------------------------------------------------------------- where everything is

/** Column and row of each letter and of the place after the last, in so many columns. A line ends
    after a blank where it can; the last column is free for that blank. */
function layLetters(text, columns) {
  const places = [];
  let [row, start] = [0, 0]; // the line, and its first letter
  const end = (place) => {
    row += 1;
    start = place;
  };
  for (let place = 0; place <= text.length; place += 1) {
    if (place > 0 && text[place - 1] === "\n") end(place);
    const isLetter = Boolean(text[place]?.trim());
    if (place - start >= columns - (isLetter ? 1 : 0)) {
      const blank = text.lastIndexOf(" ", place - 1);
      end(blank >= start ? blank + 1 : place);
      for (let i = start; i < place; i += 1) places[i] = { column: i - start, row };
    }
    places[place] = { column: place - start, row };
  }
  return places;
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const traits = ["text", "temperature", "head", "place"];
  const view = createView(
    { model, el },
    {
      label: "A writer at work",
      task: `Press Write. Then ${press().toLowerCase()} a letter that surprises you: why did it come?`,
      traits,
      given: ["letters", "num_heads", "num_layers", "logits", "weights"],
    },
  );
  const first = view.state();
  let writer = null;
  let begun = 0; // letters that the reader wrote; the others are the writer's
  let timer = 0;
  let hasRoom = false; // for all that may be written, so that nothing below moves meanwhile

  const {
    input: typed,
    node,
    refuse,
  } = textField({ label: "A beginning of your own", maxlength: LONGEST });
  view.controls.append(node);
  const page = view.plot({
    height: LINE,
    description: "The text, each letter as green as it is looked at",
  });
  const candidates = view.plot({ height: BAR, description: "The most probable next letters" });
  const show = view.numbers({
    expected: "It expects",
    probability: "Probability",
    weight: "Largest weight",
  });
  const columns = () => Math.max(Math.floor((page.width - 2) / CELL), 2);
  page.svg.classList.add("attention-writing");
  page.svg.addEventListener(
    "click",
    (event) => {
      const [x, y] = page.under(event);
      const [column, row] = [Math.floor((x - 1) / CELL), Math.floor(y / LINE)];
      const place = layLetters(model.get("text"), columns()).findIndex(
        (letter) => letter.column === column && letter.row === row,
      );
      if (place > 0) view.set("place", place);
    },
    { signal: view.signal },
  );

  /** The letters on their grounds, and a mark after the last. */
  function drawLetters(text, askedPlace, shares) {
    const places = layLetters(text, columns());
    const lines = Math.max(places.at(-1).row + 1, hasRoom ? LONGEST / (columns() - 4) + 2 : 1);
    page.setHeight(LINE * Math.ceil(lines) + 2);
    setChildren(
      page.svg,
      places.flatMap(({ column, row }, place) => {
        const [x, y] = [1 + CELL * column, 1 + LINE * row];
        const letter = text[place]?.replace("\n", "↵") ?? "▁";
        return [
          [
            "rect",
            {
              x,
              y,
              width: CELL,
              height: LINE - 2,
              class: "attention-area attention-weight",
              "fill-opacity": 0.55 * (shares[place] ?? 0),
            },
          ],
          [
            "text",
            { x: x + CELL / 2, y: y + 17.5, class: place < begun ? null : "attention-by-writer" },
            letter,
          ],
          ...(place === askedPlace
            ? [
                [
                  "rect",
                  {
                    x,
                    y,
                    width: CELL,
                    height: LINE - 2,
                    rx: 2,
                    class: "attention-line attention-query",
                  },
                ],
              ]
            : []),
        ];
      }),
    );
  }

  /** The most probable letters, as bars on one scale. */
  function drawCandidates(chosen) {
    candidates.setHeight(BAR * chosen.length);
    setChildren(
      candidates.svg,
      chosen.flatMap(([share, letter], i) => {
        const y = BAR * i;
        const width = share * (candidates.width - 62);
        return [
          ["text", { x: 8, y: y + 15.5, class: "attention-code" }, visible(letter)],
          ["rect", { x: 20, y: y + 4, width, height: 14, rx: 2, fill: "var(--aw-output)" }],
          ["text", { x: 28 + width, y: y + 15.5 }, fixed(share, 2)],
        ];
      }),
    );
  }

  /** Ask for the model: a kernel, or the host of a page, answers by setting `packed`. */
  function ask() {
    if (!writer && !model.get("wanted")) view.set("wanted", true);
  }
  function take() {
    if (model.get("packed").byteLength) writer = createWriter(unpackModel(model.get("packed")));
  }
  function stop() {
    clearInterval(timer);
    timer = 0;
    setText(button, "Write");
  }
  function step() {
    const { text, temperature } = view.state();
    if (text.length >= LONGEST) stop();
    else if (writer)
      view.setAll({ text: text + next(writer, text, temperature, Math.random()), place: -1 });
  }
  const button = view.button("Write", () => {
    if (timer) return stop();
    hasRoom = true;
    view.again();
    ask();
    timer = setInterval(step, 60);
    return setText(button, "Stop");
  });
  typed.after(button);
  /** Let what was typed go: the text that stands is the beginning. */
  function settle() {
    typed.value = model.get("text");
    begun = typed.value.length;
    refuse("");
  }
  view.onChange("text", () => {
    if (document.activeElement !== typed && !model.get("text").startsWith(typed.value)) settle();
  });
  settle();
  typed.addEventListener(
    "input",
    () => {
      const text = typed.value;
      const unknown = [...new Set(text)].filter((letter) => !first.letters.includes(letter));
      refuse(
        unknown.length
          ? `The writer has never seen ${unknown.map((letter) => `“${letter}”`).join(", ")}.`
          : "",
      );
      if (!text || unknown.length) return;
      begun = text.length;
      view.setAll({ text, place: -1 });
    },
    { signal: view.signal },
  );
  view.slider({
    trait: "temperature",
    label: "Temperature",
    min: 0,
    max: 2,
    step: 0.05,
    text: (value) => value.toFixed(2),
  });
  view.slider({
    trait: "head",
    label: "Look through",
    min: 0,
    max: first.num_heads * first.num_layers,
    text: (head) => headName({ ...first, head }),
    more: true,
  });
  view.slider({
    trait: "place",
    label: "Letter",
    min: 1,
    max: () => model.get("text").length,
    position: () => placeOf(view.state()),
    text: () => `${placeOf(view.state()) + 1}`,
    more: true,
  });

  view.onReset(() => {
    stop();
    hasRoom = false;
    settle();
  });
  view.onChange("wanted", () => {
    // or no longer: the numbers did not come
    if (writer || model.get("wanted")) return;
    stop();
    view.say(
      "The writer's numbers could not be fetched. Check the connection, then press Write again.",
    );
  });
  view.signal.addEventListener("abort", stop);
  view.onChange("packed", () => {
    take();
    view.again();
  });
  take();
  view.start(() => {
    const state = view.state();
    const given = ["text", "head", "place"].every((trait) => state[trait] === first[trait]);
    if (!writer && !given) ask();
    const measured = given ? first : writer && measure(state, writer);
    const at = placeOf(state);
    const largest = measured ? Math.max(...measured.weights) : 1;
    drawLetters(state.text, at, measured ? measured.weights.map((weight) => weight / largest) : []);
    if (!measured) return view.say("The writer's numbers are on their way.");
    const probabilities = chances(measured.logits, state.temperature);
    const order = probabilities
      .map((share, id) => [share, id])
      .sort(([a, one], [b, other]) => b - a || one - other);
    drawCandidates(order.slice(0, SHOWN).map(([share, id]) => [share, state.letters[id]]));
    const [[likely, id]] = order;
    show(
      { expected: id, probability: likely, weight: largest },
      { expected: `“${visible(state.letters[id])}”` },
    );
    return view.say(words(state, measured));
  });
  return view.cleanup;
}

export default { render };
