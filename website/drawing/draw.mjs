// Draws figures at rest without a browser. In: JSON, the packages' folder, the palette, the style
// sheet, and for each picture wanted the figure's module and its state. Out: an SVG for each.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

import { flatten } from "./flatten.mjs";
import { openPage } from "./stand_ins.mjs";

const { packages, style, light, dark, wanted } = JSON.parse(await text(process.stdin));
const linkedom = createRequire(pathToFileURL(`${packages}/`))("linkedom");
const document = openPage(linkedom, light);
const { createModel, parseState } = await import("../../workbook/figures/_shared/model.js");

async function draw({ name, module, state }) {
  const { render } = await import(pathToFileURL(module));
  const el = document.body.appendChild(document.createElement("div"));
  const cleanup = render({ model: createModel(parseState(state)), el });
  const part = (name) => el.querySelector(`.attention-${name}`);
  const [finding, failure] = [part("finding"), part("failure")];
  if (!failure.hidden) throw new Error(`${name}: ${failure.textContent}`);
  const picture = flatten(part("stage"), {
    title: part("title").textContent,
    words: [finding.dataset.setting, finding.textContent].filter(Boolean).join(" "),
    ...{ style, light, dark },
  });
  cleanup();
  el.remove();
  return picture;
}

const drawn = [];
for (const figure of wanted) drawn.push(await draw(figure));
process.stdout.write(JSON.stringify(drawn), () => process.exit()); // whatever timers still wait
