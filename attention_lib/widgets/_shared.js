// What every figure with sliders shares in the browser: building elements, controls bound to
// traits, readouts, redrawing, cleaning up; and the little arithmetic that several figures need.

const SVG = "http://www.w3.org/2000/svg";

// ---------------------------------------------------------------- elements

function build(node, attributes, children) {
  setAttributes(node, attributes);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element. Children are nodes, or text that is set as text. */
export function element(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. Children are nodes, or text that is set as text. */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

// What has been written to each node: a draw writes only what differs, since a page is slow to write
// to, and lays out anew whatever was written.
const written = new WeakMap();

function writtenTo(node) {
  if (!written.has(node)) written.set(node, {});
  return written.get(node);
}

/** Set attributes that have changed; null and false take one away, true sets an empty one. Numbers
    are those of a picture: a hundredth is enough, and what moves less is not written anew. */
export function setAttributes(node, attributes) {
  const known = writtenTo(node);
  for (const name in attributes) {
    const given = attributes[name];
    if (known[name] === given) continue;
    const value = typeof given === "number" ? Math.round(given * 100) / 100 : given;
    if (known[name] === value) continue;
    known[name] = value;
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

/** Set the text of a node, where it has changed. */
export function setText(node, text) {
  const known = writtenTo(node);
  if (known["#text"] === text) return;
  known["#text"] = text;
  if (node.firstChild) node.firstChild.data = text;
  else node.append(text);
}

// Nodes that were taken out of a parent, the first of them last: it will want the same ones again.
const spare = new WeakMap();

/** Let an SVG element have these children, each `[tag, attributes, text]`; the nodes are kept. */
export function setChildren(parent, children) {
  const nodes = parent.childNodes;
  if (!spare.has(parent)) spare.set(parent, []);
  const taken = spare.get(parent);
  while (nodes.length > children.length) {
    taken.push(parent.lastChild);
    parent.lastChild.remove();
  }
  children.forEach(([tag, attributes, text], i) => {
    let node = nodes[i];
    if (node?.localName !== tag) {
      const fresh = !node && taken.at(-1)?.localName === tag ? taken.pop() : document.createElementNS(SVG, tag);
      if (node) node.replaceWith(fresh);
      else parent.append(fresh);
      node = fresh;
    }
    const known = writtenTo(node);
    for (const name in known) {
      if (name !== "#text" && !(name in attributes)) setAttributes(node, { [name]: null });
    }
    setAttributes(node, attributes);
    if (text !== undefined) setText(node, text);
  });
}

/** An id that no other view has, for patterns and clip paths. */
export function uniqueId(name) {
  return `attention-${name}-${Math.random().toString(36).slice(2, 12)}`;
}

// ---------------------------------------------------------------- numbers

/** Three decimals, as in the rest of the book; a true minus sign. */
export function fixed(value, digits = 3) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

/** At most `digits` significant digits, without an exponent. */
export function short(value, digits = 3) {
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** Softmax of finite scores in float64, by way of the largest. */
export function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** Entropy in nats. */
export function entropy(weights) {
  return weights.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0);
}

export const DTYPES = ["float16", "bfloat16", "float32", "float64"];

// Bits of the fraction, smallest and largest exponent of a normal number.
const FORMATS = {
  float16: { fraction: 10, smallest: -14, largest: 15 },
  bfloat16: { fraction: 7, smallest: -126, largest: 127 },
};

/** `value` rounded to a dtype, ties to even, subnormals and overflow included, as PyTorch does: the
    half types by way of float32. */
export function round(value, dtype) {
  if (dtype === "float64") return value;
  const single = Math.fround(value);
  if (dtype === "float32" || single === 0 || !Number.isFinite(single)) return single;
  const { fraction, smallest, largest } = FORMATS[dtype];
  // log2 may be one off next to a power of two; the comparisons mend that.
  let exponent = Math.floor(Math.log2(Math.abs(single)));
  if (2 ** exponent > Math.abs(single)) exponent -= 1;
  if (2 ** (exponent + 1) <= Math.abs(single)) exponent += 1;
  const unit = 2 ** (Math.max(exponent, smallest) - fraction);
  const steps = single / unit; // exact: unit is a power of two
  const floor = Math.floor(steps);
  const rest = steps - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 !== 0);
  const rounded = (up ? floor + 1 : floor) * unit;
  if (Math.abs(rounded) >= 2 ** (largest + 1)) return Math.sign(single) * Infinity;
  return rounded === 0 ? 0 * single : rounded; // −0 stays −0
}

/** Softmax as PyTorch computes it on a CPU: the half types in float32, rounded at the end.
    A row of −∞ gives NaN. */
export function roundedSoftmax(given, dtype) {
  const working = dtype === "float64" ? "float64" : "float32";
  const rounded = given.map((score) => round(score, dtype));
  const largest = Math.max(...rounded);
  const powers = rounded.map((score) => round(Math.exp(round(score - largest, working)), working));
  const total = powers.reduce((sum, power) => round(sum + power, working), 0);
  return powers.map((power) => round(round(power / total, working), dtype));
}

// ---------------------------------------------------------------- colours

/** A map of the palette as a function from 0…1 to [red, green, blue]. It asks `node` for the palette
    when it is first used; the node stands on the page then. */
export function colorMap(node, name = "--aw-weight-map") {
  let stops;
  return (share) => {
    stops ??= getComputedStyle(node).getPropertyValue(name).split(",").map((stop) => {
      const value = parseInt(stop.trim().slice(1), 16);
      return [value >> 16, (value >> 8) & 255, value & 255];
    });
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((from, i) => Math.round(from + (place - low) * (stops[low + 1][i] - from)));
  };
}

/** A map as 256 pixels of a canvas, from 0 to 1. */
export function pixelMap(color) {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const [red, green, blue] = color(i / 255);
    return (255 << 24) | (blue << 16) | (green << 8) | red;
  });
}

/** The class of a text that is readable on a colour of a map. */
export function readableOn([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((part) => (
    part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4
  ));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.205 ? "attention-on-light" : "attention-on-dark";
}

/** Add the fills for masked cells (hatched) and for NaN (crossed) to an SVG. */
export function addPatterns(picture) {
  const pattern = (name, ground, line, strokes) => {
    const id = uniqueId(name);
    picture.prepend(svg("defs", {}, svg(
      "pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, fill: `var(${ground})` }),
      svg("path", { d: strokes, stroke: `var(${line})`, "stroke-width": 1.2, fill: "none" }),
    )));
    return `url(#${id})`;
  };
  return {
    masked: pattern("masked", "--aw-mask", "--aw-mask-line", "M-2 2L2 -2M0 8L8 0M6 10L10 6"),
    nan: pattern("nan", "--aw-nan", "--aw-paper", "M2 2L6 6M6 2L2 6"),
  };
}

// ---------------------------------------------------------------- a view

/**
 * The frame of a figure: a stage to draw on, controls and a reset, readouts, a finding in words.
 *
 * A figure fills it by `plot`, `slider`, `choice`, `toggle`, `button` and `readout`, calls
 * `start(draw)` once, and returns `view.cleanup`. `draw` reads everything from the model; it runs
 * when the figure is on the page, and before the next paint whenever one of `traits` has changed or
 * the figure's width has. With `aside`, the readouts stand beside the stage where there is room.
 */
export function createView({ model, el }, { label, traits, aside = false }) {
  const controller = new AbortController();
  const { signal } = controller;
  const stage = element("div", { class: "attention-stage" });
  const controls = element("div", { class: "attention-controls" });
  const readouts = element("div", { class: "attention-readouts" });
  const details = element("div", { class: "attention-details" });
  const finding = element("p", { class: "attention-finding", "aria-hidden": "true" });
  const spoken = element("p", { class: "attention-unseen", "aria-live": "polite" });
  const failure = element("p", { class: "attention-failure", role: "alert", hidden: true });
  const root = element(
    "div", { class: "attention-view", role: "group", "aria-label": label },
    element(
      "div", { class: `attention-layout${aside ? " attention-aside" : ""}` },
      stage, controls, readouts, details,
    ),
    finding, spoken, failure,
  );
  const refreshers = new Map();
  const plots = [];
  const parts = new Map();
  const initial = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
  let draw;
  let frame = 0;
  let speaking = 0;

  function set(trait, value) {
    model.set(trait, value);
    model.save_changes();
  }

  function redraw() {
    frame = 0;
    try {
      draw();
      failure.hidden = true;
    } catch (error) {
      failure.textContent = `These settings cannot be drawn: ${error.message}`;
      failure.hidden = false;
    }
  }

  /** Draw a few times what stands, a frame each: the browser compiles what runs often, and the first
      key need not wait for that. */
  function warm(turns) {
    frame = requestAnimationFrame(() => {
      redraw();
      if (turns > 1) warm(turns - 1);
    });
  }

  const listeners = traits.map((trait) => [`change:${trait}`, () => {
    refreshers.get(trait)?.();
    if (frame === 0) frame = requestAnimationFrame(redraw);
  }]);

  /** Fit the plots to their places; the first time, and when a width has changed, draw. */
  let drawn = false;
  function fit() {
    if (!root.isConnected) return;
    const resized = plots.filter((plot) => {
      const width = Math.floor(plot.svg.parentNode.clientWidth);
      if (width === 0 || width === plot.width) return false;
      plot.resize(width);
      return true;
    });
    if (drawn && resized.length === 0) return;
    drawn = true;
    redraw();
  }
  const resizing = new ResizeObserver(fit);

  function addControl(trait, node, refresh) {
    controls.append(node);
    refreshers.set(trait, refresh);
    refresh();
  }

  return {
    root, stage, controls, readouts, details, signal, set,

    /** An SVG as wide as its place, `plot.width` × `height` pixels; `description` names it. */
    plot({ height, description, parent = stage }) {
      const picture = svg("svg", { role: "img", "aria-label": description });
      const plot = {
        svg: picture,
        height,
        resize(width) {
          plot.width = width;
          setAttributes(picture, { width, height, viewBox: `0 0 ${width} ${height}` });
        },
        /** Call `move(x, y)` where the pointer goes down, and wherever it is dragged from there. */
        drag(move) {
          picture.classList.add("attention-grab");
          const follow = (event) => {
            const { left, top } = picture.getBoundingClientRect();
            move(event.clientX - left, event.clientY - top);
          };
          picture.addEventListener("pointerdown", (event) => {
            picture.setPointerCapture(event.pointerId);
            follow(event);
          }, { signal });
          picture.addEventListener("pointermove", (event) => {
            if (picture.hasPointerCapture(event.pointerId)) follow(event);
          }, { signal });
        },
      };
      plot.resize(280);
      parent.append(element("div", { class: "attention-frame" }, picture));
      plots.push(plot);
      return plot;
    },

    /** A number with its name; returns a function of `(value, text)`. Tests read `data-value`. */
    readout({ name, label: title, parent = readouts }) {
      const output = element(
        "output", { "data-readout": name, "aria-label": title, "aria-live": "off" },
      );
      const card = element(
        "div", { class: "attention-readout" },
        element("span", { class: "attention-name", "aria-hidden": "true" }, title), output,
      );
      parent.append(card);
      const show = (value, text = fixed(value)) => {
        setText(output, text);
        setAttributes(output, { "data-value": String(value) });
      };
      return Object.assign(show, { card });
    },

    /** A range input. Where its positions are not the trait's values, `value` makes a value of a
        position and `position` the other way; `text` is shown, `words` are read out. */
    slider({
      trait, label: title, min, max, step = 1,
      value = (position) => position, position = (given) => given, text = String, words = text,
    }) {
      const input = element("input", { type: "range", min, max, step });
      const shown = element("span", { class: "attention-value", "aria-hidden": "true" });
      input.addEventListener("input", () => set(trait, value(Number(input.value))), { signal });
      addControl(
        trait,
        element(
          "label", { class: "attention-control", "data-trait": trait },
          element("span", { class: "attention-name" }, title), shown, input,
        ),
        () => {
          const given = model.get(trait);
          input.value = String(position(given));
          setAttributes(input, { "aria-valuetext": words(given) });
          setText(shown, text(given));
        },
      );
      return input;
    },

    /** Radio buttons, for a choice without an order; `options` are `[value, text]` pairs. */
    choice({ trait, label: title, options }) {
      const group = uniqueId(trait);
      const inputs = options.map(([value]) => {
        const input = element("input", { type: "radio", name: group, value });
        input.addEventListener("change", () => set(trait, value), { signal });
        return input;
      });
      addControl(
        trait,
        element(
          "fieldset", { class: "attention-control", "data-trait": trait },
          element("legend", { class: "attention-name" }, title),
          element(
            "div", { class: "attention-options" },
            ...options.map(([, text], i) => element(
              "label", { class: "attention-option" }, inputs[i], element("span", {}, text),
            )),
          ),
        ),
        () => inputs.forEach((input, i) => { input.checked = options[i][0] === model.get(trait); }),
      );
      return inputs;
    },

    /** A check box. */
    toggle({ trait, label: title }) {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set(trait, input.checked), { signal });
      addControl(
        trait,
        element(
          "label", { class: "attention-option attention-toggle", "data-trait": trait },
          input, element("span", {}, title),
        ),
        () => { input.checked = Boolean(model.get(trait)); },
      );
      return input;
    },

    /** A button among the controls. */
    button(text, act) {
      const button = element("button", { type: "button", class: "attention-button" }, text);
      button.addEventListener("click", act, { signal });
      controls.append(button);
      return button;
    },

    /** Draw a part, unless it stands: `needed`, a text, is all that it depends on. */
    part(name, needed, drawPart) {
      if (parts.get(name) === needed) return;
      drawPart();
      parts.set(name, needed);
    },

    /** Say what is seen in one sentence: shown at once, read out when the sliders rest. */
    say(sentence) {
      setText(finding, sentence);
      clearTimeout(speaking);
      speaking = setTimeout(() => setText(spoken, sentence), 600);
    },

    /** Add the reset, go on the page, draw, and keep drawing until cleanup. */
    start(drawNow) {
      draw = drawNow;
      this.button("Reset", () => {
        for (const trait of traits) model.set(trait, initial[trait]);
        model.save_changes();
      });
      for (const [event, listener] of listeners) model.on(event, listener);
      el.append(root);
      fit();
      warm(4);
      resizing.observe(root);
    },

    cleanup() {
      controller.abort();
      resizing.disconnect();
      cancelAnimationFrame(frame);
      clearTimeout(speaking);
      for (const [event, listener] of listeners) model.off(event, listener);
      root.remove();
    },
  };
}
