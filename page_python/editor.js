// Exercises that are done in the page: an editor for each, whose code is run and graded there.

import { behind } from "./behind.js";
import { Session, Trouble } from "./session.js";
import { formOf } from "./forms.js";
import { keepsOf, mine } from "./keeping.js";
import { indent, withManners } from "./manners.js";
import { taken } from "./mine.js";
import { earlier, keepPart, ownParts, whose } from "./parts.js";

// what a lighter form asks, by its kind
const LIGHTER = {
  blanks: "A lighter way: fill the blanks",
  mend: "A lighter way: mend code that runs",
  arrange: "A lighter way: put lines in order",
};
const INDENT = "⇥";
const KEYS = [INDENT, "@", ".", "(", ")", "[", "]", ":", ",", "=", "_", "-1", "dim=", ".mT"];

export function attachCode(page, base) {
  const session = new Session(base);
  const places = [...page.querySelectorAll(".attention-code[data-exercise]")];
  const editors = places.map((place) => attach(place, session));
  const bring = () => editors.map(takeDraft).find(Boolean)?.scrollIntoView();
  bring();
  addEventListener("hashchange", bring);
  // a figure in which a model learns asks for the reader's own rule
  page.addEventListener("attention-rule", ({ detail }) => {
    detail.find = async () => (await import(new URL("updating.js", base))).ruleOf(page, base);
  });
  return session;
}

export function make(tag, properties = {}, ...children) {
  const { dataset, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset);
  element.append(...children);
  return element;
}

/** Text as nodes; what stands between backticks is code. */
export function inline(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", { textContent: part }) : part));
}

/** The function of a stub, without the call of its grader and what else stands in the cell. */
function stubOf(cell, name) {
  const lines = cell.querySelector("pre").textContent.trimEnd().split("\n");
  const start = lines.findIndex((line) => line.startsWith(`def ${name}`));
  const length = lines.slice(start + 1).findIndex((line) => /^[^\s)]/.test(line));
  const end = length < 0 ? lines.length : start + 1 + length;
  return `${lines.slice(start, end).join("\n").trimEnd()}\n`;
}

/** Make an exercise's editor. */
function attach(place, session) {
  const cell = place.closest(".cell");
  const { chapter, exercise, name } = place.dataset;
  const title = place.closest("section").querySelector("h2, h3").firstChild.textContent;
  const notebook = place.firstElementChild;
  const editor = {
    place,
    session,
    notebook,
    stub: stubOf(cell, name),
    keeps: keepsOf(`${chapter}.${exercise}`),
    ...fields(title, `attention-code-${exercise}`),
  };
  const { keeps, stub, fill, showSolved, tellKept } = Object.assign(editor, displays(editor));
  listen(editor);
  fill(keeps.draft() ?? stub);
  offerLink(editor);
  if (keeps.draft() !== null) tellKept(true);
  showSolved();
  cell.querySelector(".cell_input").hidden = true;
  editor.own = withForm(place, editor.all, keeps);
  place.prepend(editor.owned);
  place.append(notebook);
  notebook.hidden = true;
  place.hidden = false;
  return editor;
}

/** What an editor shows: code, a verdict, whether it is solved and whether its code is kept. */
function displays({ place, notebook, field, back, verdictLine, kept, keeps, stub, owned }) {
  const part = partOf(place);
  const mark = (passed, line) => {
    place.classList.toggle("attention-right", passed === true);
    place.classList.toggle("attention-wrong", passed === false);
    back.mark(line);
  };
  const show = (passed, text, line = 0) => {
    mark(passed, line);
    verdictLine.classList.remove("past");
    verdictLine.replaceChildren(...inline(text));
    notebook.hidden = !text.includes("notebook");
  };
  // it was said of other code, and still helps while one mends that
  const fade = () => {
    mark(null, 0);
    verdictLine.classList.add("past");
  };
  const showSolved = () => {
    const solution = keeps.solution();
    if (solution === null) show(null, "");
    else if (solution === field.value) show(true, "You have solved this one.");
    else show(null, "You have solved this one, with other code.");
  };
  const fit = () => {
    field.rows = Math.max(field.value.split("\n").length + 1, 5);
    tellOwned();
  };
  // a part that was not written here, but in a notebook or on another device
  const tellOwned = () => {
    const isUntouched = field.value === stub && !keeps.answer().length;
    owned.hidden = !(part && isUntouched && ownParts(mine.text(), [part.part]).length);
  };
  const fill = (text) => {
    field.value = text;
    back.draw();
    fit();
  };
  const tellKept = (works) => {
    kept.textContent = works
      ? "Kept in this browser, and sent nowhere."
      : "This browser keeps nothing: copy your code before you leave.";
  };
  return { show, fade, showSolved, fit, fill, tellKept, tellOwned };
}

