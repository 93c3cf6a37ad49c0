// The page's text in step with the figure.

import { isStill } from "../_shared/index.js";
import { STEPS } from "./steps.js";

/** The sections of the page beside the figure, one a step; none where the page has not as many. */
export function sectionsOf(el) {
  const figure = el.closest(".attention-widget");
  const sections = figure?.parentElement.querySelectorAll(":scope > section") ?? [];
  return sections.length < STEPS.length ? [] : [...sections].slice(0, STEPS.length);
}

/** The page's text in step with the figure, where it has a section for each; says whether. */
export function walkWithPage(view, model, el, scrub) {
  const figure = el.closest(".attention-widget");
  const sections = sectionsOf(el);
  if (sections.length === 0) return false;
  // The picture stays beside these sections and no others: what follows stands after them all.
  const parent = figure.parentElement;
  parent.after(...[...parent.querySelectorAll(":scope > section")].slice(STEPS.length));
  let shownStep = model.get("step");
  let aim = 0; // where a scroll of ours goes; what it passes does not count
  const arrive = ({ isIntersecting, target }) => {
    const step = sections.indexOf(target) + 1;
    if (!isIntersecting || (aim && step !== aim)) return;
    [shownStep, aim] = [step, 0];
    view.set("step", step);
  };
  let reading;
  let lineNow = 0; // from the top of the window: the section that crosses it is read
  const watch = () => {
    reading?.disconnect();
    const beside = figure.clientWidth < 0.75 * figure.parentElement.clientWidth;
    lineNow = beside ? 0.4 * innerHeight : Math.min(figure.clientHeight + 130, 0.9 * innerHeight);
    reading = new IntersectionObserver((entries) => entries.forEach(arrive), {
      rootMargin: `${-Math.round(lineNow)}px 0px ${Math.round(lineNow) - innerHeight + 1}px`,
    });
    sections.forEach((section) => reading.observe(section));
  };
  /** Scrolling inside a section drives its time: it ends when four fifths have gone by. */
  const follow = () => {
    if (aim || model.get("step") !== shownStep) return;
    const { top, height } = sections[shownStep - 1].getBoundingClientRect();
    scrub(Math.min(Math.max((lineNow - top) / (0.8 * height), 0), 1));
  };
  const scroll = (behavior) => sections[shownStep - 1].scrollIntoView({ behavior, block: "start" });
  const begin = () => {
    if (shownStep > 1) scroll("instant");
    watch();
  };
  for (const type of ["scrollend", "wheel", "touchstart"])
    addEventListener(
      type,
      () => {
        aim = 0;
      },
      { signal: view.signal, passive: true },
    );
  for (const type of ["wheel", "touchmove"])
    addEventListener(type, () => requestAnimationFrame(follow), {
      signal: view.signal,
      passive: true,
    });
  addEventListener("resize", watch, { signal: view.signal });
  view.onChange("step", () => {
    if (model.get("step") === shownStep) return;
    shownStep = aim = model.get("step");
    scroll(isStill() ? "instant" : "smooth");
  });
  view.signal.addEventListener("abort", () => reading?.disconnect());
  if (document.readyState === "complete") begin();
  else addEventListener("load", begin, { signal: view.signal, once: true });
  shownStep = model.get("step");
  return true;
}
