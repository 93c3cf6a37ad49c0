// A page as slides, `?slides` in its address: its headings, figures, formulas, code and key sentences
// for a room, as many to a slide as fit and as large as they fit. Nothing is moved; all else on the
// page is hidden. The arrow keys go on and back, N opens the presenter's notes in a window of their
// own, F fills the screen, Escape leaves. Printed, each slide has a page.
// All is in a block: scripts that are no modules share their names, and a page that was opened from
// a folder may load no module.

{
  const article = document.querySelector("article");
  const page = article.querySelector(":scope > section");
  const ASIDE = ["objectives", "exercises"];
  const AIMS = "#objectives > p:first-of-type, #objectives > ul:first-of-type";
  const LARGEST = 1.6; // times the size of the text
  const SMALLEST = 0.8;
  const walk = page.querySelector(":scope > [data-widget='Walk']");

  const isCaption = (one) => one?.matches("p") && /^(Figure|Table) \d/.test(one.textContent);
  const isQuestion = (one) =>
    one.matches("p") && [...one.querySelectorAll("strong")].some(isPrediction);
  const isPrediction = (strong) => /^Predict\b/.test(strong.textContent);
  const isLive = (one) =>
    one.matches(".attention-widget") || one.querySelector(".attention-widget");
  const isCode = (one) => isShown(one) && one.matches(".cell") && !isLive(one);
  const isShown = (one) =>
    one.matches(
      ".formula, table, ul, ol, figure, .cell:not(.tag_hide-input), .cell:has(.cell_output :is(img, figure, table))",
    );

  /** A paragraph with a key sentence in it becomes that sentence alone; the rest is for the notes. */
  function keyOf(paragraph) {
    const sentences = [...paragraph.querySelectorAll(":scope > strong")];
    const strong = sentences.find((one) => /[.?!]$/.test(one.textContent));
    if (!strong || isCaption(paragraph)) return null;
    if (paragraph.childNodes.length === 1) return paragraph;
    const key = document.createElement("p");
    key.className = `slide-key ${paragraph.className}`; // what covers the paragraph covers it, too
    key.append(strong.cloneNode(true));
    paragraph.before(key);
    return key;
  }

  /** What a section has to show, in order: live figures, parts that stay together, and prose, which
    a slide shows where it has room. */
  function* partsOf(rest) {
    for (let i = 0; i < rest.length; i++) {
      const elements = [rest[i]];
      if (isLive(rest[i])) {
        yield { live: true, elements };
      } else if (isShown(rest[i])) {
        if (isCaption(rest[i + 1])) elements.push(rest[++i]);
        yield { elements };
      } else if (isQuestion(rest[i])) {
        for (let answered = false; !answered && rest[i + 1] && isCode(rest[i + 1]);) {
          elements.push(rest[++i]);
          answered = rest[i].querySelector(".answer") !== null;
        }
        if (isCaption(rest[i + 1])) elements.push(rest[++i]);
        yield { elements };
      } else if (rest[i].matches("p") && !(rest[i + 1] && isLive(rest[i + 1]))) {
        const key = keyOf(rest[i]);
        yield key ? { elements: [key] } : { prose: true, elements };
      } else if (rest[i].matches("p") && !rest[i].querySelector(":scope > strong:only-child")) {
        yield { prose: true, elements }; // a task alone stands on the figure's card, too
      }
    }
  }

  /** The elements of a part one by one, a caption with its figure. */
  const apart = (elements) =>
    elements.flatMap((one, i) => {
      if (isCaption(one) && i) return [];
      return [isCaption(elements[i + 1]) ? [one, elements[i + 1]] : [one]];
    });

  const heightOf = (elements) =>
    elements.reduce((sum, one) => {
      const { marginTop, marginBottom } = getComputedStyle(one);
      const margins = Math.max(parseFloat(marginTop), parseFloat(marginBottom)) || 0;
      return sum + one.getBoundingClientRect().height + margins;
    }, 0);

  /** The room below a heading, in pixels. */
  const roomBelow = (heading) =>
    innerHeight - bar.offsetHeight - heightOf([heading]) - 0.02 * innerHeight;

  /** The slides of a section, each the elements that it shows, below the section's heading. */
  function* slidesOf(section) {
    const [heading, ...rest] = [...section.children].filter((one) => !one.matches("section"));
    if (section === page) {
      const opening = rest.filter((one) => one.matches("p")).slice(0, 1);
      yield [heading, ...opening, ...document.querySelectorAll(AIMS)];
      if (opening.length) rest.splice(rest.indexOf(opening[0]), 1);
    }
    const room = roomBelow(heading);
    const measured = (part) => ({ ...part, height: heightOf(part.elements) });
    const parts = [...partsOf(rest)].map(measured).flatMap((part) => {
      if (part.live || part.height < room / SMALLEST) return [part];
      return apart(part.elements).map((elements) => measured({ elements })); // too much for one slide
    });
    let slide = [];
    const total = (all) => all.reduce((sum, { height }) => sum + height, 0);
    const groups = [];
    const flush = () => {
      if (slide.length) groups.push(slide);
      slide = [];
    };
    for (const part of parts.filter(({ prose }) => !prose)) {
      if (part.live || total([...slide, part]) > room / 0.9) flush();
      slide.push(part);
      if (part.live) flush();
    }
    flush();
    for (const group of groups) fillUp(group, groups, parts, room, total);
    for (const group of groups) {
      group.sort((a, b) => parts.indexOf(a) - parts.indexOf(b));
      yield [heading, ...group.flatMap(({ elements }) => elements)];
    }
  }

  /** Give a slide that would be nearly empty the prose beside it. */
  function fillUp(group, groups, parts, room, total) {
    if (group[0].live) return;
    const taken = new Set(groups.flat());
    for (const step of [-1, 1]) {
      let at = parts.indexOf(step < 0 ? group[0] : group.at(-1)) + step;
      for (; parts[at]?.prose && !taken.has(parts[at]); at += step) {
        if (total(group) > 0.4 * room || total([...group, parts[at]]) > 0.9 * room) return;
        if (step < 0) group.unshift(parts[at]);
        else group.push(parts[at]);
        taken.add(parts[at]);
      }
    }
  }

  /** The slides of a page whose one picture goes along with its sections, a step each: the text is for
    the notes. */
  function walked() {
    const steps = Number(walk.querySelector("input[type=range]").max);
    const [opening, ...others] = sections;
    return [
      slidesOf(opening).next().value,
      ...others.slice(0, steps).map((one) => [one.firstElementChild, walk]),
      ...others.slice(steps).flatMap((one) => [...slidesOf(one)]),
    ];
  }

  const sections = [page, ...page.querySelectorAll(":scope > section")].filter(
    (one) => !ASIDE.includes(one.id),
  );
  let slides = [];
  let at = 0;

  const bar = document.createElement("nav");
  bar.className = "slides-bar";
  bar.setAttribute("aria-label", "Slides");
  const button = (text, action) => {
    const control = document.createElement("button");
    control.type = "button";
    control.textContent = text;
    control.addEventListener("click", action);
    return control;
  };
  const place = document.createElement("output");
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
    button("Notes", openNotes),
    button("Full screen", fill),
    button("Leave", leave),
  );
  if (!document.fullscreenEnabled) bar.querySelector("button:nth-last-child(2)").remove();

  /** Show one slide; its number stands in the address. */
  function go(to) {
    at = Math.min(Math.max(0, to), slides.length - 1);
    for (const part of article.querySelectorAll(".slide-now")) {
      part.classList.remove("slide-now", "slide-first", "slide-last");
      part.style.removeProperty("zoom");
      part.style.removeProperty("visibility");
    }
    for (const part of slides[at]) part.classList.add("slide-now");
    slides[at][1]?.classList.add("slide-first");
    slides[at].at(-1).classList.add("slide-last");
    place.textContent = `${at + 1} of ${slides.length}`;
    history.replaceState(null, "", `?slides=${at + 1}`);
    if (at && slides[at].includes(walk)) location.replace(`#Walk.step=${at}`);
    scrollTo(0, 0);
    uncoverAlone(slides[at]);
    dispatchEvent(new Event("resize")); // figures that were hidden had no size
    enlarge(slides[at]);
    showNotes();
  }

  /** A slide of nothing but covered answers: who went on to it has guessed on the slide before. */
  function uncoverAlone([, ...shown]) {
    const isCovered = (one) =>
      one.matches(".covered, [inert]") || one.querySelector(":scope > .covered");
    if (!shown.length || !shown.every(isCovered)) return;
    for (const row of article.querySelectorAll(".prediction:not(.shown)")) {
      const { prediction } = row.dataset;
      const answers = `.of-${prediction}, .waits-for-${prediction}`;
      const isHere = (one) => one.matches(answers) || one.querySelector(answers);
      if (shown.some(isHere) && !shown.some((one) => one.contains(row)))
        row.querySelector(".plain").click();
    }
  }

  /** Make what a slide shows as large as its room allows. */
  function enlarge([heading, ...shown]) {
    const figure = shown.find(isLive);
    const room = roomBelow(heading);
    if (figure) return enlargeFigure(figure, room);
    for (let size = LARGEST; size >= SMALLEST; size -= 0.1) {
      for (const part of shown) {
        part.style.zoom = size;
        const wide = [part, ...part.querySelectorAll("pre, table")];
        const share = Math.min(
          article.clientWidth / part.getBoundingClientRect().width,
          ...wide.map((box) => box.clientWidth / box.scrollWidth || 1),
        );
        if (share < 1) part.style.zoom = Math.max(size * share - 0.01, SMALLEST);
      }
      if (heightOf(shown) <= room && root.scrollHeight <= innerHeight + 1) return;
    }
  }

  /** A live figure, with its controls below the picture or beside it, whichever lets it be larger. It
    draws itself anew at each width, and its height changes with that: it settles in a few steps. Of
    two that begin, on a slide that uncovers itself for instance, the later one goes on. */
  let latest = null;
  async function enlargeFigure(figure, room) {
    const own = (latest = {});
    const drawn = () =>
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const fit = async (beside, most) => {
      if (latest !== own) return 0;
      figure.classList.toggle("slide-beside", beside);
      let size = 1;
      for (let turn = 0; turn < 9; turn++) {
        figure.style.zoom = size;
        await drawn();
        if (latest !== own) return 0;
        const ideal = (size * room) / figure.getBoundingClientRect().height;
        if (turn > 5 && ideal >= size) break;
        size = Math.min(most, ideal, turn > 5 ? size : Infinity);
      }
      return size;
    };
    figure.style.visibility = "hidden";
    const [below, beside] = [await fit(false, 2), await fit(true, 2)];
    if (latest !== own) return;
    const stage = figure.querySelector(".attention-stage").getBoundingClientRect();
    const reaches = [...figure.querySelectorAll(".attention-stage svg")].map(
      (one) => one.getBoundingClientRect().right,
    );
    if (below >= beside || Math.max(...reaches) > stage.right + 2) await fit(false, below);
    figure.style.removeProperty("visibility");
  }

  // ------------------------------------------------------------------------------------------- notes

  // They stand in a window of their own, for the presenter's screen: what the teachers' page says of a
  // slide, and the chapter's prose that the slide leaves out.
  let notes = null;
  let teaching = [];

  async function openNotes() {
    notes = open("teaching.html", "notes", "popup,width=640,height=800");
    if (!notes) return;
    try {
      while (!notes.document.querySelector("article") || notes.document.readyState !== "complete")
        await new Promise((done) => setTimeout(done, 50));
    } catch {
      return; // from a folder a page may not look into another: there the teachers' page stands whole
    }
    const chapter = location.pathname.split("/").pop();
    const section = notes.document.querySelector(
      `section:has(> :is(h2, h3, p) a[href^="${chapter}"])`,
    );
    teaching = [...(section?.querySelectorAll(":scope > ul > li") ?? [])];
    notes.document.title = "Presenter's notes";
    notes.document.body.style.padding = "0 1.25rem";
    notes.addEventListener("keydown", onKey);
    addEventListener("pagehide", () => notes.close());
    showNotes();
  }

  /** Whether an entry of the teachers' page is about a slide: of a figure where one is shown, of
    mistakes and what to discuss at the end, the others at the beginning; one that links to a section
    is about the first slide of that section. */
  function isAbout(entry, slide) {
    const label = entry.querySelector("strong")?.textContent ?? "";
    const link = entry.querySelector("strong:first-child a")?.hash.slice(1);
    const firstOf = (fits) => slides.find(fits) ?? slides[0];
    if (link) return slide === firstOf(([heading]) => heading.parentElement.id === link);
    if (/^Figure/.test(label)) return slide === firstOf((all) => all.some(isLive));
    if (/^(Mistakes|Skip|Discuss)/.test(label)) return slide === slides.at(-1);
    return slide === slides[0];
  }

  function showNotes() {
    if (!notes || notes.closed) return;
    const [heading, ...shown] = slides[at];
    const make = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const list = make("ul", "");
    list.append(
      ...teaching.filter((one) => isAbout(one, slides[at])).map((one) => one.cloneNode(true)),
    );
    const main = document.createElement("article");
    main.append(
      make("h1", `${at + 1} of ${slides.length}: ${heading.firstChild.textContent}`),
      make("p", `Next: ${slides[at + 1]?.[0].firstChild.textContent ?? "the end"}`),
      ...(list.childElementCount ? [list] : []),
      ...leftOut(heading.parentElement, shown).map((one) => one.cloneNode(true)),
    );
    notes.document.body.replaceChildren(notes.document.importNode(main, true));
  }

  /** The paragraphs of a section before what a slide shows, back to what the slide before shows. */
  function leftOut(section, shown) {
    const all = [...section.children];
    const first = Math.min(...shown.map((one) => all.indexOf(one)).filter((place) => place >= 0));
    const last = Math.max(...shown.map((one) => all.indexOf(one)));
    const [, ...before] = slides[at - 1]?.[0] === slides[at][0] ? slides[at - 1] : [null];
    const start = Math.max(0, ...before.map((one) => all.indexOf(one) + 1));
    const isLastOf = slides[at + 1]?.[0] !== slides[at][0];
    return all
      .slice(Math.min(start, first), isLastOf ? all.length : last)
      .filter((one) => one.matches("p:not(.slide-key)") && !shown.includes(one) && !isCaption(one));
  }

  // -------------------------------------------------------------------------------------------- keys

  const KEYS = {
    ArrowRight: () => go(at + 1),
    PageDown: () => go(at + 1),
    " ": () => go(at + 1),
    ArrowLeft: () => go(at - 1),
    PageUp: () => go(at - 1),
    Home: () => go(0),
    End: () => go(slides.length - 1),
    n: openNotes,
    f: fill,
    Escape: leave,
  };
  function onKey(event) {
    const used = event.target.closest?.(
      "input, textarea, select, summary, [role='slider'], [role='application'], .slides-bar, button, a",
    );
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    if (used && !(used.matches("button, .slides-bar") && event.key !== " ")) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // a figure that has the same keys stays where it is
    KEYS[event.key]();
  }
  addEventListener("keydown", onKey, { capture: true });
  // A figure whose "More" is opened or closed is fitted anew: the picture stays in sight.
  const onMore = ({ target }) => target.matches(".attention-more") && enlarge(slides[at]);
  article.addEventListener("toggle", onMore, { capture: true });

  /** On paper each slide has a page below its section's heading; a repeated heading is for paper alone. */
  function prepareForPaper() {
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
  }

  /** All is shown while it is measured; then come the slides. */
  async function begin() {
    const pictures = [...article.querySelectorAll("img")];
    for (const picture of pictures) picture.loading = "eager";
    await Promise.allSettled([document.fonts.ready, ...pictures.map((one) => one.decode())]);
    root.classList.add("slides", "slides-measured");
    document.body.append(bar);
    slides = walk ? walked() : sections.flatMap((one) => [...slidesOf(one)]);
    root.classList.remove("slides-measured");
    prepareForPaper();
    go(Number(new URLSearchParams(location.search).get("slides") || 1) - 1);
    addEventListener("resize", ({ isTrusted }) => isTrusted && go(at));
    addEventListener("uncovered", () => enlarge(slides[at]));
  }
  const root = document.documentElement;
  const sheet = document.createElement("link");
  sheet.rel = "stylesheet";
  sheet.href = new URL("slides.css", document.currentScript.src);
  sheet.addEventListener("load", begin);
  document.head.append(sheet);
}