function listen(editor) {
  const { place, keeps, stub, field, run, calls, owned } = editor;
  const { fade, showSolved, fit, fill, tellKept, tellOwned } = editor;
  const judge = judging(editor);
  const endReset = resetting(editor);
  run.addEventListener("click", judge);
  field.addEventListener("input", () => {
    fit();
    tellKept(keeps.keep(field.value));
    fade();
    endReset();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      judge();
    }
  });
  withManners(field);
  keeps.watch(() => {
    if (document.activeElement === field) return;
    fill(keeps.draft() ?? stub);
    showSolved();
  });
  const tellWhose = () => calls.replaceChildren(...inline(whose(takesOf(place))));
  tellWhose();
  addEventListener("storage", tellWhose);
  addEventListener("storage", tellOwned);
  owned.lastChild.addEventListener("click", () => {
    const { part, parts } = partOf(place);
    fill(taken(part, mine.text(), parts));
    tellKept(keeps.keep(field.value));
    if (editor.own) editor.own.open = true;
    field.focus();
  });
}

/** Let a button bring the stub back and, pressed again, what stood there; return how this ends. */
function resetting({ field, reset, kept, stub, keeps, fill, showSolved, tellKept }) {
  let before = null;
  const remember = (past) => {
    before = past;
    reset.textContent = past ? "Undo the reset" : "Reset";
  };
  reset.addEventListener("click", () => {
    if (before) {
      fill(before.text);
      tellKept(keeps.keep(before.text));
      if (before.solution !== null) keeps.pass(before.solution);
      remember(null);
    } else {
      remember({ text: field.value, solution: keeps.solution() });
      keeps.forget();
      fill(stub);
      kept.textContent = "";
    }
    showSolved();
    field.focus();
  });
  return () => remember(null);
}

/** The parts that an exercise calls, by name. */
const takesOf = ({ dataset }) => dataset.takes?.split(" ") ?? [];

/** What is known of the part that an exercise is, if it is one. */
const partOf = ({ dataset }) => dataset.part && JSON.parse(dataset.part);

/** What the button does: run and judge, or stop what runs. */
function judging({
  place,
  session,
  stub,
  keeps,
  show,
  tellKept,
  field,
  run,
  printed,
  verdictLine,
}) {
  const { chapter, exercise, name } = place.dataset;
  const [part, takes] = [partOf(place), takesOf(place)];
  let running = false;
  const hear = {
    printed(line) {
      printed.append(`${line}\n`);
    },
    thinking: () => show(null, "It ran. Looking for the reason …"),
  };
  return async () => {
    if (running) {
      session.stop();
      return;
    }
    running = true;
    run.textContent = "Stop";
    printed.replaceChildren();
    const isHere = session.files.has("python.packed");
    show(null, isHere ? "Running …" : "Fetching Python, once (300 kB) …");
    const started = performance.now();
    try {
      const source = field.value;
      if (source !== stub) tellKept(keeps.keep(source));
      const request = { chapter, exercise, name, source, ...earlier(takes) };
      const verdict = await session.judge(request, hear);
      if (field.value !== source) {
        show(null, "Your code has changed while this ran. Run it again.");
        return;
      }
      const kept = verdict.passed && part ? keepPart(part, source) : "";
      show(verdict.unwritten ? null : verdict.passed, verdict.said + kept, verdict.line);
      if (kept) verdictLine.append(...wayToPanel(part));
      if (verdict.passed) keeps.pass(source);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      show(/^Not yet/.test(error.message) ? false : null, error.message);
    } finally {
      place.dataset.milliseconds = Math.round(performance.now() - started);
      run.textContent = "Run and check";
      running = false;
      verdictLine.scrollIntoView({ block: "nearest" });
    }
  };
}

/**
 * Put a lighter form of the exercise before its editor, where there is one. Each is folded: the form
 * where one types, for it shows most of a solution, and the editor where one taps. Return what is folded of the editor.
 */
