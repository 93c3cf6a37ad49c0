import {
  addPatterns,
  colorMap,
  createView,
  element,
  fixed,
  isStill,
  label,
  press,
  readTable,
  setAttributes,
  setChildren,
  setText,
  svg,
  writeTable,
} from "./_shared/index.js";
import {
  BATCH,
  BEST,
  LENGTH,
  ROWS,
  STEPS,
  createCheater,
  fairWalks,
  meanLoss,
  spell,
  walks,
  weigh,
  write,
} from "./_training/cheater.js";
import { createRandom } from "./_training/random.js";

const SAMPLE = "fghjklnop"; // such a text, at the map's edges
const FRESH = 5000; // texts for the verdict
const [PACE, BUDGET] = [13, 12]; // milliseconds a step, as one sees it; of a frame, for steps
const NOISE = 0.001; // what the loss on that many texts may be off
const BLIND = 0.62; // a loss that shows that a model misses more than the answer
const HIGHEST = 3.5; // loss of the chart

const isLater = (i, j) => j > i;
const causal = () =>
  Array.from({ length: ROWS }, (_, i) =>
    Array.from({ length: LENGTH }, (_, j) => Number(!isLater(i, j))),
  );
const everything = () => causal().map((row) => row.map(() => 1));

/** How many cells show what comes later. */
export const leaksOf = (mask) =>
  mask.flatMap((row, i) => row.filter((open, j) => open && isLater(i, j))).length;

/** A training under a mask: `next()` takes a step, and after the last one there is a verdict. */
export function createRun(mask, seed) {
  const flat = Float64Array.from(mask.flat());
  const model = createCheater(flat);
  const random = createRandom(seed);
  const run = {
    losses: [],
    verdict: null,
    weights: () => weigh(model.scores, flat),
    writes: () => spell(write(model, flat, 0)),
    next() {
      run.losses.push(model.learn(walks(BATCH, random)));
      if (run.losses.length === STEPS) run.verdict = judge();
    },
  };
  function judge() {
    const weights = run.weights();
    const most = Array.from({ length: ROWS }, (_, i) => {
      const row = [...weights.subarray(i * LENGTH, (i + 1) * LENGTH)];
      return row.indexOf(Math.max(...row)) - i;
    });
    return {
      loss: meanLoss(model, flat, fairWalks(FRESH, createRandom(seed + 1e6))),
      leaks: leaksOf(mask),
      at_next: most.filter((ahead) => ahead === 1).length,
      at_itself: most.filter((ahead) => ahead === 0).length,
      writes: run.writes(),
    };
  }
  return run;
}

/** The finding in words. */
export function words({ loss, leaks, at_next, at_itself, writes }) {
  const measured = `Loss ${fixed(loss)} on ${FRESH.toLocaleString("en")} fresh texts`;
  const end = `It writes ${writes}.`;
  const eachAt = (count, what) => (count === ROWS ? `Each place looks at ${what}. ` : "");
  if (loss < BEST - NOISE)
    return `${measured}, below ${fixed(BEST)}: it cheats. ${eachAt(at_next, "the next letter")}${end}`;
  if (loss > BLIND) return `${measured}: some place sees too little to guess well. ${end}`;
  if (leaks === 0)
    return `${measured}, just above ${fixed(BEST)}: honest. ${eachAt(at_itself, "itself")}${end}`;
  const cells = leaks === 1 ? "one cell shows" : `${leaks} cells show`;
  return `Done. ${measured}, above ${fixed(BEST)}, and yet ${cells} what comes later. ${end}`;
}

/** What to do next. */
export function taskOf(leaks, verdict) {
  if (!verdict) return "Press Train. Will the loss stop at the line?";
  if (verdict.loss < BEST - NOISE) return "Hide what gives the answer away, and train again.";
  return "Now leak: show so little of what comes later that the loss still looks honest.";
}

/** Where everything stands in a picture of a width. */
function layOut(width) {
  const wide = width >= 560;
  const cell = Math.min((width - 24) / LENGTH, 30);
  const map = { left: wide ? 24 : (width + 24 - LENGTH * cell) / 2, top: 42, cell };
  const below = map.top + ROWS * cell;
  const chart = wide
    ? { left: 24 + LENGTH * cell + 54, top: 42, bottom: below - 48 }
    : { left: 24, top: below + 34, bottom: below + 132 };
  chart.right = width - 6;
  chart.title = wide ? 13 : below + 20;
  return { map, chart, written: chart.bottom + 40, height: chart.bottom + 50 };
}

