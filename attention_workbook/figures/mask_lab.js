import {
  addPatterns,
  asDone,
  colorMap,
  createView,
  element,
  fixed,
  press,
  readTable,
  readableOn,
  round,
  roundedSoftmax,
  setAttributes,
  setChildren,
  short,
  svg,
  writeTable,
} from "./_shared/index.js";

// What is written over a masked score.
const FILLS = {
  0: { value: 0, text: "0" },
  "-1": { value: -1, text: "−1" },
  "-inf": { value: -Infinity, text: "−∞" },
  "-1e6": { value: -1e6, text: "−10⁶" },
  "-1e9": { value: -1e9, text: "−10⁹" },
  safe: { value: -Infinity, text: "−∞, and 0 for an empty row" },
};
const IN_SIGHT = 3; // of them; the others stand under More
// Half of the lowest finite number: what the low row's scores are lowered by.
const LOW = {
  float16: -32752,
  bfloat16: -(2 - 2 ** -7) * 2 ** 126,
  float32: -(2 - 2 ** -23) * 2 ** 126,
  float64: -Number.MAX_VALUE / 2,
};
const LOW_ROW = 2;
const TOKENS = ["so", "it", "was", "too", "tired"];

/** Which key a query may attend to, the scores as filled, the weights, and what is wrong with them. */
export function measure({ scores, valid_len, left, causal, hidden, low, fill, dtype }) {
  const safe = fill === "safe";
  const value = round(FILLS[fill].value, dtype);
  const isReal = (j) => (left ? j >= TOKENS.length - valid_len : j < valid_len);
  const tokens = TOKENS.map((token, j) => (isReal(j) ? token : "–"));
  const allowed = scores.map((row, i) =>
    row.map((_, j) => isReal(j) && (!causal || j <= i) && !hidden[i][j]),
  );
  const filled = scores.map((row, i) =>
    row.map((given, j) => {
      if (!allowed[i][j]) return safe && !allowed[i].includes(true) ? 0 : value;
      const score = round(given, dtype);
      return low && i === LOW_ROW ? round(score + LOW[dtype], dtype) : score;
    }),
  );
  const weights = filled.map((row, i) =>
    roundedSoftmax(row, dtype).map((weight, j) => (safe && !allowed[i][j] ? 0 : weight)),
  );

  const measured = {
    tokens,
    allowed,
    filled,
    weights,
    leak: 0,
    spilled: 0,
    nan_cells: 0,
    row_sum_error: 0,
    empty_rows: 0,
    masked: 0,
    overflows: Number.isFinite(FILLS[fill].value) && !Number.isFinite(value),
    leaks: { plain: false, low: false, empty: false }, // in which rows
  };
  weights.forEach((row, i) => {
    const empty = !allowed[i].includes(true);
    const leaking = row.filter((weight, j) => !allowed[i][j] && weight > 0);
    measured.masked += allowed[i].filter((may) => !may).length;
    measured.nan_cells += row.filter(Number.isNaN).length;
    measured.leak += leaking.reduce((sum, weight) => sum + weight, 0);
    if (leaking.length)
      measured.leaks[empty ? "empty" : low && i === LOW_ROW ? "low" : "plain"] = true;
    if (empty) measured.empty_rows += 1;
    else
      measured.row_sum_error = Math.max(
        measured.row_sum_error,
        Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1),
      );
  });
  const given = weights
    .flat()
    .reduce((sum, weight) => (Number.isNaN(weight) ? sum : sum + weight), 0);
  if (measured.leak > 0) measured.spilled = measured.leak / given;
  return measured;
}

/** A share in percent; what is above 0 does not read as 0. */
export function percent(share) {
  if (share > 0 && share < 0.001) return "below 0.1 %";
  return `${fixed(100 * share, share === 0 || share === 1 ? 0 : 1)} %`;
}

/** The finding in words. What `begun` with a leak or NaN is done when the mask holds, and what began
    with one that holds, when it leaks. */
