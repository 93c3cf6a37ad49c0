// What a reader writes stays in this browser: drafts, which exercises are solved, and the parts.

const PREFIX = "attention-code ";
const MINE = `${PREFIX}mine.py`;

function stored(action) {
  try {
    return action(localStorage);
  } catch {
    return null; // storage may be forbidden, or full
  }
}

const encode = (text) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

function decode(text) {
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(letters, (letter) => letter.charCodeAt(0)),
    );
  } catch {
    return null; // no draft of ours
  }
}

/** Keep a text, or nothing, in place of what stands there; whether this browser does. */
function kept(name, text) {
  if (text === null) stored((storage) => storage.removeItem(name));
  else stored((storage) => storage.setItem(name, text));
  return text === readText(name);
}

/** A list that is kept as JSON; empty where nothing is kept, or something else. */
function readList(name) {
  try {
    const list = JSON.parse(readText(name));
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

const readText = (name) => stored((storage) => storage.getItem(name));

/** The text of mine.py, as far as it is written; this page hears of a change as others do. */
export const mine = {
  text: () => readText(MINE) ?? "",
  keep(text) {
    const works = kept(MINE, text);
    dispatchEvent(new Event("storage"));
    return works;
  },
  /** What the panel holds in place of it, as long as it is not graded or not right. */
  draft: () => readText(`${MINE} draft`),
  keepDraft: (text) => kept(`${MINE} draft`, text),
};

/** What is kept of one exercise: a draft, the code that was right, the answer of a light form. */
export function keepsOf(name) {
  const [draft, solved, form] = ["", " solved", " form"].map((kind) => `${PREFIX}${name}${kind}`);
  return {
    draft: () => readText(draft),
    keep: (text) => kept(draft, text),
    solution: () => readText(solved),
    pass: (text) => kept(solved, text),
    forget() {
      kept(draft, null);
      kept(solved, null);
    },
    answer: () => readList(form),
    keepAnswer: (texts) => kept(form, JSON.stringify(texts)),
    /** Call back where another tab changes the draft, or solves the exercise. */
    watch: (changed) =>
      addEventListener("storage", ({ key }) => {
        if (key === draft || key === solved) changed();
      }),
    link(text) {
      const link = new URL(location.href);
      link.hash = `draft=${name}=${encode(text)}`;
      return link.href;
    },
    brought() {
      const [kind, whose, text] = location.hash.slice(1).split("=");
      return kind === "draft" && whose === name ? decode(text) : null;
    },
  };
}
