// The frame of every figure: what it draws on, how it draws anew, what it says.

import { createControls } from "./controls.js";
import { element, setAttributes, setText } from "./elements.js";
import { fixed } from "./numbers.js";
import { createPlot } from "./plot.js";

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
  function set(trait, value) {
    model.set(trait, value);
    model.save_changes();
  }
  const controls = createControls({ model, set, signal });
  const stage = element("div", { class: "attention-stage" });
  const readouts = element("div", { class: "attention-readouts" });
  const details = element("div", { class: "attention-details" });
  const finding = element("p", { class: "attention-finding", "aria-hidden": "true" });
  const spoken = element("p", { class: "attention-unseen", "aria-live": "polite" });
  const failure = element("p", { class: "attention-failure", role: "alert", hidden: true });
  const root = element(
    "div", { class: "attention-view", role: "group", "aria-label": label },
    element(
      "div", { class: `attention-layout${aside ? " attention-aside" : ""}` },
      stage, controls.place, readouts, details,
    ),
    finding, spoken, failure,
  );
  const plots = [];
  const parts = new Map();
  const initial = Object.fromEntries(traits.map((trait) => [trait, model.get(trait)]));
  let draw;
  let frame = 0;
  let speaking = 0;

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
    controls.refresh(trait);
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

  return {
    root, stage, controls: controls.place, readouts, details, signal, set, ...controls.kinds,

    /** An SVG as wide as its place, `plot.width` × `height` pixels; `description` names it. */
    plot({ height, description, parent = stage }) {
      const plot = createPlot({ height, description, parent, signal });
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
      controls.kinds.button("Reset", () => {
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
