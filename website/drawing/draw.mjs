// Draws figures at rest without a browser. In: JSON, the packages' folder, the palette, the style
// sheet, and for each picture wanted the figure's module and its state. Out: an SVG for each.

import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

import { flatten } from "./flatten.mjs";
import { openPage } from "./stand_ins.mjs";

const { packages, style, light, dark, wanted } = JSON.parse(await text(process.stdin));
const linkedom = createRequire(pathToFileURL(`${packages}/`))("linkedom");
const palette = { colours: light, asked: new Set() };
const document = openPage(linkedom, palette);
const { createModel, parseState } = await import("../../attention_workbook/figures/_shared/model.js");

/** Let a figure draw itself in the colours of one palette: its parts by name, and what takes it away. */
function stand(render, { name, state }, colours) {
  Object.assign(palette, { colours, asked: new Set() });
  const el = document.body.appendChild(document.createElement("div"));
  const cleanup = render({ model: createModel(parseState(state)), el });
  const part = (name) => el.querySelector(`.attention-${name}`);
  const failure = part("failure");
  if (!failure.hidden) throw new Error(`${name}: ${failure.textContent}`);
  const remove = () => {
    cleanup();
    el.remove();
  };
  return { part, remove };
}

async function draw(figure) {
  const { render } = await import(pathToFileURL(figure.module));
  const day = stand(render, figure, light);
  // One that paints with colours it has read, and not by their names, is painted once more for the dark.
  const reads = [...palette.asked].some((name) => light[name] !== dark[name]);
  const night = reads ? stand(render, figure, dark) : null;
  const finding = day.part("finding");
  const picture = flatten(day.part("stage"), {
    title: day.part("title").textContent,
    words: [finding.dataset.setting, finding.textContent].filter(Boolean).join(" "),
    night: night?.part("stage"),
    ...{ style, light, dark },
  });
  day.remove();
  night?.remove();
  return picture;
}

const drawn = [];
for (const figure of wanted) drawn.push(await draw(figure));
process.stdout.write(JSON.stringify(drawn), () => process.exit()); // whatever timers still wait
