// A figure's view: what it draws on, how it draws anew, what it says.

import { addressName, partsOf, readAddress, writeAddress } from "./address.js";
import { turnPalette } from "./colors.js";
import { createControls } from "./controls.js";
import { element, setAttributes, setText } from "./elements.js";
import { createFrame } from "./frame.js";
import { fixed } from "./numbers.js";
import { createMotion } from "./motion.js";
import { createPlay } from "./play.js";
import { createPlot } from "./plot.js";
import { download, pageOf } from "./save.js";

/**
 * A figure: title and task, a stage to draw on, at most two controls in sight and the others under
 * More, readouts, a finding in words, and the tools: reset, link, whole screen.
 *
 * A figure fills it by `plot`, `slider`, `choice`, `toggle`, `field`, `button`, `play` and
 * `readout`, calls `start(draw)` once, and returns `view.cleanup`. `draw` reads everything from the
 * model by `view.state()`: the values of `traits`, which a reader sets, and of those that are `given`
 * by Python. It runs when the figure is on the page, and before the next paint whenever one of
 * `traits` has changed or the figure's width has. With `aside`, the readouts stand beside the stage
 * where there is room; one that `isScrolled` by the page's text scrolls the page itself; one that
 * `isQuiet` has its tools under More, and "…" in place of that word.
 */
