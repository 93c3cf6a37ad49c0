// The graders of the exercises: Python's modules, and what they ask of the page.

import { startPython } from "./interpreter.js";
import { lowered } from "./lowering.js";
import { cleaned, unreadable } from "./reading.js";

/** A number as Python's format writes it for the kinds g, f and e, with or without a precision. */
export function formatted(value, spec) {
  const [, precision, kind] = /^(?:\.(\d+))?([gfe])$/.exec(spec);
  const digits = precision === undefined ? 6 : Number(precision);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const exponential = (count) => {
    const [mantissa, power] = value.toExponential(count).split("e");
    return { mantissa, power: Number(power) };
  };
  const withPower = (mantissa, power) =>
    `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  if (kind === "f") return value.toFixed(digits);
  if (kind === "e") {
    const { mantissa, power } = exponential(digits);
    return withPower(mantissa, power);
  }
  const { mantissa, power } = exponential(Math.max(digits, 1) - 1);
  const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= Math.max(digits, 1)) return withPower(short(mantissa), power);
  return short(value.toFixed(Math.max(digits, 1) - 1 - power));
}

/** What Python's modules call by the name of `host`. */
function hostOf(state) {
  return {
    /** The reader's own code begins to run; what it prints is shown if `aloud`. */
    begin(aloud) {
      state.aloud = aloud;
      state.door.deadline = performance.now() + 1000 * state.seconds;
      state.listener.begin?.();
    },
    end() {
      state.aloud = false;
      state.door.deadline = Infinity;
      state.listener.end?.();
    },
    mark: () => state.door.next,
    release: (since, ...kept) => state.door.release(since, ...kept),
    inside: (part) => state.listener.inside?.(part),
    matches: (pattern, text) =>
      Array.from(text.matchAll(new RegExp(pattern, "gu")), (match) => [
        match.index,
        match.index + match[0].length,
      ]),
    formatted,
    /** Why a text that was refused cannot be read: line, reason, and whether only this page cannot. */
    unreadable(text) {
      const { line = 0, why = "", lacks = false } = unreadable(text) ?? {};
      return [line, why, lacks];
    },
    /** Note every tensor that is made, or return what was noted. */
    watch(on) {
      const notes = state.seen;
      state.seen = [];
      state.door.made = on
        ? ({ shape, data }, name) =>
            state.seen.push({ name: name.replace(/^_/, ""), shape, stored: data.length })
        : null;
      return notes;
    },
  };
}

/** What to say of code that filled the memory: its interpreter cannot say it any more. */
function outOfMemory(traceback, source) {
  const line = Number([...traceback.matchAll(/"answer\.py", line (\d+)/g)].at(-1)?.[1] ?? 0);
  const code = source.split("\n")[line - 1]?.trim();
  const where = code ? ` in the line \`${code.slice(0, 80)}\`` : "";
  return {
    line,
    said: `Not yet: your code fills the page's memory${where}. What it makes is freed only when it ends.`,
  };
}

/** Start the graders; `listener` hears of what the reader's code prints, and when it runs. */
export async function startGrader({ load, module, engine, listener = {}, seconds = 5 }) {
  const state = { listener, seconds, seen: [], aloud: false };
  const print = (line) => state.aloud && listener.print?.(line);
  const started = await startPython({
    load,
    module,
    files: engine,
    print,
    host: hostOf(state),
    full: listener.full,
  });
  state.door = started.door;
  const { python } = started;
  python.runPython(
    "from attention_workbook.exercises.engine import judging\nimport json\nmodules = {}",
  );
  const chapters = new Map();

  /** Call a function of judging for a chapter. */
  const call = (name, chapter, ...given) => {
    python.globals.set("given", JSON.stringify(given));
    python.runPython(`result = judging.${name}(modules["${chapter}"], *json.loads(given))`);
    return python.PyProxy.toJs(python.globals.get("result"));
  };

  return {
    python,
    door: state.door,
    addChapter(name, { module: text, solutions, mistakes, helpers }) {
      if (chapters.has(name)) return;
      python.FS.writeFile(`/lib/attention_workbook/exercises/${name}.py`, text);
      python.globals.set("given", JSON.stringify([solutions, mistakes]));
      python.runPython(`modules["${name}"] = judging.load("${name}", *json.loads(given))`);
      chapters.set(name, helpers);
    },
    /**
     * Judge the function that a reader's code defines: whether it is right, and the verdict. `mine` is
     * the text of the reader's earlier parts, whose names are `parts`.
     */
    judge({ chapter, exercise, source: given, name, mine = "", parts = [] }) {
      const source = cleaned(given);
      const before = chapters.get(chapter)[exercise] ?? "";
      const since = state.door.next;
      try {
        const own = [lowered(mine), parts];
        const code = lowered(source);
        const { passed, ...more } = call(
          "judged",
          chapter,
          exercise,
          source,
          code,
          name,
          before,
          ...own,
        );
        state.door.release(since);
        return { passed: passed === true, unwritten: passed === null, ...more };
      } catch (error) {
        if (error.type !== "MemoryError") throw error;
        return { passed: false, spent: true, ...outOfMemory(error.message, source) };
      }
    },
    mistaken: (chapter, exercise, number) => call("mistaken", chapter, exercise, number),
  };
}
