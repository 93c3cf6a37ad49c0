// One head of layer 1 opened below the picture of the whole machine: what *it* asks and finds there,
// from its query to the mixture, each stage beside the one before.

import { PADS } from "./steps.js";

const text = (x, y, said, opacity, anchor = "middle") => [
  "text",
  { x, y, "text-anchor": anchor, class: "attention-muted", opacity },
  said,
];

/** The panels, from left to right: what each is called, and its marks in a box of its own. */
function panels(measured, color) {
  const { first, it, size, dots, scores, row, padding, words } = measured;
  const most = (rows) => Math.max(...rows.flatMap((numbers) => Array.from(numbers, Math.abs)));
  const cells = (rows, start, frame) => {
    const largest = most(rows);
    return ({ x, y, wide, line }) =>
      rows.flatMap((numbers, i) => [
        ...Array.from(numbers, (number, j) => [
          "rect",
          {
            x: x + (j * wide) / numbers.length,
            y: y + (start + i) * line,
            width: (wide / numbers.length) * 1.03,
            height: line * 0.86,
            fill: color(number, largest),
          },
        ]),
        [
          "rect",
          {
            x,
            y: y + (start + i) * line,
            width: wide,
            height: line * 0.86,
            class: `attention-line attention-thin attention-${frame}`,
          },
        ],
      ]);
  };
  const [low, high] = [Math.min(0, ...dots), Math.max(...dots)];
  const bars =
    (numbers, from = low, to = high, kind = null) =>
    ({ x, y, wide, line }) => {
      const at = (number) => x + ((number - from) / (to - from)) * wide;
      return numbers.map((number, i) => [
        "rect",
        {
          x: Math.min(at(0), at(number)),
          y: y + i * line,
          height: line * 0.86,
          width: Math.max(Math.abs(at(number) - at(0)), 0.5),
          class: `attention-area attention-${kind ?? (number < 0 ? "minus" : "plus")}`,
        },
      ]);
    };
  const hidden =
    (masked) =>
    ({ x, y, wide, line }) => [
      ...bars(scores)({ x, y, wide, line }),
      ["rect", { x, y: y + words.length * line, width: wide, height: PADS * line, fill: masked }],
    ];
  return [
    ["query", cells([first.queries[it]], it, "query")],
    ["keys", cells([...first.keys, ...padding], 0, "key")],
    ["scores", bars(dots)],
    [`÷ √${size}`, bars(scores)],
    ["mask", hidden],
    ["softmax", bars(row, 0, Math.max(...row), "weight")],
    ["values", cells(first.values, 0, "value")],
    ["mixture", cells([first.output[it]], it, "output")],
  ];
}

/** The opened head at a picture's measures `at`, as far as it has `come`. */
export function machineMarks(measured, at, color, masked, come) {
  const { width, left, right, floor, height, wide } = at;
  const gap = wide ? 16 : 6;
  const all = panels(measured, color);
  const each = (width - 8 - gap * (all.length - 1)) / all.length;
  const isTight = each < 34; // then every second name stands lower
  const [top, bottom] = [floor + (wide ? 62 : 34), height - (wide ? 22 : isTight ? 24 : 15)];
  const line = (bottom - top) / (measured.words.length + PADS);
  const middle = left + (right - left) * 0.28;
  const lens = `M${middle - 7} ${floor - 4}L4 ${top - 8}H${width - 4}L${middle + 7} ${floor - 4}z`;
  const marks = all.flatMap(([name, draw], i) => {
    const x = 4 + i * (each + gap);
    const box = { x, y: top, wide: each, line };
    const drawn = name === "mask" ? draw(masked)(box) : draw(box);
    const y = (top + bottom) / 2;
    const [tip, half] = [x - gap * 0.25, gap * 0.3];
    const arrow = `M${tip - half} ${y - half}L${tip} ${y}L${tip - half} ${y + half}z`;
    return [
      ...drawn,
      text(
        Math.min(x + each / 2, width - 22),
        bottom + (wide ? 15 : 11) + (isTight && i % 2 ? 11 : 0),
        name,
        come,
      ),
      ...(i ? [["path", { d: arrow, class: "attention-area attention-muted" }]] : []),
    ];
  });
  return [
    ["path", { d: lens, class: "attention-area attention-surface", opacity: come }],
    ...marks.map(([tag, attributes, said]) => [tag, { opacity: come, ...attributes }, said]),
  ];
}
