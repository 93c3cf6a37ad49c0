// What lies behind an editor's text area, whose own letters are transparent: the same text with few
// colours, the numbers of its lines, and a mark on the one that stopped.

// comments, texts, words of Python's own
const PIECES =
  /(#.*)|("""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|\b(and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b/g;
const KINDS = ["c", "s", "k"]; // as the page's other code has them

function element(className, ...children) {
  const made = Object.assign(document.createElement("div"), { className });
  made.append(...children);
  return made;
}

/** A text's lines, each a list of pieces: [kind, text], with an empty kind for what has none. */
export function coloured(text) {
  const lines = [[]];
  const add = (kind, piece) =>
    piece.split("\n").forEach((part, i) => {
      if (i) lines.push([]);
      if (part) lines.at(-1).push([kind, part]);
    });
  let end = 0;
  for (const found of text.matchAll(PIECES)) {
    add("", text.slice(end, found.index));
    add(KINDS[found.slice(1).findIndex((piece) => piece !== undefined)], found[0]);
    end = found.index + found[0].length;
  }
  add("", text.slice(end));
  return lines;
}

/** The layer behind a field: its element, and `mark`, which is told the number of a line, or 0. */
export function behind(field) {
  const lines = element("lines");
  const layer = element("behind", lines);
  layer.setAttribute("aria-hidden", "true");
  let marked = 0;
  const mark = (line = marked) => {
    marked = line;
    [...lines.children].forEach((one, i) => one.classList.toggle("marked", i === line - 1));
  };
  const draw = () => {
    const made = coloured(field.value).map((pieces) => {
      const text = element("text", ...pieces.map(([kind, piece]) => element(kind, piece)));
      return element("line", text);
    });
    lines.replaceChildren(...made);
    mark();
    follow();
  };
  const follow = () => layer.scrollTo(field.scrollLeft, field.scrollTop);
  field.addEventListener("scroll", follow);
  field.addEventListener("input", draw);
  return { layer, draw, mark };
}
