// Vectors as strips of coloured cells.

import { svg, setAttributes } from "../_shared/index.js";

/** The look of a piece of the stacks: those of two words stand out, each in its own way. */
export const pieceOf = (word) =>
  `attention-area attention-value${{ street: " attention-pale", others: " attention-faint" }[word] ?? ""} attention-edged`;

/** Draw strips of cells, each as wide and high as it is told; `color` gives a cell's fill. */
export function strips(parent, kind, rows, color) {
  const groups = rows.map((numbers) =>
    parent.appendChild(
      svg(
        "g",
        { class: "attention-strip-of-cells" },
        ...Array.from(numbers, (_, i) => svg("rect", { x: i, width: 1.02, height: 1 })),
        svg("rect", {
          width: numbers.length,
          height: 1,
          class: `attention-line attention-${kind === "vector" ? "grid" : kind}`,
        }),
      ),
    ),
  );
  return {
    paint(tables) {
      const most = Math.max(...tables.flatMap((numbers) => Array.from(numbers, Math.abs)), 1e-9);
      tables.forEach((numbers, row) =>
        numbers.forEach((number, i) =>
          setAttributes(groups[row].children[i], { fill: color(0.5 + number / (2 * most)) }),
        ),
      );
    },
    move(places) {
      places.forEach(([x, y, width, height, opacity], row) =>
        setAttributes(groups[row], {
          transform: `translate(${x.toFixed(2)} ${y.toFixed(2)}) scale(${(width / rows[row].length).toFixed(4)} ${height.toFixed(2)})`,
          opacity,
          visibility: opacity < 0.01 || width < 0.1 ? "hidden" : null,
        }),
      );
    },
  };
}
