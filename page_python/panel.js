// The panel in which a reader's own parts run the stored writer, letter by letter, beside the book's.

import { BEGINNING, PartTrouble, Writing } from "./asking.js";
import { attachCode, inline, make } from "./editor.js";
import { mine } from "./keeping.js";
import { withManners } from "./manners.js";
import { completed } from "./mine.js";
import { ownParts } from "./parts.js";
import { Trouble } from "./session.js";

// what is done to the parts: the words on the button, and those for its loss
const BREAKAGES = {
  no_root: ["Leave out √d", "without √d"],
  mask_after: ["Mask after the softmax", "with the mask after the softmax"],
  swapped: ["Swap two heads", "with two heads swapped"],
};
// who writes above and below: the reader's parts and the book's, or the reader's in two ways
const WRITERS = { yours: "Written by your parts", ours: "Written by ours" };
const WITH_CACHE = {
  cached: "Written by your parts with the cache",
  yours: "Written by them without it: they read the whole text for every letter",
};
const LARGEST_FILE = 100_000; // bytes

/** Attach the editors of a page and its panel: both use one Python. */
export function attachPanel(page, base) {
  const session = attachCode(page, base);
  for (const place of page.querySelectorAll(".attention-parts")) {
    const panel = new Panel(session, JSON.parse(place.dataset.parts));
    arrange(place, panel.parts, panel.writers);
    panel.listen();
    panel.fill(mine.draft() ?? mine.text());
    if (mine.draft() !== null) place.querySelector(".own").open = true;
  }
}

const button = (textContent, className = "") =>
  make("button", { type: "button", textContent, className });

/** The elements that the panel changes or listens to. */
function elements(writers) {
  const texts = Object.fromEntries(
    Object.keys(writers).map((who) => [
      who,
      make("p", { className: "text", textContent: BEGINNING }),
    ]),
  );
  const breakages = Object.entries("ours" in writers ? BREAKAGES : {}).map(([name, [words]]) => {
    const toggle = button(words);
    toggle.setAttribute("aria-pressed", "false");
    return [name, toggle];
  });
  const field = make("textarea", {
    spellcheck: false,
    autocapitalize: "off",
    wrap: "off",
    rows: 12,
  });
  field.setAttribute("autocorrect", "off");
  field.setAttribute("aria-label", "Your parts, the file mine.py");
  return {
    texts,
    field,
    breakages: new Map(breakages),
    write: button("Write", "run"),
    save: button("Save mine.py"),
    open: button("Open a mine.py"),
    back: button("Back to what is kept"),
    kept: make("span", { className: "kept" }),
    file: make("input", { type: "file", accept: ".py", hidden: true }),
    list: make("ul", { className: "whose" }),
    rates: make("p", { className: "note" }),
    said: make("output", { className: "attention-said" }),
    rows: make("tbody"),
  };
}

function labelled(words, id, text) {
  text.setAttribute("role", "group");
  text.setAttribute("aria-labelledby", id);
  return [make("p", { id, className: "note", textContent: words }), text];
}

function tableOf(rows) {
  const caption = make("caption", {
    textContent:
      "Loss in nats, on the first 256 held-out letters (in the text above: on all of them)",
  });
  const heads = ["Parts", "Loss", "Rise"].map((words) =>
    make("th", { textContent: words, scope: "col" }),
  );
  const head = make("thead", {}, make("tr", {}, ...heads));
  return make("table", { hidden: true }, caption, head, rows);
}

function arrange(place, parts, writers) {
  const { texts, write, breakages, field, rates, list, said, rows } = parts;
  const { save, open, back, file, kept } = parts;
  const notes = make("p", {
    className: "note",
    textContent:
      "Notebooks keep the same file. Change a line and press Write: once all parts are right and have " +
      "written to the end, your exercises call them. What is wrong counts in this panel only. " +
      "Tab indents; Escape, then Tab leaves.",
  });
  const own = make(
    "details",
    { className: "own" },
    make("summary", { textContent: "Your parts as a file, mine.py" }),
    make("div", { className: "field" }, field),
    notes,
    make("p", { className: "buttons" }, save, open, back, kept, file),
  );
  place.classList.add("attention-code");
  place.append(
    list,
    make("p", { className: "buttons" }, write, ...breakages.values()),
    ...Object.entries(writers).flatMap(([who, words]) =>
      labelled(words, `attention-parts-${who}`, texts[who]),
    ),
    rates,
    said,
    tableOf(rows),
    own,
  );
}

/** Whose a part is, as a line of the list. */
function lineOf({ part, page, title }, own, wrong) {
  const name = make("code", { textContent: part });
  if (own && !wrong) return make("li", {}, name, " yours");
  const section = document.getElementById(part)?.closest("section").id;
  const href = section ? `#${section}` : `${page}#${part}`;
  const link = make("a", { href, textContent: title });
  if (!wrong) return make("li", {}, name, " ours, until you write it in ", link);
  const remarks = [" yours, and ", ...inline(wrong), " Its exercise: ", link];
  return make("li", { className: "wrong" }, name, ...remarks);
}

