// f-strings, as calls that write a tensor of one number as the number that it is.

const CLOSES = { "(": ")", "[": "]", "{": "}" };

/** Where an expression in braces ends: at a sign that stands outside of its brackets and texts. */
function expressionEnd(text, start) {
  const open = [];
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (sign === "'" || sign === '"') {
      const end = text.indexOf(sign, at + 1);
      if (end < 0) return -1;
      at = end;
    } else if (open.length && sign === open.at(-1)) open.pop();
    else if (sign in CLOSES) open.push(CLOSES[sign]);
    else if (!open.length && (sign === "}" || sign === ":")) return at;
    else if (!open.length && sign === "!" && text[at + 1] !== "=") return at;
  }
  return -1;
}

/** The pieces of a text: literal ones, and what stands in braces. Null where it is no f-string. */
function piecesOf(text) {
  const pieces = [];
  let literal = "";
  for (let at = 0; at < text.length;) {
    const two = text.slice(at, at + 2);
    if (two === "{{" || two === "}}") {
      literal += two[0];
      at += 2;
    } else if (text[at] === "{") {
      const end = expressionEnd(text, at + 1);
      if (end < 0) return null;
      const [, code, shown] = /^(.*?)(=?)$/s.exec(text.slice(at + 1, end).trimEnd());
      const more = /^(?:!([rsa]))?(?::((?:[^{}]|\{[^{}]*\})*))?\}/.exec(text.slice(end));
      if (!more) return null;
      if (shown) literal += `${code}=`;
      const conversion = more[1] ?? (shown && more[2] === undefined ? "r" : undefined);
      pieces.push({ literal }, { code, conversion, spec: more[2] });
      literal = "";
      at = end + more[0].length;
    } else literal += text[at++];
  }
  return [...pieces, { literal }].filter((piece) => piece.literal !== "");
}

/** An f-string in other words; `lowered` writes the Python in its braces in other words. */
export function formattedText(text, opening, quote, lowered) {
  const pieces = piecesOf(text.slice(opening.length, -quote.length));
  if (!pieces) return text;
  const prefix = opening.slice(0, -quote.length).replace(/f/i, "");
  const parts = pieces.map(({ literal, code, conversion, spec }) => {
    if (literal !== undefined) return prefix + quote + literal + quote;
    const value = conversion === "r" ? `repr(${lowered(code)})` : lowered(code);
    if (spec === undefined) return `py_formatted(${value})`;
    const inner = spec.includes("{") ? formattedText(`f"${spec}"`, 'f"', '"', lowered) : null;
    return `py_formatted(${value}, ${inner ?? JSON.stringify(spec)})`;
  });
  return `py_text(${parts.join(", ")})`;
}
