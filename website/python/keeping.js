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

/** The text of mine.py, as far as it is written; this page hears of a change as others do. */
export const mine = {
  text: () => stored((kept) => kept.getItem(MINE)) ?? "",
  keep(text) {
    stored((kept) => kept.setItem(MINE, text));
    dispatchEvent(new Event("storage"));
    return mine.text() === text;
  },
};

/** What is kept of one exercise. */
export function keepsOf(name) {
  const [draft, solved] = [`${PREFIX}${name}`, `${PREFIX}${name} solved`];
  return {
    draft: () => stored((kept) => kept.getItem(draft)),
    passed: () => stored((kept) => kept.getItem(solved)) !== null,
    keep: (text) =>
      stored((kept) => {
        kept.setItem(draft, text);
        return true;
      }) === true,
    pass: () => stored((kept) => kept.setItem(solved, "yes")),
    forget: () =>
      stored((kept) => {
        kept.removeItem(draft);
        kept.removeItem(solved);
      }),
    /** Call back where another tab changes the draft. */
    watch: (changed) =>
      addEventListener("storage", ({ key, newValue }) => {
        if (key === draft) changed(newValue);
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
