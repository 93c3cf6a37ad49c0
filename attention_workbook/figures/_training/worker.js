// A run of training in a worker: it learns while the page stays free, and reports now and then.

import { createRun } from "./learning.js";

const BEGINNING = "The query ";
const LENGTH = 70; // letters that it writes
const SLICE = 80; // milliseconds of learning until it looks for a message
const WRITES_EVERY = 4; // seconds
const EVERY = 50; // steps from one report to the next
const EARLY = [1, 10, 25]; // more reports, where the loss falls fastest

/** All values, or all gradients, one after another. */
function joined(parameters, kind) {
  const parts = Object.values(parameters).map((parameter) => parameter[kind]);
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Take up numbers that lie one after another. */
function spread(parameters, numbers) {
  let at = 0;
  for (const { values } of Object.values(parameters)) {
    values.set(numbers.subarray(at, at + values.length));
    at += values.length;
  }
}

/** What the first step of a rule does, of its own or of a reader's: whether anything has moved,
    whether uphill, and how far, in rates. Adam's moves all that has a gradient by one rate. */
export function firstStep(before, after, gradients, rate) {
  let [moved, along, count] = [0, 0, 0];
  gradients.forEach((gradient, i) => {
    if (gradient === 0) return;
    count += 1;
    moved += Math.abs(after[i] - before[i]);
    along += (after[i] - before[i]) * gradient;
  });
  return { hasMoved: moved > 0, isUphill: along > 0, size: moved / (rate * count) };
}

/**
 * Answer a page: `begin` a run, let it `go` and `pause`. With the rule `mine` each step asks the page
 * for new numbers, by `gradients`, and waits for its `values`.
 */
export function listen(port) {
  let run;
  let settings;
  let isGoing = false;
  let seconds = 0;
  let written = -Infinity; // the second in which it wrote last
  let receive; // what takes the values that the page was asked for

  function report() {
    const isDue = seconds - written >= WRITES_EVERY;
    if (isDue) written = seconds;
    const text = isDue ? run.write(BEGINNING, LENGTH) : null;
    port.postMessage({ kind: "report", step: run.step, loss: run.loss(), text });
  }

  async function step() {
    const { rule, rate } = settings;
    run.gradient();
    const before = run.step === 1 && joined(run.parameters, "values");
    if (rule === "mine") {
      const gradients = joined(run.parameters, "gradient");
      port.postMessage({ kind: "gradients", rate, gradients });
      spread(run.parameters, await new Promise((resolve) => (receive = resolve)));
    } else run.update();
    if (!before) return;
    const [after, gradients] = ["values", "gradient"].map((kind) => joined(run.parameters, kind));
    port.postMessage({ kind: "first", ...firstStep(before, after, gradients, rate) });
  }

  async function go() {
    while (isGoing) {
      const begun = performance.now();
      while (isGoing && performance.now() - begun < SLICE) {
        const since = performance.now();
        await step();
        seconds += (performance.now() - since) / 1000;
        if (EARLY.includes(run.step) || run.step % EVERY === 0) report();
      }
      await new Promise((resolve) => setTimeout(resolve)); // messages come in
    }
  }

  port.onmessage = ({ data: { kind, ...given } }) => {
    if (kind === "begin") {
      settings = given.settings;
      run = createRun(given.prose, settings);
      const shapes = Object.values(run.parameters).map(({ shape }) => shape);
      port.postMessage({ kind: "ready", shapes, values: joined(run.parameters, "values") });
      report();
    }
    if (kind === "values") receive(given.values);
    if (kind === "pause") isGoing = false;
    if (kind === "go" && !isGoing) {
      isGoing = true;
      go();
    }
  };
}
