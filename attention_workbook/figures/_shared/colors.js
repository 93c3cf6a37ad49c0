// Colours of the palette: its maps, what is readable on them, the patterns of masked and NaN.

import { svg, uniqueId } from "./elements.js";

let turn = 0; // how often a page has turned from light to dark or back

/** To be called when a page has turned light or dark: maps are read anew. */
export function turnPalette() {
  turn += 1;
}

/** A map of the palette as a function from 0…1 to [red, green, blue]. It asks `node` for the palette
    when it is first used after a turn; the node stands on the page then. */
export function colorMap(node, name = "--aw-weight-map") {
  let stops;
  let read = -1; // the turn at which the stops were read
  return (share) => {
    if (read !== turn) {
      read = turn;
      stops = getComputedStyle(node)
        .getPropertyValue(name)
        .split(",")
        .map((stop) => {
          const value = parseInt(stop.trim().slice(1), 16);
          return [value >> 16, (value >> 8) & 255, value & 255];
        });
    }
    const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return stops[low].map((from, i) =>
      Math.round(from + (place - low) * (stops[low + 1][i] - from)),
    );
  };
}

/** A map as 256 pixels of a canvas, from 0 to 1, made when they are first asked for after a turn. */
export function pixelMap(color) {
  let pixels;
  let made = -1;
  return () => {
    if (made !== turn) {
      made = turn;
      pixels = Uint32Array.from({ length: 256 }, (_, i) => {
        const [red, green, blue] = color(i / 255);
        return (255 << 24) | (blue << 16) | (green << 8) | red;
      });
    }
    return pixels;
  };
}

/** The class of a text that is readable on a colour of a map. */
export function readableOn([red, green, blue]) {
  const [r, g, b] = [red, green, blue].map((part) =>
    part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "attention-on-light" : "attention-on-dark";
}

/** Add the fills for masked cells (hatched) and for NaN (crossed) to an SVG. */
export function addPatterns(picture) {
  const pattern = (name, ground, line, strokes) => {
    const id = uniqueId(name);
    picture.prepend(
      svg(
        "defs",
        {},
        svg(
          "pattern",
          { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
          svg("rect", { width: 8, height: 8, fill: `var(${ground})` }),
          svg("path", { d: strokes, stroke: `var(${line})`, "stroke-width": 1.2, fill: "none" }),
        ),
      ),
    );
    return `url(#${id})`;
  };
  return {
    masked: pattern("masked", "--aw-mask", "--aw-mask-line", "M-2 2L2 -2M0 8L8 0M6 10L10 6"),
    nan: pattern("nan", "--aw-nan", "--aw-paper", "M2 2L6 6M6 2L2 6"),
  };
}
