// Judge code with the page's graders, for the tests: JSON in, JSON out.
//
// in: {grader, micropython, engine, chapters, asked: [{chapter, exercise, source, name} or
// {chapter, exercise, mistake}]}; out: for each what is said, and the milliseconds that it took

import fs from "node:fs";
import { pathToFileURL } from "node:url";

const { grader, micropython, engine, chapters, asked } = JSON.parse(fs.readFileSync(0, "utf8"));
const { startGrader } = await import(pathToFileURL(grader));
const { loadMicroPython } = await import(pathToFileURL(`${micropython}/micropython.mjs`));
const module = new WebAssembly.Module(fs.readFileSync(`${micropython}/micropython.wasm`));

const start = () => startGrader({ load: loadMicroPython, module, engine });
let graders = await start();
const answers = asked.map((ask) => {
  const { chapter, exercise, mistake } = ask;
  const begun = performance.now();
  let said;
  try {
    graders.addChapter(chapter, chapters[chapter]);
    said =
      mistake === undefined
        ? graders.judge(ask).said
        : graders.mistaken(chapter, exercise, mistake);
  } catch (error) {
    said = `!! ${error.message.split("\n").slice(-6).join(" / ")}`;
  }
  return { said, milliseconds: performance.now() - begun };
});
process.stdout.write(JSON.stringify(answers));