/** The map: a cell for each pair of places, which a press or a key opens and closes. */
function createMap(view, plot) {
  const fills = addPatterns(plot.svg);
  const [names, cells] = [0, 1].map(() => plot.svg.appendChild(svg("g")));
  const hint = svg("tspan", { "data-live": true }, `; ${press().toLowerCase()} to hide`);
  const title = plot.svg.appendChild(svg("text", { y: 13, class: "attention-muted" }, "", hint));
  title.prepend("who looks at whom");
  const color = colorMap(view.root);
  let at = 0; // the cell that Tab leads to
  const on = (type, listener) => cells.addEventListener(type, listener, { signal: view.signal });
  const turn = (number) => {
    const mask = view.state().mask.map((row) => [...row]);
    const [i, j] = [Math.floor(number / LENGTH), number % LENGTH];
    mask[i][j] = 1 - mask[i][j];
    view.set("mask", mask);
  };
  on("click", (event) => {
    const number = [...cells.children].indexOf(event.target);
    if (number < 0) return;
    at = number;
    turn(number);
  });
  on("keydown", (event) => {
    const [i, j] = [Math.floor(at / LENGTH), at % LENGTH];
    const ways = {
      ArrowLeft: [i, Math.max(j - 1, 0)],
      ArrowRight: [i, Math.min(j + 1, LENGTH - 1)],
      ArrowUp: [Math.max(i - 1, 0), j],
      ArrowDown: [Math.min(i + 1, ROWS - 1), j],
    };
    if (ways[event.key]) {
      at = ways[event.key][0] * LENGTH + ways[event.key][1];
      setTabStops();
      cells.children[at].focus();
    } else if (event.key === "Enter" || event.key === " ") turn(at);
    else return;
    event.preventDefault();
  });
  const setTabStops = () =>
    [...cells.children].forEach((node, number) =>
      setAttributes(node, { tabindex: number === at ? "0" : "-1" }),
    );

  return ({ left, top, cell }, mask, weights) => {
    setAttributes(title, { x: left });
    setChildren(names, [
      ...[...SAMPLE].map((letter, j) =>
        label(letter, "key", left + (j + 0.5) * cell, top - 8, "middle"),
      ),
      ...[...SAMPLE.slice(0, ROWS)].map((letter, i) =>
        label(letter, "query", left - 12, top + (i + 0.5) * cell + 4, "middle"),
      ),
    ]);
    setChildren(
      cells,
      mask.flatMap((row, i) =>
        row.map((open, j) => [
          "rect",
          {
            x: left + j * cell + 1,
            y: top + i * cell + 1,
            width: cell - 2,
            height: cell - 2,
            rx: 3,
            fill: open ? `rgb(${color(weights[i * LENGTH + j])})` : fills.masked,
            class: "attention-mask-cell",
            role: "checkbox",
            "aria-checked": open ? "true" : "false",
            "aria-label": `place ${i + 1} may look at place ${j + 1}`,
            tabindex: i * LENGTH + j === at ? "0" : "-1",
          },
        ]),
      ),
    );
  };
}

/** The chart: the loss of each step, the line that no honest model gets below, and an earlier run. */
function createChart(plot) {
  const [axes, earlier, curve] = ["g", "path", "path"].map((tag) =>
    plot.svg.appendChild(svg(tag, {})),
  );
  setAttributes(earlier, { class: "attention-line attention-muted attention-thin" });
  setAttributes(curve, { class: "attention-line attention-output attention-thick" });
  return ({ left, right, top, bottom, title }, losses, before) => {
    const x = (step) => left + 20 + ((right - left - 20) * step) / STEPS;
    const y = (loss) => bottom - ((bottom - top) * Math.min(loss, HIGHEST)) / HIGHEST;
    const path = (all) => all.map((loss, i) => `${i ? "L" : "M"}${x(i + 1)} ${y(loss)}`).join("");
    const line = (loss, kind) => [
      "line",
      { class: kind, x1: x(0), x2: right, y1: y(loss), y2: y(loss) },
    ];
    const last = losses.at(-1);
    setChildren(axes, [
      ...[0, 1, 2, 3].flatMap((loss) => [
        line(loss, "attention-grid"),
        label(String(loss), "muted", left + 10, y(loss) + 4, "end"),
      ]),
      line(BEST, "attention-line attention-accent attention-dashed"),
      label(`best honest loss, ${fixed(BEST, 2)}`, "accent", right, y(BEST) - 6, "end"),
      label(
        losses.length ? `loss ${fixed(last, 2)} after ${losses.length} steps` : "loss",
        "muted",
        left,
        title,
      ),
      label(`${STEPS} steps`, "muted", right, bottom + 16, "end"),
    ]);
    setAttributes(earlier, { d: path(before) || null });
    setAttributes(curve, { d: path(losses) || null });
  };
}

