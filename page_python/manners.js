// A plain text area that knows how Python is written: Tab indents, Enter keeps the indentation,
// Escape lets Tab leave. Changes go through the browser's own editing, so that they can be undone.

const STEP = 4;

function insert(field, text) {
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Where the line of a place begins. */
const lineStart = (text, place) => text.lastIndexOf("\n", place - 1) + 1;

/** Indent the selected lines, or take a step away from each. */
function indentLines(field, outwards) {
  const { value, selectionStart, selectionEnd } = field;
  const start = lineStart(value, selectionStart);
  const lines = value.slice(start, selectionEnd).split("\n");
  const moved = lines.map((line) =>
    outwards ? line.replace(/^ {1,4}/, "") : line && " ".repeat(STEP) + line,
  );
  field.setSelectionRange(start, selectionEnd);
  insert(field, moved.join("\n"));
  const first = moved[0].length - lines[0].length;
  const all = moved.join("\n").length - lines.join("\n").length;
  field.setSelectionRange(Math.max(start, selectionStart + first), selectionEnd + all);
}

/** Indent the selected lines, or go to the next step where nothing is selected. */
export function indent(field) {
  const { value, selectionStart, selectionEnd } = field;
  if (selectionStart !== selectionEnd) indentLines(field, false);
  else
    insert(field, " ".repeat(STEP - ((selectionStart - lineStart(value, selectionStart)) % STEP)));
}

/** Begin a line: deeper after a colon, and a step back after what ends a block. */
function enter(field) {
  const { value, selectionStart } = field;
  const line = value.slice(lineStart(value, selectionStart), selectionStart);
  const indented = /^ */.exec(line)[0].length;
  const isOpen = line.split(/[([{]/).length > line.split(/[)\]}]/).length;
  const ends = !isOpen && /^ *(return|raise|break|continue|pass)\b/.test(line);
  const step = /:\s*(#.*)?$/.test(line) ? STEP : ends ? -STEP : 0;
  insert(field, `\n${" ".repeat(Math.max(0, indented + step))}`);
}

/** Take back a whole step where nothing but indentation stands before the caret. */
function backspace(field) {
  const { value, selectionStart, selectionEnd } = field;
  const before = value.slice(lineStart(value, selectionStart), selectionStart);
  if (selectionStart !== selectionEnd || !/^ +$/.test(before)) return false;
  const step = before.length % STEP || STEP;
  field.setSelectionRange(selectionStart - step, selectionStart);
  document.execCommand("delete");
  return true;
}

export function withManners(field) {
  let leaves = false; // Escape was pressed: the next Tab goes on to what follows
  field.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    if (event.key === "Escape") leaves = true;
    else if (event.key === "Tab" && plain && !leaves) {
      event.preventDefault();
      if (event.shiftKey) indentLines(field, true);
      else indent(field);
    } else if (event.key === "Enter" && plain && !event.shiftKey) {
      event.preventDefault();
      enter(field);
    } else if (event.key === "Backspace" && plain && backspace(field)) event.preventDefault();
    if (!["Escape", "Tab", "Shift"].includes(event.key)) leaves = false;
  });
  field.addEventListener("blur", () => {
    leaves = false;
  });
}
