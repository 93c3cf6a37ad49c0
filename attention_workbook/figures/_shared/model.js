// A figure's state where there is no kernel: on a static page, and in a file of its own.

/** A model like the one Jupyter gives a view, made from plain values. */
export function createModel(values) {
  const listeners = new Map();
  const emit = (event) => [...(listeners.get(event) ?? [])].forEach((listener) => listener());
  return {
    get: (name) => values[name],
    set(name, value) {
      if (Object.is(values[name], value)) return;
      values[name] = value;
      emit(`change:${name}`);
      emit("change");
    },
    on(event, listener) {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener));
    },
    off(event, listener) {
      listeners.get(event)?.delete(listener);
    },
    save_changes() {},
    /** How many listeners there are: none after a view's cleanup. */
    get listenerCount() {
      return [...listeners.values()].reduce((sum, some) => sum + some.size, 0);
    },
  };
}

/** The values in a figure's `data-state`; `{"base64": …}` becomes a DataView, as in Jupyter. */
export function parseState(text) {
  return JSON.parse(text, (_, value) => {
    if (typeof value?.base64 !== "string") return value;
    const bytes = Uint8Array.from(atob(value.base64), (character) => character.charCodeAt(0));
    return new DataView(bytes.buffer);
  });
}
