// Brings the figures with sliders on a static page to life, without a kernel. A classic script, as
// pages opened from a folder load no modules; the figures' scripts follow it and register.

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

/** Let figures register; `shared` is what `_shared.js` exports. */
export function createHost(page, shared) {
  const modules = new Map();
  const mounted = new Map();

  /** Show a figure's sliders in place of its still picture, which stays where anything fails. */
  async function mount(figure, model = createModel(parseState(figure.dataset.state))) {
    const el = page.createElement("div");
    figure.append(el);
    try {
      const cleanup = await modules.get(figure.dataset.widget).render({ model, el });
      mounted.set(figure, { model, el, cleanup });
      figure.classList.add("attention-live");
    } catch (error) {
      el.remove();
      throw error;
    }
  }

  /** Take a figure's sliders away again. */
  function unmount(figure) {
    const { el, cleanup } = mounted.get(figure);
    cleanup();
    el.remove();
    mounted.delete(figure);
    figure.classList.remove("attention-live");
  }

  function register(name, define) {
    modules.set(name, define(shared));
    const figures = page.querySelectorAll(`.attention-widget[data-widget="${name}"]`);
    return Promise.all([...figures].map((figure) => mount(figure)));
  }

  return { register, mount, unmount, model: (figure) => mounted.get(figure)?.model };
}
