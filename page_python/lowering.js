// Python that MicroPython does not read, or reads otherwise, in words that it does: stars in lists,
// tuples and sets; dictionaries, which keep their order; texts that a tensor is written into;
// assignments such as x *= 2, which change a tensor in place; and comparisons with a number on the
// left, such as 0 <= x, about which it does not ask the tensor. Lines stay where they are.

import { formattedText } from "./texts.js";

export const STRING = /^[rRbBuUfF]{0,2}("""|'''|"|')/;

const BEFORE_DISPLAY = new Set([
  "return",
  "yield",
  "in",
  "and",
  "or",
  "not",
  "is",
  "if",
  "else",
  "lambda",
  "assert",
]);
const NAMES = { "[": "py_list(", "(": "py_tuple(", "{": "py_set(" };
const AUGMENTED = /^([A-Za-z_]\w*)[ \t]*(\*\*|\/\/|[*/%&|^@])=(?!=)[ \t]*/;
const LEFT = /^(?:\d[\w.]*|[A-Za-z_]\w*)(?=[ \t]*(?:<=?|>=?)(?![<>=]))/;
const OPERATOR = /[=<>!:+*/%&|^@-]=\s*$/; // it ends in =, and is no assignment of a name
const BEFORE_OPERAND = new Set([
  ...BEFORE_DISPLAY,
  "",
  "(",
  "[",
  "{",
  ",",
  ":",
  "=",
  "elif",
  "while",
]);

/** Where a string that begins at a place ends. */
export function stringEnd(source, start, quote) {
  let at = start;
  while (at < source.length && !source.startsWith(quote, at)) {
    if (quote.length === 1 && source[at] === "\n") return at;
    at += source[at] === "\\" ? 2 : 1;
  }
  return at + quote.length;
}

class Lowering {
  constructor(source) {
    this.source = source;
    this.changes = []; // [start, end, new text]
    this.open = []; // brackets that are not closed yet
    this.last = ""; // the last word or sign
    this.closes = false; // whether the present statement needs a closing bracket at its end
    this.fresh = true; // whether a statement may begin here
    this.value = null; // where the value of the present statement begins
    this.comma = 0; // where the last comma stands
    this.formatted = false; // whether the last text was an f-string
  }

  endStatement(at) {
    if (this.closes) this.changes.push([at, at, ")"]);
    [this.closes, this.fresh, this.value] = [false, true, null];
  }

  bracket(sign, at) {
    if ("([{".includes(sign)) {
      const word = /\w$/.test(this.last) && !BEFORE_DISPLAY.has(this.last);
      const display = !word && ![")", "]", '"'].includes(this.last);
      this.open.push({ sign, at, display, star: false, item: at + 1 });
      return;
    }
    const { sign: opened, at: start, display, star, ...more } = this.open.pop() ?? {};
    const isEmpty = opened === "{" && !this.source.slice(start + 1, at).trim();
    if (more.pairs || isEmpty) {
      const [before, after] = more.loops ? ["*[", "]"] : ["", more.keyed ? ")" : ""];
      this.changes.push([start, start + 1, `py_dict(${before}`], [at, at + 1, `${after})`]);
    } else if (star && display) {
      this.changes.push([start, start + 1, NAMES[opened]], [at, at + 1, ")"]);
    } else if (star && opened === "[") {
      this.changes.push([start, start + 1, "[py_tuple("], [at, at + 1, ")]"]);
    }
  }

  /** In a dictionary: its colons, commas and double stars, and the word `for`. */
  pair(sign, at) {
    const dictionary = this.open.at(-1);
    if (dictionary?.sign !== "{" || dictionary.loops) return;
    if (sign === ":" && !dictionary.keyed) {
      this.changes.push([at, at + 1, ","], [dictionary.item, dictionary.item, "("]);
      Object.assign(dictionary, { pairs: true, keyed: true });
    } else if (sign === "**" && /[{,]/.test(this.last)) {
      this.changes.push([at, at + 2, "*py_pairs("]);
      Object.assign(dictionary, { pairs: true, keyed: true });
    } else if (sign === "," && dictionary.keyed) {
      this.changes.push([at, at + 1, "),"]);
      Object.assign(dictionary, { keyed: false, item: at + 1 });
    } else if (sign === "for" && dictionary.keyed) {
      this.changes.push([at, at, ") "]);
      dictionary.loops = true;
    }
  }

  /** A text: an f-string, or what `.format` or `%` writes into; return where it ends. */
  text(at, [opening, quote]) {
    const { source } = this;
    const end = stringEnd(source, at + opening.length, quote);
    const rest = source.slice(end);
    const isFormatted = /f/i.test(opening);
    const follows = this.last === '"';
    if (follows && (isFormatted || this.formatted)) this.changes.push([at, at, "+ "]);
    this.formatted = isFormatted;
    if (isFormatted) {
      const made = formattedText(source.slice(at, end), opening, quote, lowered);
      this.changes.push([at, end, made]);
    } else if (rest.startsWith(".format(") && !follows) {
      this.changes.push([at, at, "py_format("], [end, end + 8, ", "]);
      this.open.push({ sign: "(", at: end + 7, display: false, star: false });
      return end + 8;
    } else if (/^[ \t]*%(?!=)/.test(rest) && !follows && !/b/i.test(opening)) {
      this.changes.push([at, at, "py_percent("], [end, end, ")"]);
    }
    return end;
  }

  /** A star before what a value is made of, outside of brackets. */
  unpacked(at) {
    const isFirst = ["return", "="].includes(this.last);
    if (this.closes || !(isFirst || (this.last === "," && this.value !== null))) return;
    this.changes.push([isFirst ? at : this.value, isFirst ? at : this.value, " py_tuple("]);
    this.closes = true;
  }

  sign(at) {
    const { source } = this;
    const sign = source[at];
    if ("()[]{}".includes(sign)) this.bracket(sign, at);
    const first = /^[([{,]$/.test(this.last);
    const twice = source[at + 1] === "*" || source[at - 1] === "*";
    if (sign === "*" && !twice) {
      if (!this.open.length) this.unpacked(at);
      else if (first) this.open.at(-1).star = true;
    }
    if (sign === "*" && source[at + 1] === "*") this.pair("**", at);
    if (sign === ":" || sign === ",") this.pair(sign, at);
    if (sign === "/" && this.last === "," && /^\/\s*[,)]/.test(source.slice(at, at + 20))) {
      this.changes.push([this.comma, at + 1, ""]); // arguments without names
    }
    if (sign === ",") this.comma = at;
    if (sign === "=" && !this.open.length) this.value = at + 1;
    if (!/\s/.test(sign)) this.last = sign;
  }

  /** Read one piece of the source, and return where the next begins. */
  step(at) {
    const rest = this.source.slice(at, at + 200);
    const string = STRING.exec(rest);
    if (string) {
      const end = this.text(at, string);
      [this.last, this.fresh] = [this.source[end - 1] === "(" ? "(" : '"', false];
      return end;
    }
    if (rest[0] === "#") {
      if (!this.open.length) this.endStatement(at);
      const end = this.source.indexOf("\n", at);
      return end < 0 ? this.source.length : end;
    }
    if ((rest[0] === "\n" || rest[0] === ";") && !this.open.length) {
      this.endStatement(at);
      this.last = "";
      return at + 1;
    }
    const augmented = this.fresh && AUGMENTED.exec(rest);
    if (augmented) {
      const [whole, name, sign] = augmented;
      this.changes.push([at, at + whole.length, `${name} = py_inplace(${name}, "${sign}", `]);
      [this.closes, this.fresh, this.last] = [true, false, "="];
      return at + whole.length;
    }
    const left = LEFT.exec(rest);
    if (
      left &&
      BEFORE_OPERAND.has(this.last) &&
      !OPERATOR.test(this.source.slice(Math.max(0, at - 9), at))
    ) {
      this.changes.push([at, at + left[0].length, `py_left(${left[0]})`]);
      [this.last, this.fresh] = [left[0], false];
      return at + left[0].length;
    }
    const word = /^\w+/.exec(rest);
    if (!/^[ \t]/.test(rest)) this.fresh = rest[0] === ":" && !this.open.length;
    if (word) {
      [this.last] = word;
      if (word[0] === "for") this.pair("for", at);
      if (word[0] === "return") this.value = at + 6;
      return at + word[0].length;
    }
    this.sign(at);
    return at + 1;
  }

  result() {
    for (let at = 0; at < this.source.length;) at = this.step(at);
    this.endStatement(this.source.length);
    return this.changes
      .sort((a, b) => b[0] - a[0] || b[1] - a[1])
      .reduce(
        (text, [start, end, made]) => text.slice(0, start) + made + text.slice(end),
        this.source,
      );
  }
}

export function lowered(source) {
  return new Lowering(source).result();
}
