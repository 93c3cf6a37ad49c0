// Makes forms of a page's questions, and judges answers by the rules that workbook.exercises
// wrote beside them: the same rules, and the same words, as in a notebook.

/** The numbers that a text can mean, the likeliest first: 0.5, 0,5, 1/2, 50 %, 655,360. */
export function readNumbers(text) {
  const plain = text
    .trim()
    .replaceAll("−", "-")
    .replaceAll(/[\s_\u00a0\u202f]/g, "");
  const percent = plain.endsWith("%");
  const sides = (percent ? plain.slice(0, -1) : plain).split("/");
  if (sides.length > 2) return [];
  const grouped = (side) =>
    /^-?[1-9]\d{0,2}(,\d{3})+$/.test(side) ? side.replaceAll(",", "") : null;
  const decimal = (side) => side.replace(",", ".");
  const value = (side) => {
    if (/^-?nan$/i.test(side)) return NaN;
    return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(side) ? Number(side) : null;
  };
  const numbers = [];
  for (const read of [grouped, decimal]) {
    const parts = sides
      .map((side) => read(side))
      .map((side) => (side === null ? null : value(side)));
    if (parts.includes(null)) continue;
    const number = (parts.length > 1 ? parts[0] / parts[1] : parts[0]) / (percent ? 100 : 1);
    if (!numbers.includes(number)) numbers.push(number);
  }
  return numbers;
}

function judgeNumber(rules, number) {
  if (Number.isNaN(number)) return { passed: false, message: rules.nan };
  const distance = (value) => Math.abs(number - value);
  if (distance(rules.right) <= rules.tolerance) return { passed: true, message: rules.correct };
  const near = rules.mistakes.filter(({ value, tolerance }) => distance(value) <= tolerance);
  near.sort((a, b) => distance(a.value) - distance(b.value));
  const direction = number < rules.right ? rules.small : rules.large;
  return { passed: false, message: near.length ? near[0].message : direction };
}

/** Judge what a reader wrote or chose: whether it is right, and what to say of it. */
export function judge(rules, answer) {
  if (rules.kind === "choice") {
    const option = rules.options.find(
      ({ key }) => key === answer.replaceAll(/[ ().]/g, "").toLowerCase(),
    );
    if (!option) return { passed: false, message: rules.other };
    return { passed: option.key === rules.right, message: option.message };
  }
  const verdicts = readNumbers(answer).map((number) => judgeNumber(rules, number));
  return (
    verdicts.find(({ passed }) => passed) ??
    verdicts[0] ?? { passed: false, message: `${rules.other}.` }
  );
}

/** Put a form for its answer into each question of a page. */
export function attachExercises(page) {
  page.querySelectorAll(".attention-exercise[data-exercise]").forEach((place, number) => {
    const rules = JSON.parse(place.dataset.exercise);
    const name = `attention-answer-${number}`;
    const form = make("form", { className: "attention-answer", noValidate: true });
    const said = make("output", { className: "attention-said", id: `${name}-said` });
    const button = make("button", { type: "submit", textContent: "Check" });
    const field = rules.kind === "choice" ? choices(rules, name) : numberField(rules, name);
    if (rules.kind === "number") field.append(" ", button);
    form.append(field, ...(rules.kind === "choice" ? [button] : []), said);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const answer = new page.defaultView.FormData(form).get(name) ?? "";
      form.classList.remove("attention-right", "attention-wrong");
      if (!answer.trim()) {
        const first = rules.kind === "choice" ? "Choose an answer" : "Write a number";
        said.textContent = `${first}, then press Check.`;
        return;
      }
      const { passed, message } = judge(rules, answer);
      form.classList.add(passed ? "attention-right" : "attention-wrong");
      said.replaceChildren(...inline(`${passed ? "Correct" : "Not yet"}: ${message}`));
    });
    form.addEventListener("input", () => {
      form.classList.remove("attention-right", "attention-wrong");
      said.replaceChildren();
    });
    place.replaceChildren(form, ...place.querySelectorAll(":scope > details"));
  });

  function make(tag, properties, ...children) {
    const element = Object.assign(page.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  /** Text as nodes; what stands between backticks is code. */
  function inline(text) {
    return text.split("`").map((part, i) => (i % 2 ? make("code", { textContent: part }) : part));
  }

  function numberField(rules, name) {
    const label = make("label", { htmlFor: name }, ...inline(rules.question));
    const input = make("input", { type: "text", id: name, name, autocomplete: "off" });
    input.inputMode = "decimal";
    input.setAttribute("aria-describedby", `${name}-said`);
    return make("p", {}, label, " ", input);
  }

  function choices(rules, name) {
    const options = rules.options.map(({ key, text }) => {
      const radio = make("input", { type: "radio", name, value: key });
      return make("label", {}, radio, ` ${key}) `, ...inline(text));
    });
    const legend = make("legend", {}, ...inline(rules.question));
    return make("fieldset", {}, legend, ...options);
  }
}
