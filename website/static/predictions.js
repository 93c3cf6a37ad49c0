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
const node = (name, text = "", attributes = {}) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.textContent = text;
  return made;
};

const places = [...document.querySelectorAll(".prediction")];
const guesses = read("predictions") ?? {};
const always = () => read("always-show") === true;

/** The outputs that answer a prediction: those of its own cell and of the cells right after it. */
function answers(place) {
  const found = [];
  for (let cell = place.closest(".cell"); cell?.matches(".cell"); cell = cell.nextElementSibling) {
    if (cell !== place.closest(".cell") && cell.querySelector(".prediction")) break;
    found.push(...cell.querySelectorAll(":scope .answer"));
  }
  return found;
}

function prepare(place) {
  const { prediction } = place.dataset;
  const choices = JSON.parse(place.dataset.choices);
  const covered = answers(place);
  const row = node("div", "", { className: "guess" });
  const line = node("p", "", { className: "why" });
  line.setAttribute("role", "status");

  const show = () => {
    for (const output of covered) output.classList.remove("covered");
    place.classList.add("shown");
    for (const choice of row.querySelectorAll("button, input")) choice.disabled = true;
  };
  const guess = (text, why) => {
    guesses[prediction] = { text, why };
    write("predictions", guesses);
    line.textContent = text ? `Your guess: ${text}. ${why}`.trim() : "";
    show();
  };

  row.append(node("span", "What do you think?"));
  for (const [text, why = ""] of choices) {
    const choice = node("button", text, { type: "button" });
    choice.addEventListener("click", () => {
      choice.setAttribute("aria-pressed", "true");
      guess(text, why);
    });
    row.append(choice);
  }
  if (!choices.length) {
    const form = node("form");
    const field = node("input", "", { type: "text", autocomplete: "off" });
    field.setAttribute("aria-label", "Your guess");
    form.append(field, node("button", "Compare", { type: "submit" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (field.value.trim()) guess(field.value.trim(), "");
    });
    row.append(form);
  }
  const plain = node("button", "Show", { type: "button", className: "plain" });
  plain.addEventListener("click", () => guess("", ""));
  row.append(plain);
  place.append(row, line);

  const made = guesses[prediction];
  if (made) guess(made.text, made.why);
  else if (!always()) for (const output of covered) output.classList.add("covered");
  return { place, show };
}

const prepared = places.map(prepare);

// One switch for the whole book, below the last row of each page.
const label = node("label", "", { className: "always" });
const box = node("input", "", { type: "checkbox", checked: always() });
label.append(box, " Always show the outputs");
box.addEventListener("change", () => {
  write("always-show", box.checked);
  if (box.checked) for (const { show } of prepared) show();
});
places[0].append(label);
if (always()) for (const { show } of prepared) show();

// A link to a section, from the search for instance, uncovers what stands in it.
function uncoverTarget() {
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!section) return;
  for (const { place, show } of prepared) if (section.contains(place)) show();
}
addEventListener("hashchange", uncoverTarget);
if (location.hash) uncoverTarget();
