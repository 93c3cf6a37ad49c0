// Lighter forms of an exercise: blanks to fill, one token to mend, lines to put in order. The page has
// the grader's answers already, so that these work by touch and without Python.

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A text of code as nodes; arrows are not broken over two lines. */
const words = (text) =>
  text
    .split(/(->)/)
    .map((part) => (part === "->" ? make("span", { className: "arrow" }, part) : part));

/** Code, of texts and fields, as an element for each line: a long one wraps beside its indentation. */
function linesOf(pieces) {
  const lines = [];
  for (const piece of ["\n", ...pieces]) {
    const [first, ...others] = typeof piece === "string" ? piece.split("\n").map(words) : [[piece]];
    lines.at(-1)?.append(...first);
    for (const nodes of others) lines.push(make("span", { className: "line" }, ...nodes));
  }
  return make("pre", {}, make("code", {}, ...lines));
}

/** What is said of lines in an order; where they make no program, why not. */
export function judgeLines({ lines, verdicts }, order) {
  const chosen = order.map((i) => lines[i]);
  const made = new Set();
  const everMade = new Set(lines.flatMap(({ makes }) => makes));
  for (const { makes, uses } of chosen) {
    if (made.has("return")) return [false, "Not yet: a line after `return` never runs."];
    const missing = uses.find((name) => everMade.has(name) && !made.has(name));
    if (missing) return [false, `Not yet: \`${missing}\` is used before a line makes it.`];
    const twice = makes.find((name) => made.has(name));
    if (twice) return [false, `Not yet: two lines make \`${twice}\`; one of them is too many.`];
    makes.forEach((name) => made.add(name));
  }
  if (!made.has("return")) return [false, "Not yet: nothing is returned."];
  const needed = new Set();
  const need = (line) => {
    needed.add(lines.indexOf(line));
    line.uses.forEach((name) => need(chosen.find(({ makes }) => makes.includes(name))));
  };
  need(chosen.find(({ makes }) => makes.includes("return")));
  return verdicts[[...needed].sort((a, b) => a - b).join()];
}

/** An order that is the same for everyone and is not the right one. */
function shuffled(count) {
  const step = count % 2 ? 2 : 3;
  const order = Array.from({ length: count }, (_, i) => (i * step + 1) % count);
  return new Set(order).size === count ? order : [...order.keys()].reverse();
}

function arranging(form, changed) {
  const program = make("ol", { className: "program" });
  const tray = make("ul", { className: "tray" });
  program.setAttribute("aria-label", "Your lines, in order");
  tray.setAttribute("aria-label", "Lines to choose from");
  const items = form.lines.map(({ text }, i) => {
    const button = make("button", { type: "button" }, make("code", { textContent: text }));
    const item = make("li", {}, button);
    item.line = i;
    button.addEventListener("click", () => {
      (item.parentElement === tray ? program : tray).append(item);
      button.focus();
      changed();
    });
    return item;
  });
  tray.append(...shuffled(items.length).map((i) => items[i]));
  const head = linesOf([form.head]);
  const order = () => Array.from(program.children, ({ line }) => line);
  const lines = () => order().map((i) => `    ${form.lines[i].text}\n`);
  return {
    parts: [head, program, tray],
    judge: () => judgeLines(form, order()),
    answer: () => order().map((i) => form.lines[i].text),
    fill(texts) {
      const lineOf = (text) => items.find(({ line }) => form.lines[line].text === text);
      program.append(...texts.map(lineOf).filter(Boolean));
    },
    text: () => `${form.head}\n${lines().join("")}`,
  };
}

function choosing({ kind, between, places, verdicts }, changed) {
  const fields = places.map((choices, place) => {
    const field = make("select");
    field.setAttribute("aria-label", kind === "mend" ? `Part ${place + 1}` : `Blank ${place + 1}`);
    if (kind === "blanks") field.append(make("option", { value: "", textContent: "…" }));
    const order = [...choices.keys()].sort((a, b) => (choices[a] < choices[b] ? -1 : 1));
    for (const i of order) field.append(make("option", { value: i, textContent: choices[i] }));
    field.value = kind === "mend" ? "0" : "";
    field.addEventListener("change", () => {
      const undone = kind === "mend" && field.value !== "0" ? othersUndone(field) : -1;
      changed(undone < 0 ? "" : `Only one place may change: part ${undone + 1} is as it was.`);
    });
    return field;
  });
  /** Take back what was changed in another place; return which one, or -1. */
  const othersUndone = (field) => {
    const undone = fields.findIndex((other) => other !== field && other.value !== "0");
    if (undone >= 0) fields[undone].value = "0";
    return undone;
  };
  const code = between.flatMap((text, i) => (i < fields.length ? [text, fields[i]] : [text]));
  return {
    parts: [linesOf(code)],
    judge: () =>
      fields.some(({ value }) => value === "")
        ? [null, "Fill every blank, then press Check."]
        : verdicts[fields.map(({ value }) => value).join()],
    answer: () => fields.map(({ value }, place) => places[place][value]),
    fill: (texts) =>
      fields.forEach((field, place) => {
        field.value = places[place].indexOf(texts[place]);
      }),
    text: () =>
      `${between.map((text, i) => text + (places[i]?.[fields[i].value] ?? "")).join("")}\n`,
  };
}

/**
 * The form as an element. `show(passed, text)` is told what is said of an answer; `kept` holds the
 * answer that was checked last, and its `keep` is given each one, with the program if it is right.
 */
export function formOf(form, show, kept) {
  const changed = (said = "") => show(null, said);
  const { parts, judge, answer, fill, text } =
    form.kind === "arrange" ? arranging(form, changed) : choosing(form, changed);
  const check = make("button", { type: "button", className: "check", textContent: "Check" });
  check.addEventListener("click", () => {
    const [passed, said] = judge();
    show(passed, said);
    if (passed !== null) kept.keep(answer(), passed && text());
  });
  if (kept.answer.length) {
    fill(kept.answer);
    if (judge()[0]) show(true, "You have solved this one.");
  }
  const words = form.task
    .split("`")
    .map((part, i) => (i % 2 ? make("code", { textContent: part }) : part));
  return make("div", { className: "form" }, make("p", {}, ...words), ...parts, check);
}