export function createView(
  { model, el },
  { label, task = "", traits, given = [], aside = false, isScrolled = false, isQuiet = false },
) {
  const controller = new AbortController();
  const { signal } = controller;
  function set(trait, value) {
    model.set(trait, value);
    model.save_changes();
  }
  function setAll(values) {
    for (const trait in values) model.set(trait, values[trait]);
    model.save_changes();
  }
  const valuesOf = (names) => Object.fromEntries(names.map((trait) => [trait, model.get(trait)]));
  const initial = valuesOf(traits);
  const address = addressName(el);
  const starting = []; // what else begins anew with a reset
  const onReset = (act) => starting.push(act);

  /** Act when a trait has changed, until cleanup. */
  function onChange(trait, act) {
    model.on(`change:${trait}`, act);
    signal.addEventListener("abort", () => model.off(`change:${trait}`, act));
  }
  const {
    root,
    stage,
    controls: place,
    readouts,
    more,
    task: taskLine,
    finding,
    spoken,
    failure,
  } = createFrame({
    title: label,
    aside,
    isQuiet,
    signal,
    link: address && (() => writeAddress(address, valuesOf(traits), initial)),
    reset() {
      setAll(initial);
      for (const act of starting) act();
    },
  });
  const ask = (text) => setText(taskLine, model.get("task") || text);
  ask(task);
  const controls = createControls({ model, set, signal, onReset, place, further: more.controls });

  /** Take what the page's address has for this figure; the rest is as at the start. */
  function follow({ first = false } = {}) {
    if (
      !location.hash
        .slice(1)
        .split("&")
        .some((part) => part.startsWith(`${address}.`))
    ) {
      if (partsOf(location.hash, address).length) comeIntoView(first);
      return;
    }
    const fromAddress = readAddress(location.hash, address, initial);
    const taken = Object.entries(fromAddress).filter(([trait, value]) =>
      controls.accepts(trait, value),
    );
    setAll({ ...initial, ...Object.fromEntries(taken) });
    comeIntoView(first);
  }

  /** Scroll to the figure's top, unless all of it is in sight. While the page is still coming in, what
      stands above may grow: the figure then stays in view until the reader does something, or for
      three seconds. */
  function comeIntoView(first) {
    const { top, bottom } = root.getBoundingClientRect();
    if (isScrolled || (!first && top >= 0 && bottom <= innerHeight)) return;
    const scroll = () =>
      root.scrollIntoView({ block: "start", behavior: first ? "instant" : "auto" });
    scroll();
    if (!first) return;
    const growing = new ResizeObserver(scroll);
    growing.observe(document.body);
    const end = () => growing.disconnect();
    for (const type of ["wheel", "touchstart", "pointerdown", "keydown"]) {
      addEventListener(type, end, { signal, once: true, passive: true, capture: true });
    }
    signal.addEventListener("abort", end);
    setTimeout(end, 3000);
  }

  /** Where a link has led here from a place that is out of sight now: a button that goes back to it,
      as the browser's Back does, until the link is in sight again. */
  function offerReturn(link) {
    back?.remove();
    const { bottom, top } = link.getBoundingClientRect();
    if (top < innerHeight && bottom > 0) return;
    const button = element(
      "button",
      { type: "button", class: "attention-return" },
      top < 0 ? "↑ Back to the text" : "↓ Back to the text",
    );
    back = button;
    button.addEventListener("click", () => history.back(), { signal });
    el.append(button);
    const visibility = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      button.remove();
      visibility.disconnect();
    });
    visibility.observe(link);
    signal.addEventListener("abort", () => {
      visibility.disconnect();
      button.remove();
    });
  }
  let back;

  /** Light up the parts of the figure that a link of the page names, or let all rest. */
  function light(names) {
    for (const part of root.querySelectorAll(".attention-lit"))
      part.classList.remove("attention-lit");
    for (const name of names) {
      const ways = ["part", "trait", "readout"].map((kind) => `[data-${kind}="${name}"]`);
      for (const part of root.querySelectorAll(ways.join())) part.classList.add("attention-lit");
    }
  }

  /** Links in the text, such as #SoftLookup.temperature=2 or #SoftLookup:weights, are about this
      figure: it shows what they say, and its part lights up while they are pointed at. */
  function listen() {
    const partsUnder = ({ target }) =>
      partsOf(target.closest?.('a[href^="#"]')?.getAttribute("href") ?? "", address);
    for (const type of ["pointerover", "focusin"])
      document.addEventListener(type, (event) => light(partsUnder(event)), { signal });
    document.addEventListener(
      "click",
      (event) => {
        const link = event.target.closest?.('a[href^="#"]');
        if (!link || partsUnder(event).length === 0) return;
        event.preventDefault();
        history.replaceState({ ...history.state, reading: scrollY }, "");
        history.pushState(null, "", link.getAttribute("href"));
        follow();
        light(partsUnder(event));
        offerReturn(link);
      },
      { signal },
    );
  }

  const plots = [];
  const parts = new Map();
  let draw;
  let frame = 0;
  let speaking = 0;

  let scheme; // light or dark, when it was last drawn
  function redraw() {
    frame = 0;
    motion.begin();
    const now = getComputedStyle(root).colorScheme;
    if (now !== scheme) {
      if (scheme !== undefined) turnPalette();
      scheme = now;
      parts.clear();
    }
    try {
      draw();
      controls.refreshAll();
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

  function again() {
    if (frame === 0) frame = requestAnimationFrame(redraw);
  }
  let held = false; // a pointer or a key stays down: the picture follows closely
  root.addEventListener("pointerdown", () => (held = true), { signal });
  root.addEventListener(
    "keydown",
    (event) => {
      held = event.repeat;
      // A notebook's own keys would move on to another cell, or delete the figure's.
      if (!address && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    },
    { signal },
  );
  for (const type of ["pointerup", "pointercancel", "keyup"]) {
    addEventListener(type, () => (held = false), { signal });
  }
  const motion = createMotion({ again, isHeld: () => held });

  /** Fit the plots to their places; the first time, and when a width has changed, draw. */
  let drawn = false;
  function fit() {
    if (!root.isConnected) return;
    const resized = plots.filter((plot) => plot.fit());
    if (drawn && resized.length === 0) return;
    drawn = true;
    redraw();
  }
  const resizing = new ResizeObserver(fit);
  // What says that the page is dark stands at its root or its body: see figure.css.
  const turning = new MutationObserver(again);

  /** A number with its name; returns a function of `(value, text)`. Tests read `data-value`. */
  function readout({ name, label: title, parent = readouts }) {
    const output = element("output", {
      "data-readout": name,
      "aria-label": title,
      "aria-live": "off",
    });
    const titled = element("span", { class: "attention-name", "aria-hidden": "true" }, title);
    const card = parent.appendChild(element("div", { class: "attention-readout" }, titled, output));
    const show = (value, text = fixed(value)) => {
      setText(output, text);
      setAttributes(output, { "data-value": String(value) });
    };
    return Object.assign(show, { card });
  }

  return {
    root,
    stage,
    controls: place,
    readouts,
    more,
    onPage: address !== null,
    signal,
    set,
    setAll,
    again,
    onReset,
    onChange,
    readout,
    ...controls.kinds,
    state: () => valuesOf([...traits, ...given]),

    /** An SVG as wide as its place, `plot.width` × `height` pixels; `description` names it. */
    plot({ height, description, parent = stage }) {
      const plot = createPlot({ height, description, parent, signal });
      plots.push(plot);
      return plot;
    },

    /** What to draw now of numbers that have changed, on their way; see `createMotion`. */
    glide: motion.glide,
    isMoving: motion.isMoving,

    /** Whether the picture shows what is set: only then are numbers and sentences due, which follow
        the picture and never lead it. One that follows a held control closely counts as arrived. */
    hasArrived: () => held || !motion.isMoving(),

    /** What is to be done, where that depends on what stands and the chapter asks nothing else. */
    task: ask,

    /** A button that plays a process; see `createPlay`. */
    play(process) {
      const playing = createPlay({ root, signal, ...process });
      place.append(playing.button);
      onReset(playing.stop);
      return playing;
    },

    /** Readouts by name, under More; returns a function of numbers by name, and of texts for some. */
    numbers(labels, parent = more.readouts) {
      const shows = Object.entries(labels).map(([name, title]) => [
        name,
        readout({ name, label: title, parent }),
      ]);
      return (values, texts = {}) =>
        shows.forEach(([name, show]) => show(values[name], texts[name]));
    },

    /** Under More, a button that saves the figure as it stands as one file, where the page has what
        the file needs: `name` is its class. */
    saving(name) {
      if (!model.get("_css")) return;
      const button = element(
        "button",
        { type: "button", class: "attention-tool" },
        "Save as one file",
      );
      button.addEventListener(
        "click",
        () =>
          download(
            `${name}.html`,
            pageOf({
              name,
              title: label,
              words: `${taskLine.textContent} ${finding.textContent}`,
              state: valuesOf([...traits, ...given]),
              script: model.get("_esm"),
              style: model.get("_css"),
            }),
          ),
        { signal },
      );
      more.place.append(button);
    },

    /** Draw a part, unless it stands: `needed`, a text, is all that it depends on. */
    part(name, needed, drawPart) {
      if (parts.get(name) === needed) return;
      drawPart();
      parts.set(name, needed);
    },

    /** Say what is seen in one sentence: shown at once, read out when the sliders rest. Under a
        still picture, which shows no controls, `setting` stands before it. */
    say(sentence, setting = "") {
      setText(finding, sentence);
      setAttributes(finding, { "data-setting": setting || null });
      clearTimeout(speaking);
      speaking = setTimeout(() => setText(spoken, sentence), 600);
    },

    /** Go on the page, draw, and keep drawing until cleanup. */
    start(drawNow) {
      draw = drawNow;
      more.folded.hidden =
        more.place.querySelector("input, output, textarea, select, button") === null;
      for (const trait of traits)
        onChange(trait, () => {
          controls.refresh(trait);
          again();
        });
      el.append(root);
      if (address) {
        follow({ first: true });
        listen();
        addEventListener(
          "popstate",
          ({ state }) => (state?.reading === undefined ? follow() : scrollTo(0, state.reading)),
          { signal },
        );
      }
      fit();
      warm(4);
      resizing.observe(root);
      for (const node of [document.documentElement, document.body])
        turning.observe(node, { attributes: true });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again, { signal });
    },

    cleanup() {
      controller.abort();
      resizing.disconnect();
      turning.disconnect();
      cancelAnimationFrame(frame);
      clearTimeout(speaking);
      root.remove();
    },
  };
}
