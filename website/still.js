// What a figure has drawn, read from the page by the browser that drew it: the shapes of its stage as
// plain data, with the style that the browser computed. Python writes them down (website/stills.py).

(() => {
  const INITIAL = {
    ...{ fill: "#000000", "fill-opacity": "1", stroke: "none", "stroke-width": "1" },
    ...{ "stroke-opacity": "1", "stroke-dasharray": "none", "stroke-linecap": "butt" },
    ...{ "stroke-linejoin": "miter", "font-family": "", "font-size": "16", "font-weight": "400" },
    ...{ "font-style": "normal", "text-anchor": "start", "dominant-baseline": "auto" },
    ...{ "paint-order": "normal", "shape-rendering": "auto" },
  };
  const OWN = { opacity: "1", transform: "none", "vector-effect": "none", "stop-color": "#000000" };
  const LEFT_OUT = /^(class|style|role|id|tabindex|hidden|viewBox|xmlns|aria-.*|data-.*)$/;
  const names = new Map(); // the ids of a page are random; those of a still count

  const nameOf = (id) => {
    if (!names.has(id)) names.set(id, `part${names.size}`);
    return names.get(id);
  };
  const number = (value, digits = 2) => String(Number(Number(value).toFixed(digits)));
  const rounded = (text, digits = 2) =>
    text.replace(/-?\d*\.\d+(?:e-?\d+)?/g, (each) => number(each, digits));

  /** A computed value as an attribute has it: colours as #rrggbb, lengths without px. */
  function plain(value) {
    const url = value.match(/url\("?#([^")]+)"?\)/);
    if (url) return `url(#${nameOf(url[1])})`;
    if (value.startsWith("matrix(")) return rounded(value, 4);
    const color = value.match(/^(?:rgba?|color)\((?:srgb)?(.*)\)$/);
    if (!color) return rounded(value.replace(/(\d)px/g, "$1"));
    const [red, green, blue, alpha = 1] = color[1].match(/[\d.e-]+/g).map(Number);
    if (alpha === 0) return "none";
    const parts = [red, green, blue].map((part) => part * (value.startsWith("color") ? 255 : 1));
    const hex = parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
    return `#${hex}${
      alpha < 1
        ? Math.round(alpha * 255)
            .toString(16)
            .padStart(2, "0")
        : ""
    }`;
  }

  const shape = (tag, attributes, children = []) => ({ tag, attributes, children });

  /** An SVG element and what it holds; null for what is not to be seen, or only serves a hand. */
  function drawn(node, inherited) {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || "live" in node.dataset) return null;
    const style = getComputedStyle(node);
    if (style.visibility === "hidden" || Number(style.opacity) < 0.01) return null;
    if (style.display === "none" && !node.closest("defs")) return null;
    const tag = node.localName;
    const attributes = node.id ? { id: nameOf(node.id) } : {};
    for (const { name, value } of node.attributes) {
      if (!LEFT_OUT.test(name) && !(name in INITIAL) && !(name in OWN)) {
        attributes[name] = rounded(value);
      }
    }
    const now = { ...inherited };
    for (const name in INITIAL) {
      const value = plain(style.getPropertyValue(name));
      if (value !== now[name]) attributes[name] = now[name] = value;
    }
    for (const name in OWN) {
      const value = plain(style.getPropertyValue(name));
      if (value !== OWN[name] && (name !== "stop-color" || tag === "stop"))
        attributes[name] = value;
    }
    const children = [...node.childNodes].map((child) => drawn(child, now)).filter(Boolean);
    const isGroup = ["g", "text", "tspan", "defs"].includes(tag);
    const isEmpty = isGroup
      ? children.length === 0
      : attributes.d === "" || attributes.width === "0";
    return isEmpty ? null : shape(tag, attributes, children);
  }

  const stage = document.querySelector(".attention-stage");
  const corner = stage.getBoundingClientRect();
  const variable = (name) => getComputedStyle(stage).getPropertyValue(name).trim();

  const extent = { top: Infinity, bottom: 0 }; // of what is drawn

  /** Where an element or a range lies on the stage. */
  function placeOf(thing) {
    const { left, top, width, height } = thing.getBoundingClientRect();
    const at = { x: left - corner.left, y: top - corner.top, width, height };
    extent.top = Math.min(extent.top, Math.floor(at.y));
    extent.bottom = Math.max(extent.bottom, Math.ceil(at.y + height));
    return Object.fromEntries(Object.entries(at).map(([name, value]) => [name, number(value)]));
  }

  /** The lines of a text of HTML, each where the browser has set it. */
  function lines(text) {
    const style = getComputedStyle(text.parentElement);
    const size = parseFloat(style.fontSize);
    const range = document.createRange();
    const found = [];
    for (const word of text.data.matchAll(/\S+/g)) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const { x, y, height } = placeOf(range);
      if (found.at(-1)?.top === y) found.at(-1).words.push(word[0]);
      else found.push({ x, top: y, base: Number(y) + height / 2 + 0.35 * size, words: [word[0]] });
    }
    return found.map(({ x, base, words }) =>
      shape(
        "text",
        {
          ...{ x, y: number(base), fill: plain(style.color), "font-size": number(size) },
          ...{ "font-family": style.fontFamily, "font-weight": style.fontWeight },
        },
        [words.join(" ")],
      ),
    );
  }

  /** The colours of a map from left to right, as the ramp of a legend. */
  function ramp(node) {
    const colors = variable("--aw-weight-map").split(", "); // more of them by day than in the dark
    const id = nameOf("ramp");
    const stops = Array.from({ length: 11 }, (_, i) =>
      shape("stop", {
        offset: number(i / 10),
        "stop-color": colors[Math.round((i * (colors.length - 1)) / 10)],
      }),
    );
    const { opacity } = getComputedStyle(node);
    const look = { rx: "3", fill: `url(#${id})`, ...(opacity < 1 && { opacity }) };
    return [shape("linearGradient", { id }, stops), shape("rect", { ...placeOf(node), ...look })];
  }

  /** The hatching that says "masked", in a place. */
  function hatched(place) {
    const id = nameOf("hatching");
    const size = { width: "8", height: "8" };
    const line = { d: "M-2 2L2 -2M0 8L8 0M6 10L10 6", stroke: variable("--aw-mask-line") };
    return [
      shape("pattern", { id, ...size, patternUnits: "userSpaceOnUse" }, [
        shape("rect", { ...size, fill: variable("--aw-mask") }),
        shape("path", { ...line, "stroke-width": "1.2" }),
      ]),
      shape("rect", { ...place, fill: `url(#${id})` }),
    ];
  }

  /** The pixels of a canvas, as far as its frame shows them. */
  function painted(canvas) {
    const frame = placeOf(canvas.parentElement);
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const place = { x: left - corner.left - frame.x, y: top - corner.top - frame.y, width, height };
    for (const name in place) place[name] = number(place[name]);
    const { opacity, backgroundImage } = getComputedStyle(canvas);
    const look = { style: "image-rendering:pixelated", ...(opacity < 1 && { opacity }) };
    const cells = { ...place, preserveAspectRatio: "none", href: canvas.toDataURL(), ...look };
    const below = backgroundImage === "none" ? [] : hatched(place);
    return [shape("svg", { ...frame, overflow: "hidden" }, [...below, shape("image", cells)])];
  }

  /** Shapes for an element of the stage, and for all that it holds. */
  function shapes(node) {
    if (node.nodeType === Node.TEXT_NODE) {
      return node.parentElement.closest("[data-drawn]") ? lines(node) : [];
    }
    if (node.nodeType !== Node.ELEMENT_NODE || !node.checkVisibility()) return [];
    if (node.localName === "svg") {
      const style = { overflow: getComputedStyle(node).overflow };
      const picture = drawn(node, INITIAL);
      Object.assign(picture.attributes, placeOf(node), style);
      return [picture];
    }
    if (node.localName === "canvas") return painted(node);
    if (node.classList.contains("attention-ramp")) return ramp(node);
    if (node.classList.contains("attention-swatch")) return hatched({ ...placeOf(node), rx: "3" });
    return [...node.childNodes].flatMap(shapes);
  }

  const part = (name) => document.querySelector(`.attention-${name}`);
  const finding = part("finding");
  return {
    failure: part("failure").hidden ? "" : part("failure").textContent,
    title: part("title").textContent,
    desc: [finding.dataset.setting, finding.textContent].filter(Boolean).join(" "),
    paper: variable("--aw-paper"),
    shapes: shapes(stage),
    ...extent,
    width: corner.width,
  };
})();
