// Strings in the text of a Python program.

export const STRING = /^[rRbBuUfF]{0,2}("""|'''|"|')/;

/** Where a string that begins at a place ends. */
export function stringEnd(source, start, quote) {
  let at = start;
  while (at < source.length && !source.startsWith(quote, at)) {
    if (quote.length === 1 && source[at] === "\n") return at;
    at += source[at] === "\\" ? 2 : 1;
  }
  return at + quote.length;
}
