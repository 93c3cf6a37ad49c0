// Python that MicroPython does not read, in words that it does: stars in lists, tuples and sets;
// assignments such as x *= 2, which change a tensor in place; and comparisons with a number on the
// left, such as 0 <= x, about which it does not ask the tensor. Lines stay where they are.

const STRING = /^[rRbBuUfF]{0,2}("""|'''|"|')/;

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
function stringEnd(source, start, quote) {
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
  }

  endStatement(at) {
    if (this.closes) this.changes.push([at, at, ")"]);
    [this.closes, this.fresh] = [false, true];
  }

  bracket(sign, at) {
    if ("([{".includes(sign)) {
      const word = /\w$/.test(this.last) && !BEFORE_DISPLAY.has(this.last);
      const display = !word && ![")", "]", '"'].includes(this.last);
      this.open.push({ sign, at, display, star: false });
      return;
    }
    const { sign: opened, at: start, display, star } = this.open.pop() ?? {};
    if (!display || !star) return;
    this.changes.push([start, start + 1, NAMES[opened]], [at, at + 1, ")"]);
  }

  sign(at) {
    const { source } = this;
    const sign = source[at];
    if ("()[]{}".includes(sign)) this.bracket(sign, at);
    const first = /^[([{,]$/.test(this.last);
    if (sign === "*" && source[at + 1] !== "*" && source[at - 1] !== "*" && first) {
      if (this.open.length) this.open.at(-1).star = true;
    }
    if (!/\s/.test(sign)) this.last = sign;
  }

  /** Read one piece of the source, and return where the next begins. */
  step(at) {
    const rest = this.source.slice(at, at + 200);
    const string = STRING.exec(rest);
    if (string) {
      this.last = '"';
      this.fresh = false;
      return stringEnd(this.source, at + string[0].length, string[1]);
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
      return at + word[0].length;
    }
    this.sign(at);
    return at + 1;
  }

  result() {
    for (let at = 0; at < this.source.length;) at = this.step(at);
    this.endStatement(this.source.length);
    return this.changes
      .sort((a, b) => b[0] - a[0])
      .reduce(
        (text, [start, end, made]) => text.slice(0, start) + made + text.slice(end),
        this.source,
      );
  }
}

export const lowered = (source) => new Lowering(source).result();