export function words({ fill }, measured, begun = measured) {
  const { leaks, spilled, nan_cells, empty_rows, masked, overflows } = measured;
  const sentences = [];
  if (overflows) {
    sentences.push(
      `float16 ends at −65504: masked_fill raises; assigned, as here, ${FILLS[fill].text} becomes −∞.`,
    );
  }
  if (nan_cells > 0)
    sentences.push(`${nan_cells} weights are NaN: a row of −∞ alone has no softmax.`);
  if (masked === 0) {
    sentences.push("Nothing is masked.");
  } else if (spilled > 0) {
    const reasons = [
      leaks.plain && `e to the power of ${FILLS[fill].text} is ${short(Math.exp(fill), 2)}`,
      leaks.low && "the low row lies below the fill",
      leaks.empty && "a row with nothing to attend to is shared out evenly among them",
    ].filter(Boolean);
    sentences.push(
      `${percent(spilled)} of all weight goes to masked keys: ${reasons.join("; ")}. Yet all rows sum to 1, to rounding.`,
    );
  } else if (nan_cells === 0) {
    sentences.push(
      `Masked keys get exactly 0${empty_rows > 0 ? ", and rows with nothing to attend to are 0" : ""}.`,
    );
  } else if (empty_rows < 5) {
    sentences.push("In the other rows masked keys get exactly 0.");
  }
  const said = sentences.join(" ");
  const isDone = holds(begun) ? spilled > 0 : holds(measured);
  return isDone ? asDone(said) : said;
}

/** Whether a mask keeps what it hides from the weights, and leaves no NaN. */
const holds = ({ masked, spilled, nan_cells }) => masked > 0 && spilled === 0 && nan_cells === 0;

/** A number in a few letters: three decimals, or fewer, or two digits and a power of ten; an exact 0 is "0". */
export function compact(value, digits = 3) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (!Number.isFinite(value) || (size >= 0.001 && size < 1000)) return fixed(value, digits);
  return value.toExponential(1).replace(".0e", "e").replace("e+", "e").replaceAll("-", "−");
}

/** What is set, for a still picture. */
export function setting({ valid_len, left, causal, low, fill, dtype }, measured) {
  const { leak, nan_cells, row_sum_error, empty_rows } = measured;
  const masks = [
    `${valid_len} of 5 keys valid`,
    `padding on the ${left ? "left" : "right"}`,
    causal && "causal mask",
    low && "one row of very low scores",
  ];
  return (
    `5 queries, ${masks.filter(Boolean).join(", ")}; fill ${FILLS[fill].text}, in ${dtype}: leaked weight ` +
    `${fixed(leak)}, NaN cells ${nan_cells}, row sum error ${fixed(row_sum_error)}, empty rows ${empty_rows}.`
  );
}

