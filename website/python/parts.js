// The parts of a model that a reader has written: kept in mine.py, and called by later exercises.

import { joined, NotKept, ownParts } from "./mine.js";
import { mine } from "./keeping.js";

const listed = (names) => new Intl.ListFormat("en-GB").format(names.map((name) => `\`${name}\``));

/** Say whose the parts are that an exercise calls; an empty text if it calls none. */
export function whose(names) {
  const own = ownParts(mine.text(), names);
  const ours = names.filter((name) => !own.includes(name));
  if (!names.length) return "";
  if (!ours.length) return `It calls your own ${listed(own)}.`;
  const until = `${listed(ours)} of the book, until you have written your own`;
  return own.length ? `It calls your own ${listed(own)}, and ${until}.` : `It calls ${until}.`;
}

/** The reader's parts, for the grader of another one. */
export function earlier({ names }) {
  return { mine: mine.text(), parts: ownParts(mine.text(), names.parts) };
}

/** Keep a part that is right; return what to say of it. */
export function keepPart({ part, exercise }, source, { names, helpers }) {
  const known = { ...names, helpers: helpers[exercise], mine: mine.text() };
  try {
    const works = mine.keep(joined(part, source, known));
    return works
      ? " Later chapters call it now."
      : " This browser keeps nothing for later chapters.";
  } catch (error) {
    if (!(error instanceof NotKept)) throw error;
    return ` It is not kept for later chapters: ${error.message}`;
  }
}
