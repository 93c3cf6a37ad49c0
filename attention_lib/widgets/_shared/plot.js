// What a figure draws on.

import { element, setAttributes, svg } from "./elements.js";

/** An SVG in `parent`, `plot.width` × `height` pixels large; `description` names it. */
export function createPlot({ height, description, parent, signal }) {
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
  return plot;
}
