// The worker in which a page's Python runs: it is ended where code does not end by itself.

import { startGrader } from "./grader.js";
import { startRule } from "./rule.js";
import { startWriter } from "./writing.js";

// at once, so that a worker that waits for its turn needs no network then
const loading = import("./micropython.mjs");
const MOST_LINES = 200; // of what the reader's code prints
const MOST_LETTERS = 2000; // of a line

let grader;
let writer;
let rule;
let printed = 0;
console.error = () => {}; // the interpreter complains there of every memory that it does not get

const listener = {
  begin: () => postMessage({ kind: "begin" }),
  end: () => postMessage({ kind: "end" }),
  full: () => postMessage({ kind: "full" }),
  inside: (part) => postMessage({ kind: "inside", part }),
  print(line) {
    printed++;
    if (printed > MOST_LINES + 1) return;
    const text = line.length > MOST_LETTERS ? `${line.slice(0, MOST_LETTERS)} …` : line;
    postMessage({ kind: "print", line: printed > MOST_LINES ? "… and more" : text });
  },
};

/** Start from what was packed: the size of the interpreter, the interpreter, the graders. */
async function start(packed) {
  const unpacking = new DecompressionStream("gzip");
  const stream = new Response(packed).body.pipeThrough(unpacking);
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const module = await WebAssembly.compile(bytes.subarray(4, 4 + size));
  const engine = JSON.parse(new TextDecoder().decode(bytes.subarray(4 + size)));
  const { loadMicroPython } = await loading;
  // the loader fetches its code, which is here already: nothing will do
  const load = (options) => loadMicroPython({ ...options, url: "data:application/wasm," });
  grader = await startGrader({ load, module, engine, listener });
}

async function answer({ kind, ...given }) {
  if (kind === "start") await start(given.packed);
  if (kind === "chapter") grader.addChapter(given.name, given.data);
  if (kind === "writer") writer = startWriter(grader, given.facts, given.numbers);
  if (kind === "parts") return { kind: "done", said: writer.take(given.mine) };
  if (kind === "begin writing") writer.begin(given.who, given.breakage);
  if (kind === "step") return { kind: "done", ...writer.step(given.who, given.what, given.given) };
  if (kind === "rule") {
    rule = startRule(grader);
    return { kind: "done", said: rule.take(given) };
  }
  if (kind === "update") return { kind: "done", ...rule.step(given) };
  if (kind !== "judge") return { kind: "done" };
  printed = 0;
  return { kind: "verdict", ...grader.judge(given) };
}

addEventListener("message", async ({ data }) => {
  try {
    postMessage(await answer(data));
  } catch (error) {
    postMessage({ kind: "broken", message: String(error.message) });
  }
});
