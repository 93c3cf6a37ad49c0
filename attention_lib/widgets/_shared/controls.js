// Controls that are bound to traits: what they show is what the model holds.

import { element, setAttributes, setText, uniqueId } from "./elements.js";

/** The controls of a view, in `place` or, with `more`, in `further`; `kinds` adds one of each kind,
    `refresh` shows a trait's value anew, or all. */
export function createControls({ model, set, signal, place, further }) {
  const refreshers = new Map();
  const accepts = new Map();

  function addControl(trait, node, refresh, more) {
    (more ? further : place).append(node);
    refreshers.set(trait, refresh);
    refresh();
  }

  const kinds = {
    /** A range input. Where its positions are not the trait's values, `value` makes a value of a
        position and `position` the other way; `text` is shown, `words` are read out. `max` may be a
        function, where it depends on what else is set: a value beyond it counts as the last one.
        `marks` are written below the slider, evenly from one end to the other. */
    slider({
      trait, label: title, min, max, step = 1, more = false, marks = [],
      value = (position) => position, position = (given) => given, text = String, words = text,
    }) {
      const highest = typeof max === "function" ? max : () => max;
      const input = element("input", { type: "range", min, max: highest(), step });
      const shown = element("span", { class: "attention-value", "aria-hidden": "true" });
      input.addEventListener("input", () => set(trait, value(Number(input.value))), { signal });
      // A finger that goes down the page, and not along the slider, leaves it as it was.
      let before;
      input.addEventListener("pointerdown", () => { before = model.get(trait); }, { signal });
      input.addEventListener("pointercancel", () => requestAnimationFrame(() => set(trait, before)), { signal });
      accepts.set(trait, (given) => position(given) >= min && position(given) <= highest());
      addControl(
        trait,
        element(
          "label", { class: "attention-control", "data-trait": trait },
          element("span", { class: "attention-name" }, title), shown, input,
          marks.length ? element("span", { class: "attention-marks", "aria-hidden": "true" }, ...marks.map((mark) => element("span", {}, mark))) : null,
        ),
        () => {
          const most = highest();
          const given = position(model.get(trait)) > most ? value(most) : model.get(trait);
          setAttributes(input, { max: most });
          input.value = String(position(given));
          setAttributes(input, { "aria-valuetext": words(given) });
          setText(shown, text(given));
        },
        more,
      );
      return input;
    },

    /** Radio buttons, for a choice without an order; `options` are `[value, text]` pairs, and a text
        may be a node. */
    choice({ trait, label: title, options, more = false }) {
      const group = uniqueId(trait);
      const inputs = options.map(([value]) => {
        const input = element("input", { type: "radio", name: group, value: String(value) });
        input.addEventListener("change", () => set(trait, value), { signal });
        return input;
      });
      accepts.set(trait, (given) => options.some(([value]) => value === given));
      addControl(
        trait,
        element(
          "fieldset", { class: "attention-control", "data-trait": trait },
          element("legend", { class: "attention-name" }, title),
          element(
            "div", { class: "attention-options" },
            ...options.map(([, text], i) => element(
              "label", { class: "attention-option" }, inputs[i], element("span", {}, text),
            )),
          ),
        ),
        () => inputs.forEach((input, i) => { input.checked = options[i][0] === model.get(trait); }),
        more,
      );
      return inputs;
    },

    /** A check box. */
    toggle({ trait, label: title, more = false }) {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set(trait, input.checked), { signal });
      addControl(
        trait,
        element(
          "label", { class: "attention-option attention-toggle", "data-trait": trait },
          input, element("span", {}, title),
        ),
        () => { input.checked = Boolean(model.get(trait)); },
        more,
      );
      return input;
    },

    /** A field for numbers of the reader's own, line by line: `write` makes a text of the trait's
        value, `read` a value of a text, or throws an Error that says what is wrong with it. */
    field({ trait, label: title, rows, write, read }) {
      const input = element("textarea", { rows, spellcheck: "false", autocomplete: "off" });
      const refusal = element("p", { class: "attention-refusal", role: "alert", hidden: true });
      let typed = null; // a text that means what the model holds, written as the reader did
      function take(isDone) {
        try {
          const value = read(input.value.trim());
          refusal.hidden = true;
          typed = [input.value, JSON.stringify(value)];
          set(trait, value);
        } catch (error) {
          if (!isDone) return;
          refusal.textContent = error.message;
          refusal.hidden = false;
        }
      }
      input.addEventListener("input", () => take(false), { signal });
      input.addEventListener("change", () => take(true), { signal });
      input.addEventListener("keydown", (event) => event.stopPropagation(), { signal }); // a notebook has keys of its own
      addControl(
        trait,
        element("label", { class: "attention-line-of-text", "data-trait": trait }, element("span", { class: "attention-name" }, title), input, refusal),
        () => {
          const value = model.get(trait);
          if (typed?.[1] === JSON.stringify(value)) return;
          typed = [write(value), JSON.stringify(value)];
          input.value = typed[0];
          refusal.hidden = true;
        },
        true,
      );
      accepts.set(trait, (value) => { read(write(value)); return true; });
      return input;
    },

    /** A button among the controls. */
    button(text, act) {
      const button = element("button", { type: "button", class: "attention-button" }, text);
      button.addEventListener("click", act, { signal });
      place.append(button);
      return button;
    },
  };

  return {
    kinds,
    refresh: (trait) => refreshers.get(trait)?.(),
    refreshAll: () => refreshers.forEach((refresh) => refresh()),
    /** Whether a trait's control could have made this value; traits without one take any. */
    accepts(trait, value) {
      try {
        return accepts.get(trait)?.(value) ?? true;
      } catch {
        return false;
      }
    },
  };
}
