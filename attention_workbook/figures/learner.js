import { createView, fixed, grouped, label, setChildren, setText, short } from "./_shared/index.js";

const USUAL = { adam: 0.004, descent: 0.5 }; // rates that suit the rules
const NAMES = { mine: "your my_update", adam: "Adam", descent: "plain descent" };
// Losses of tables that count what follows no letter, one, and four.
const TABLES = [
  [3.07, "counting letters"],
  [2.38, "counting pairs"],
  [1.29, "counting five in a row"],
];
const MOST = 5; // nats, at the chart's upper edge
const SIZE = { left: 30, right: 6, top: 10, base: 214, texts: 252, row: 38 };
const CELL = 7.9; // a letter of what it writes
const SHOWN = 3; // texts
const KEPT = 2; // runs of before

const rateOf = ({ rule, factor }) => (USUAL[rule] ?? USUAL.adam) * factor;

/** What a run is made of, in words. */
export function nameOf(settings) {
  const broken = [!settings.scaled && "without √d", !settings.masked && "without a mask"];
  const parts = [NAMES[settings.rule], `rate ${short(rateOf(settings), 2)}`, ...broken];
  return parts.filter(Boolean).join(", ");
}

/** The loss of a run at a step, between those that were measured; undefined beyond the last. */
export function lossAt(losses, step) {
  const next = losses.findIndex(([at]) => at >= step);
  if (next < 0) return undefined;
  if (next === 0) return losses[0][1];
  const [[from, a], [to, b]] = [losses[next - 1], losses[next]];
  return a + ((step - from) / (to - from)) * (b - a);
}

/** The last text, and some from before it: about a quarter of the way, and a quarter of that. */
export function chosen(samples, count) {
  const taken = samples.slice(-1);
  while (taken.length < count) {
    const goal = taken[0]?.[0] / 4;
    const earlier = samples.filter(([step]) => step <= goal).at(-1);
    if (!earlier || earlier === taken[0]) break;
    taken.unshift(earlier);
  }
  return taken;
}

/** What the first step of a rule gives away, if it is not one of Adam's size down the hill. */
export function remark({ hasMoved, isUphill, size, remembers = true }) {
  if (!hasMoved)
    return "Your rule moves nothing: it returns each parameter as it came. Does it change a copy?";
  if (isUphill)
    return "The first step of your rule goes uphill, along the gradient: check its sign.";
  if (size < 0.3)
    return `The first step of your rule is ${grouped(1 / size)} times as small as Adam's at this rate.`;
  if (size > 3)
    return `The first step of your rule is ${grouped(size)} times as large as Adam's at this rate.`;
  if (!remembers) return "Your rule remembers nothing: both means come back as they were given.";
  return "";
}

const inNats = (loss) => (loss < 100 ? fixed(loss, 2) : "over 100");

/** What is seen, in words. `other` is the loss of the stored run at the same step. */
export function words({ step, loss, first, settings, other }) {
  if (!Number.isFinite(loss)) return "The numbers have become too large to compute with.";
  if (step >= 10 && loss > first + 0.2)
    return "The loss rises: this is worse than knowing nothing.";
  if (!settings.masked && loss < TABLES[2][0])
    return "Too good to be true: without the mask, each place reads the letter that it is to predict. What it writes shows that it has learned nothing else.";
  const passed = TABLES.filter(([table]) => loss < table);
  const [, name] = passed.at(-1) ?? [];
  const position = name
    ? `It does better than ${name}.`
    : "It does no better than counting letters yet.";
  const far = other !== undefined && step >= 100 && loss - other > 0.08;
  return far ? `${position} The stored run had ${fixed(other, 2)} at this step.` : position;
}

/** A text in lines of so many letters, and no more than `most` lines. */
export function linesOf(text, columns, most) {
  const shown = text.replaceAll("\n", "↵").slice(0, columns * most);
  return Array.from({ length: Math.ceil(shown.length / columns) }, (_, i) =>
    shown.slice(i * columns, (i + 1) * columns),
  );
}

const NONE_KEPT = "No my_update of yours is kept on this device, so ours runs: Adam.";
const NO_PAGE = "Your my_update runs on the book's own page; here ours does: Adam.";

