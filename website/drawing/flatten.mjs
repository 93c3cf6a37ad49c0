// The picture that a figure has drawn on its stage, as one SVG that needs no style sheet: what the
// rules of figure.css say stands in attributes, colours are those of the light palette, and a short
// style gives the dark ones where the page is dark. Where a figure computes colours from the palette,
// the dark ones are those of the same figure drawn with the dark palette: `night` is its stage.

import { GAP, WIDTH, columnsOf } from "./stand_ins.mjs";
import { breadth } from "../../attention_workbook/figures/_shared/plot.js";

const MARGIN = 16;
const LINE = 18; // from one line of a legend to the next
const MANY = 64; // colours
const INHERITED = [
  ...["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"],
  ...["stroke-linecap", "stroke-linejoin", "font-family", "font-size", "font-weight", "font-style"],
  ...["text-anchor", "dominant-baseline", "paint-order", "shape-rendering", "visibility"],
];
const OWN = ["opacity", "transform", "display", "vector-effect", "overflow"];
const PROPERTIES = new Set([...INHERITED, ...OWN]);
const INITIAL = { stroke: "none", "stroke-width": "1", "font-weight": "400", opacity: "1" };
const LEFT_OUT =
  /^(class|style|role|id|tabindex|hidden|width|height|viewBox|xmlns|aria-.*|data-.*)$/;

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Numbers with at most so many decimals, wherever they stand in an attribute. */
const rounded = (text, digits) =>
  text.replace(/-?\d*\.\d+(?:e-?\d+)?/g, (number) =>
    String(Number(Number(number).toFixed(digits))),
  );

// ---------------------------------------------------------------- what the style sheet says