export function render({ model, el }) {
  const traits = ["valid_len", "fill", "dtype", "causal", "left", "low", "hidden", "scores"];
  const view = createView({ model, el }, { label: "Mask and softmax", traits });
  const begun = measure(view.state());
  view.task(holds(begun) ? "Make the mask leak." : "Stop the leak.");
  const pair = view.stage.appendChild(
    element("div", { class: "attention-pair", "data-columns": 2 }),
  );
  let place; // of the cells: where they begin, and their size
  const table = (title, description, hint = "") => {
    const plot = view.plot({ height: 290, parent: pair, description });
    plot.svg.addEventListener(
      "click",
      (event) => {
        const [x, y] = plot.under(event);
        hide(Math.floor((y - place.top) / place.down), Math.floor((x - place.left) / place.across));
      },
      { signal: view.signal },
    );
    const fills = addPatterns(plot.svg);
    const name = plot.svg.appendChild(
      svg(
        "text",
        { class: "attention-muted", y: 13 },
        title,
        svg("tspan", { "data-live": true }, hint),
      ),
    );
    return {
      title,
      plot,
      fills,
      name,
      content: plot.svg.appendChild(svg("g", { cursor: "pointer", "font-size": 13 })),
    };
  };
  /** Mask a cell that a reader clicks, or take its mask away; padding is taken away by the column. */
  function hide(row, column) {
    const cells = model.get("hidden");
    if (cells[row]?.[column] === undefined) return;
    const padded = model.get("left") ? 5 - column : column + 1;
    if (padded > model.get("valid_len")) view.set("valid_len", padded);
    else
      view.set(
        "hidden",
        cells.map((cell, i) =>
          cell.map((mark, j) => (i === row && j === column ? 1 - mark : mark)),
        ),
      );
  }
  const before = table(
    "scores",
    "The scores of five queries, down, and five keys, across; masked ones are hatched",
    `; ${press().toLowerCase()} one to mask it`,
  );
  const after = table(
    "weights",
    "Their softmax; masked cells are hatched, and show a colour in the middle where weight leaks",
  );
  const legend = after.plot.svg.appendChild(svg("g", { "aria-hidden": "true" }));

  const show = view.numbers({
    spilled: "Share of all weight that goes to masked keys",
    leak: "Leaked weight",
    nan_cells: "NaN cells",
    row_sum_error: "Row sum error",
    empty_rows: "Empty rows",
  });

  view.slider({
    trait: "valid_len",
    label: "Valid keys",
    min: 0,
    max: 5,
    marks: ["0", "1", "2", "3", "4", "5"],
    words: (count) => `${count} of 5 keys ${count === 1 ? "is" : "are"} valid`,
  });
  const fills = view.choice({
    trait: "fill",
    label: "Fill value",
    options: Object.entries(FILLS).map(([fill, { text }]) => [fill, text]),
  });
  const further = fills.filter(
    ({ value }, i) => i >= IN_SIGHT && value !== model.get("fill"), // what is set is in sight
  );
  view.more.controls.append(
    element(
      "fieldset",
      { class: "attention-control" },
      element("legend", { class: "attention-name" }, "Other fill values"),
      element(
        "div",
        { class: "attention-options" },
        ...further.map((input) => input.closest("label")),
      ),
    ),
  );
  view.choice({
    trait: "dtype",
    label: "Computed in",
    more: true,
    options: Object.keys(LOW).map((dtype) => [dtype, dtype]),
  });
  view.toggle({ trait: "causal", label: "Causal mask as well", more: true });
  view.toggle({ trait: "left", label: "Padding on the left", more: true });
  view.toggle({ trait: "low", label: "One row of very low scores", more: true });
  const tableField = (trait, label, min, max) =>
    view.field({
      trait,
      label,
      rows: 5,
      write: writeTable,
      read: (text) => readTable(text, { rows: 5, columns: 5, min, max }),
    });
  tableField("hidden", "Masked one by one: five lines of 0 and 1", 0, 1);
  tableField("scores", "Your own scores: five lines of five numbers from −100 to 100", -100, 100);

  /** Cells with their numbers, and the tokens; where `leaks`, a number above 0 in a masked cell has a colour. */
  function draw({ title, plot, fills, name, content }, { tokens, allowed }, numbers, color, leaks) {
    // Colours and numbers flow from cell to cell. NaN has a colour of its own.
    const shades = view.glide(
      title,
      numbers.map((row) => row.map((value) => (Number.isFinite(value) ? value : 0))),
    );
    const [left, top, gap] = [39, 46, 2];
    const across = (plot.width - left) / 5;
    const narrow = across < 60;
    const down = Math.min(across, narrow ? 30 : 48);
    const inset = narrow ? 3 : 8;
    const drawn = tokens.flatMap((token, i) => [
      [
        "text",
        {
          class: "attention-key",
          x: left + (i + 0.5) * across,
          y: top - 9,
          "text-anchor": "middle",
        },
        token,
      ],
      [
        "text",
        {
          class: "attention-query",
          x: left - 5,
          y: top + (i + 0.5) * down + 4,
          "text-anchor": "end",
        },
        token,
      ],
    ]);
    numbers.forEach((row, i) =>
      row.forEach((value, j) => {
        const [x, y] = [left + j * across, top + i * down];
        const cell = (fill, edge, isLeak) => [
          "rect",
          {
            x: x + edge,
            y: y + edge,
            width: across - gap - 2 * edge,
            height: down - gap - 2 * edge,
            rx: 3,
            fill,
            class: isLeak && "attention-leak",
          },
        ];
        const edge = allowed[i][j] ? 0 : inset;
        let [ground, kind] = ["none", "attention-on-mask"];
        if (Number.isNaN(value)) {
          [ground, kind] = [fills.nan, "attention-on-dark attention-on-mask attention-nan"];
        } else if (edge === 0 || (leaks && (value > 0 || shades[i][j] > 0))) {
          const shade = color(Number.isFinite(value) ? shades[i][j] : value);
          ground = `rgb(${shade})`;
          kind = readableOn(shade);
        }
        const text = compact(
          leaks && Math.abs(shades[i][j] - value) > 0.001 ? shades[i][j] : value,
          narrow ? 2 : 3,
        );
        drawn.push(
          cell(edge > 0 ? fills.masked : "none", 0),
          cell(ground, edge, edge > 0 && leaks && value > 0),
          [
            "text",
            {
              class: `attention-cell ${kind}`,
              "font-size": narrow && (text.length > 5 || text.includes("e")) ? 10.5 : null,
              x: x + (across - gap) / 2,
              y: y + (down - gap) / 2 + 4.5,
              "text-anchor": "middle",
            },
            text,
          ],
        );
      }),
    );
    setChildren(content, drawn);
    setAttributes(name, { x: left });
    return { left, top, across, down, bottom: top + 5 * down };
  }

  function drawLegend({ left, bottom }, color, { allowed, weights, nan_cells }) {
    const leaks = weights.flatMap((row, i) =>
      row.filter((weight, j) => !allowed[i][j] && weight > 0),
    );
    const { masked, nan } = after.fills;
    const start = after.plot.width < left + 245 ? 0 : left;
    const items = [
      [0, "masked", masked],
      [96, "a leak", masked, `rgb(${color(Math.max(0, ...leaks))})`, "attention-leak"],
    ];
    if (nan_cells > 0) items.push([182, "NaN", nan]);
    setChildren(
      legend,
      items.flatMap(([x, text, ground, middle = "none", kind = null]) => [
        ["rect", { x: start + x, y: bottom + 10, width: 26, height: 18, rx: 3, fill: ground }],
        [
          "rect",
          { x: start + x + 6, y: bottom + 14, width: 14, height: 8, fill: middle, class: kind },
        ],
        ["text", { class: "attention-muted", x: start + x + 31, y: bottom + 23.5 }, text],
      ]),
    );
  }

  const scoreColor = colorMap(view.root, "--aw-score-map");
  const weightColor = colorMap(view.root);
  let measured;
  view.start(() => {
    const settings = view.state();
    view.part("measured", JSON.stringify(settings), () => {
      measured = measure(settings);
    });
    const largest = Math.max(...settings.scores.flat().map(Math.abs), 1e-3);
    draw(
      before,
      measured,
      measured.filled,
      (score) => scoreColor((score / largest + 1) / 2),
      false,
    );
    place = draw(after, measured, measured.weights, weightColor, true);
    drawLegend(place, weightColor, measured);
    before.plot.setHeight(Math.ceil(place.bottom));
    after.plot.setHeight(Math.ceil(place.bottom + 32));
    if (!view.hasArrived()) return;
    show(measured, {
      spilled: measured.nan_cells === 25 ? "NaN" : percent(measured.spilled),
      nan_cells: String(measured.nan_cells),
      empty_rows: String(measured.empty_rows),
      leak: measured.nan_cells === 25 ? "NaN" : undefined,
    });
    view.say(words(settings, measured, begun), setting(settings, measured));
  });
  return view.cleanup;
}

export default { render };
