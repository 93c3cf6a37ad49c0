// A process that can be played: a button that goes on step by step, and stops at the end.

import { element, setText } from "./elements.js";

/** Whether the reader has asked for less motion. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** What a hand does to what it can press: "Tap" where it is a finger. */
export const press = () => (matchMedia("(pointer: coarse)").matches ? "Tap" : "Click");

/** A finding that also says that the figure's task is done. */
export const asDone = (finding) => `Done: ${finding[0].toLowerCase()}${finding.slice(1)}`;

/**
 * A button that plays a process in `root`: `next()` takes a step and says whether there is another,
 * `rewind()` goes back to the beginning, `atEnd()` tells whether to. Whatever else is used stops
 * it. A reader who has asked for less motion takes the steps one by one.
 */
export function createPlay({ root, signal, next, rewind, atEnd, every = 700 }) {
  const button = element(
    "button",
    { type: "button", class: "attention-button attention-play" },
    isStill() ? "Step" : "Play",
  );
  let timer = 0;

  function stop() {
    clearInterval(timer);
    timer = 0;
    setText(button, isStill() ? "Step" : "Play");
  }
  function step() {
    if (!next()) stop();
  }
  function play() {
    if (atEnd()) rewind();
    else step();
    if (isStill() || atEnd()) return;
    timer = setInterval(step, every);
    setText(button, "Pause");
  }
  button.addEventListener("click", () => (timer ? stop() : play()), { signal });
  for (const type of ["pointerdown", "click", "input", "keydown"]) {
    root.addEventListener(
      type,
      (event) => {
        const mayScroll = type === "pointerdown" && event.pointerType === "touch";
        if (timer && event.target !== button && !mayScroll) stop();
      },
      { signal, capture: true },
    );
  }
  signal.addEventListener("abort", () => clearInterval(timer));
  return { button, play, stop };
}
