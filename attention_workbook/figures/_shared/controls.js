// Controls that are bound to traits: what they show is what the model holds.

import { element, setAttributes, setText, uniqueId } from "./elements.js";

/** A slider over powers of two: its positions are the exponents. */
export const POWERS = { value: (power) => 2 ** power, position: Math.log2 };

/** A field for a text of the reader's own, as a `node` with its `input`; `refuse` shows what is wrong
    with the text, or that nothing is. With `rows` it takes several lines. */
export function textField({ label: title, trait, rows, ...attributes }) {
  const [own, ofRefusal] = [uniqueId("text"), uniqueId("refusal")];
  const input = element(rows ? "textarea" : "input", {
    id: own,
    rows,
    type: rows ? null : "text",
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    ...attributes,
  });
  const refusal = element("p", {
    id: ofRefusal,
    class: "attention-refusal",
    role: "alert",
    hidden: true,
  });
  return {
    input,
    node: element(
      "div",
      { class: "attention-line-of-text", "data-trait": trait },
      element("label", { class: "attention-name", for: own }, title),
      input,
      refusal,
    ),
    refuse(said) {
      refusal.textContent = said;
      refusal.hidden = !said;
      setAttributes(input, {
        "aria-invalid": said ? "true" : null,
        "aria-describedby": said ? ofRefusal : null,
      });
    },
  };
}

/** The controls of a view, in `place` or, with `more`, in `further`; `kinds` adds one of each kind,
    `refresh` shows a trait's value anew, or all. */
export function createControls({ model, set, signal, onReset, place, further }) {
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
      trait,
      label: title,
      min,
      max,
      step = 1,
      more = false,
      marks = [],
      value = (position) => position,
      position = (given) => given,
      text = String,
      words = text,
    }) {
      const highest = typeof max === "function" ? max : () => max;
      const input = element("input", { type: "range", min, max: highest(), step });
      const shown = element("span", { class: "attention-value", "aria-hidden": "true" });
      input.addEventListener("input", () => set(trait, value(Number(input.value))), { signal });
      // A finger that goes down the page, and not along the slider, leaves it as it was.
      let before;
      input.addEventListener(
        "pointerdown",
        () => {
          before = model.get(trait);
        },
        { signal },
      );
      input.addEventListener(
        "pointercancel",
        () => requestAnimationFrame(() => set(trait, before)),
        { signal },
      );
      accepts.set(trait, (given) => position(given) >= min && position(given) <= highest());
      const below = marks.length
        ? element(
            "span",
            { class: "attention-marks", "aria-hidden": "true" },
            ...marks.map((mark) => element("span", {}, mark)),
          )
        : null;
      const node = element(
        "label",
        { class: "attention-control", "data-trait": trait },
        element("span", { class: "attention-name" }, title),
        shown,
        input,
        below,
      );
      function refresh() {
        const most = highest();
        const given = position(model.get(trait)) > most ? value(most) : model.get(trait);
        setAttributes(input, { max: most });
        input.value = String(position(given));
        setAttributes(input, { "aria-valuetext": words(given) });
        setText(shown, text(given));
      }
      addControl(trait, node, refresh, more);
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
      const labels = options.map(([, text], i) =>
        element("label", { class: "attention-option" }, inputs[i], element("span", {}, text)),
      );
      const node = element(
        "fieldset",
        { class: "attention-control", "data-trait": trait },
        element("legend", { class: "attention-name" }, title),
        element("div", { class: "attention-options" }, ...labels),
      );
      addControl(
        trait,
        node,
        () =>
          inputs.forEach((input, i) => {
            input.checked = options[i][0] === model.get(trait);
          }),
        more,
      );
      return inputs;
    },

    /** A check box. */
    toggle({ trait, label: title, more = false }) {
      const input = element("input", { type: "checkbox" });
      input.addEventListener("change", () => set(trait, input.checked), { signal });
      const node = element(
        "label",
        { class: "attention-option attention-toggle", "data-trait": trait },
        input,
        element("span", {}, title),
      );
      addControl(
        trait,
        node,
        () => {
          input.checked = Boolean(model.get(trait));
        },
        more,
      );
      return input;
    },

    /** A field for words or numbers of the reader's own: `write` makes a text of the trait's value,
        `read` a value of a text, or throws an Error that says what is wrong with it. Without `rows`,
        what is wrong is said while it is written, with `rows` when it is done; what is right is taken
        at once. `take` gets the value. */
    field({ trait, label, rows, write, read, take = (value) => set(trait, value), more = true }) {
      const { input, node, refuse } = textField({ label, trait, rows });
      let meant = null; // by what is typed, which stays as the reader wrote it
      function judge(isDone) {
        try {
          const value = read(input.value.trim());
          refuse("");
          meant = JSON.stringify(value);
          take(value);
        } catch (error) {
          if (isDone) refuse(error.message);
        }
      }
      function refresh() {
        const value = model.get(trait);
        if (meant === JSON.stringify(value)) return;
        meant = JSON.stringify(value);
        input.value = write(value);
        refuse("");
      }
      input.addEventListener("input", () => judge(!rows), { signal });
      if (rows) input.addEventListener("change", () => judge(true), { signal });
      onReset(() => {
        meant = null;
        refresh();
      });
      addControl(trait, node, refresh, more);
      accepts.set(trait, (value) => {
        read(write(value));
        return true;
      });
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
