// Makes forms of a page's questions, and judges answers by the rules that attention_workbook.exercises
// wrote beside them: the same rules, and the same words, as in a notebook.

const NUMBER = "(?:\\d+\\.?\\d*|\\.\\d+)(?:e[+-]?\\d+)?";
const WRITTEN = new RegExp(`^([+-]?${NUMBER})(?:\\s*/\\s*(${NUMBER}))?\\s*(%?)$`);

/**
 * The numbers that a decimal, a fraction or a percentage can mean, the likeliest first: a comma may
 * group digits or stand before decimals. A unit that the question names may follow.
 */
export function readNumbers(text, question = "") {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^[≈~= ]+/, "")
    .replace(/[−–]/g, "-")
    .replace(/(?<=\d)[\s_](?=\d{3}(?!\d))/g, "");
  const written = withoutUnit(plain, question.toLowerCase());
  const grouped = written.replace(/(?<![\d.,])[1-9]\d{0,2}(,\d{3})+(?![\d,])/g, (number) =>
    number.replaceAll(",", ""),
  );
  const readings = [grouped, written.replace(/,(?=\d)/g, ".")].map(valueOf);
  return [...new Set(readings)].filter((value) => value !== null);
}

/** A text without a unit at its end that the question names. */
function withoutUnit(text, question) {
  const unit = /(?<=[\d)%.\s])\s*([a-z]+)$/.exec(text);
  const isNamed = unit && new RegExp(`\\b${unit[1].replace(/s$/, "")}s?\\b`).test(question);
  return isNamed ? text.slice(0, unit.index) : text;
}

/** What a number, a fraction or a percentage is worth, null for any other text. */
function valueOf(text) {
  const [isNumber, number, divisor = 1, percent] = WRITTEN.exec(text) ?? [];
  if (!isNumber || !Number(divisor)) return null;
  return Number(number) / Number(divisor) / (percent ? 100 : 1);
}

/** How many significant digits a number is written with. */
function digitsOf(number) {
  const digits = String(number).split("e")[0].replace(/[-.]/g, "");
  return digits.replace(/^0+|0+$/g, "").length;
}

/** Whether a number is the right one, or a large whole one rounded to three digits or more. */
function isRight(rules, number) {
  if (Math.abs(number - rules.right) <= rules.tolerance) return true;
  const digits = digitsOf(number);
  const rounds = rules.rounded && Number.isFinite(number) && digits >= 3 && digits <= 17;
  return rounds && number === Number(rules.right.toExponential(digits - 1));
}

// what people do to a right number, and what is said of it; `numbers.py` has the same
const SLIPS = [
  [(x) => -x, "that has the wrong sign."],
  [(x) => 1 / x, "that is upside down: divide 1 by it."],
  [(x) => (x > 0 && x < 1 ? 1 - x : NaN), "that is 1 minus the right number."],
  [(x) => x * x, "that is the square of the right number: a root is missing."],
  [(x) => Math.abs(x) ** 0.5, "that is a root of the right number: one root too many."],
  [(x) => Math.exp(Math.min(x, 99)), "a logarithm is still to be taken."],
  [(x) => Math.log(Math.abs(x)), "that is the logarithm of the right number."],
];
const upTo = (count, made) => Array.from({ length: count }, (_, i) => made(i));
const FACTORS = [
  ...upTo(15, (i) => i + 2),
  ...upTo(26, (i) => 2 ** (i + 5)),
  ...upTo(11, (i) => 10 ** (i + 2)),
];

/** Which usual slip makes a number of the right one, or how far it is; "" if neither. */
function slipIn(number, right) {
  if (!right || !Number.isFinite(number)) return "";
  if (Number.isInteger(right) && Math.abs(number - right) === 1) {
    return `that is one too ${number > right ? "many" : "few"}.`;
  }
  const isNear = (value) => Math.abs(number - value) <= 2e-3 * Math.abs(value);
  const slip = SLIPS.find(([change]) => isNear(change(right)));
  if (slip) return slip[1];
  for (const factor of FACTORS) {
    if (isNear(right * factor)) return `that is ${factor} times the right number.`;
    if (isNear(right / factor)) return `the right number is ${factor} times as large.`;
  }
  const ratio = number / right;
  const side = number > right ? "large" : "small";
  if (ratio > 0.9 && ratio < 1.1) return `that is too ${side}, by less than a tenth.`;
  if (ratio > 10 || (ratio > 0 && ratio < 0.1)) {
    return `that is more than ten times too ${ratio > 1 ? "large" : "small"}.`;
  }
  return "";
}

function judgeNumber(rules, number) {
  if (isRight(rules, number)) return { passed: true, message: rules.correct };
  const distance = (value) => Math.abs(number - value);
  const near = rules.mistakes.filter(({ value, tolerance }) => distance(value) <= tolerance);
  near.sort((a, b) => distance(a.value) - distance(b.value));
  if (near.length) return { passed: false, message: near[0].message };
  const side = number < rules.right ? rules.small : rules.large;
  return { passed: false, message: slipIn(number, rules.right) || side };
}

/** Judge what a reader wrote or chose: whether it is right, and what to say of it. */
export function judge(rules, answer) {
  if (rules.kind === "choice") {
    const chosen = answer.replace(/^[ ().]+|[ ().]+$/g, "").toLowerCase();
    const option = rules.options.find(
      ({ key, text }) => key === chosen || text.replace(/[ ().]+$/, "").toLowerCase() === chosen,
    );
    if (!option) return { passed: false, message: rules.other };
    return { passed: option.key === rules.right, message: option.message };
  }
  const verdicts = readNumbers(answer, rules.question).map((number) => judgeNumber(rules, number));
  return (
    verdicts.find(({ passed }) => passed) ??
    verdicts[0] ?? { passed: false, message: `${rules.other}: 0.25, 1/4, 25 % or 2e9.` }
  );
}

/** What a reader answered stays in this browser, by question. */
const answers = {
  all() {
    try {
      return JSON.parse(localStorage.getItem("answers")) ?? {};
    } catch {
      return {}; // storage may be forbidden, or hold something else
    }
  },
  keep(question, answer) {
    try {
      localStorage.setItem("answers", JSON.stringify({ ...answers.all(), [question]: answer }));
    } catch {
      // As above: then the answer is forgotten when the page is left.
    }
  },
};

/** Put a form for its answer into each question of a page. */
export function attachExercises(page) {
  const given = answers.all();
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
      answers.keep(rules.question, answer);
      const { passed, message } = judge(rules, answer);
      form.classList.add(passed ? "attention-right" : "attention-wrong");
      said.replaceChildren(...inline(`${passed ? "Correct" : "Not yet"}: ${message}`));
    });
    form.addEventListener("input", () => {
      form.classList.remove("attention-right", "attention-wrong");
      said.replaceChildren();
    });
    place.replaceChildren(form, ...place.querySelectorAll(":scope > details"));
    if (Object.hasOwn(given, rules.question)) answerAgain(form, given[rules.question]);
  });

  function answerAgain(form, answer) {
    const fields = [...form.querySelectorAll("input")];
    for (const field of fields.filter(({ type }) => type === "radio"))
      field.checked = field.value === answer;
    if (fields[0].type === "text") fields[0].value = answer;
    form.requestSubmit();
  }

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
