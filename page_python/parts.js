// The parts of a model that a reader has written: kept in mine.py, and called by later exercises.

import { mine } from "./keeping.js";
import { joined } from "./mine.js";

const listed = (names) => new Intl.ListFormat("en-GB").format(names.map((name) => `\`${name}\``));

/** The parts, of those that there are, that a text of mine.py holds of the reader's own. */
export function ownParts(text, parts) {
  const isOwn = (part) =>
    new RegExp(`^(?:def ${part}\\b|${part} *=(?! *of_the_book\\())`, "m").test(text);
  return parts.filter(isOwn);
}

/** Say whose the parts are that an exercise calls; an empty text if it calls none. */
export function whose(names) {
  const own = ownParts(mine.text(), names);
  const ours = names.filter((name) => !own.includes(name));
  if (!names.length) return "";
  if (!ours.length) return `It calls your own ${listed(own)}.`;
  const until = `${listed(ours)} of the book, until you have written your own`;
  return own.length ? `It calls your own ${listed(own)}, and ${until}.` : `It calls ${until}.`;
}

/** The reader's parts that an exercise calls, for its grader. */
export const earlier = (names) => ({ mine: mine.text(), parts: ownParts(mine.text(), names) });

/** Keep a part that is right; return what to say of it. */
export function keepPart({ part, ...known }, source) {
  const before = mine.text();
  const { text, failed } = joined(part, source, { ...known, mine: before });
  if (failed) return ` It is not among your parts: ${failed}`;
  const draft = mine.draft();
  if (draft !== null) mine.keepDraft(joined(part, source, { ...known, mine: draft }).text ?? draft);
  if (!mine.keep(text)) return " This browser keeps no parts, so ours are called.";
  const another = ownParts(before, [part]).length && text !== before;
  return ` It is one of your parts now${another ? ", in place of the one you had" : ""}.`;
}
