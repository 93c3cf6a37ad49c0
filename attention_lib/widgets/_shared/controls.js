// Controls that are bound to traits: what they show is what the model holds.

import { element, setAttributes, setText, uniqueId } from "./elements.js";

/** The controls of a view, in one place; `kinds` adds one of each kind, `refresh` shows a trait's
    value anew. */
export function createControls({ model, set, signal }) {
  const place = element("div", { class: "attention-controls" });
  const refreshers = new Map();

  function addControl(trait, node, refresh) {
    place.append(node);
    refreshers.set(trait, refresh);
    refresh();
  }

  const kinds = {
    /** A range input. Where its positions are not the trait's values, `value` makes a value of a
        position and `position` the other way; `text` is shown, `words` are read out. */
    slider({
      trait, label: title, min, max, step = 1,
      value = (position) => position, position = (given) => given, text = String, words = text,
    }) {
      const input = element("input", { type: "range", min, max, step });
      const shown = element("span", { class: "attention-value", "aria-hidden": "true" });
      input.addEventListener("input", () => set(trait, value(Number(input.value))), { signal });
      addControl(
        trait,
        element(
          "label", { class: "attention-control", "data-trait": trait },
          element("span", { class: "attention-name" }, title), shown, input,
        ),
        () => {
          const given = model.get(trait);
          input.value = String(position(given));
          setAttributes(input, { "aria-valuetext": words(given) });
          setText(shown, text(given));
        },
      );
      return input;
    },

    /** Radio buttons, for a choice without an order; `options` are `[value, text]` pairs. */
    choice({ trait, label: title, options }) {
      const group = uniqueId(trait);
      const inputs = options.map(([value]) => {
        const input = element("input", { type: "radio", name: group, value });
        input.addEventListener("change", () => set(trait, value), { signal });
        return input;
      });
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
      );
      return inputs;
    },

    /** A check box. */
    toggle({ trait, label: title }) {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set(trait, input.checked), { signal });
      addControl(
        trait,
        element(
          "label", { class: "attention-option attention-toggle", "data-trait": trait },
          input, element("span", {}, title),
        ),
        () => { input.checked = Boolean(model.get(trait)); },
      );
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

  return { place, kinds, refresh: (trait) => refreshers.get(trait)?.() };
}