/** How much a selector weighs, as a number: ids, then classes and the like, then elements. */
function weightOf(selector) {
  const longest = selector.replace(/:(?:is|not)\(([^()]*)\)/g, (_, inner) =>
    inner.split(",").reduce((most, one) => (weightOf(one) > weightOf(most) ? one : most), ""),
  );
  const classes = longest.match(/\.[\w-]+|\[[^\]]*\]|:(?!where)[\w-]+/g) ?? [];
  const elements = longest.replace(/\[[^\]]*\]/g, "").match(/(?<![\w.#:-])[a-z][\w-]*/g) ?? [];
  return 100 * classes.length + elements.length;
}

/** The rules of a style sheet that say how something is drawn, the weakest first; those for a width,
    for paper or under a pointer are left out. */
function rulesOf(style) {
  const plain = style.replace(/\/\*[^]*?\*\//g, "");
  const rules = [];
  let at = 0;
  while (at < plain.length) {
    const open = plain.indexOf("{", at);
    if (open < 0) break;
    const selectors = plain.slice(at, open).trim();
    let depth = 1;
    let end = open + 1;
    for (; depth > 0; end += 1) depth += { "{": 1, "}": -1 }[plain[end]] ?? 0;
    at = end;
    const declared = plain
      .slice(open + 1, end - 1)
      .split(";")
      .map((one) => one.split(/:([^]*)/).map((part) => part.trim()))
      .flatMap(([name, value]) =>
        name === "font"
          ? [
              ["font-size", value.match(/[\d.]+px/)?.[0]],
              ["font-weight", "400"],
            ]
          : [[name, value]],
      )
      .filter(([name, value]) => PROPERTIES.has(name) && value);
    if (selectors.startsWith("@") || /:(hover|focus|active)|::/.test(selectors) || !declared.length)
      continue;
    for (const selector of selectors.split(/,(?![^(]*\))/)) {
      rules.push({ selector: selector.trim(), declared, weight: weightOf(selector) });
    }
  }
  return rules.sort((a, b) => a.weight - b.weight);
}

/** A colour or another value with the palette's numbers in place of variables and mixtures. */
function resolved(value, colours) {
  const named = value.replace(
    /var\((--[\w-]+)(?:,\s*([^()]*))?\)/g,
    (_, name, otherwise) => colours[name] ?? otherwise,
  );
  return named.replace(
    /color-mix\(in srgb, (#\w{6}) ([\d.]+)%, (#\w{6})\)/g,
    (_, one, share, other) => {
      const parts = [1, 3, 5].map((i) => {
        const [a, b] = [one, other].map((color) => parseInt(color.slice(i, i + 2), 16));
        return Math.round(b + ((a - b) * share) / 100);
      });
      return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    },
  );
}

/** Whether two colours cannot be told apart: both made of a map, from nearly the same place. */
function areAlike(one, other) {
  const [parts, others] = [one, other].map((color) => color.match(/^rgb\((\d+),(\d+),(\d+)\)$/));
  if (!parts || !others) return one === other;
  return parts.slice(1).every((part, i) => Math.abs(part - others[i + 1]) <= 6);
}

// ---------------------------------------------------------------- one picture

/** The lines of a text that is too long for a width in pixels, each as long as can be. */
function linesOf(text, width) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && breadth(longer) * 13 <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** What a stage shows as SVG text. */
export function flatten(stage, { title, words, style, light, dark, night = null }) {
  const rules = rulesOf(style);
  const darker = new Map(); // attributes whose colour is another one in the dark
  const darkest = new Map(); // the same for single nodes, which say so in an attribute of their own
  const names = new Map(); // ids, which are random in a page

  /** What a rule can ask about a node. */
  function describe(node) {
    if (!node?.attributes) return "";
    const selectable = [...node.attributes].filter(({ name }) => /^(class|data-)/.test(name));
    const first = node.previousElementSibling ? "" : "first";
    return `${describe(node.parentElement)}/${node.localName}${first}${selectable.map(({ name, value }) => `${name}=${value}`)}`;
  }

  const styled = new Map(); // what the rules say, by description: nodes of one kind are many
  function ruled(node) {
    const key = describe(node);
    if (!styled.has(key)) {
      const meant = rules.filter(({ selector }) => {
        try {
          return node.matches(selector);
        } catch {
          return false; // a selector for a browser
        }
      });
      styled.set(key, Object.fromEntries(meant.flatMap(({ declared }) => declared)));
    }
    return styled.get(key);
  }

  function own(node) {
    const given = {};
    for (const { name, value } of node.attributes) if (PROPERTIES.has(name)) given[name] = value;
    Object.assign(given, ruled(node));
    for (const part of (node.getAttribute("style") ?? "").split(";")) {
      const [name, value] = part.split(/:([^]*)/).map((piece) => piece.trim());
      if (PROPERTIES.has(name)) given[name] = value;
    }
    return given;
  }

  // The same nodes in the dark; and for each colour by day, those that stand for it there.
  const twins = new Map();
  const meanings = new Map();
  const meaningsOf = (name, value) => {
    const key = `${name} ${resolved(value, light)}`;
    if (!meanings.has(key)) meanings.set(key, []);
    return meanings.get(key);
  };
  (function pair(node, twin) {
    if (!twin) return;
    const inTheDark = own(twin);
    twins.set(node, twin);
    for (const [name, value] of Object.entries(own(node))) {
      const [known, color] = [meaningsOf(name, value), resolved(inTheDark[name] ?? value, dark)];
      if (!known.some((one) => areAlike(one, color))) known.push(color);
    }
    [...node.children].forEach((child, i) => pair(child, twin.children[i]));
  })(stage, night);

  /** A property as an attribute has it; what differs in the dark is kept in mind. */
  function written(name, value) {
    const [day, later] = [light, dark].map((colours) => resolved(value, colours));
    const text = day.replace(/url\(#([^)]+)\)/, (_, id) => `url(#${nameOf(id)})`);
    if (later !== day) darker.set(`[${name}="${text}"]`, `${name}:${later}`);
    if (name === "transform") return rounded(text.replace(/(\d)px/g, "$1"), 4);
    return text.replace(/px$/, "");
  }

  function nameOf(id) {
    const known = [...names.keys()].find((each) => each === id);
    if (!known) names.set(id, `${id.split("-")[1]}${names.size || ""}`);
    return names.get(id);
  }

  /** A stroke that does not scale with its group, and a text around its middle, without the words of
      SVG that some programs do not know. */
  function plainly(tag, attributes, { scale: [across, down], ...now }) {
    const take = (name) => {
      const at = attributes.findIndex(([known]) => known === name);
      return at < 0 ? undefined : attributes.splice(at, 1)[0][1];
    };
    if (tag === "text" && now["dominant-baseline"] === "central") {
      const middle = Number(take("y") ?? 0) + 0.35 * parseFloat(now["font-size"]);
      attributes.push(["y", rounded(String(middle), 2)]);
    }
    if (take("vector-effect") === undefined) return;
    if (Math.abs(across - down) < 1e-3) {
      take("stroke-width");
      attributes.push([
        "stroke-width",
        rounded(String(Number(now["stroke-width"] ?? 1) / across), 2),
      ]);
      return;
    }
    for (const [name, factor] of [
      ["x", across],
      ["width", across],
      ["y", down],
      ["height", down],
    ]) {
      const size = take(name);
      if (size) attributes.push([name, rounded(String(Number(size) * factor), 2)]);
    }
    attributes.push(["transform", rounded(`scale(${1 / across} ${1 / down})`, 4)]);
  }

  function drawn(node, inherited) {
    if (node.nodeType === 3) return escaped(node.data);
    if (node.nodeType !== 1 || node.hidden || "live" in node.dataset) return "";
    const properties = own(node);
    const { display, visibility, opacity } = properties;
    if (display === "none" || visibility === "hidden" || Number(opacity ?? 1) < 0.01) return "";
    const tag = node.localName;
    const now = { ...inherited };
    const attributes = [];
    for (const { name, value } of node.attributes) {
      const isSize = (name === "width" || name === "height") && tag !== "svg";
      if (PROPERTIES.has(name) || (LEFT_OUT.test(name) && !isSize)) continue;
      attributes.push([name, rounded(value, 2)]);
    }
    if (node.id) attributes.unshift(["id", nameOf(node.id)]);
    const inTheDark = twins.has(node) ? own(twins.get(node)) : properties;
    for (const [name, value] of Object.entries(properties)) {
      if (value === "inherit" || name === "display" || name === "visibility") continue;
      const text = written(name, value);
      const other = inTheDark[name] ?? value;
      const isOther = other !== value && !other.startsWith("url("); // whose names are random
      if (isOther) {
        const [meant, ...others] = meaningsOf(name, value);
        if (others.length === 0) darker.set(`[${name}="${text}"]`, `${name}:${meant}`);
        else {
          const color = resolved(other, dark);
          attributes.push([`data-dark-${name}`, color]);
          darkest.set(`[data-dark-${name}="${color}"]`, `${name}:${color}`);
        }
      }
      if (text === (now[name] ?? INITIAL[name]) && !isOther) continue;
      if (INHERITED.includes(name)) now[name] = text;
      if (name !== "dominant-baseline") attributes.push([name, text]);
    }
    const scale = properties.transform?.match(/scale\(([\d.]+)(?:[ ,]+([\d.]+))?\)/);
    if (scale) now.scale = now.scale.map((one, i) => one * Number(scale[i + 1] ?? scale[1]));
    plainly(tag, attributes, now);
    const isShape = !["g", "text", "tspan", "defs", "pattern"].includes(tag);
    const isClear = ["none", "transparent"].includes(now.fill) || now["fill-opacity"] === "0";
    const isEmpty = isClear && (now.stroke ?? "none") === "none";
    if (isShape && (isEmpty || node.getAttribute("d") === "" || node.getAttribute("width") === "0"))
      return "";
    const inner = [...node.childNodes].map((child) => drawn(child, now)).join("");
    if (["g", "text", "defs"].includes(tag) && !inner.trim()) return "";
    if (tag === "g" && attributes.length === 0) return inner;
    const all = attributes.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
    return inner ? `<${tag}${all}>${inner}</${tag}>` : `<${tag}${all}/>`;
  }

  // What shapes and texts start from: the picture's own attributes.
  const base = { fill: light["--aw-ink"], "font-size": "13", scale: [1, 1] };

  /** The cells of a canvas as lines, one for neighbours of one colour; of many colours, the nearest
      of some. Columns and rows are counted, and the picture is stretched to its place. */
  function cells(canvas, later) {
    const { width, height, data } = canvas.painted;
    const [left, top, wide, high] = ["left", "top", "width", "height"].map((name) =>
      parseFloat(canvas.style.getPropertyValue(name)),
    );
    const pixels = Array.from({ length: width * height }, (_, i) => [
      ...data.slice(4 * i, 4 * i + 4),
    ]);
    const step = new Set(pixels.map(String)).size > MANY ? 16 : 1;
    const colors = pixels.map(([red, green, blue, alpha]) => {
      const parts = [red, green, blue].map((part) => Math.min(255, Math.round(part / step) * step));
      return alpha ? `rgb(${parts})` : "";
    });
    if (later) {
      const sums = new Map(); // of the dark colours that stand where one is
      colors.forEach((color, i) => {
        if (!sums.has(color)) sums.set(color, [0, 0, 0, 0]);
        sums.get(color).forEach((_, part, sum) => {
          sum[part] += part < 3 ? later[4 * i + part] : 1;
        });
      });
      for (const [color, [red, green, blue, count]] of sums) {
        const mean = [red, green, blue].map((sum) => Math.round(sum / count));
        if (color) darker.set(`[stroke="${color}"]`, `stroke:rgb(${mean})`);
      }
    }
    const lines = new Map();
    colors.forEach((color, i) => {
      if (i % width && color === colors[i - 1]) return;
      let long = 1;
      while ((i + long) % width && colors[i + long] === color) long += 1;
      const line = `M${i % width} ${Math.floor(i / width)}h${long}`;
      lines.set(color, (lines.get(color) ?? "") + line);
    });
    const hatched = lines.delete("")
      ? `<rect x="${left}" y="${top}" width="${wide}" height="${high}" fill="url(#hatched)"/>`
      : "";
    const place = `translate(${left} ${top + high / height / 2}) scale(${wide / width} ${high / height})`;
    const { opacity } = own(canvas);
    const look = `transform="${rounded(place, 4)}" shape-rendering="crispEdges"${opacity ? ` opacity="${opacity}"` : ""}`;
    const all = [...lines].map(([color, d]) => `<path d="${d}" stroke="${color}"/>`);
    return `${hatched}<g ${look}>${all.join("")}</g>`;
  }

  /** A line of HTML that says what colours mean, or a title: texts, a map's colours, hatching. What has
      no room in the line goes on below it; returned is how high all is. */
  function legend(node, x, y, width) {
    const parts = [];
    let [right, down] = [0, 0];
    const put = (wide, draw) => {
      if (right > 0 && right + wide > width) [right, down] = [0, down + LINE];
      parts.push(draw(Math.round(x + right), y + down));
      right += Math.round(wide) + 8;
    };
    for (const part of node.childNodes) {
      if (part.hidden) continue;
      const [kind, which] = part.className?.split(" ") ?? [];
      if (kind === "attention-ramp") {
        const { opacity } = own(part);
        const look = `rx="3" fill="url(#${which ? "score" : "weight"})"${opacity ? ` opacity="${opacity}"` : ""}`;
        put(160, (at, top) => `<rect x="${at}" y="${top + 2}" width="160" height="12" ${look}/>`);
      } else if (kind === "attention-swatch") {
        const look = `width="22" height="14" rx="3" fill="url(#hatched)"`;
        put(22, (at, top) => `<rect x="${at}" y="${top + 1}" ${look}/>`);
      } else {
        for (const line of linesOf(part.textContent, width))
          put(
            breadth(line) * 13,
            (at, top) => `<text x="${at}" y="${top + 13}" ${muted}>${escaped(line)}</text>`,
          );
      }
    }
    pieces.push(parts.join(""));
    return down + 16;
  }
  const muted = `fill="${written("fill", "var(--aw-muted)")}"`;

  /** Lay out a node and what it holds, one below the other or in columns; how high it is. */
  const pieces = [];
  function lay(node, x, y, width) {
    if (node.nodeType !== 1 || node.hidden) return 0;
    if (node.localName === "svg") {
      const picture = [...node.childNodes]
        .map((child) => drawn(child, { ...base, ...rootOf(node) }))
        .join("");
      const [left, top] = [x, y].map((number) => rounded(String(number), 2));
      const size = ["width", "height"].map((name) => `${name}="${node.getAttribute(name)}"`);
      const { overflow } = own(node);
      pieces.push(
        `<svg x="${left}" y="${top}" ${size.join(" ")} overflow="${overflow}">${picture}</svg>`,
      );
      return Number(node.getAttribute("height"));
    }
    if (node.localName === "canvas") {
      const over = node.parentElement.querySelector("svg"); // what lies beyond it is not seen
      const size = ["width", "height"]
        .map((name) => `${name}="${over.getAttribute(name)}"`)
        .join(" ");
      if (node.painted)
        pieces.push(
          `<svg x="${x}" y="${y}" ${size}>${cells(node, twins.get(node)?.painted.data)}</svg>`,
        );
      return 0;
    }
    if ("drawn" in node.dataset) return legend(node, x, y, width);
    const columns = columnsOf(node, width);
    let [down, high] = [0, 0];
    [...node.children].forEach((child, i) => {
      const column = i % columns.count;
      if (column === 0 && high) [down, high] = [down + high + 12, 0];
      high = Math.max(
        high,
        lay(child, x + column * (columns.width + GAP), y + down, columns.width),
      );
    });
    return down + high;
  }
  const rootOf = (node) => {
    const { fill, stroke } = own(node);
    return { ...(fill && { fill }), ...(stroke && { stroke }) };
  };

  const high = Math.ceil(lay(stage, MARGIN, MARGIN, WIDTH)) + 2 * MARGIN;
  const size = `width="${WIDTH + 2 * MARGIN}" height="${high}"`;
  const ground = `<rect id="ground" ${size} rx="10" fill="${light["--aw-paper"]}"/>`;
  darker.set(`[fill="${light["--aw-paper"]}"]`, `fill:${dark["--aw-paper"]}`);
  darker.set(`svg`, `fill:${dark["--aw-ink"]}`);
  const gradient = (id, map) => {
    const colors = map.split(", ");
    const stops = colors.map((color, i) => {
      const offset = rounded(String(i / (colors.length - 1)), 3);
      return `<stop offset="${offset}" stop-color="${color}"/>`;
    });
    return `<linearGradient id="${id}">${stops.join("")}</linearGradient>`;
  };
  const ramp = (name) => {
    const [day, later] = [light, dark].map((colours) => colours[`--aw-${name}-map`]);
    if (day === later) return gradient(name, day);
    const other = `${name}InTheDark`;
    darker.set(`[fill="url(#${name})"]`, `fill:url(#${other})`);
    return gradient(name, day) + gradient(other, later);
  };
  const hatching = `<rect width="8" height="8" fill="${written("fill", "var(--aw-mask)")}"/><path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="${written("stroke", "var(--aw-mask-line)")}" stroke-width="1.2"/>`;
  const picture = pieces.join("\n");
  const fills = Object.entries({
    weight: () => ramp("weight"),
    score: () => ramp("score"),
    hatched: () =>
      `<pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse">${hatching}</pattern>`,
  }).map(([name, fill]) => (picture.includes(`url(#${name})`) ? fill() : ""));
  const rest = [...darker, ...darkest].map(([selector, rule]) => `${selector}{${rule}}`).join("");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH + 2 * MARGIN} ${high}" ${size} ` +
    `font-family="Book Sans, system-ui, sans-serif" font-size="13" fill="${base.fill}">\n` +
    `<title>${escaped(title)}</title>\n<desc>${escaped(words)}</desc>\n` +
    `<style>@media (prefers-color-scheme:dark){${rest}}</style>\n${ground}\n${fills.join("")}${picture}\n</svg>\n`
  );
}
