import { createView, element, grouped, readNumber, setChildren, svg } from "./_shared/index.js";

const OWN = "my own numbers";
const WINDOW = 1024; // of the three layers of four that forget
const LATENT = 512 + 64; // numbers of a layer that keeps one vector for all heads
const WANTED = 500; // users, of the task
const CURES = [
  ["eight_bits", "8 bits a number", "8 bits"],
  ["windows", "windows of 1024 in 3 layers of 4", "windows"],
  ["latent", "one latent vector of 512 + 64", "latent"],
];

// ---------------------------------------------------------------- the numbers

/** The groups of layers, each `[layers, numbers a token, window or 0]`, with what is changed in them. */
function groupsOf({ model, models, layers, kv_heads, width }, { windows, latent }) {
  const published = models.find(([name]) => name === model);
  const groups = published?.[1] ?? [[layers, 2 * kv_heads * width, 0]];
  const keptGroups = latent ? groups.map(([many, , window]) => [many, LATENT, window]) : groups;
  if (!windows) return keptGroups;
  return keptGroups.flatMap(([many, numbers, window]) =>
    window
      ? [[many, numbers, window]]
      : [
          [(many * 3) / 4, numbers, WINDOW],
          [many / 4, numbers, 0],
        ],
  );
}

/** Bytes of one user's cache, and on average of each of its tokens; how many users fit. */
export function served(state, changes) {
  const bytes = changes.eight_bits ? 1 : 2;
  const perUser = groupsOf(state, changes).reduce(
    (sum, [many, numbers, window]) =>
      sum + many * numbers * bytes * Math.min(state.context, window || state.context),
    0,
  );
  return fitting(state, perUser);
}

/** How many caches of so many bytes fit beside the weights. */
function fitting({ memory, weights, context }, perUser) {
  const free = Math.max(memory - weights, 0) * 1e9;
  return {
    one: perUser,
    token: perUser / context,
    users: Math.floor(free / perUser),
  };
}

/** Everything: as the model is, with each change alone, and with those that are chosen. */
export function measure(state) {
  const none = { windows: false, latent: false, eight_bits: false };
  return {
    plain: served(state, none),
    alone: CURES.map(([name]) => served(state, { ...none, [name]: true })),
    now: served(state, state),
  };
}

