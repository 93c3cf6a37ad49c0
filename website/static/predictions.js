// What answers a prediction is covered until the reader has guessed or says “Show”. Guesses stay in
// this browser's storage. Printing and links to a section uncover; without this script nothing is
// covered.
const read = (name) => {
  try {
    return JSON.parse(localStorage.getItem(name));
  } catch {
    return null; // storage may be forbidden, or hold something else
  }
};
const write = (name, value) => {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // As above: then the guess is forgotten when the page is left.
  }
};

const places = [...document.querySelectorAll(".prediction")];
const guesses = read("predictions") ?? {};
const always = () => read("always-show") === true;

const element = (tag, className, ...children) => {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
};
const STEPS = 20; // from 0 to 1, of a value that is drawn

/** A picture of a line, and what draws it through values between 0 and 1. */
function polyline(className) {
  const [svg, line] = ["svg", "polyline"].map((tag) =>
    document.createElementNS("http://www.w3.org/2000/svg", tag),
  );
  svg.setAttribute("class", className);
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.append(line);
  const through = (values) => {
    const points = values.map((value, i) => [(100 * (i + 0.5)) / values.length, 100 * (1 - value)]);
    line.setAttribute("points", points.join(" "));
  };
  return { svg, through };
}

/** Give a bar another value; the others share what is left, in the proportion they have. */
function shared(values, place, value) {
  const [before, others] = [1 - values[place], values.length - 1];
  const rest = (x) => (before > 1e-9 ? (x * (1 - value)) / before : (1 - value) / others);
  return values.map((x, i) => (i === place ? value : rest(x)));
}

/** Let a pointer set the values of a plot's columns: of several in one stroke, where it is a curve. */
function withPointer(plot, { isCurve, count, set }) {
  let [start, held] = [null, null]; // where a pointer went down, and the column it has hold of
  const follow = ({ clientX, clientY }) => {
    const box = plot.getBoundingClientRect();
    const within = (x, most) => Math.min(Math.max(x, 0), most);
    const value = within(1 - (clientY - box.top) / box.height, 1);
    const at = Math.floor(((clientX - box.left) / box.width) * count);
    if (held === null || isCurve) held = within(at, count - 1);
    set(held, Math.round(STEPS * value) / STEPS);
  };
  const hold = (event) => {
    plot.setPointerCapture(event.pointerId);
    follow(event);
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.button || plot.closest(".revealed")) return;
    [start, held] = [event, null];
    // a finger may be about to scroll the page, unless it takes a handle or moves sideways
    if (event.pointerType !== "touch" || event.target.matches(".handle")) hold(event);
  });
  plot.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) follow(event);
    else if (start && isCurve && Math.abs(event.clientX - start.clientX) > 8) hold(event);
  });
  plot.addEventListener("pointerup", (event) => {
    if (start && !plot.hasPointerCapture(event.pointerId)) follow(event);
    start = null;
  });
  plot.addEventListener("pointercancel", () => {
    start = null;
  });
}

/**
 * A guess that is drawn, by mouse, finger or arrow keys: the points of a curve, or bars that always
 * sum to 1. `changed` is called with each change; `reveal` draws the truth beside it.
 */
function drawing(place, changed) {
  const { kind, names, truth } = JSON.parse(place.dataset.drawn);
  const isCurve = kind === "curve";
  let values = names.map(() => (isCurve ? 0.5 : 1 / names.length));
  const columns = names.map((name, i) => {
    const input = element("input", "");
    Object.assign(input, { type: "range", min: 0, max: STEPS, step: 1 });
    input.setAttribute("aria-label", isCurve ? name : `${i + 1}: ${name}`);
    input.addEventListener("input", () => set(i, input.value / STEPS));
    const [number, right] = [element("span", "number"), element("span", "right")];
    right.style.height = `${100 * truth[i]}%`;
    const share = element("span", "share", element("span", "handle"));
    const column = element("label", "column", right, share, number, input);
    return { column, share, number, input };
  });
  const [own, right] = [polyline("own"), polyline("right")];
  right.through(truth);
  const plot = element("div", "plot", ...columns.map(({ column }) => column));
  if (isCurve) plot.prepend(right.svg, own.svg);
  const words = element("div", "names", ...names.map((name) => element("span", "", name)));
  const key = isCurve
    ? "Dashed: your guess. Solid: the truth."
    : "Filled: your guess. Outlined: the truth.";
  const silent = [own.svg, right.svg, words, ...columns.map(({ number }) => number)];
  for (const part of silent) part.setAttribute("aria-hidden", "true"); // the sliders say it
  place.append(plot, words, element("p", "key", key));

  const show = () => {
    own.through(values);
    columns.forEach(({ share, number, input }, i) => {
      share.style.height = `${100 * values[i]}%`;
      number.textContent = values[i].toFixed(2);
      input.value = Math.round(STEPS * values[i]);
      input.setAttribute("aria-valuetext", number.textContent);
    });
  };
  const set = (i, value) => {
    values = isCurve ? values.map((x, j) => (j === i ? value : x)) : shared(values, i, value);
    show();
    changed();
  };

  withPointer(plot, { isCurve, count: names.length, set });
  show();
  return {
    values: () => values,
    /** Show the truth; `guessed` are values that were compared. */
    reveal(guessed) {
      if (guessed) values = guessed;
      show();
      place.classList.toggle("blank", !guessed);
      place.classList.add("revealed");
    },
  };
}

