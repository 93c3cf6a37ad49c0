// What a figure draws on, and what can be dragged there.

import { element, setAttributes, setChildren, svg } from "./elements.js";

export const GRIP = 17; // radius of the ring around what can be dragged
const SWIPE = 8; // pixels across that make a touch a drag, and not a swipe up or down the page

/** About how wide a word is, in letters' heights: no figure measures text. */
export const breadth = (word) =>
  [...word].reduce(
    (sum, letter) => sum + (/[mw]/.test(letter) ? 0.86 : /[ijlt()f]/.test(letter) ? 0.36 : 0.58),
    0,
  );

/** An SVG in `parent`, `plot.width` × `height` pixels large; `description` names it. */
export function createPlot({ height, description, parent, signal }) {
  const picture = svg("svg", { role: "img", "aria-label": description });
  const plot = {
    svg: picture,
    resize(width, tall = height) {
      plot.width = width;
      setAttributes(picture, { width, height: tall, viewBox: `0 0 ${width} ${tall}` });
    },
    /** Where the height depends on what is drawn. */
    setHeight: (tall) => plot.resize(plot.width, tall),

    /** Take the width of its place, and say whether it is new. A picture without a canvas gets a
        smaller viewBox and is scaled up, so that its letters grow with the page's text. */
    fit() {
      const [{ parentNode: frame }, text] = [
        picture,
        parseFloat(getComputedStyle(document.documentElement).fontSize),
      ];
      const larger = frame.querySelector("canvas")
        ? 1
        : Math.max(1, Math.min(text / 16, frame.clientWidth / 300));
      const width = Math.floor(frame.clientWidth / larger);
      if (width === 0 || width === plot.width) return false;
      picture.style.cssText = larger > 1 ? "width: 100%; height: auto" : "";
      plot.resize(width);
      return true;
    },

    /** Where an event is in the picture, however the picture is scaled. */
    under(event) {
      const { left, top, width } = picture.getBoundingClientRect();
      const scale = plot.width / width;
      return [(event.clientX - left) * scale, (event.clientY - top) * scale];
    },

    /** Let things be dragged: `move(x, y, i)` is called with the place that thing `i` is drawn to.
        Returns a function that takes the places `[x, y]` of the things, to draw rings around them.
        Beside the rings it is thing 0 that follows the pointer; a finger then has to go across, as
        a swipe up or down scrolls the page. With `nudge`, a ring that has the focus takes the arrow
        keys, as `nudge(right, up, i)`, and has a name. */
    drag(move, nudge) {
      const rings = picture.appendChild(svg("g"));
      picture.classList.add("attention-grab");
      let held = null;
      const follow = (event) => {
        const [x, y] = plot.under(event);
        move(x + held.right, y + held.down, held.thing);
      };
      const on = (type, listener) => picture.addEventListener(type, listener, { signal });
      on("pointerdown", (event) => {
        if (event.button !== 0) return;
        const index = [...rings.children].reverse().indexOf(event.target);
        picture.setPointerCapture(event.pointerId);
        held = { thing: Math.max(index, 0), right: 0, down: 0, from: event.clientX };
        if (index >= 0) {
          const [x, y] = plot.under(event);
          const ring = event.target;
          Object.assign(held, {
            right: ring.cx.baseVal.value - x,
            down: ring.cy.baseVal.value - y,
            begun: true,
          });
        } else if (event.pointerType !== "touch") {
          held.begun = true;
          follow(event);
        }
      });
      on("pointermove", (event) => {
        if (!held) return;
        held.begun ||= Math.abs(event.clientX - held.from) > SWIPE;
        if (held.begun) follow(event);
      });
      on("pointerup", (event) => {
        if (held && !held.begun) follow(event); // a tap
        held = null;
      });
      on("pointercancel", () => {
        held = null;
      });
      if (nudge) {
        setAttributes(picture, { role: "group" }); // what is in a picture cannot have the focus
        on("keydown", (event) => {
          const ways = {
            ArrowLeft: [-1, 0],
            ArrowRight: [1, 0],
            ArrowUp: [0, 1],
            ArrowDown: [0, -1],
          };
          const index = [...rings.children].reverse().indexOf(event.target);
          if (!ways[event.key] || index < 0) return;
          event.preventDefault();
          nudge(...ways[event.key], index);
        });
      }
      return (places, names) => {
        if (picture.lastChild !== rings) picture.append(rings); // above all that is drawn
        // Thing 0 is on top: where it lies on another one, it is the one to take.
        setChildren(
          rings,
          [...places].reverse().map(([cx, cy], i) => [
            "circle",
            {
              cx,
              cy,
              r: GRIP,
              class: "attention-grip",
              "data-live": true,
              ...(nudge && {
                tabindex: "0",
                role: "button",
                "aria-roledescription": "point to move with arrow keys",
                "aria-label": names.at(-1 - i),
              }),
            },
          ]),
        );
      };
    },
  };
  plot.resize(280);
  parent.append(element("div", { class: "attention-frame" }, picture));
  return plot;
}

/** The names of points as texts, each beside its own and off all others, where there is room: above or
    below it, whichever leads outward, else at its side; `clear` pixels from its middle, or its radius.
    What is `spare` is left out where there is no room for it, with some air around it. */
export function placeNames(points, width, height) {
  const taken = points
    .filter(({ spare }) => !spare)
    .map(({ at: [x, y], r }) => [x - r, y - r, x + r, y + r]);
  return points.flatMap(({ at: [x, y], color, name, r, clear = r, spare = false }) => {
    const [half, air] = spare ? [7 * name.length, 5] : [4 * name.length, 0];
    const [above, below] = [
      [0, -clear - 5],
      [0, clear + 15],
    ];
    const upright = y > height / 2 + 2 ? [below, above] : [above, below];
    const aside = [
      [half + clear + 3, 5],
      [-half - clear - 3, 5],
    ];
    const spots = (spare ? [...aside, ...upright] : [...upright, ...aside]).map(([dx, dy]) => [
      Math.min(Math.max(x + dx, half), width - half),
      Math.min(Math.max(y + dy, 13), height - 4),
    ]);
    const boxes = spots.map(([left, base]) => [
      left - half,
      base - 11 - air,
      left + half,
      base + 2 + air,
    ]);
    const ring = spare ? [] : [[x - clear, y - clear, x + clear, y + clear]];
    const free = boxes.findIndex(
      (box) =>
        ![...ring, ...taken].some(
          (other) =>
            box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3],
        ),
    );
    if (free < 0 && spare) return [];
    const spot = Math.max(free, 0);
    taken.push(boxes[spot]);
    return [
      [
        "text",
        {
          x: spots[spot][0],
          y: spots[spot][1],
          "text-anchor": "middle",
          class: `attention-${color}`,
        },
        name,
      ],
    ];
  });
}
