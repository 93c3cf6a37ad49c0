// Let the stored writer write by a reader's parts, for the tests: JSON in, JSON out.
//
// in: {folder, micropython, engine, facts, weights, runs: [{mine, breakage, text, length}]}
// out: for each {yours, ours, cached, losses: {yours, ours}, failed}

import fs from "node:fs";
import { pathToFileURL } from "node:url";

const { folder, micropython, engine, facts, weights, runs } = JSON.parse(
  fs.readFileSync(0, "utf8"),
);
const { startGrader } = await import(pathToFileURL(`${folder}/grader.js`));
const { startWriter } = await import(pathToFileURL(`${folder}/writing.js`));
const { loadMicroPython } = await import(pathToFileURL(`${micropython}/micropython.mjs`));
const module = new WebAssembly.Module(fs.readFileSync(`${micropython}/micropython.wasm`));
const grader = await startGrader({ load: loadMicroPython, module, engine, seconds: 3 });
const writer = startWriter(grader, facts, new Uint8Array(fs.readFileSync(weights)).buffer);

const losses = {}; // ours is measured once

function run({ mine, breakage, text, length }) {
  const result = { failed: writer.take(mine), losses };
  if (result.failed) return result;
  for (const who of ["yours", "ours", "cached"]) {
    writer.begin(who, who === "yours" ? breakage : "");
    result[who] = text;
    for (let i = 0; i < length; i++) {
      const { given, failed } = writer.step(who, "next", result[who]);
      if (failed) return { ...result, failed };
      result[who] += given;
    }
    if (who === "cached" || (who === "ours" && losses.ours)) continue;
    const rows = facts.rows.map((_, row) => writer.step(who, "loss", row));
    const failed = rows.find((one) => one.failed);
    if (failed) return { ...result, ...failed };
    losses[who] = rows.reduce((sum, { given }) => sum + Number(given), 0) / rows.length;
  }
  return { ...result, losses: { ...losses } };
}

process.stdout.write(JSON.stringify(runs.map(run)));