/** A guess of tiles in rows, open or hidden; `reveal` marks those that are wrong, `verdict` counts. */
function tiles(place, changed) {
  const { names, rows, truth } = JSON.parse(place.dataset.drawn);
  let values = truth.map((row) => row.map(() => 1));
  const isRight = (i, j) => values[i][j] === truth[i][j];
  const buttons = truth.map((row, i) =>
    row.map((_, j) => {
      const button = element("button", "tile");
      button.type = "button";
      button.setAttribute("aria-label", `${rows[i]} row, word ${j + 1}: ${names[j]}`);
      button.addEventListener("click", () => {
        values[i][j] = 1 - values[i][j];
        show();
        changed();
      });
      return button;
    }),
  );
  const show = () =>
    buttons.forEach((row, i) =>
      row.forEach((button, j) => button.setAttribute("aria-pressed", String(values[i][j] === 1))),
    );
  place.style.setProperty("--columns", names.length);
  place.append(
    ...["", ...names].map((name) => element("span", "", name)),
    ...rows.flatMap((name, i) => [element("span", "", name), ...buttons[i]]),
  );
  show();
  return {
    values: () => values,
    verdict() {
      const wrong = truth.flatMap((row, i) => row.filter((_, j) => !isRight(i, j))).length;
      return wrong ? `Wrong tiles: ${wrong} of ${truth.flat().length}. ` : "Right. ";
    },
    reveal(guessed) {
      values = guessed ?? truth;
      show();
      buttons.forEach((row, i) =>
        row.forEach((button, j) => {
          button.textContent = isRight(i, j) ? "" : "✗";
          button.disabled = true;
        }),
      );
    },
  };
}

function prepare(place) {
  const { prediction } = place.dataset;
  const covered = document.getElementsByClassName(`of-${prediction}`);
  const waiting = document.querySelector(`.waits-for-${prediction}`); // a figure to try it with
  const line = place.querySelector(".why");
  const area = place.querySelector(".drawn");
  const compare = place.querySelector(".compare");
  const drawn =
    area &&
    (area.matches(".tiles") ? tiles : drawing)(area, () => {
      compare.disabled = false;
    });
  const buttons = [...place.querySelectorAll("button:not(.tile)")];

  const show = () => {
    for (const part of covered) part.classList.remove("covered");
    if (waiting) waiting.inert = false;
    for (const control of [...buttons, ...place.querySelectorAll("input")]) control.disabled = true;
    place.classList.add("shown");
    drawn?.reveal(guesses[prediction]?.values);
    dispatchEvent(new Event("uncovered")); // slides fit what they show anew
  };
  const guess = (text, values) => {
    guesses[prediction] = { text, values };
    write("predictions", guesses);
    const chosen = buttons.find((button) => "why" in button.dataset && button.textContent === text);
    chosen?.setAttribute("aria-pressed", "true");
    if (chosen) line.textContent = chosen.dataset.why ? `Not so. ${chosen.dataset.why}` : "Right.";
    else if (text) line.textContent = `Your guess: ${text}.`;
    show();
    if (values) line.textContent = (drawn.verdict?.() ?? "") + compare.dataset.why;
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      if (button.type === "submit") return;
      if (button.matches(".plain")) guess("");
      else if (button === compare) guess("", drawn.values());
      else guess(button.textContent);
    });
  }
  place.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = event.target.querySelector("input").value.trim();
    if (text) guess(text);
  });

  const made = guesses[prediction];
  if (made) guess(made.text, made.values);
  else if (!always()) {
    for (const part of covered) part.classList.add("covered");
    if (waiting) waiting.inert = true;
  }
  /** Whether an address names this section, or sets the figure that waits. */
  const isNamed = (hash) => {
    const figure = waiting?.querySelector("[data-widget]").dataset.widget;
    const section = document.getElementById(hash.slice(1));
    return section ? section.contains(place) : hash.startsWith(`#${figure}`);
  };
  return { show, isNamed };
}

const prepared = places.map(prepare);

// One switch for the whole book, below the title of each page that asks.
const box = document.querySelector(".always > input");
box.checked = always();
box.addEventListener("change", () => {
  write("always-show", box.checked);
  if (box.checked) for (const { show } of prepared) show();
});
if (always()) for (const { show } of prepared) show();

// A link to a section, from the search for instance, uncovers what stands in it.
function uncoverTarget() {
  for (const { show, isNamed } of prepared) if (isNamed(location.hash)) show();
}
addEventListener("hashchange", uncoverTarget);
if (location.hash) uncoverTarget();
