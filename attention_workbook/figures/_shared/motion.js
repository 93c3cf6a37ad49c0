// Change that the eye can follow: what is drawn glides from where it is to where it should be.

import { element } from "./elements.js";
import { isStill } from "./play.js";

const GLIDE = 320; // milliseconds from one state to the next
const HELD = 80; // while a pointer holds on: close behind it

const slowing = (share) => 1 - (1 - share) ** 3;

/** Numbers between two of one shape: a number, or lists of numbers as deep as you like. */
export function between(from, to, share) {
  return Array.isArray(to)
    ? to.map((one, i) => between(from[i], one, share))
    : from + (to - from) * share;
}

/** Whether two have one shape, so that there is a way from one to the other. */
export function sameShape(a, b) {
  if (!Array.isArray(a) || !Array.isArray(b))
    return typeof a === typeof b && !Array.isArray(a) && !Array.isArray(b);
  return a.length === b.length && a.every((one, i) => sameShape(one, b[i]));
}

/**
 * Returns `glide(name, target)`, for use while drawing: the numbers to draw now on the way to
 * `target`, which takes `length` milliseconds after `delay`. It asks by `again()` for one more draw until they
 * have arrived. A new target in between turns the way from where it is; the first target, one of
 * another shape, and every target for a reader who has asked for less motion is reached at once.
 * `isHeld()` says whether a pointer is down. `begin()` is called before each draw: all that is drawn
 * is of that moment, and `isMoving()` says whether anything was still on its way then.
 */
export function createMotion({ again, isHeld, now = () => performance.now() }) {
  const ways = new Map();
  let time = now();

  function glide(name, target, { delay = 0, length } = {}) {
    const way = ways.get(name);
    if (!way || isStill() || !sameShape(way.to, target)) {
      ways.set(name, { from: target, to: target, begun: 0, length: 0 });
      return target;
    }
    if (JSON.stringify(way.to) !== JSON.stringify(target)) {
      Object.assign(way, {
        from: at(way),
        to: target,
        begun: time + delay,
        length: length ?? (isHeld() ? HELD : GLIDE),
      });
    }
    if (isOnItsWay(way)) again();
    return at(way);
  }

  const isOnItsWay = ({ begun, length }) => length > 0 && time - begun < length;

  function at({ from, to, begun, length }) {
    if (time - begun >= length) return to;
    return between(from, to, slowing(Math.max(time - begun, 0) / length));
  }

  return {
    begin() {
      time = now();
    },
    glide,
    isMoving: () => [...ways.values()].some(isOnItsWay),
  };
}

/** Let what a canvas shows fade away over what is about to be painted on it. */
export function fadeOut(canvas) {
  if (isStill() || !canvas.width || !canvas.height) return;
  if (canvas.nextElementSibling?.dataset.fading) canvas.nextElementSibling.remove(); // it would cover the newer one
  const { width, height, className } = canvas;
  const before = element("canvas", {
    width,
    height,
    class: className,
    "aria-hidden": "true",
    "data-fading": "true",
  });
  before.style.cssText = canvas.style.cssText;
  before.getContext("2d").drawImage(canvas, 0, 0);
  canvas.after(before);
  for (const running of canvas.getAnimations()) running.cancel();
  const { opacity } = getComputedStyle(canvas);
  if (opacity < 1) canvas.animate({ opacity: [0, opacity] }, GLIDE); // two together would be darker
  before.animate({ opacity: [opacity, 0] }, { duration: GLIDE, fill: "forwards" }).onfinish = () =>
    before.remove();
}
