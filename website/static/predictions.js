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

/** The outputs that answer a prediction: those marked in the cells that follow it. */
function answers(place) {
  const found = [];
  const first = place.closest(".cell") ?? place.nextElementSibling;
  for (let cell = first; cell; cell = cell.nextElementSibling) {
    if (cell !== first && cell.querySelector(".prediction")) break;
    const marked = [...cell.querySelectorAll(".answer")];
    if (found.length && !marked.length) break;
    found.push(...marked);
  }
  return found;
}

function prepare(place) {
  const { prediction } = place.dataset;
  const covered = answers(place);
  const line = place.querySelector(".why");
  const buttons = [...place.querySelectorAll("button")];

  const show = () => {
    for (const output of covered) output.classList.remove("covered");
    for (const control of [...buttons, ...place.querySelectorAll("form input")])
      control.disabled = true;
  };
  const guess = (text, why) => {
    guesses[prediction] = { text, why };
    write("predictions", guesses);
    line.textContent = text ? `Your guess: ${text}. ${why}`.trim() : "";
    show();
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      if (button.type === "submit") return;
      if (button.matches(".plain")) guess("", "");
      else guess(button.textContent, button.dataset.why);
    });
  }
  place.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = event.target.querySelector("input").value.trim();
    if (text) guess(text, "");
  });

  const made = guesses[prediction];
  if (made) guess(made.text, made.why);
  else if (!always()) for (const output of covered) output.classList.add("covered");
  return { place, show };
}

const prepared = places.map(prepare);

// One switch for the whole book.
const box = document.querySelector(".prediction .always input");
box.checked = always();
box.addEventListener("change", () => {
  write("always-show", box.checked);
  if (box.checked) for (const { show } of prepared) show();
});
if (always()) for (const { show } of prepared) show();

// A link to a section, from the search for instance, uncovers what stands in it.
function uncoverTarget() {
  const section = document.getElementById(location.hash.slice(1));
  if (!section) return;
  for (const { place, show } of prepared) if (section.contains(place)) show();
}
addEventListener("hashchange", uncoverTarget);
if (location.hash) uncoverTarget();
