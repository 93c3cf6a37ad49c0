// Makes forms of a page's questions, and judges answers by the rules that attention_workbook.exercises
// wrote beside them: the same rules, and the same words, as in a notebook.

const logarithm = (log) => (x) => (x >= 0 ? log(x) : NaN);
const FUNCTIONS = new Map([
  ["ln", logarithm(Math.log)],
  ["log", logarithm(Math.log)],
  ["log2", logarithm(Math.log2)],
  ["log10", logarithm(Math.log10)],
  ["lg", logarithm(Math.log10)],
  ["exp", Math.exp],
  ["sqrt", Math.sqrt],
  ["√", Math.sqrt],
]);
const CONSTANTS = new Map([
  ["e", Math.E],
  ["pi", Math.PI],
  ["π", Math.PI],
  ["nan", NaN],
  ["inf", Infinity],
]);
const SIMPLE = [
  ...[..."−–"].map((sign) => [sign, "-"]),
  ...[..."×·⋅"].map((sign) => [sign, "*"]),
  ...[..."÷:"].map((sign) => [sign, "/"]),
  ["**", "^"],
  ["½", "(1/2)"],
  ["⅓", "(1/3)"],
  ["⅔", "(2/3)"],
  ["¼", "(1/4)"],
  ["¾", "(3/4)"],
];
const POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const TOKEN = /\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|[a-zπ]+\d*|[√^*/+()%-])/y;

/** The numbers that a text can mean, the likeliest first, as _numbers.py reads them. */
export function readNumbers(text, question = "") {
  let plain = text
    .trim()
    .toLowerCase()
    .replace(/^[≈~= ]+/, "");
  for (const [sign, simple] of SIMPLE) plain = plain.replaceAll(sign, simple);
  plain = plain.replace(
    /[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+/g,
    (small) => "^" + [...small].map((c) => (c === "⁻" ? "-" : POWERS.indexOf(c))).join(""),
  );
  plain = plain.replace(/(?<=\d)[\s_\u00a0\u202f](?=\d{3}(?!\d))/g, "");
  const [written, factor] = withoutUnit(plain, question.toLowerCase());
  const readings = [];
  for (const commas of [grouped(written), written.replace(/,(?=\d)/g, ".")]) {
    for (const loose of commas === null ? [] : [false, true]) {
      const value = arithmetic(commas, loose);
      if (value !== null && !readings.includes(value * factor)) readings.push(value * factor);
    }
  }
  return readings.some(Number.isNaN) ? readings.slice(0, 1) : readings;
}

/** Take commas out where each of them groups three digits. */
function grouped(text) {
  const whole = text.replace(/(?<![\d.,])[1-9]\d{0,2}(,\d{3})+(?![\d,])/g, (number) =>
    number.replaceAll(",", ""),
  );
  return whole.includes(",") ? null : whole;
}

/** A text without a unit at its end that the question names, and the unit's size. */
function withoutUnit(text, question) {
  const unit = text.match(/(?<=[\d)%.\s])\s*([a-z]+)$/);
  if (!unit || FUNCTIONS.has(unit[1]) || CONSTANTS.has(unit[1])) return [text, 1];
  const [number, name] = [text.slice(0, unit.index), unit[1]];
  const size = name.match(/^([kmgt]?)(i?)b(?:ytes?)?$/);
  if (size && question.includes("byte")) {
    return [number, (size[2] ? 1024 : 1000) ** " kmgt".indexOf(size[1] || " ")];
  }
  const named = new RegExp(`\\b${name.replace(/s$/, "")}s?\\b`).test(question);
  return [named ? number : text, 1];
}

/** What arithmetic is worth, null where it is none; `loose` lets ln 1/3 be ln (1/3). */
function arithmetic(text, loose) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  for (let found; TOKEN.lastIndex < text.trimEnd().length; tokens.push(found[1])) {
    found = TOKEN.exec(text);
    if (!found) return null;
  }
  let at = 0;
  const next = (...wanted) => (wanted.includes(tokens[at]) ? tokens[at++] : "");
  function sum() {
    let total = product();
    for (let sign; (sign = next("+", "-"));) total += sign === "+" ? product() : -product();
    return total;
  }
  function product() {
    let total = signed();
    for (;;) {
      const sign = next("*", "/");
      if (sign) total = sign === "*" ? total * signed() : total / signed();
      else if (tokens[at] === "(" || FUNCTIONS.has(tokens[at]) || CONSTANTS.has(tokens[at])) {
        total *= power(); // 2 ln 3, 2π
      } else return total;
    }
  }
  function signed() {
    const sign = next("+", "-");
    return sign ? signed() * (sign === "-" ? -1 : 1) : power();
  }
  function power() {
    let base = single();
    while (next("%")) base /= 100;
    return next("^") ? base ** signed() : base;
  }
  function single() {
    if (next("(")) {
      const inside = sum();
      if (!next(")")) throw new SyntaxError("a bracket is open");
      return inside;
    }
    const token = tokens[at++];
    if (FUNCTIONS.has(token)) {
      const bracket = tokens[at] === "(";
      return FUNCTIONS.get(token)(bracket ? single() : loose ? product() : power());
    }
    if (CONSTANTS.has(token)) return CONSTANTS.get(token);
    if (token === undefined || !/^[\d.]/.test(token)) throw new SyntaxError("no number");
    return Number(token);
  }
  try {
    const total = sum();
    return at === tokens.length ? total : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
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

function judgeNumber(rules, number) {
  if (Number.isNaN(number)) return { passed: false, message: rules.nan };
  if (isRight(rules, number)) return { passed: true, message: rules.correct };
  const distance = (value) => Math.abs(number - value);
  const near = rules.mistakes.filter(({ value, tolerance }) => distance(value) <= tolerance);
  near.sort((a, b) => distance(a.value) - distance(b.value));
  const direction = number < rules.right ? rules.small : rules.large;
  return { passed: false, message: near.length ? near[0].message : direction };
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
    verdicts[0] ?? { passed: false, message: `${rules.other}.` }
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
