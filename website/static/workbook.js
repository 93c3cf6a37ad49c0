// What pages can do with a script and do without one: light or dark, marking the section that is
// read and the chapters that are finished, copying code, printing what is folded, and scrolling wide
// boxes by keyboard.

const root = document.documentElement;

// Light or dark: as the system until the reader says otherwise.
const button = document.querySelector("button.theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
const label = () => {
  button.textContent = isDark() ? "Light" : "Dark";
  button.title = `Change to ${button.textContent.toLowerCase()} colours`;
};
button.addEventListener("click", () => {
  const dark = !isDark();
  if (dark === system.matches) delete root.dataset.theme;
  else root.dataset.theme = dark ? "dark" : "light";
  try {
    localStorage.setItem("theme", root.dataset.theme ?? "");
  } catch {
    // Storage may be forbidden: the choice then holds for this page.
  }
  label();
});
system.addEventListener("change", label);
label();

// The section that is being read is marked in the contents: the one that crosses a line at a quarter
// of the window's height.
const contents = document.querySelector("#contents");
const links = new Map(
  [...contents.querySelectorAll("ul ul a[href^='#']")].map((link) => [link.hash.slice(1), link]),
);
const page = contents.querySelector("[aria-current=page]");
if (page) contents.scrollTop = page.offsetTop - contents.clientHeight / 3; // it may stand far below
let sectionRead = null;
const reading = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.id);
      if (isIntersecting) sectionRead = target;
      if (!isIntersecting) {
        link.removeAttribute("aria-current");
        continue;
      }
      link.setAttribute("aria-current", "location");
      const [box, frame] = [link.getBoundingClientRect(), contents.getBoundingClientRect()];
      if (box.top < frame.top || box.bottom > frame.bottom)
        contents.scrollTop += box.top - frame.top - frame.height / 3;
    }
  },
  { rootMargin: "-25% 0px -75% 0px" },
);
for (const section of document.querySelectorAll("article > section > section[id]")) {
  if (links.has(section.id)) reading.observe(section);
}

// Chapters that readers tick as finished are ticked in the contents and on the map. The list is kept
// in this browser's storage and goes nowhere, as are guesses and code; readers can save and erase it.
const finish = document.querySelector(".finish");
const chapterOf = (address) => new URL(address, location.href).pathname.split("/").pop();
const remembered = () => {
  try {
    return JSON.parse(localStorage.getItem("finished")) ?? [];
  } catch {
    return []; // storage may be forbidden, or hold what is no list
  }
};
const storedEntries = () => {
  try {
    return Object.entries(localStorage).filter(([name]) => name !== "theme");
  } catch {
    return []; // as above
  }
};
const tick = () => {
  const finished = new Set(remembered());
  for (const link of document.querySelectorAll(
    "#contents li > a, #the-chapters li > p:first-child > a",
  )) {
    if (!link.closest("#contents ul ul"))
      link.classList.toggle("finished", finished.has(chapterOf(link.href)));
  }
  if (!finish) return;
  finish.querySelector("input").checked = finished.has(chapterOf(location.href));
};
const remember = (finished) => {
  try {
    if (finished.length) localStorage.setItem("finished", JSON.stringify(finished));
    else localStorage.removeItem("finished");
  } catch {
    // As above: then nothing is ticked.
  }
  tick();
};
if (finish) {
  const here = chapterOf(location.href);
  finish.querySelector("input").addEventListener("change", ({ target }) => {
    const others = remembered().filter((one) => one !== here);
    remember(target.checked ? [...others, here] : others);
  });
  finish.querySelector(".save").addEventListener("click", () => {
    const text = JSON.stringify(Object.fromEntries(storedEntries()), null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "attention-workbook.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  finish.querySelector(".erase").addEventListener("click", () => {
    if (!confirm("Erase your ticks, guesses, answers and code of all chapters?")) return;
    removeEventListener("pagehide", keepPlace);
    for (const [name] of storedEntries()) localStorage.removeItem(name);
    location.reload();
  });
}
tick();
addEventListener("storage", tick); // ticked in another window

// Who leaves a chapter after its beginning finds the way back above the list of chapters.
function keepPlace() {
  if (!finish || !sectionRead || scrollY < innerHeight) return;
  const title = document.querySelector("article h1").firstChild.textContent;
  const section = sectionRead.querySelector("h2").firstChild.textContent;
  const place = {
    address: `${chapterOf(location.href)}#${sectionRead.id}`,
    words: `${title}: ${section}`,
  };
  try {
    localStorage.setItem("place", JSON.stringify(place));
  } catch {
    // As above: then the list begins with its first chapter.
  }
}
addEventListener("pagehide", keepPlace);
const goOn = () => {
  const list = document.querySelector("#the-chapters > h2");
  try {
    const { address, words } = JSON.parse(localStorage.getItem("place"));
    const link = document.createElement("a");
    link.href = new URL(address, location.href);
    link.textContent = words;
    const line = document.createElement("p");
    line.className = "go-on";
    line.append("Go on where you were: ", link);
    list?.after(line);
  } catch {
    // There is no such place.
  }
};
goOn();

// Pictures below the first screen come when the page has nothing else to do, and not when a reader
// scrolls to them: by then the train may be in a tunnel.
addEventListener("load", () => {
  const later = window.requestIdleCallback ?? setTimeout;
  if (navigator.connection?.saveData) return;
  later(() => {
    for (const picture of document.querySelectorAll("img[loading=lazy]")) picture.loading = "eager";
  });
});

// A button that copies what stands in a code cell.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll(
    ".cell_input pre, article > section div[class*='highlight-python'] pre",
  )) {
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy";
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
      setTimeout(() => {
        copy.textContent = "Copy";
      }, 2000);
    });
    code.parentElement.append(copy);
  }
}