const size = (bytes) =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(2)}\u00a0GB` : `${(bytes / 1e6).toFixed(1)}\u00a0MB`;
const sumOf = ({ weights }, one, users) =>
  `${weights} GB of weights + ${grouped(users)} × ${size(one)} = ${(weights + (users * one) / 1e9).toFixed(1)} GB`;
const many = (users) => (users === 1 ? "1 user fits" : `${grouped(users)} users fit`);

/** The finding in words. */
export function words(state, { now, plain }) {
  const count = CURES.filter(([name]) => state[name]).length;
  const isDone = now.users >= WANTED && count <= 2;
  const before = count ? `, ${grouped(plain.users)} without the changes` : "";
  return (
    `${isDone ? "Done: " : ""}${grouped(now.users)} users of ${grouped(state.context)} tokens fit${before}. ` +
    `A token takes ${grouped(now.token)} bytes, a user ${size(now.one)}.`
  );
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const view = createView(
    { model, el },
    {
      label: "How many users at once?",
      task: `Two of these changes make room for ${WANTED} users. Which two?`,
      traits: [
        ...["model", "layers", "kv_heads", "width", "context", "memory", "weights"],
        ...["windows", "latent", "eight_bits"],
      ],
      given: ["models"],
    },
  );
  const plot = view.plot({
    height: 244,
    description:
      "The machine’s memory: the weights and each user’s cache add up to it; below it the changes, to be switched on",
  });
  const [memory, rows] = [0, 1].map(() => plot.svg.appendChild(svg("g")));
  const press = (target) => {
    const name = target.closest("[data-change]")?.dataset.change;
    if (name) view.set(name, !model.get(name));
  };
  rows.addEventListener("click", ({ target }) => press(target), { signal: view.signal });
  rows.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press(event.target);
    },
    { signal: view.signal },
  );
  plot.svg.setAttribute("role", "group"); // the rows can be pressed

  const list = element(
    "select",
    {},
    ...[...model.get("models").map(([name]) => name), OWN].map((name) =>
      element("option", { value: name }, name),
    ),
  );
  list.addEventListener(
    "change",
    () => {
      const [, , weights = model.get("weights")] =
        model.get("models").find(([name]) => name === list.value) ?? [];
      view.setAll({ model: list.value, weights });
    },
    { signal: view.signal },
  );
  view.controls.append(
    element(
      "label",
      { class: "attention-line-of-text", "data-trait": "model" },
      element("span", { class: "attention-name" }, "Model"),
      list,
    ),
  );
  view.slider({
    trait: "context",
    label: "Tokens of each user’s text",
    min: 8,
    max: 20,
    step: 0.5,
    value: (power) => Math.round(2 ** power),
    position: (tokens) => Math.log2(tokens),
    text: grouped,
    words: (tokens) => `${grouped(tokens)} tokens`,
  });
  const field = (trait, label, max, min = 1, also = {}) =>
    view.field({
      trait,
      label,
      write: String,
      read(text) {
        const value = readNumber(text, { min, max });
        if (!Number.isInteger(value)) throw new Error(`${text} is not a whole number.`);
        return value;
      },
      take: (value) => view.setAll({ [trait]: value, ...also }),
    });
  field("memory", "Memory of the machine, GB", 20_000);
  field("weights", "Weights of the model, GB, at 2 bytes a parameter", 20_000, 0);
  field("layers", "Layers", 512, 1, { model: OWN });
  field("kv_heads", "Key heads of a layer", 512, 1, { model: OWN });
  field("width", "Width of a head", 4096, 1, { model: OWN });
  const numbers = view.numbers({
    token: "Bytes a token",
    one: "Bytes of a user",
    users: "Readers at once",
  });

  function drawMemory(state, { one, users }, width) {
    const unit = (width - 2) / state.memory;
    const taken = Math.min(state.weights, state.memory) * unit;
    const each = (one / 1e9) * unit;
    const drawn = Math.min(users, 400);
    const step = drawn < users ? (each * users) / drawn : each;
    const gap = step > 4 ? 1.5 : step > 1.5 ? 0.5 : 0;
    setChildren(memory, [
      [
        "rect",
        {
          x: 1,
          y: 30,
          width: width - 2,
          height: 52,
          rx: 4,
          class: "attention-box attention-muted",
        },
      ],
      [
        "rect",
        { x: 1, y: 30, width: taken, height: 52, rx: 4, class: "attention-area attention-masked" },
      ],
      ...Array.from({ length: drawn }, (_, i) => [
        "rect",
        {
          x: 1 + taken + i * step + gap / 2,
          y: 32,
          width: Math.max(step - gap, 0.3),
          height: 48,
          class: "attention-area attention-key",
        },
      ]),
      ["text", { x: 1, y: 20, class: "attention-muted" }, `${grouped(state.memory)} GB of memory`],
      ["text", { x: 1, y: 100, class: "attention-muted" }, sumOf(state, one, users)],
      [
        "text",
        { x: width - 1, y: 20, "text-anchor": "end", class: "attention-big attention-chosen" },
        many(users),
      ],
    ]);
  }

  /** The changes as switches, each with what it leaves of a token alone. */
  function drawRows(state, { alone }, width) {
    const [top, high] = [116, 42];
    const row = ([name, title, short], i) => {
      const y = top + i * high;
      const isOn = state[name];
      const said = `${grouped(alone[i].token)} bytes a token${width > 560 ? ", with this change alone" : ""}`;
      return [
        [
          "rect",
          {
            x: 1,
            y,
            width: width - 2,
            height: high - 6,
            rx: 8,
            class: "attention-press attention-surface",
            "data-change": name,
            tabindex: 0,
            role: "switch",
            "aria-checked": String(isOn),
            "aria-label": title,
          },
        ],
        [
          "rect",
          {
            x: 10,
            y: y + 9,
            width: 32,
            height: 18,
            rx: 9,
            class: `attention-beneath ${isOn ? "attention-area attention-accent" : "attention-box attention-muted"}`,
          },
        ],
        [
          "circle",
          {
            ...{ cx: isOn ? 33 : 19, cy: y + 18, r: 6.5 },
            class: `attention-beneath attention-area attention-${isOn ? "paper" : "muted"}`,
          },
        ],
        [
          "text",
          { x: 52, y: y + 23, class: `attention-beneath${isOn ? " attention-chosen" : ""}` },
          width > 560 ? title : short,
        ],
        [
          "text",
          {
            ...{ x: width - 10, y: y + 23, "text-anchor": "end" },
            class: "attention-beneath attention-muted",
          },
          said,
        ],
      ];
    };
    setChildren(rows, CURES.flatMap(row));
  }

  view.start(() => {
    const state = view.state();
    const measured = measure(state);
    const { width } = plot;
    const one = Math.exp(view.glide("one", Math.log(measured.now.one)));
    const hasArrived = Math.abs(one / measured.now.one - 1) < 1e-9;
    drawMemory(state, hasArrived ? measured.now : fitting(state, one), width);
    drawRows(state, measured, width);
    list.value = state.model;
    if (!view.hasArrived()) return;
    numbers(measured.now, {
      token: grouped(measured.now.token),
      one: size(measured.now.one),
      users: grouped(measured.now.users),
    });
    view.say(words(state, measured));
  });
  return view.cleanup;
}

export default { render };
