// The text of mine.py: the reader's parts of a model, each with all that stood in the cell that was right.
//
// Two blank lines part its blocks. The page writes a block for each part; a notebook writes one for
// each function, and the imports at the top.

const BEGINNING = `"""Your functions, each as it was when its grader said "Correct".

Later chapters call them. Change what you like: nothing that stands here is overwritten unless you
ask for it.
"""
`;
// what the page knows without an import
const IMPORTS = [
  "import math",
  "",
  "import torch",
  "import torch.nn.functional as F",
  "from torch import Tensor, nn",
].join("\n");
const OF_THE_BOOK = "from attention_workbook.parts import of_the_book";
const DEFINED = /^(?:def|class) (\w+)|^([A-Za-z_]\w*)[ \t]*(?::[^=\n]*)?=(?!=)/gm;
const IMPORTED = /^(?:from|import) .*(?<!import of_the_book)$/gm;

const namesIn = (block) => Array.from(block.matchAll(DEFINED), ([, named, set]) => named ?? set);
/** What stands before the first name that a text defines, and its blocks. */
function split(text) {
  const blocks = text.trim().split(/\n{3,}/);
  const head = namesIn(blocks[0]).length ? "" : blocks.shift();
  return { head, blocks };
}

const uses = (text, name) => new RegExp(`(?<![.\\w])${name}(?!\\w)`).test(text);

/** Whether a part, as a text of mine.py defines it, uses another name. */
export const partUses = (text, part, name) =>
  split(text).blocks.some((block) => namesIn(block).includes(part) && uses(block, name));

/** A block without wide gaps, after the imports of what it uses of the library. */
function blockOf(code, library) {
  const text = code.trim().replace(/\n{3,}/g, "\n\n");
  const isImported = (name) => new RegExp(`^from .*import .*\\b${name}\\b`, "m").test(text);
  const names = library.filter((name) => uses(text, name) && !isImported(name));
  const missing = names.filter((name) => !namesIn(text).includes(name));
  return missing.length ? `from attention_lib import ${missing.join(", ")}\n\n${text}` : text;
}

/** Why a block cannot stand in the file, as the end of a sentence; an empty text if it can. */
function conflict(part, block, others, parts) {
  const made = namesIn(block);
  const copied = made.find((name) => name !== part && parts.includes(name));
  if (copied) return `your code defines \`${copied}\`, too. Leave that out: yours is called.`;
  for (const other of others) {
    const name = namesIn(other).find((one) => made.includes(one));
    const isPart = (one) => namesIn(one).some((each) => parts.includes(each));
    const user = name && others.find((one) => uses(one, name) && (one !== other || isPart(one)));
    if (user) {
      return `your \`${namesIn(user).at(-1)}\` uses another \`${name}\`. Rename this one.`;
    }
  }
  return "";
}

/**
 * The text of mine.py with a part in it that a reader has written; or why it is not kept, as the end
 * of a sentence.
 *
 * `helpers` is what the chapter defines, `parts` are the names of all parts and `library` those that
 * the page knows of the library; `mine` is the text so far.
 */
export function joined(part, source, { helpers = "", parts, library, mine }) {
  const { head, blocks } = split(mine || `${BEGINNING}\n${IMPORTS}`);
  const place = blocks.findIndex((one) => namesIn(one).includes(part));
  const together = place < 0 ? [] : parts.filter((name) => namesIn(blocks[place]).includes(name));
  if (together.length > 1) {
    const names = together.map((name) => `\`${name}\``).join(" and ");
    return { failed: `${names} stand together in mine.py. Put two blank lines between them.` };
  }
  const own = blockOf(source, library);
  const isUsed = namesIn(helpers).some((name) => uses(own, name) && !namesIn(own).includes(name));
  const added = isUsed ? [blockOf(helpers, library), own] : [own];
  const others = blocks.filter(
    (one, i) => i !== place && !added.some((each) => each.includes(one)),
  );
  for (const block of added) {
    const failed = conflict(part, block, others, parts);
    if (failed) return { failed };
  }
  const made = added.flatMap(namesIn);
  const isOld = (one) => others.includes(one) && namesIn(one).some((name) => made.includes(name));
  const fromTheBook = parts
    .filter((name) => added.some((one) => uses(one, name)) && !made.includes(name))
    .filter((name) => !blocks.some((one) => namesIn(one).includes(name)))
    .map((name) => `${OF_THE_BOOK}\n\n${name} = of_the_book("${name}")`);
  const fresh = [...fromTheBook, ...added].filter((one) => one === own || !blocks.includes(one));
  blocks.splice(place < 0 ? blocks.length : place, place < 0 ? 0 : 1, ...fresh);
  const kept = blocks.filter((one) => fresh.includes(one) || !isOld(one));
  return { text: `${[head, ...kept].filter(Boolean).join("\n\n\n")}\n` };
}

/** A text of mine.py with the parts that another has and that it lacks. */
export function completed(text, before, parts) {
  const has = new Set(split(text).blocks.flatMap(namesIn));
  const lost = split(before).blocks.filter((block) => {
    const names = namesIn(block);
    return names.some((name) => parts.includes(name)) && !names.some((name) => has.has(name));
  });
  return lost.length ? `${[text.trim(), ...lost].join("\n\n\n")}\n` : text;
}

/** A part as a text of mine.py has it, with what stands there for itself and is no part. */
export function taken(part, text, parts) {
  const { head, blocks } = split(text);
  const imports = (head.match(IMPORTED) ?? []).filter((line) => !IMPORTS.includes(line));
  const wanted = blocks.filter((block) => {
    const names = namesIn(block);
    return names.includes(part) || !names.some((name) => parts.includes(name));
  });
  return `${[imports.join("\n"), ...wanted].filter(Boolean).join("\n\n\n")}\n`;
}