// What scrolls sideways can be reached by keyboard, and only that.
const wide = [
  ...document.querySelectorAll("article :is(pre, .formula, table, .cell_output:has(> img))"),
];
const reach = (boxes) => {
  const scrolls = boxes.map((box) => box.scrollWidth > box.clientWidth); // all read, then all written
  boxes.forEach((box, i) => (scrolls[i] ? (box.tabIndex = 0) : box.removeAttribute("tabindex")));
};
const watch = new ResizeObserver((entries) => reach(entries.map(({ target }) => target)));
wide.forEach((box) => watch.observe(box));
document.fonts.addEventListener("loadingdone", () => reach(wide)); // formulas have other widths then

// On a small screen a formula or a table is made smaller to be seen whole, as long as it can still be
// read; what is wider scrolls. A tap shows a still large.
const small = matchMedia("(max-width: 30rem)");
const boxes = [...document.querySelectorAll("article :is(div.formula, table)")];
const fit = () => {
  for (const box of boxes) box.style.removeProperty("zoom");
  if (!small.matches) return;
  const shares = boxes.map((box) => box.clientWidth / box.scrollWidth); // all read, then all written
  boxes.forEach((box, i) => {
    if (shares[i] < 1) box.style.setProperty("zoom", Math.max(shares[i], 0.8).toFixed(3));
  });
};
document.fonts.ready.then(fit);
small.addEventListener("change", fit);
document.addEventListener("toggle", fit, { capture: true }); // what was folded has no width before
document.addEventListener("click", ({ target }) => {
  if (!small.matches || !target.matches(".cell_output > img")) return;
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.append(target.cloneNode());
  dialog.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
});

// Hints and solutions are printed, the code of drawings is not.
const folded = "article details:not(.tag_hide-input > details)";
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll(`${folded}:not([open])`)) {
    details.open = true;
    details.dataset.print = "";
  }
});
addEventListener("afterprint", () => {
  for (const details of document.querySelectorAll("details[data-print]")) {
    details.open = false;
    delete details.dataset.print;
  }
});

// A report of a mistake takes along what is selected.
const report = document.querySelector("a.report");
report?.addEventListener("click", () => {
  const quote = String(getSelection()).trim().slice(0, 500);
  const address = new URL(report.href);
  const body = address.searchParams.get("body").replace(/\n\n> [^]*$/, "\n\n");
  address.searchParams.set("body", quote ? `${body}\n\n> ${quote.replace(/\n/g, "\n> ")}` : body);
  report.href = address.href;
});

// A page can be shown as slides.
if (new URLSearchParams(location.search).has("slides")) {
  const script = document.createElement("script");
  script.src = new URL("slides.js", document.currentScript.src);
  document.head.append(script);
}

// The first visit to the search field of a page fetches what it looks through.
const here = document.currentScript.src;
document.querySelector(".bar .search input")?.addEventListener(
  "focus",
  () => {
    if (document.querySelector("article .results")) return; // the search's own page has it
    for (const name of ["search-index.js", "search.js"]) {
      const script = document.createElement("script");
      script.src = new URL(name, here);
      script.async = false; // in this order
      document.head.append(script);
    }
  },
  { once: true },
);

// "/" goes to the search field, as in many books.
addEventListener("keydown", (event) => {
  if (
    event.key !== "/" ||
    event.ctrlKey ||
    event.metaKey ||
    event.target.closest("input, textarea, select")
  )
    return;
  const field = [...document.querySelectorAll("form.search input")].find((input) =>
    input.checkVisibility(),
  );
  if (field) {
    event.preventDefault();
    field.focus();
  }
});
