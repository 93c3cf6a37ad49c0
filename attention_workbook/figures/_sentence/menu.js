// A list of words that opens at a word: by hand, and by keyboard with arrows, letters and Escape.

import { element } from "../_shared/index.js";

const HIGH = 240; // pixels, at most
const [EDGE, GAP] = [6, 2]; // around the rows, and between them: see figure.css

/** A menu in `place`. `open(word, words, choose)` shows it under a word, an element, or above it where
    the window has more room, with the focus on the first of `words`, the present one; `close()` hides
    it and gives the focus back. */
export function createMenu(place, signal) {
  const list = place.appendChild(
    element("div", { class: "attention-menu", role: "listbox", hidden: true, "data-live": true }),
  );
  let back; // what had the focus
  let choose;

  function close() {
    if (list.hidden) return;
    const hadFocus = list.contains(document.activeElement);
    list.hidden = true;
    if (hadFocus) back?.focus({ preventScroll: true });
  }
  /** Put the list beside a word, as high as the window has room for whole rows. */
  function fit(word) {
    const [box, around] = [word, place].map((node) => node.getBoundingClientRect());
    const bar = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    const [above, below] = [box.top - bar, innerHeight - box.bottom].map((room) => room - 8);
    const isUnder = below >= Math.min(above, HIGH);
    const row = list.firstChild.offsetHeight + GAP;
    const rows = Math.floor((Math.min(isUnder ? below : above, HIGH) - 2 * EDGE + GAP) / row);
    const middle = (box.left + box.right) / 2 - around.left;
    Object.assign(list.style, {
      maxHeight: `${Math.max(rows, 2) * row - GAP + 2 * EDGE}px`,
      top: isUnder ? `${box.bottom - around.top + 4}px` : "",
      bottom: isUnder ? "" : `${around.bottom - box.top + 4}px`,
    });
    list.style.setProperty("--left", (middle / around.width).toFixed(4));
  }
  function open(word, words, act) {
    back = document.activeElement;
    choose = act;
    list.replaceChildren(
      ...words.map((other, i) =>
        element(
          "button",
          { type: "button", role: "option", "aria-selected": String(i === 0) },
          other,
        ),
      ),
    );
    list.hidden = false;
    fit(word);
    list.firstChild.focus({ preventScroll: true });
    list.scrollTop = 0;
  }
  list.addEventListener(
    "click",
    ({ target }) => {
      if (target === list) return;
      close();
      choose(target.textContent);
    },
    { signal },
  );
  list.addEventListener(
    "keydown",
    (event) => {
      const options = [...list.children];
      const at = options.indexOf(document.activeElement);
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const after = [...options.slice(at + 1), ...options];
      const next =
        (step && options[at + step]) ||
        { Home: options[0], End: options.at(-1) }[event.key] ||
        (event.key.length === 1 &&
          after.find((option) => option.textContent.startsWith(event.key.toLowerCase())));
      event.stopPropagation();
      if (event.key === "Escape") close();
      else if (next) next.focus();
      else return;
      event.preventDefault();
    },
    { signal },
  );
  document.addEventListener(
    "pointerdown",
    ({ target }) => {
      if (!list.contains(target)) close();
    },
    { signal },
  );
  return { open, close };
}