/** The reader's own rule, which the page is asked for by an event; or why there is none. */
async function findRule(el) {
  const asked = {};
  el.dispatchEvent(new CustomEvent("attention-rule", { bubbles: true, detail: asked }));
  if (!asked.find) return { rule: null, why: NO_PAGE };
  return { rule: await asked.find(), why: NONE_KEPT };
}

// ---------------------------------------------------------------- a run in its worker

/** Start a run; `hear` is told of reports, of the first step, and of what fails. */
function startRun({ program, prose, settings }, rule, hear) {
  const address = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const worker = new Worker(address);
  let remembers;
  worker.onerror = () => hear.failed("This browser starts no worker here, so nothing can learn.");
  worker.onmessage = async ({ data: { kind, ...given } }) => {
    try {
      if (kind === "ready" && rule) await rule.begin(given.shapes, given.values);
      if (kind === "gradients") {
        const answer = await rule.step(given.gradients, given.rate);
        remembers ??= answer.remembers;
        worker.postMessage({ kind: "values", values: answer.values });
      }
      if (kind === "first") hear.first({ ...given, remembers });
      if (kind === "report") hear.report(given);
    } catch (error) {
      hear.failed(error.message);
    }
  };
  worker.postMessage({ kind: "begin", prose, settings });
  return {
    go: () => worker.postMessage({ kind: "go" }),
    pause: () => worker.postMessage({ kind: "pause" }),
    end() {
      worker.terminate();
      URL.revokeObjectURL(address);
      rule?.end();
    },
  };
}

// ---------------------------------------------------------------- the view

