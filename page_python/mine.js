// The text of mine.py, as the notebooks write it: the reader's parts of a model, with what they need.

import { STRING, stringEnd } from "./strings.js";

const BEGINNING = `"""Your functions, each as it was when its grader said "Correct".

Later chapters call them. Change what you like: nothing that stands here is overwritten unless you
ask for it.
"""
`;
const OF_THE_BOOK = "from attention_workbook.parts import of_the_book";
// what the page knows without an import, and how a notebook gets it
const IMPORTS = {
  torch: "import torch",
  math: "import math",
  Tensor: "from torch import Tensor",
  nn: "from torch import nn",
  F: "import torch.nn.functional as F",
};
const GOES_ON = /^(?:else|elif|except|finally)\b/;
const DEFINED = /^(?:@[^\n]*\n)*(?:async )?(?:def|class) (\w+)/;
const ASSIGNED = /^([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=(?!=)/;

/** The strings, the comments and all other signs of a text, in order. */
function* pieces(text) {
  for (let at = 0; at < text.length;) {
    const string = STRING.exec(text.slice(at, at + 5));
    let end = at + 1;
    if (string) end = stringEnd(text, at + string[0].length, string[1]);
    else if (text[at] === "#") end = at + /^[^\n]*/.exec(text.slice(at))[0].length;
    yield { at, piece: text.slice(at, end), isCode: !string && text[at] !== "#" };
    at = end;
  }
}

/** The texts of a module's statements, without comments between them. */
function topLevel(text) {
  const starts = [];
  let [depth, margin] = [0, true];
  for (const { at, piece, isCode } of pieces(text)) {
    const begins = margin && depth === 0 && /^[^\s#)\]}]/.test(piece);
    if (begins && !GOES_ON.test(text.slice(at, at + 10))) {
      const decorated = starts.length && /^(?:@[^\n]*\n)+$/.test(text.slice(starts.at(-1), at));
      if (!decorated) starts.push(at);
    }
    margin = piece === "\n";
    if (isCode && "([{".includes(piece)) depth++;
    if (isCode && ")]}".includes(piece)) depth--;
  }
  return starts.map((start, i) =>
    text.slice(start, starts[i + 1] ?? text.length).replace(/(?:\n(?:#.*|[ \t]*))+$/, ""),
  );
}

/** Whether a text uses a name: in its code, or in a string that holds code. */
function uses(text, name) {
  const code = Array.from(pieces(text), ({ piece, isCode }) =>
    isCode || /^[rR]?[fF]/.test(piece) ? piece : " ",
  );
  return new RegExp(`(?<![.\\w])${name}(?!\\w)`).test(code.join(""));
}

/** Whether a part, as a text of mine.py defines it, uses another name. */
export function partUses(text, part, name) {
  const isPart = (one) => (DEFINED.exec(one) ?? ASSIGNED.exec(one))?.[1] === part;
  return topLevel(text).some((one) => isPart(one) && uses(one, name));
}

/** The imports of a statement, each by the name that it makes. */
function importsOf(statement) {
  const from = /^from (\S+) import \(?([^)]*)\)?/.exec(statement);
  const list = from?.[2] ?? /^import (.*)/.exec(statement)?.[1];
  if (list === undefined) return [];
  const before = from ? `from ${from[1]} ` : "";
  return list
    .replace(/#.*/g, "")
    .split(",")
    .map((one) => one.trim().replace(/\s+/g, " "))
    .filter(Boolean)
    .map((one) => ({
      name: one.split(" as ").at(-1),
      text: `${before}import ${one}`,
      imported: true,
    }));
}

/** The statements of a module that give something a name. */
export function statements(text) {
  return topLevel(text).flatMap((statement) => {
    if (/^(?:from|import) /.test(statement)) return importsOf(statement);
    const name = DEFINED.exec(statement)?.[1] ?? ASSIGNED.exec(statement)?.[1];
    return name ? [{ name, text: statement, imported: false }] : [];
  });
}

const isOurs = ({ text }) => /^my_\w+ = of_the_book\("\w+"\)$/.test(text);
const byName = (list) => new Map(list.map((statement) => [statement.name, statement]));

/** What a part needs, itself at the end: statements of the editor, of the chapter, of the book. */
function needed(part, source, { helpers, parts, library, mine }) {
  const written = byName(statements(source));
  const chapter = statements(helpers).filter(({ name }) => !parts.includes(name));
  const known = new Map([...byName(chapter), ...written]);
  const standing = byName(statements(mine));
  const definitions = new Map();
  const add = (name, text, imported) => definitions.set(name, { name, text, imported });
  const need = (name) => {
    if (definitions.has(name)) return;
    if (known.has(name)) {
      const { text, imported } = known.get(name);
      definitions.set(name, null); // a function may call itself
      const others = [...known.keys(), ...parts, ...library, ...Object.keys(IMPORTS)];
      for (const other of others) if (!imported && other !== name && uses(text, other)) need(other);
      definitions.delete(name);
      add(name, text, imported);
    } else if (parts.includes(name)) {
      if (standing.has(name)) return;
      add("of_the_book", OF_THE_BOOK, true);
      add(name, `${name} = of_the_book("${name}")`, false);
    } else if (name in IMPORTS) add(name, IMPORTS[name], true);
    else add(name, `from attention_lib import ${name}`, true);
  };
  need(part);
  return [...definitions.values()];
}

/** A part as a text of mine.py has it, with what it uses of that text but the other parts. */
export function taken(part, text, parts) {
  const known = byName(statements(text));
  const used = new Set();
  const use = (name) => {
    used.add(name);
    for (const other of known.keys()) {
      const isNew = !used.has(other) && !parts.includes(other);
      if (isNew && uses(known.get(name).text, other)) use(other);
    }
  };
  use(part);
  const needs = [...known.values()].filter((one) => used.has(one.name));
  const imports = needs.filter((one) => one.imported && one.text !== IMPORTS[one.name]);
  const texts = needs.filter((one) => !one.imported).map((one) => one.text);
  if (imports.length) texts.unshift(imports.map((one) => one.text).join("\n"));
  return `${texts.join("\n\n\n")}\n`;
}

function withImports(text, imports) {
  if (!imports.length) return text;
  const tops = topLevel(text);
  const after = tops.findLastIndex((one) => /^(?:from|import) /.test(one));
  const documented = STRING.test(tops[0] ?? "");
  const last = tops[after < 0 ? 0 : after] ?? "";
  const end = after >= 0 || documented ? text.indexOf(last) + last.length : 0;
  const lines = `${imports.join("\n")}\n`;
  if (end === 0) return `${lines}${text}`;
  return `${text.slice(0, end)}\n${after < 0 ? "\n" : ""}${imports.join("\n")}${text.slice(end)}`;
}

/**
 * The text of mine.py with a part in it that a reader has written, and with all that it needs; or why
 * it is not kept, as the end of a sentence.
 *
 * `helpers` is what the chapter defines, `parts` are the names of all parts and `library` those that
 * the page knows of the library; `mine` is the text so far.
 */
export function joined(part, source, { helpers = "", parts, library, mine }) {
  let text = mine || BEGINNING;
  const known = byName(statements(text));
  const needs = needed(part, source, { helpers, parts, library, mine });
  const own = new Set(needs.map(({ name }) => name));
  const [imports, definitions] = [[], []];
  for (const { name, text: code, imported } of needs) {
    const old = known.get(name);
    if (!old) (imported ? imports : definitions).push(code);
    else if (old.text !== code) {
      const other = [...known.values()].find((one) => !own.has(one.name) && uses(one.text, name));
      if (name !== part && !isOurs(old) && other) {
        return { failed: `your \`${other.name}\` uses another \`${name}\`. Rename this one.` };
      }
      text = text.replace(old.text, () => code);
    }
  }
  text = withImports(text, imports);
  return { text: `${[text.trimEnd(), ...definitions].join("\n\n\n")}\n` };
}
