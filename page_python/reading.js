// Why Python cannot read a text, in CPython's own words where the case is clear, and the line. It is
// asked where MicroPython has refused the text: that says neither which bracket nor which word.

import { STRING, stringEnd } from "./lowering.js";

const CLOSES = { "(": ")", "[": "]", "{": "}" };
const OPENS_BLOCK = /^(?:async\s+)?(def|class|if|elif|else|for|while|with|try|except|finally)\b/;
const ODD_SPACE = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g;
const CHECK = /^exercise\.\w+\(.*\)[ \t]*(?:#.*)?$/gm; // a notebook's own way to ask the grader
const SIGN = /[^\p{ASCII}\p{L}\p{M}\p{N}]/u;
// what the page's Python lacks: how its line looks, and what it is called
const LACKING = [
  [/^match\b\s*[^=.,)\s].*:$/, "`match`"],
  [/^case\b.*:$/, "`match`"],
  [/^except\s*\*/, "`except*`"],
  [/^type\s+\w+\s*=/, "`type`"],
  [/^with\s*\(\)\s*:/, "brackets around what follows `with`"],
  [/^(?:def|class)\s+\w+\s*\[/, "types in brackets after a name"],
];

class Unreadable {
  constructor(line, why, lacks = false) {
    Object.assign(this, { line, why, lacks });
  }
}

/** A reader's text without what pasting brings along; its lines stay where they are. */
export function cleaned(source) {
  return source
    .replace(/\u200b|\u200c|\u200d|\u2060|\ufeff/g, "")
    .replace(ODD_SPACE, " ")
    .replace(CHECK, "");
}

function badSign(sign, line) {
  const code = sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const straight = /[‘’‚“”„«»]/.test(sign) ? ": Python's quotes are straight, \" or '" : "";
  return new Unreadable(line, `invalid character '${sign}' (U+${code})${straight}`);
}

function badBracket(sign, line, opened) {
  if (!opened) return new Unreadable(line, `unmatched '${sign}'`);
  const where = opened.line === line ? "" : ` on line ${opened.line}`;
  const why = `closing parenthesis '${sign}' does not match opening parenthesis '${opened.sign}'`;
  return new Unreadable(line, why + where);
}

/**
 * The statements of a text, one a line or several: number of their first line, indentation, and code
 * with empty texts and without comments. An Unreadable where brackets or texts do not end.
 */
function statements(source) {
  const found = [];
  const open = [];
  let line = 1;
  let now = { line, code: "" };
  const finish = () => {
    const indent = /^[ \t]*/.exec(now.code)[0].replaceAll("\t", "        ").length;
    if (now.code.trim()) found.push({ ...now, indent, code: now.code.trim() });
    now = { line: line + 1, code: "" };
  };
  for (let at = 0; at < source.length; at++) {
    const sign = String.fromCodePoint(source.codePointAt(at));
    const rest = source.slice(at, at + 200);
    const string = STRING.exec(rest);
    const word = /^\w+/.exec(rest)?.[0] ?? "";
    if (string) {
      const [opening, quote] = string;
      const end = stringEnd(source, at + opening.length, quote);
      const text = source.slice(at, end);
      if (!source.slice(at + opening.length, end).endsWith(quote)) {
        const kind = quote.length === 3 ? "triple-quoted string" : "string";
        return new Unreadable(line, `unterminated ${kind} literal`);
      }
      now.code += '""';
      line += text.split("\n").length - 1;
      at = end - 1;
    } else if (word) {
      if (!open.length) now.code += word;
      at += word.length - 1;
    } else if (sign === "#") {
      const end = source.indexOf("\n", at);
      at = (end < 0 ? source.length : end) - 1;
    } else if (sign === "\\" && source[at + 1] === "\n") {
      line++;
      at++;
    } else if (sign === "\n") {
      if (!open.length) finish();
      line++;
    } else if (sign in CLOSES) {
      open.push({ sign, line });
      if (open.length === 1) now.code += sign;
    } else if (")]}".includes(sign)) {
      const opened = open.pop();
      if (!opened || CLOSES[opened.sign] !== sign) return badBracket(sign, line, opened);
      if (!open.length) now.code += sign;
    } else if (SIGN.test(sign)) return badSign(sign, line);
    else if (!open.length) now.code += sign;
  }
  const opened = open.at(-1);
  if (opened) return new Unreadable(opened.line, `'${opened.sign}' was never closed`);
  finish();
  return found;
}

/** What is wrong with one statement, if it is clear. */
function wrongStatement({ line, code }) {
  const lacking = LACKING.find(([form]) => form.test(code));
  if (lacking) return new Unreadable(line, lacking[1], true);
  const block = OPENS_BLOCK.exec(code);
  if (!block) return null;
  if (!code.includes(":")) return new Unreadable(line, "expected ':'");
  if (["if", "elif", "while"].includes(block[1]) && /[^=!<>:]=(?!=)/.test(code.split(":")[0])) {
    const why = "invalid syntax. Maybe you meant '==' or ':=' instead of '='?";
    return new Unreadable(line, why);
  }
  return null;
}

function expectedBlock(above, line) {
  const [, word] = OPENS_BLOCK.exec(above.code) ?? [];
  const named = { def: "function definition", class: "class definition" };
  const after = word ? ` after ${named[word] ?? `'${word}' statement`} on line ${above.line}` : "";
  return new Unreadable(line, `expected an indented block${after}`);
}

/** What is wrong with the indentation of a statement below another. */
function wrongIndent(above, { line, indent }, levels) {
  const opens = above?.code.endsWith(":");
  if (opens && indent <= above.indent) return expectedBlock(above, line);
  if (indent > levels.at(-1)) {
    if (!opens) return new Unreadable(line, "unexpected indent");
    levels.push(indent);
  }
  while (indent < levels.at(-1)) levels.pop();
  return indent === levels.at(-1)
    ? null
    : new Unreadable(line, "unindent does not match any outer indentation level");
}

/** Why Python cannot read a text: {line, why}, with `lacks` where only this page cannot; or null. */
export function unreadable(source) {
  const found = statements(source);
  if (found instanceof Unreadable) return found;
  const levels = [0];
  for (const [i, statement] of found.entries()) {
    const wrong = wrongIndent(found[i - 1], statement, levels) ?? wrongStatement(statement);
    if (wrong) return wrong;
  }
  const last = found.at(-1);
  return last?.code.endsWith(":") ? expectedBlock(last, last.line) : null;
}
