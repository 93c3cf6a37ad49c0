// One heatmap: its cells on a canvas, and names, numbers and marks on an SVG above them.

import { breadth, fixed, readableOn, setAttributes, setChildren } from "../_shared/index.js";
import { visible } from "./numbers.js";

export const TALLEST = 300; // of the cells, in pixels
const LARGEST = 60; // side of a cell
const ROOMY = 38; // side of a cell in which every face has room for 0.00

const LETTERS = 13; // height of the names' letters
const LEGIBLE = 11; // side of a cell beside which a name of its own can still be read

/** About how wide a character of a name is: Chinese ones are square, capitals wider than others. */
function wide(character) {
  if (character.codePointAt(0) > 0x2e7f) return LETTERS;
  return /\p{Lu}/u.test(character) ? 9 : LETTERS * breadth(character);
}

/** As much of a text as so many pixels hold, by a rough measure of letters, and its width. */
export function clipped(whole, most) {
  let width = 0;
  let text = "";
  for (const character of whole) {
    if (text && width + wide(character) > most) return { text: `${text}…`, width: width + 10 };
    text += character;
    width += wide(character);
  }
  return { text, width };
}

/** Which of `count` labels stand `gap` cells apart and leave room for the chosen one. */
function thinned(count, gap, chosen) {
  const places = Array.from({ length: Math.ceil(count / gap) }, (_, i) => i * gap);
  return [...places.filter((place) => Math.abs(place - chosen) >= gap), chosen].sort(
    (a, b) => a - b,
  );
}

/** Paint a head on a canvas, one pixel a cell; masked cells stay clear, and the ground shows. */
export function paint(canvas, { steps, allowed, levels, len_k, leaks }, shades) {
  const fine = leaks ? 3 : 1; // a leak is a spot in the middle of its cell
  const [width, height] = [len_k * fine, (steps.length / len_k) * fine];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const scale = (shades.length - 1) / levels;
  for (let i = 0; i < steps.length; i += 1) {
    const corner = Math.floor(i / len_k) * fine * width + (i % len_k) * fine;
    for (let part = 0; part < fine * fine; part += 1) {
      if (allowed[i] || (part === 4 && steps[i] > 0)) {
        pixels[corner + Math.floor(part / fine) * width + (part % fine)] =
          shades[Math.round(steps[i] * scale)];
      }
    }
  }
  context.putImageData(image, 0, 0);
}

/** Find the place of the cells, left, top, side, and write what depends on it alone. */
export function fit({ plot, canvas, titles, lines }, now) {
  const [, , len_q, len_k] = now.shape;
  const room = Math.min(Math.max(plot.width * 0.22, 58), 94);
  const all = (kind) =>
    now[`${kind}_tokens`].map((token) =>
      clipped(visible(token), Math.min(room, kind === "query" ? Infinity : 84)),
    );
  const [down, across] = [all("query"), all("key")];
  const widest = (texts) => texts.reduce((most, { width }) => Math.max(most, width), 0);
  const left = Math.ceil(widest(down)) + 34;
  const sideBeside = (right) =>
    Math.min((plot.width - left - right) / len_k, TALLEST / len_q, LARGEST);
  const flat = widest(across) + 6 <= sideBeside(2);
  // Names that slant reach to the right, the last ones beyond the cells.
  const least = Math.max(sideBeside(widest(across) / 2), 0);
  const beyond = across.map(({ width }, j) => width / 2 - (len_k - 1 - j) * least);
  let side = sideBeside(flat ? 2 : Math.max(2, ...beyond));
  side = side >= 4 ? Math.floor(side) : Math.max(side, 0.5); // a place may have no width yet
  const top = flat ? 42 : Math.ceil(widest(across) * 0.87) + 34;
  const [width, height] = [side * len_k, side * len_q];
  for (const [name, value] of Object.entries({ left, top, width, height })) {
    canvas.style.setProperty(name, `${value}px`);
  }
  setChildren(titles, [
    [
      "text",
      {
        class: "attention-key attention-chosen",
        x: left + width / 2,
        y: 14,
        "text-anchor": "middle",
      },
      "keys",
    ],
    [
      "text",
      {
        class: "attention-query",
        x: 14,
        y: top + height / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 14 ${top + height / 2})`,
      },
      "queries",
    ],
  ]);
  const seams = [];
  if (side >= LEGIBLE) {
    for (let i = 1; i < len_q; i += 1) seams.push(`M${left} ${top + i * side}h${width}`);
    for (let j = 1; j < len_k; j += 1) seams.push(`M${left + j * side} ${top}v${height}`);
  }
  setAttributes(lines, { d: seams.join("") });
  return { left, top, side, down, across, flat, height: Math.ceil(top + height + 4) };
}

/** The tokens beside the cells; those of the cell that is read stand out. */
export function drawNames(
  { names: groups, place: { left, top, side, down, across, flat } },
  { query, key },
) {
  const gap = Math.ceil(LEGIBLE / side);
  for (const group of Object.values(groups))
    group.classList.toggle("attention-small", side >= LEGIBLE && side < LETTERS);
  setChildren(
    groups.query,
    thinned(down.length, gap, query).map((i) => [
      "text",
      {
        class: i === query ? "attention-query" : null,
        x: left - 8,
        y: top + (i + 0.5) * side + 4.5,
      },
      down[i].text,
    ]),
  );
  setChildren(
    groups.key,
    thinned(across.length, flat ? 1 : gap, key).map((j) => {
      const [x, y] = [left + (j + 0.5) * side, top - 8];
      return [
        "text",
        {
          class: j === key ? "attention-key attention-chosen" : null,
          ...(flat
            ? { x, y, "text-anchor": "middle" }
            : { x: x + 4, y, transform: `rotate(-60 ${x + 4} ${y})` }),
        },
        across[j].text,
      ];
    }),
  );
}

/** The weights in the cells, where there is room; `color` is the map of the cells. */
export function drawNumbers(
  { numbers, place: { left, top, side } },
  { steps, allowed, levels, len_k },
  color,
) {
  const shown = side < 30 ? [] : [...steps.keys()].filter((i) => allowed[i]);
  setChildren(
    numbers,
    shown.map((i) => [
      "text",
      {
        class: readableOn(color(steps[i] / levels)),
        x: left + ((i % len_k) + 0.5) * side,
        y: top + (Math.floor(i / len_k) + 0.5) * side + 4.5,
      },
      fixed(steps[i] / levels, 2),
    ]),
  );
  numbers.classList.toggle("attention-small", side < ROOMY); // whatever the face
}

/** The frames of the column, the row and the cell that are read. */
export function drawMarks({ marks, place: { left, top, side, down, across } }, { query, key }) {
  const [x, y] = [left + key * side, top + query * side];
  const [column, row, ...cell] = marks;
  setAttributes(column, { x, y: top, width: side, height: side * down.length });
  setAttributes(row, { x: left, y, width: side * across.length, height: side });
  for (const mark of cell)
    setAttributes(mark, { x: x - 1, y: y - 1, width: side + 2, height: side + 2 });
}
