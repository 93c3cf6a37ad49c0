// A list of words that opens at a word: by hand, and by keyboard with arrows, letters and Escape.

import { element } from "../_shared/index.js";

/** A menu in `place`. `open(box, words, current, choose)` shows it under a box `[left, top]`, in
    shares of the place; `close()` hides it and gives the focus back. */
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
    if (hadFocus) back?.focus();
  }
  function open([left, top], words, current, act) {
    back = document.activeElement;
    choose = act;
    list.replaceChildren(
      ...words.map((word) =>
        element(
          "button",
          { type: "button", role: "option", "aria-selected": String(word === current) },
          word,
        ),
      ),
    );
    list.hidden = false;
    list.style.setProperty("--left", left.toFixed(4));
    list.style.setProperty("top", `${(100 * top).toFixed(2)}%`);
    list.children[words.indexOf(current)]?.focus({ preventScroll: true });
    list.scrollTop = (document.activeElement.offsetTop ?? 0) - list.clientHeight / 2;
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
