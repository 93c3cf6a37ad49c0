// A page as slides, `?slides` in its address: its headings, figures, formulas, code and key sentences
// one after the other, for a room. Nothing is moved; all else on the page is hidden. The
// arrow keys go on and back, N shows the presenter's notes from teaching.html, F fills the screen,
// Escape leaves. Printed, each slide has a page.

const article = document.querySelector("article");
const page = article.querySelector(":scope > section");
const ASIDE = ["objectives", "exercises"];
const walk = page.querySelector(":scope > [data-widget='Walk']");

/** Whether a paragraph is said aloud: a key sentence or a task, not the caption of a figure. */
const isKey = (one) => one.matches("p:has(> strong)") && !isCaption(one);
const isCaption = (one) => one?.matches("p") && /^(Figure|Table) \d/.test(one.textContent);
const isShown = (one) =>
  one.matches(
    ".formula, table, ul, ol, figure, .cell:not(.tag_hide-input), .cell:has(.cell_output :is(img, figure, table))",
  );

/** The slides of a section, each the elements that it shows, below the section's heading. */
function* slidesOf(section) {
  const [heading, ...rest] = [...section.children].filter((one) => !one.matches("section"));
  if (walk) {
    // its picture goes along with the text of each step
    yield [heading, walk, ...rest.filter((one) => one !== walk)];
    return;
  }
  const opening = section === page && rest.find((one) => one.matches("p"));
  if (opening) yield [heading, opening];
  for (let i = 0; i < rest.length; i++) {
    if (rest[i] === opening) continue;
    const caption = isCaption(rest[i + 1]) ? [rest[i + 1]] : [];
    const task = section === page && rest[i + 1] && isShown(rest[i + 1]) && isKey(rest[i]);
    if (task) yield [heading, rest[i], rest[++i]];
    else if (isKey(rest[i]) || isShown(rest[i])) yield [heading, rest[i], ...caption];
  }
}

const sections = [page, ...page.querySelectorAll(":scope > section")].filter(
  (one) => !ASIDE.includes(one.id),
);
const slides = sections.flatMap((section) => [...slidesOf(section)]);
const asked = Number(new URLSearchParams(location.search).get("slides"));
let at = Math.min(Math.max(1, asked || 1), slides.length) - 1;

const bar = document.createElement("nav");
bar.className = "slides-bar";
bar.setAttribute("aria-label", "Slides");
const button = (text, action) => {
  const one = document.createElement("button");
  one.type = "button";
  one.textContent = text;
  one.addEventListener("click", action);
  return one;
};
const place = document.createElement("output");
const notes = document.createElement("aside");
notes.className = "slides-notes";
notes.setAttribute("aria-label", "Presenter's notes");
notes.tabIndex = 0;
notes.hidden = true;
const leave = () => {
  location.search = "";
};
const fill = () =>
  document.fullscreenElement
    ? document.exitFullscreen()
    : document.documentElement.requestFullscreen();
bar.append(
  button("Back", () => go(at - 1)),
  place,
  button("On", () => go(at + 1)),
  button("Notes", tell),
  button("Full screen", fill),
  button("Leave", leave),
);
if (!document.fullscreenEnabled) bar.querySelector("button:nth-last-child(2)").remove();

/** Show one slide; its number stands in the address. */
function go(to) {
  at = Math.min(Math.max(0, to), slides.length - 1);
  for (const one of article.querySelectorAll(".slide-now")) one.classList.remove("slide-now");
  for (const one of slides[at]) one.classList.add("slide-now");
  place.textContent = `${at + 1} of ${slides.length}`;
  history.replaceState(null, "", `?slides=${at + 1}`);
  if (walk && at) location.replace(`#Walk.step=${Math.min(at, slides.length - 2)}`);
  scrollTo(0, 0);
  dispatchEvent(new Event("resize")); // figures that were hidden had no size
}

/** A figure that is taller than the screen becomes smaller, down to 60 %. */
const fitting = new ResizeObserver((seen) =>
  seen.forEach(({ target }) => {
    const now = Number(target.style.zoom || 1),
      { top, height } = target.getBoundingClientRect();
    const room = innerHeight - bar.offsetHeight - top - scrollY;
    const to = Math.min(1, Math.max(0.6, room / (height / now)));
    if (height && Math.abs(to - now) > 0.01) target.style.zoom = to;
  }),
);

/** The notes for this chapter, from the teacher's page. */
async function tell() {
  notes.hidden = !notes.hidden;
  if (notes.hidden || notes.childElementCount) return;
  const chapter = location.pathname.split("/").pop().replace(".html", "");
  const answer = await fetch(new URL("teaching.html", location.href)).catch(() => null);
  const text = answer?.ok
    ? new DOMParser().parseFromString(await answer.text(), "text/html")
    : null;
  const found = text?.querySelector(`section:has(> :is(h2, h3, p) a[href^="${chapter}.html"])`);
  const said = document.createElement("p");
  said.textContent = "The page for teachers has no notes on this chapter.";
  const alone = () => open(`teaching.html#${found.id}`, "notes", "popup,width=600,height=800");
  notes.append(
    ...(found ? [button("Open in a window of its own", alone), ...found.children] : [said]),
  );
}

const KEYS = {
  ArrowRight: () => go(at + 1),
  PageDown: () => go(at + 1),
  " ": () => go(at + 1),
  ArrowLeft: () => go(at - 1),
  PageUp: () => go(at - 1),
  Home: () => go(0),
  End: () => go(slides.length - 1),
  n: tell,
  f: fill,
  Escape: leave,
};
addEventListener(
  "keydown",
  (event) => {
    const used = event.target.closest?.(
      "input, textarea, select, summary, .slides-notes, [role='slider'], [role='application'], .slides-bar, button, a",
    );
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    if (used && !(used.matches("button, .slides-bar") && event.key !== " ")) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // a figure that has the same keys stays where it is
    KEYS[event.key]();
  },
  { capture: true },
);

// A page a slide on paper, each below its section's heading; a repeated heading is for paper alone.
const headed = new Set();
for (const slide of slides) {
  if (headed.has(slide[0])) {
    const again = document.createElement("div");
    again.className = "slide slide-again";
    again.append(...slide[0].cloneNode(true).childNodes);
    slide[1].before(again);
  }
  headed.add(slide[0]);
  slide.forEach((one) => one.classList.add("slide"));
  slide.at(-1).classList.add("slide-end");
}
const sheet = document.createElement("link");
sheet.rel = "stylesheet";
sheet.href = new URL("slides.css", import.meta.url);
sheet.addEventListener("load", () => {
  go(at);
  if (!walk) article.querySelectorAll(".attention-widget").forEach((one) => fitting.observe(one));
});
document.head.append(sheet);
document.documentElement.classList.add("slides");
document.body.append(bar, notes);
