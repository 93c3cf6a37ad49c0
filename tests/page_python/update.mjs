// Let texts with `my_update` make steps, for the tests: JSON in, JSON out.
//
// in: {folder, micropython, engine, shapes, values, gradients: [of each step], rate, sources}
// out: for each source {said} or {failed} or {values, remembers, tensors: how many are kept}

import fs from "node:fs";
import { pathToFileURL } from "node:url";

const { folder, micropython, engine, sources, ...given } = JSON.parse(fs.readFileSync(0, "utf8"));
const { startGrader } = await import(pathToFileURL(`${folder}/grader.js`));
const { startRule } = await import(pathToFileURL(`${folder}/rule.js`));
const { loadMicroPython } = await import(pathToFileURL(`${micropython}/micropython.mjs`));
const module = new WebAssembly.Module(fs.readFileSync(`${micropython}/micropython.wasm`));
const grader = await startGrader({ load: loadMicroPython, module, engine, seconds: 3 });

function run(source) {
  const { shapes, values, gradients, rate } = given;
  const rule = startRule(grader);
  const said = rule.take({ source, shapes, values: Float32Array.from(values) });
  if (said) return { said };
  let answer;
  let remembers;
  for (const gradient of gradients) {
    answer = rule.step({ gradients: Float32Array.from(gradient), rate });
    if (answer.failed) return { failed: answer.failed };
    remembers ??= answer.remembers;
  }
  return { values: [...answer.values], remembers, tensors: grader.door.tensors.size };
}

process.stdout.write(JSON.stringify(sources.map(run)));
