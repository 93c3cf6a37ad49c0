// Brings the figures with sliders on a static page to life, without a kernel. A classic script, as
// pages opened from a folder load no modules; the figures' scripts follow it and register.

/** Let figures register; `share` makes what `_shared/index.js` exports. */
export function createHost(page, share) {
  const shared = share();
  const home = page.currentScript?.src;
  const sources = new Map();
  const modules = new Map();
  const mounted = new Map();

  /** A figure's values; and as in Jupyter its view as one module and the stylesheet, for a file of its
      own. A page that was opened from a folder may not read its stylesheet. */
  function valuesOf({ dataset: { state, widget } }) {
    return {
      ...shared.parseState(state),
      get _esm() {
        return `const shared = (${share})();\nconst { render } = (${sources.get(widget)})(shared);\nexport default { render };\n`;
      },
      get _css() {
        try {
          const { cssRules } = page.querySelector('link[href*="figure.css"]').sheet;
          return Array.from(cssRules, (rule) => rule.cssText).join("\n");
        } catch {
          return "";
        }
      },
    };
  }

  /** Let the page run a script that lies beside this one, and return its element. */
  function load(file) {
    const script = page.createElement("script");
    script.src = new URL(file, home);
    page.head.append(script);
    return script;
  }

  /** Some figures need much data that few readers ask for. Once the trait `wanted` is true, a script
      beside the figure's own brings them, and hands them to `deliver`. */
  function fetchFor({ dataset: { widget } }, model) {
    const listener = () => {
      if (!model.get("wanted")) return;
      const script = load(`${widget}.data.js`);
      script.onload = () => script.remove();
      script.onerror = () => {
        script.remove();
        model.set("wanted", false);
      };
    };
    model.on("change:wanted", listener);
    return () => model.off("change:wanted", listener);
  }

  /** Give values, as `data-state` has them, to all figures of a class. */
  function deliver(name, text) {
    for (const [figure, { model }] of mounted) {
      if (figure.dataset.widget === name) {
        Object.entries(shared.parseState(text)).forEach(([trait, value]) =>
          model.set(trait, value),
        );
      }
    }
  }

  /** Show a figure's sliders in place of its still picture, which stays where anything fails. */
  async function mount(figure, model = shared.createModel(valuesOf(figure))) {
    const el = page.createElement("div");
    figure.append(el);
    try {
      const fetching = fetchFor(figure, model);
      const view = await modules.get(figure.dataset.widget).render({ model, el });
      const cleanup = () => [view, fetching].forEach((end) => end());
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
    sources.set(name, define);
    modules.set(name, define(shared));
    const figures = page.querySelectorAll(`.attention-widget[data-widget="${name}"][data-state]`);
    return Promise.all([...figures].map((figure) => mount(figure)));
  }

  /** On a page that has to be light, all figures but the first come once it has settled: a script
      gives them their states, and their own scripts follow. */
  const waiting = [...page.querySelectorAll(".attention-widget[data-later]")];
  if (waiting.length > 0)
    page.defaultView.addEventListener("load", () => {
      setTimeout(() => load(waiting[0].dataset.later), 500);
    });
  function giveLater(states) {
    for (const [i, figure] of waiting.entries()) {
      figure.dataset.state = states[i];
      if (modules.has(figure.dataset.widget)) mount(figure);
    }
    const names = new Set(waiting.map(({ dataset }) => dataset.widget));
    for (const name of names) if (!modules.has(name)) load(`${name}.js`);
  }

  return {
    register,
    deliver,
    giveLater,
    mount,
    unmount,
    model: (figure) => mounted.get(figure)?.model,
  };
}