/** Show both texts, the first marked from the first letter on that differs; count equal ones. */
function showTexts(places, texts) {
  const [one, two] = Object.keys(places);
  const [text, reference] = [texts[one], texts[two]];
  let same = 0;
  while (same < text.length && text[same] === reference[same]) same++;
  const other = text.slice(same);
  places[one].replaceChildren(text.slice(0, same), ...(other ? [make("mark", {}, other)] : []));
  places[two].replaceChildren(reference);
  return { same: same - BEGINNING.length, all: text.length - BEGINNING.length };
}

const speed = (number) => (number < 10 ? number.toFixed(1) : String(Math.round(number)));
const inNats = (loss) => (Number.isFinite(loss) ? loss.toFixed(2) : "not a number");
const rise = (loss, from) => {
  const risen = loss - from;
  if (!Number.isFinite(risen)) return "";
  return `${risen < -0.005 ? "−" : "+"}${Math.abs(risen).toFixed(2)}`;
};

function showLosses(rows, losses) {
  const cells = (words, loss, risen) => {
    const name = make("th", { textContent: words, scope: "row" });
    const numbers = [inNats(loss), risen].map((textContent) => make("td", { textContent }));
    return make("tr", {}, name, ...numbers);
  };
  const ours = losses.get("ours");
  const made = Object.entries({ "": ["", "as they are"], ...BREAKAGES })
    .filter(([name]) => losses.has(name))
    .map(([name, [, words]]) =>
      cells(`Yours, ${words}`, losses.get(name), rise(losses.get(name), ours)),
    );
  rows.replaceChildren(cells("Ours", ours, ""), ...made);
  rows.parentElement.hidden = false;
}

const agreement = ({ same, all }) =>
  same === all
    ? `All ${all} letters are the same.`
    : `The texts part after ${same} of ${all} letters.`;

/** The outcome in words. */
function sentence(breakage, count, losses) {
  const [ours, loss] = [losses.get("ours"), losses.get(breakage)];
  const agree = agreement(count);
  const words = breakage ? `${BREAKAGES[breakage][1]} ` : "";
  if (!Number.isFinite(loss)) return `${agree} Your loss ${words}is not a number.`;
  const risen =
    count.same === count.all && inNats(loss) === inNats(ours) ? "" : ` (${rise(loss, ours)})`;
  return `${agree} Your loss ${words}is ${inNats(loss)} nats, ours ${inNats(ours)}${risen}.`;
}

