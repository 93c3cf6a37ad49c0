// A figure as one HTML file, which opens anywhere and asks for no other: what `save` writes in Python.

import { element } from "./elements.js";
import { createModel, parseState } from "./model.js";

/** Bring the figure of such a page to life, in place of the host script. */
export function standAlone(render) {
  const figure = document.querySelector(".attention-widget");
  const model = createModel(parseState(figure.dataset.state));
  render({ model, el: figure.appendChild(element("div")) });
  figure.classList.add("attention-live");
}

const escaped = (text) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Bytes as JSON, as Python writes them. */
function plain(_, value) {
  if (!(value instanceof DataView)) return value;
  const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return { base64: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
}

/** The page of a figure: `name` is its class, `words` say what is seen, `state` has all its traits;
    `script` is its module, as Jupyter loads it, and `style` the stylesheet. */
export function pageOf({ name, title, words, state, script, style }) {
  const view = script.replace(/export default \{ render \};\s*$/, "shared.standAlone(render);\n");
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>` +
    `<meta name="viewport" content="width=device-width"><style>:root { color-scheme: light dark; } ${style}</style></head><body>` +
    `<figure class="attention-widget" data-widget="${name}" data-state="${escaped(JSON.stringify(state, plain))}">` +
    `<figcaption><strong>${escaped(title)}.</strong> ${escaped(words)}</figcaption></figure>` +
    // As one word it would end the script that this is written in.
    `<script type="module">${view}</${"script"}></body></html>\n`
  );
}

/** Let the reader's browser save a text as a file. */
export function download(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  element("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
