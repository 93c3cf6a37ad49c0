// Elements of a page, and writing to them no more than has changed.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  setAttributes(node, attributes);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element. Children are nodes, or text that is set as text. */
export function element(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. Children are nodes, or text that is set as text. */
export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

// What has been written to each node: a draw writes only what differs, since a page is slow to write
// to, and lays out anew whatever was written.
const written = new WeakMap();

function writtenTo(node) {
  if (!written.has(node)) written.set(node, {});
  return written.get(node);
}

/** Set attributes that have changed; null and false take one away, true sets an empty one. Numbers
    are those of a picture: a hundredth is enough, and what moves less is not written anew. */
export function setAttributes(node, attributes) {
  const known = writtenTo(node);
  for (const name in attributes) {
    const given = attributes[name];
    if (known[name] === given) continue;
    const value = typeof given === "number" ? Math.round(given * 100) / 100 : given;
    if (known[name] === value) continue;
    known[name] = value;
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

/** Set the text of a node, where it has changed. */
export function setText(node, text) {
  const known = writtenTo(node);
  if (known["#text"] === text) return;
  known["#text"] = text;
  if (node.firstChild) node.firstChild.data = text;
  else node.append(text);
}

// Nodes that were taken out of a parent, the first of them last: it will want the same ones again.
const spare = new WeakMap();

/** Let an SVG element have these children, each `[tag, attributes, text]`; the nodes are kept. */
export function setChildren(parent, children) {
  const nodes = parent.childNodes;
  if (!spare.has(parent)) spare.set(parent, []);
  const taken = spare.get(parent);
  while (nodes.length > children.length) {
    taken.push(parent.lastChild);
    parent.lastChild.remove();
  }
  children.forEach(([tag, attributes, text], i) => {
    let node = nodes[i];
    if (node?.localName !== tag) {
      const fresh =
        !node && taken.at(-1)?.localName === tag ? taken.pop() : document.createElementNS(SVG, tag);
      if (node) node.replaceWith(fresh);
      else parent.append(fresh);
      node = fresh;
    }
    const known = writtenTo(node);
    for (const name in known) {
      if (name !== "#text" && !(name in attributes)) setAttributes(node, { [name]: null });
    }
    setAttributes(node, attributes);
    if (text !== undefined) setText(node, text);
  });
}

/** A text as a child for `setChildren`; its kind is its look, such as `muted` or `query`. */
export const label = (words, kind, x, y, anchor = "start") => [
  "text",
  { x, y, "text-anchor": anchor, class: `attention-${kind}` },
  words,
];

/** An id that no other view has, for patterns and clip paths. */
export function uniqueId(name) {
  return `attention-${name}-${Math.random().toString(36).slice(2, 12)}`;
}