export function render({ model, el }) {
  const traits = ["rule", "factor", "scaled", "masked"];
  const view = createView(
    { model, el },
    {
      label: "A model that learns",
      task: "Press Train, then try another rule or another rate.",
      traits,
      given: ["stored"],
    },
  );
  const plot = view.plot({
    height: SIZE.texts + SHOWN * SIZE.row,
    description:
      "The loss on text that the model does not learn from, over the steps, and what it writes",
  });
  view.root.classList.add("attention-learner");
  const show = view.numbers({ step: "Step", loss: "Loss on unseen text" });
  const first = view.state();
  const stored = { ...first.stored, name: "a stored run: Adam, rate 0.004" };
  // A page shows nothing of it before its reader trains: what is learned first would be no surprise.
  const atRest = view.onPage ? { losses: stored.losses.slice(0, 1), samples: [] } : stored;
  const before = []; // runs that have ended, the last one first
  let run = null; // the one that learns, or pauses: what it has measured, and its worker
  let seed = 1; // the stored run's
  let isStarting = false;

  const settingsNow = () => {
    const { rule, factor, scaled, masked } = view.state();
    return { rule, factor, scaled, masked };
  };
  const isChanged = () => run && JSON.stringify(run.settings) !== JSON.stringify(settingsNow());

  /** Let the run that stands be one of those before. */
  function endRun() {
    run?.worker?.end();
    if (run?.losses.length > 1) before.unshift(run);
    before.splice(KEPT);
    run = null;
  }

  /** What is done with what the worker of a run says; of one that has ended nothing. */
  function hearing(begun) {
    const ifItStands = (act) => (given) => {
      if (run !== begun) return;
      act(given);
      view.again();
    };
    return {
      report: ifItStands(({ step, loss, text }) => {
        begun.losses.push([step, loss]);
        if (text !== null) begun.samples.push([step, loss, text]);
        if (!Number.isFinite(loss)) pause();
      }),
      first: ifItStands((step) => {
        if (begun.settings.rule === "mine" && !begun.isOurs) begun.remark = remark(step);
      }),
      failed: ifItStands((message) => {
        begun.failed = message;
        pause();
      }),
    };
  }

  async function begin() {
    if (!model.get("prose") || !model.get("program")) {
      isStarting = true;
      view.set("wanted", true);
      return view.again();
    }
    isStarting = false;
    endRun();
    const settings = settingsNow();
    const begun = { settings, name: nameOf(settings), losses: [], samples: [], isGoing: true };
    run = begun;
    view.again();
    const hear = hearing(begun);
    try {
      const { rule, why } = settings.rule === "mine" ? await findRule(el) : { rule: null, why: "" };
      begun.remark = rule ? "" : why;
      if (run !== begun) return rule?.end();
      begun.worker = startRun(made(begun, rule), rule, hear);
      if (begun.isGoing) begun.worker.go();
    } catch (error) {
      hear.failed(error.message);
    }
    return view.again();
  }

  /** What a worker is told of a run. Where the reader has no rule, ours runs. */
  function made(begun, rule) {
    const { settings } = begun;
    begun.isOurs = settings.rule === "mine" && !rule;
    if (begun.isOurs) begun.name = nameOf({ ...settings, rule: "adam" });
    seed += 1;
    return {
      program: model.get("program"),
      prose: model.get("prose"),
      settings: {
        rule: begun.isOurs ? "adam" : settings.rule,
        rate: rateOf(settings),
        seed,
        isScaled: settings.scaled,
        isMasked: settings.masked,
      },
    };
  }

  function pause() {
    if (!run) return;
    run.isGoing = false;
    run.worker?.pause();
    view.again();
  }
  view.choice({
    trait: "rule",
    label: "Rule",
    options: [
      ["mine", "yours"],
      ["adam", "Adam"],
      ["descent", "plain descent"],
    ],
  });
  view.slider({
    trait: "factor",
    label: "Learning rate",
    min: -3,
    max: 4,
    value: (power) => 2 ** power,
    position: Math.log2,
    text: () => short(rateOf(view.state()), 2),
  });
  view.toggle({ trait: "scaled", label: "Divide by √d", more: true });
  view.toggle({ trait: "masked", label: "Mask what comes", more: true });

  const button = view.button("Train", () => {
    if (isStarting) return;
    if (run?.isGoing) return pause();
    if (!run || run.failed || isChanged()) return begin();
    run.isGoing = true;
    run.worker?.go();
    return view.again();
  });
  let turning = 0;
  for (const trait of traits)
    view.onChange(trait, () => {
      if (!run?.isGoing) return;
      clearTimeout(turning); // until the slider rests
      turning = setTimeout(() => run?.isGoing && isChanged() && begin(), 400);
    });
  view.onChange("prose", () => isStarting && model.get("prose") && begin());
  view.onChange("program", () => isStarting && model.get("program") && begin());
  view.onChange("wanted", () => {
    if (model.get("wanted") || !isStarting) return;
    isStarting = false;
    view.say("The text could not be fetched. Check the connection, then press Train again.");
  });
  view.onReset(() => {
    endRun();
    before.length = 0;
    isStarting = false;
    view.again();
  });
  view.signal.addEventListener("abort", () => {
    clearTimeout(turning);
    run?.worker?.end();
  });

  // where a step and a loss are in the chart
  let last; // the step at its right edge
  const across = (step) => SIZE.left + (step / last) * (plot.width - SIZE.left - SIZE.right);
  const down = (loss) =>
    SIZE.base - (Math.min(Math.max(loss, 0), MOST) / MOST) * (SIZE.base - SIZE.top);

  function drawAxes() {
    const [left, right] = [SIZE.left, plot.width - SIZE.right];
    const line = (y, kind) => [
      "line",
      { x1: left, x2: right, y1: y, y2: y, class: `attention-${kind}` },
    ];
    const thirds = (plot.width < 340 ? [0, 1] : [0, 1, 2]).map((i) => (i * last) / 3);
    return [
      label("loss in nats", "muted", 0, SIZE.top + 2),
      ...[0, 1, 2, 3, 4].flatMap((nats) => [
        line(down(nats), "grid"),
        label(String(nats), "muted", left - 6, down(nats) + 4, "end"),
      ]),
      ...thirds.map((step, i) =>
        label(grouped(step), "muted", across(step), SIZE.base + 17, i ? "middle" : "start"),
      ),
      label(`${grouped(last)} steps`, "muted", right, SIZE.base + 17, "end"),
      ...TABLES.flatMap(([loss, name]) => [
        line(down(loss), "line attention-muted attention-thin attention-dashed"),
        label(
          `${name}, ${loss}`,
          "muted attention-over",
          right,
          down(loss) + (loss < 2 ? 14 : -4),
          "end",
        ),
      ]),
    ];
  }

  function drawRun({ losses }, kind, marked) {
    const seen = losses.filter(([, loss]) => Number.isFinite(loss));
    const points = seen.map(
      ([step, loss]) => `${across(step).toFixed(1)} ${down(loss).toFixed(1)}`,
    );
    const dots = marked
      .filter(([, loss]) => Number.isFinite(loss))
      .map(([step, loss]) => [
        "circle",
        { cx: across(step), cy: down(loss), r: 4, class: `attention-area attention-edged ${kind}` },
      ]);
    return [
      ["path", { d: points.length ? `M${points.join("L")}` : "", class: `attention-line ${kind}` }],
      ...dots,
    ];
  }

  /** The names of the runs, where no curve is: above, to the right. */
  const drawNames = (named) =>
    named.flatMap(([kind, name], i) => {
      const y = SIZE.top + 2 + 16 * i;
      const x = plot.width - SIZE.right;
      return [
        ["line", { x1: x - 18, x2: x, y1: y, y2: y, class: `attention-line ${kind}` }],
        label(name, "run-name attention-over", x - 24, y + 4, "end"),
      ];
    });

  const shownTexts = () => (plot.width < 500 ? SHOWN - 1 : SHOWN);

  function drawTexts(samples) {
    const columns = Math.floor((plot.width - 2) / CELL);
    const most = columns < 80 ? 2 : 1;
    const row = 18 * (most + 1) + 4;
    plot.setHeight(SIZE.texts + shownTexts() * row - 12);
    if (samples.length === 0)
      return [label("What it writes will stand here.", "muted", 0, SIZE.texts)];
    return samples.flatMap(([step, loss, written], i) => {
      const y = SIZE.texts + row * i;
      return [
        label(
          `${step === 1 ? "After 1 step" : `After ${grouped(step)} steps`}, ${inNats(loss)} nats`,
          "muted",
          0,
          y,
        ),
        ...linesOf(written, columns, most).map((line, j) =>
          label(line, "written", 0, y + 18 * (j + 1)),
        ),
      ];
    });
  }

  function nameButton() {
    if (isStarting) return "Fetching …";
    if (run?.isGoing) return "Pause";
    if (!run) return "Train";
    return run.failed || isChanged() ? "Train anew" : "Go on";
  }

  view.start(() => {
    const settings = settingsNow();
    setText(button, nameButton());
    const shown = run?.losses.length ? run : atRest;
    const furthest = Math.max(...[shown, ...before].map(({ losses }) => losses.at(-1)[0]));
    last = 1500 * 2 ** Math.max(0, Math.ceil(Math.log2(furthest / 1500)));
    const samples = chosen(shown.samples, shownTexts());
    const runs = [
      ...(run || !view.onPage ? [[stored, "attention-muted", stored.name]] : []),
      ...before.map((one, i) => [one, `attention-series-${i + 2}`, one.name]).reverse(),
      ...(run ? [[run, "attention-series-1 attention-thick", run.name]] : []),
    ];
    const named = runs.map(([, kind, name]) => [kind, name]);
    setChildren(plot.svg, [
      ...drawAxes(),
      ...runs.flatMap(([one, kind]) => drawRun(one, kind, one === shown ? samples : [])),
      ...drawNames(named.reverse()),
      ...drawTexts(samples),
    ]);
    const [step, loss] = shown.losses.at(-1);
    show({ step, loss }, { step: grouped(step), loss: inNats(loss) });
    view.say(finding(), `Rule: ${nameOf(settings)}.`);
  });

  function finding() {
    if (isStarting) return "The text and the program are on their way, some 85 kB.";
    const current = run?.losses.length ? run : null;
    if (run?.failed) return run.failed;
    if (run && !current) return "It begins with random numbers.";
    if (!run && traits.some((trait) => model.get(trait) !== first[trait]))
      return `Press Train to see what becomes of it: ${nameOf(settingsNow())}.`;
    if (!run && view.onPage) return "It has read nothing yet, and its numbers are random.";
    if (!run)
      return "A stored run: at first random letters, then groups of letters, then words of the book.";
    const [step, loss] = current.losses.at(-1);
    const other = lossAt(stored.losses, step);
    const seen = { step, loss, first: current.losses[0][1], settings: current.settings, other };
    const isEarly = !current.isOurs && step < 50;
    return [current.remark, current.remark && isEarly ? "" : words(seen)].filter(Boolean).join(" ");
  }
  return view.cleanup;
}

export default { render };
