// What a figure's `render` asks a browser for, where there is none: widths, frames, observers, a
// canvas. Widths follow from `data-columns` alone, so a figure comes out the same on every machine.
// Nothing moves: the reader has asked for less motion.

export const WIDTH = 640; // of a still picture, in pixels
export const GAP = 16; // between columns

/** The columns of a `width` that an element says its children stand in. */
export function columnsOf(node, width) {
  const shown = [...node.children].filter((child) => !child.hidden).length;
  const count = Math.max(1, Math.min(Number(node.dataset?.columns ?? 1), shown));
  return { count, width: (width - GAP * (count - 1)) / count };
}

/** The width of an element's content: that of its parent, or one of its parent's columns. */
function widthOf(node) {
  const parent = node.parentElement;
  if (!parent || node.matches(".attention-stage")) return WIDTH;
  return columnsOf(parent, widthOf(parent)).width;
}

class ImageData {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
  }
}

/** A canvas that keeps the pixels it was given. */
function contextOf(canvas) {
  return {
    createImageData: (width, height) => new ImageData(width, height),
    putImageData: (image) => {
      canvas.painted = image;
    },
    drawImage() {},
  };
}

/** Open an empty page as the one that scripts see. `palette.colours` are those that it has now, as CSS
    variables; the names of those that a script reads are added to `palette.asked`. */
export function openPage({ parseHTML }, palette) {
  const { window, document } = parseHTML("<!doctype html><html><body></body></html>");
  const { prototype } = window.Element;
  const nothing = () => {};
  class Observer {
    observe() {}
    disconnect() {}
  }
  Object.defineProperties(prototype, {
    hidden: {
      get() {
        return this.hasAttribute("hidden");
      },
      set(isHidden) {
        this.toggleAttribute("hidden", Boolean(isHidden));
      },
    },
  });
  Object.defineProperty(prototype, "clientWidth", {
    get() {
      return widthOf(this);
    },
  });
  Object.assign(prototype, {
    scrollIntoView: nothing,
  });
  window.HTMLCanvasElement.prototype.getContext = function getContext() {
    return (this.context ??= contextOf(this));
  };
  Object.defineProperty(window.HTMLSelectElement.prototype, "value", {
    get() {
      return this.chosen ?? "";
    },
    set(value) {
      this.chosen = value;
    },
  });
  Object.assign(globalThis, {
    document,
    ImageData,
    location: { hash: "", href: "" },
    matchMedia: () => ({ matches: true, addEventListener: nothing }), // prefers-reduced-motion
    requestAnimationFrame: () => 1,
    cancelAnimationFrame: nothing,
    addEventListener: nothing,
    ResizeObserver: Observer,
    IntersectionObserver: Observer,
    MutationObserver: Observer,
    getComputedStyle: () => ({
      fontSize: "16px",
      getPropertyValue(name) {
        palette.asked.add(name);
        return palette.colours[name];
      },
    }),
  });
  return document;
}