export function render({ model, el }) {
  const view = createView(
    { model, el },
    { label: "Does it cheat?", traits: ["mask"], given: ["seed"] },
  );
  const plot = view.plot({
    height: 290,
    description:
      "Which place looks at which, as a map whose cells can be hidden; the loss, step by step; and a text that the model writes",
  });
  setAttributes(plot.svg, { role: "group" }); // what is in a picture cannot have the focus
  const drawMap = createMap(view, plot);
  const drawChart = createChart(plot);
  const says = plot.svg.appendChild(svg("text", { class: "attention-muted" }, "it writes"));
  const written = plot.svg.appendChild(svg("g", { class: "attention-writing" }));
  const untrained = () => createRun(view.state().mask, 0);
  let run = untrained();
  let before = []; // the losses of the run before
  let [count, frame, begun] = [0, 0, 0];

  /** Forget what is learned: it was learned under another mask. */
  function start() {
    cancelAnimationFrame(frame);
    if (run.verdict) before = run.losses;
    run = untrained();
    view.again();
  }
  function step() {
    const now = performance.now();
    const due = isStill() ? STEPS : Math.min((now - begun) / PACE, STEPS);
    do run.next();
    while (run.losses.length < due && performance.now() - now < BUDGET);
    if (!run.verdict) frame = requestAnimationFrame(step);
    if (run.verdict || !isStill()) view.again();
  }
  const train = view.button("Train", () => {
    start();
    run = createRun(view.state().mask, view.state().seed + count);
    [count, begun] = [count + 1, performance.now()];
    frame = requestAnimationFrame(step);
  });
  const hiding = view.button("", () =>
    view.set("mask", leaksOf(view.state().mask) > 0 ? causal() : everything()),
  );
  view.controls.append(element("div", { class: "attention-tries" }, train, hiding));
  view.onChange("mask", start);
  view.onReset(() => {
    start();
    [before, count] = [[], 0];
  });
  view.signal.addEventListener("abort", () => cancelAnimationFrame(frame));
  view.field({
    trait: "mask",
    label: "The mask: eight lines of nine, 1 = may be looked at, 0 = hidden",
    rows: ROWS,
    write: writeTable,
    read(text) {
      const table = readTable(text, { rows: ROWS, columns: LENGTH, min: 0, max: 1 });
      return table.map((row) => row.map(Math.round));
    },
  });
  const show = view.numbers({
    loss: `Loss on ${FRESH.toLocaleString("en")} fresh texts`,
    best: "Best honest loss",
    leaks: "Cells that show what comes later",
    at_next: "Places that look most at the next one",
    at_itself: "Places that look most at themselves",
  });

  function drawWriting(y, left) {
    const letters = run.losses.length ? run.writes() : "a";
    const tile = Math.min((plot.width - left - 70) / LENGTH, 22);
    setAttributes(says, { x: left, y });
    setChildren(
      written,
      Array.from({ length: LENGTH }, (_, i) => [
        "text",
        { x: left + 66 + (i + 0.5) * tile, y, class: i ? "" : "attention-muted" },
        letters[i] ?? "·",
      ]),
    );
  }

  view.start(() => {
    const { mask } = view.state();
    const { map, chart, written: line, height } = layOut(plot.width);
    const leaks = leaksOf(mask);
    const { verdict, losses } = run;
    drawMap(map, mask, run.weights());
    drawChart(chart, losses, before);
    drawWriting(line, chart.left);
    plot.setHeight(height);
    setText(hiding, leaks > 0 ? "Hide what comes later" : "Show everything");
    view.task(taskOf(leaks, verdict));
    const hidden = mask.flat().filter((open) => !open).length;
    const setting = `A mask that hides ${hidden} of ${ROWS * LENGTH} cells.`;
    const counts = { leaks, at_next: "", at_itself: "", ...verdict };
    const texts = Object.fromEntries(
      Object.entries(counts).map(([name, count]) => [name, count === "" ? "–" : String(count)]),
    );
    show(
      { best: BEST, loss: "", ...counts },
      { ...texts, loss: verdict ? fixed(verdict.loss) : "–" },
    );
    if (verdict) view.say(words(verdict), setting);
    else if (losses.length === 0)
      view.say("Not trained yet: each place looks equally at everything it may see.", setting);
  });
  return view.cleanup;
}

export default { render };