/** Saving the parts as a file, opening one, and going back to those that are kept. */
function withFile({ field, save, open, back, file }, panel) {
  save.addEventListener("click", () => {
    const blob = new Blob([field.value], { type: "text/x-python" });
    const link = make("a", { href: URL.createObjectURL(blob), download: "mine.py" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  open.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    const fits = chosen && chosen.size <= LARGEST_FILE;
    const text = fits ? await chosen.text() : "";
    file.value = "";
    if (chosen && !fits) panel.say(`\`${chosen.name}\` is larger than ${LARGEST_FILE / 1000} kB.`);
    else if (/^def my_\w+/m.test(text)) {
      await panel.halt();
      panel.clear();
      panel.fill(text);
      panel.keepDraft();
      panel.say("Opened. Press Write.");
    } else if (chosen)
      panel.say(`\`${chosen.name}\` holds no part: a function such as \`my_block\`.`);
  });
  back.addEventListener("click", async () => {
    await panel.halt();
    mine.keepDraft(null);
    panel.clear();
    panel.follow();
  });
}

class Panel {
  /** `needed` lists the parts that run the writer, as {part, page, title}. */
  constructor(session, needed) {
    Object.assign(this, { session, needed });
    this.hasCache = needed.some(({ part }) => part === "my_cached_heads");
    this.writers = this.hasCache ? WITH_CACHE : WRITERS;
    this.parts = elements(this.writers);
    this.writing = new Writing(session);
    this.losses = new Map();
    this.wrong = new Map(); // what parts are that are not right, of the text that was judged last
    this.judged = mine.text();
    this.failed = false; // whether a part stopped the last try: the next one begins with the graders
    this.running = false;
    this.ended = null; // resolves when what was started last has ended
    this.next = null; // the breakage that begins when what runs has stopped
  }

  listen() {
    const { write, breakages, field } = this.parts;
    write.addEventListener("click", () => this.start(this.running ? null : ""));
    breakages.forEach((one, name) => one.addEventListener("click", () => this.start(name)));
    field.addEventListener("input", () => this.keepDraft());
    withManners(field);
    withFile(this.parts, this);
    addEventListener("storage", () => this.running || this.follow());
  }

  say(text) {
    this.parts.said.replaceChildren(...inline(text));
  }

  fill(text) {
    this.parts.field.value = text;
    this.showWhose();
  }

  /** Keep what stands in the field, as editors do, where mine.py is another text. */
  keepDraft() {
    const text = this.parts.field.value;
    mine.keepDraft(text === mine.text() ? null : text);
    this.showWhose();
  }

  /** Show what is kept by now, by an editor of this page or of another. */
  follow() {
    const draft = mine.draft();
    const text = draft ?? mine.text();
    if (draft === null) this.judged = text;
    if (text === this.parts.field.value) return;
    this.clear();
    this.fill(text);
  }

  /** Take away what was written, measured and said of another text. */
  clear() {
    const { texts, rates, breakages } = this.parts;
    [this.wrong, this.failed] = [new Map(), false];
    this.forgetLosses();
    showTexts(texts, Object.fromEntries(Object.keys(texts).map((who) => [who, BEGINNING])));
    rates.textContent = "";
    breakages.forEach((one) => one.setAttribute("aria-pressed", "false"));
    this.say("");
    this.showWhose();
  }

  /** The names of the parts that the field holds. */
  own() {
    const names = this.needed.map(({ part }) => part);
    return ownParts(this.parts.field.value, names);
  }

  showWhose() {
    const { field, list, save, kept } = this.parts;
    const own = this.own();
    kept.textContent = mine.draft() === null ? "" : "A draft, kept in this browser.";
    const isJudged = field.value === this.judged;
    save.disabled = !field.value;
    list.replaceChildren(
      ...this.needed.map((one) =>
        lineOf(one, own.includes(one.part), isJudged && this.wrong.get(one.part)),
      ),
    );
  }

  forgetLosses() {
    for (const name of ["", ...Object.keys(BREAKAGES)]) this.losses.delete(name);
    this.parts.rows.parentElement.hidden = true;
  }

  /** Have a text judged that is not kept. */
  async judge(text) {
    this.forgetLosses();
    [this.wrong, this.failed] = [new Map(), false];
    if (text !== mine.text()) {
      this.say("Asking the graders …");
      this.wrong = await this.writing.wrongParts(text);
    }
    this.judged = text;
    this.showWhose();
  }

  /** Mark the part that stopped a try; return what the reader can do about it. */
  blame(part, text) {
    if (!this.wrong.has(part)) this.wrong.set(part, "not right: it stops the writing.");
    [this.judged, this.failed] = [text, true];
    this.showWhose();
    return mine.draft() === null
      ? "Mend it in its exercise."
      : "Mend it in the file below, or go back to what is kept.";
  }

  async perform(text, breakage) {
    const { texts, rates } = this.parts;
    const { writing } = this;
    const writers = Object.keys(this.writers);
    const isHere = this.session.files.has("writer.json");
    this.say(isHere ? "Starting …" : "Fetching Python and the writer, once …");
    showTexts(texts, Object.fromEntries(writers.map((who) => [who, BEGINNING])));
    rates.textContent = "";
    await writing.ready();
    if (text !== this.judged || this.failed) await this.judge(text);
    this.say("Writing …");
    let count = {};
    await writing.write(text, writers, breakage, (both, rate) => {
      count = showTexts(texts, both);
      rates.textContent = this.hasCache
        ? `${speed(rate.cached)} letters a second with the cache; ${speed(rate.yours)} without.`
        : `${speed(rate.yours)} letters a second by your parts; ` +
          `${speed(rate.ours)} by ours, which keep a cache.`;
    });
    const outcome = this.hasCache ? agreement(count) : await this.measured(breakage, count);
    if (this.wrong.size === 0 && text !== mine.text()) {
      const parts = Object.keys(this.writing.facts.parts);
      const whole = completed(text, mine.text(), parts); // what the field lacks stays
      if (whole !== text && this.parts.field.value === text) this.fill(whole);
      mine.keep(whole); // only now: a part may pass its grader and never end on a longer text
      this.keepDraft(); // there may be a later one
    }
    const wrong = Array.from(this.wrong, ([part, what]) => ` \`${part}\` is ${what}`);
    const none = this.own().length ? "" : "None of these parts is yours yet, so ours wrote both. ";
    this.say(none + outcome + wrong.join(""));
  }

  /** Measure and show the losses; return the outcome in words. */
  async measured(breakage, count) {
    const { writing, losses } = this;
    this.say("Measuring the loss …");
    if (!losses.has("ours")) losses.set("ours", await writing.loss("ours"));
    losses.set(breakage, await writing.loss("yours"));
    showLosses(this.parts.rows, losses);
    return sentence(breakage, count, losses);
  }

  async run(breakage) {
    const { write, breakages, field } = this.parts;
    const text = field.value;
    this.running = true;
    write.textContent = "Stop";
    breakages.forEach((one, name) => one.setAttribute("aria-pressed", String(name === breakage)));
    try {
      await this.session.alone(() => this.perform(text, breakage));
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      const advice = error instanceof PartTrouble ? ` ${this.blame(error.part, text)}` : "";
      this.say(error.message + advice);
    } finally {
      write.textContent = "Write";
      this.running = false;
    }
    const { next } = this;
    this.next = null;
    if (next !== null) await this.start(next);
  }

  /** Start; what runs is stopped first. With null it is only stopped. */
  start(breakage) {
    if (!this.running) {
      this.follow();
      this.ended = this.run(breakage);
      return this.ended;
    }
    this.next = breakage;
    return this.session.stop();
  }

  /** Stop what runs, and wait until it has stopped. */
  async halt() {
    if (this.running) this.start(null);
    await this.ended;
  }
}