function withForm(place, parts, keeps) {
  if (!place.dataset.form) {
    place.replaceChildren(...parts);
    return null;
  }
  const data = JSON.parse(place.dataset.form);
  const verdictLine = make("output", { className: "attention-said" });
  const part = partOf(place);
  const show = (passed, text) => {
    verdictLine.classList.toggle("right", passed === true);
    verdictLine.classList.toggle("wrong", passed === false);
    verdictLine.replaceChildren(...inline(text));
  };
  const form = formOf(data, show, {
    answer: keeps.answer(),
    keep(answer, program) {
      keeps.keepAnswer(answer);
      if (!program || !part || ownParts(mine.text(), [part.part]).length) return;
      const kept = keepPart(part, program.replace(/^def \w+/, `def ${place.dataset.name}`));
      verdictLine.append(kept, ...wayToPanel(part));
    },
  });
  const touches = matchMedia("(pointer: coarse)").matches;
  const isWritten = keeps.draft() !== null;
  const fold = (className, words, open, ...children) =>
    make("details", { className, open }, make("summary", { textContent: words }), ...children);
  const isBegun = keeps.answer().length > 0;
  const light = fold(
    "light",
    LIGHTER[data.kind],
    (touches && !isWritten) || isBegun,
    form,
    verdictLine,
  );
  const own = fold("own", "Write it yourself", !touches || isWritten, ...parts);
  place.replaceChildren(light, own);
  return own;
}

/** Once all parts that write are the reader's: the way to where they do. */
function wayToPanel({ panel: { needed, page, id } }) {
  if (ownParts(mine.text(), needed).length < needed.length) return [];
  const link = make("a", { href: addressOf(page, id), textContent: "Let your parts write." });
  return [" All parts that the writer needs are yours now. ", link];
}

/** The address of a place, within this page if it is here. */
const addressOf = (page, id) => (document.getElementById(id) ? `#${id}` : `${page}#${id}`);

/** The parts of an editor: field, keys, buttons and what they say. */
function fields(title, id) {
  const field = make("textarea", {
    id,
    spellcheck: false,
    autocapitalize: "off",
    autocomplete: "off",
    wrap: "off",
  });
  field.setAttribute("autocorrect", "off");
  field.setAttribute("aria-label", `Your code for ${title}`);
  field.setAttribute("aria-describedby", `${id}-manners`);
  const manners = make("p", {
    id: `${id}-manners`,
    className: "manners",
    textContent: "Tab indents; Escape, then Tab leaves. Ctrl + Enter runs.",
  });
  const keys = make("p", { className: "keys" });
  keys.setAttribute("aria-hidden", "true");
  for (const key of KEYS) {
    const button = make("button", { type: "button", textContent: key, tabIndex: -1 });
    button.addEventListener("pointerdown", (event) => event.preventDefault()); // the field stays
    button.addEventListener("click", () => {
      field.focus();
      if (key === INDENT) indent(field);
      else document.execCommand("insertText", false, key);
    });
    keys.append(button);
  }
  const run = make("button", { type: "button", className: "run", textContent: "Run and check" });
  const reset = make("button", { type: "button", textContent: "Reset" });
  const kept = make("span", { className: "kept" });
  const verdictLine = make("output", { className: "attention-said" });
  const printed = make("pre", { className: "printed" });
  printed.setAttribute("role", "log"); // new lines are read out
  printed.setAttribute("aria-label", "Printed");
  const take = make("button", { type: "button", textContent: "Copy a link to this draft" });
  const buttons = make("p", { className: "buttons" }, run, reset, take, kept);
  const calls = make("p", { className: "calls" });
  const show = make("button", { type: "button", textContent: "Show it" });
  const owned = make("p", { className: "owned" }, "Your mine.py has this function. ", show);
  const back = behind(field);
  const written = make("div", { className: "field" }, back.layer, field);
  const all = [calls, written, keys, manners, buttons, printed, verdictLine];
  return { field, back, run, reset, take, verdictLine, printed, kept, calls, owned, all };
}

/** A link takes a draft to another device. */
function offerLink({ field, take, kept, keeps }) {
  take.addEventListener("click", async () => {
    const link = keeps.link(field.value);
    try {
      await navigator.clipboard.writeText(link);
      kept.textContent = "Copied. The link holds your code itself.";
    } catch {
      history.replaceState(null, "", link);
      kept.textContent = "The address of this page now holds your code: copy it from there.";
    }
  });
}

/**
 * A draft that came by a link fills its editor; where another stands there, when asked. Return the
 * place to look at, if there is such a draft.
 */
function takeDraft({ place, own, take, keeps, fill, showSolved, tellKept }) {
  const brought = keeps.brought();
  if (brought === null) return null;
  const use = () => {
    fill(brought);
    tellKept(keeps.keep(brought));
    showSolved();
  };
  const draft = keeps.draft();
  if (draft === null) use();
  else if (brought !== draft) {
    const button = make("button", {
      type: "button",
      textContent: "Use the draft that the link brought",
    });
    button.addEventListener("click", () => {
      use();
      button.remove();
    });
    take.after(button);
  }
  if (own) own.open = true;
  return own ?? place;
}
