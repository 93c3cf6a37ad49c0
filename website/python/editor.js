// Exercises that are done in the page: an editor for each, whose code is run and graded there.

import { Session, Trouble } from "./session.js";
import { formOf } from "./forms.js";
import { keepsOf, mine } from "./keeping.js";
import { withManners } from "./manners.js";
import { earlier, keepPart, ownParts, whose } from "./parts.js";

const KEYS = ["@", ".", "(", ")", "[", "]", ":", ",", "=", "_", "-1", "dim=", ".mT"];

export function attachCode(page, base) {
  const session = new Session(base);
  const places = page.querySelectorAll(".attention-code[data-exercise]");
  places.forEach((place) => attach(place, session));
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

function attach(place, session) {
  const cell = place.closest(".cell");
  const { chapter, exercise, name } = place.dataset;
  const stub = stubOf(cell, name);
  const keeps = keepsOf(`${chapter}.${exercise}`);
  const title = place.closest("section").querySelector("h2, h3").firstChild.textContent;
  const notebook = place.firstElementChild;
  const parts = fields(title, `attention-code-${exercise}`);
  const { field, run, reset, said, kept, calls } = parts;

  const show = (passed, text, line = 0) => {
    place.classList.toggle("attention-right", passed === true);
    place.classList.toggle("attention-wrong", passed === false);
    field.parentElement.style.setProperty("--line", line - 1);
    field.parentElement.classList.toggle("marked", line > 0);
    said.replaceChildren(...inline(text));
    notebook.hidden = !text.includes("notebook");
  };
  const tellKept = (works) => {
    kept.textContent = works
      ? "Kept in this browser, and sent nowhere."
      : "This browser keeps nothing: copy your code before you leave.";
  };
  const fill = (text) => {
    field.value = text;
    field.rows = Math.max(text.split("\n").length + 1, 5);
  };

  const judge = judging({ place, parts, session, keeps, show });

  run.addEventListener("click", judge);
  reset.addEventListener("click", () => {
    keeps.forget();
    fill(stub);
    show(null, "");
    field.focus();
  });
  field.addEventListener("input", () => {
    field.rows = Math.max(field.value.split("\n").length + 1, 5);
    tellKept(keeps.keep(field.value));
    show(null, "");
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      judge();
    }
  });
  const tellWhose = () => calls.replaceChildren(...inline(whose(takesOf(place))));
  keeps.watch((text) => {
    if (document.activeElement !== field) fill(text ?? stub);
  });
  tellWhose();
  addEventListener("storage", tellWhose);
  withManners(field);
  fill(keeps.draft() ?? stub);
  if (keeps.draft() !== null) tellKept(true);
  if (keeps.passed()) show(true, "You have solved this one.");
  offer(parts, keeps, fill);
  cell.querySelector(".cell_input").hidden = true;
  const own = withForm(place, parts.all);
  if (own && keeps.draft() !== null) own.open = true;
  place.append(notebook);
  notebook.hidden = true;
  place.hidden = false;
}

/** The parts that an exercise calls, by name. */
const takesOf = ({ dataset }) => dataset.takes?.split(" ") ?? [];

/** What is known of the part that an exercise is, if it is one. */
const partOf = ({ dataset }) => dataset.part && JSON.parse(dataset.part);

/** What the button does: run and judge, or stop what runs. */
function judging({ place, parts, session, keeps, show }) {
  const { field, run, printed } = parts;
  const { chapter, exercise, name } = place.dataset;
  const [part, takes] = [partOf(place), takesOf(place)];
  let running = false;
  const hear = {
    printed(line) {
      printed.hidden = false;
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
    printed.hidden = true;
    show(null, session.worker ? "Running …" : "Fetching Python, once (250 kB) …");
    const started = performance.now();
    try {
      const source = field.value;
      const asked = { chapter, exercise, name, source, ...earlier(takes) };
      const verdict = await session.judge(asked, hear);
      const kept = verdict.passed && part ? keepPart(part, source) : "";
      show(verdict.unwritten ? null : verdict.passed, verdict.said + kept, verdict.line);
      if (verdict.passed) keeps.pass();
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      show(/^Not yet/.test(error.message) ? false : null, error.message);
    } finally {
      place.dataset.milliseconds = Math.round(performance.now() - started);
      run.textContent = "Run and check";
      running = false;
    }
  };
}

/** Put a lighter form of the exercise first, where there is one, and fold what is below it. */
function withForm(place, parts) {
  if (!place.dataset.form) {
    place.replaceChildren(...parts);
    return null;
  }
  const said = make("output", { className: "attention-said" });
  const show = (passed, text) => {
    said.classList.toggle("right", passed === true);
    said.replaceChildren(...inline(text));
  };
  const part = partOf(place);
  const keep = (program) => {
    const own = program.replace(/^def \w+/, `def ${place.dataset.name}`);
    return part && !ownParts(mine.text(), [part.part]).length ? keepPart(part, own) : "";
  };
  const form = formOf(JSON.parse(place.dataset.form), show, keep);
  const summary = make("summary", { textContent: "Write it yourself" });
  const own = make("details", { className: "own" }, summary, ...parts);
  place.replaceChildren(form, said, own);
  return own;
}

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
      document.execCommand("insertText", false, key);
    });
    keys.append(button);
  }
  const run = make("button", { type: "button", className: "run", textContent: "Run and check" });
  const reset = make("button", { type: "button", textContent: "Reset" });
  const kept = make("span", { className: "kept" });
  const said = make("output", { className: "attention-said" });
  const printed = make("pre", { className: "printed", hidden: true });
  printed.setAttribute("aria-label", "Printed");
  const take = make("button", { type: "button", textContent: "Copy a link to this draft" });
  const buttons = make("p", { className: "buttons" }, run, reset, take, kept);
  const calls = make("p", { className: "calls" });
  const written = make("div", { className: "field" }, field);
  const all = [calls, written, keys, manners, buttons, printed, said];
  return { field, run, reset, take, said, printed, kept, calls, all };
}

/** A link takes a draft to another device; a draft that came by one fills the editor when asked. */
function offer({ field, take, kept }, keeps, fill) {
  take.addEventListener("click", async () => {
    const link = keeps.link(field.value);
    try {
      await navigator.clipboard.writeText(link);
      kept.textContent = "Copied. The link holds your code itself.";
    } catch {
      location.hash = new URL(link).hash;
      kept.textContent = "The address of this page now holds your code: copy it from there.";
    }
  });
  const brought = keeps.brought();
  if (brought === null || brought === keeps.draft()) return;
  if (keeps.draft() === null) fill(brought);
  else {
    const use = make("button", {
      type: "button",
      textContent: "Use the draft that the link brought",
    });
    use.addEventListener("click", () => {
      fill(brought);
      keeps.keep(brought);
      use.remove();
    });
    take.after(use);
  }
}
