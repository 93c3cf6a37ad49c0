import { createView, fixed, setAttributes, setChildren, short, svg } from "./_shared/index.js";

const HEIGHT = 526;
const [LEFT, RIGHT] = [34, 4]; // of what is drawn; the scales stand left of it
// Where the blocks of scores and of weights stand, top to bottom, and in them the bars; the two bars
// of the normaliser, one below the other; and the output.
const SCORES = { top: 22, bottom: 156, inset: 12 };
const WEIGHTS = { top: 190, bottom: 310, inset: 10, base: 286 };
const TOTAL = { top: 344, bottom: 390, bar: 16 };
const OUTPUT = { top: 440, bottom: HEIGHT - 8, inset: 0 };

const blocksOf = ({ block_size, scores }) => Math.ceil(scores.length / block_size);

/** Maximum, normaliser and output after `step` blocks, read one by one; the weights they imply; the
    normaliser `before` the last block, and the `factor` that it was multiplied by. */
export function measure({ block_size, step, scores, outcomes }) {
  const blocks = blocksOf({ block_size, scores });
  const read = Math.min(step, blocks);
  let maximum = -Infinity;
  let normaliser = 0;
  let before = 0;
  let total = 0;
  let factor = 1;
  let raised = 0; // blocks after the first that brought a new maximum
  for (let block = 0; block < read; block += 1) {
    const here = scores.slice(block * block_size, (block + 1) * block_size);
    const larger = Math.max(maximum, ...here);
    factor = Math.exp(maximum - larger); // 0 before the first block
    if (block > 0 && factor < 1) raised += 1;
    before = normaliser;
    normaliser *= factor;
    total *= factor;
    here.forEach((score, i) => {
      const power = Math.exp(score - larger);
      normaliser += power;
      total += power * outcomes[block * block_size + i];
    });
    maximum = larger;
  }
  const keysRead = Math.min(read * block_size, scores.length);
  const weights = scores.slice(0, keysRead).map((score) => Math.exp(score - maximum) / normaliser);
  return {
    blocks,
    read,
    keysRead,
    maximum,
    normaliser,
    before,
    factor,
    raised,
    weights,
    output: read ? total / normaliser : 0,
  };
}

/** Round numbers from `low` to `high` for a scale: at most six. */
function ticksOf(low, high) {
  const step = [1, 2, 5, 10, 20, 50].find((size) => (high - low) / size <= 5);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** The finding in words. */
export function words(
  { block_size },
  { blocks, read, keysRead, maximum, normaliser, output, factor, raised },
) {
  if (read === 0) return `No block of ${block_size} read yet: no maximum, normaliser 0, output 0.`;
  const end =
    read === blocks
      ? "the whole softmax, in one pass"
      : `of ${keysRead} ${keysRead === 1 ? "key" : "keys"} so far`;
  let rescaled = `what stood before was multiplied by ${fixed(factor)}`;
  if (factor === 1) rescaled = "the maximum stayed, nothing was rescaled";
  if (read === blocks)
    rescaled = `later blocks that raised the maximum and rescaled: ${raised} of ${blocks - 1}`;
  if (read === 1) rescaled = "nothing stood before";
  return (
    `${read} of ${blocks} ${blocks === 1 ? "block" : "blocks"} of ${block_size} read. Maximum ${fixed(maximum)}, ` +
    `normaliser ${fixed(normaliser)}, output ${fixed(output)}: ${end}; ${rescaled}.`
  );
}

export function render({ model, el }) {
  const traits = ["block_size", "step", "scores", "outcomes"];
  const view = createView(
    { model, el },
    {
      label: "Softmax in one pass",
      task: "Read the blocks, and watch the output come to the full answer, the lower dashed line.",
      traits,
    },
  );
  const plot = view.plot({
    height: HEIGHT,
    description: "Scores read block by block, and the weights of those read so far",
  });
  const ground = plot.svg.appendChild(svg("g"));
  const bars = plot.svg.appendChild(svg("g"));
  const maximum = plot.svg.appendChild(
    svg("line", { stroke: "var(--aw-accent)", "stroke-width": 2, "stroke-dasharray": "5 4" }),
  );
  const maximumName = plot.svg.appendChild(
    svg("text", { class: "attention-muted", "text-anchor": "end" }, "╌╌ maximum so far"),
  );

  const sums = plot.svg.appendChild(svg("g", { class: "attention-totals" }));
  const track = plot.svg.appendChild(svg("g"));

  const shown = view.numbers({ output: "Output so far", factor: "Rescaled by" }, view.readouts);
  const further = view.numbers({ maximum: "Maximum", normaliser: "Normaliser" });
  const full = view.readout({ name: "full", label: "The full answer" });
  view.slider({
    trait: "step",
    label: "Blocks read",
    min: 0,
    max: () => blocksOf(view.state()),
    words: (step) => `${step} ${step === 1 ? "block" : "blocks"} read`,
  });
  view.slider({
    trait: "block_size",
    label: "Keys in a block",
    min: 1,
    max: 12,
    words: (size) => `${size} ${size === 1 ? "key" : "keys"} in a block`,
  });

  const isDone = () => model.get("step") >= blocksOf(view.state());
  view.play({
    atEnd: isDone,
    rewind: () => view.set("step", 0),
    next() {
      view.set("step", Math.min(model.get("step") + 1, blocksOf(view.state())));
      return !isDone();
    },
  });

  /** The normaliser before the last block, what the factor leaves of it, and what the block adds. */
  function drawTotals({ read, factor }, totals, largest) {
    const [left, most] = [LEFT, plot.width - LEFT - RIGHT];
    const [old, kept, end] = totals.map((total) => (total / largest) * most);
    const [upper, lower] = [TOTAL.top, TOTAL.bottom - TOTAL.bar];
    const bar = (x, y, width, colors) => [
      "rect",
      { x: left + x, y, width, height: TOTAL.bar, ...colors },
    ];
    const room = old < most - 80; // for the factor beside the bar, and not in it
    setChildren(sums, [
      [
        "text",
        { class: "attention-muted", x: left, y: TOTAL.top - 8 },
        "normaliser before the block, and with it",
      ],
      ...(read > 1
        ? [
            [
              "path",
              {
                d: `M${left + old} ${upper + TOTAL.bar}L${left + kept} ${lower}`,
                stroke: "var(--aw-weight)",
              },
            ],
            bar(0, upper, old, { fill: "none", stroke: "var(--aw-weight)" }),
            [
              "text",
              {
                class: "attention-chosen",
                x: left + old + (room ? 8 : -8),
                y: upper + 13,
                "text-anchor": room ? "start" : "end",
              },
              `× ${fixed(factor)}`,
            ],
          ]
        : []),
      ...(read > 0
        ? [
            bar(0, lower, kept, { fill: "var(--aw-weight)" }),
            bar(kept, lower, end - kept, { fill: "var(--aw-weight)", "fill-opacity": 0.3 }),
          ]
        : []),
    ]);
  }

  view.start(() => {
    const state = view.state();
    const { scores, outcomes, block_size } = state;
    const now = measure(state);
    // As a new maximum arrives, the bars before it shrink together, and the output moves.
    const [weights, lift, totals] = view.glide("totals", [
      scores.map((_, i) => now.weights[i] ?? 0),
      now.read ? now.maximum : 0,
      [now.before, now.before * now.factor, now.normaliser],
    ]);
    const [left, right] = [LEFT, plot.width - RIGHT];
    const room = (right - left) / scores.length;
    const x = (i) => left + room * i;
    const [lowest, highest] = [Math.min(0, ...scores), Math.max(0, ...scores)];
    const size = (SCORES.bottom - SCORES.top - 2 * SCORES.inset) / Math.max(highest - lowest, 1);
    const y = (score) => SCORES.top + SCORES.inset + (highest - score) * size;
    // The block that is read stands out, its scores and its weights each in a frame: between them
    // stands a heading.
    const block = (now.read - 1) * block_size;
    const between = Array.from({ length: now.blocks - 1 }, (_, i) => (i + 1) * block_size)
      .filter((key) => now.read === 0 || (key !== block && key !== block + block_size))
      .map(x);
    const along = Array.from({ length: now.blocks }, (_, i) => measure({ ...state, step: i + 1 }));
    const largest = Math.max(...along.map(({ normaliser }) => normaliser));
    const tick = (number, y) => [
      ["line", { class: "attention-grid", x1: left, x2: right, y1: y, y2: y }],
      ["text", { class: "attention-muted", x: left - 6, y: y + 4.5, "text-anchor": "end" }, number],
    ];
    const weightAt = (weight) =>
      WEIGHTS.base - weight * (WEIGHTS.base - WEIGHTS.top - WEIGHTS.inset);
    setChildren(ground, [
      ...[SCORES, WEIGHTS].map(({ top, bottom }) => [
        "rect",
        {
          x: x(Math.max(block, 0)) + 1,
          y: top,
          height: bottom - top,
          rx: 6,
          width: room * Math.min(block_size, scores.length - block) - 2,
          fill: "var(--aw-surface)",
          stroke: "var(--aw-accent)",
          visibility: now.read ? null : "hidden",
        },
      ]),
      ...[SCORES, WEIGHTS].flatMap(({ top, bottom }) =>
        between.map((place) => [
          "line",
          { class: "attention-grid", x1: place, x2: place, y1: top, y2: bottom },
        ]),
      ),
      ...ticksOf(lowest, highest).flatMap((score) => tick(short(score), y(score))),
      ...[0, 0.5, 1].flatMap((weight) => tick(short(weight), weightAt(weight))),
      ...ticksOf(0, largest).map((number) => [
        "text",
        {
          class: "attention-muted",
          x: left + (number / largest) * (right - left),
          y: TOTAL.bottom + 16,
          "text-anchor": "middle",
        },
        short(number),
      ]),
      ["text", { class: "attention-muted", x: left, y: 16 }, "scores"],
      [
        "text",
        { class: "attention-muted", x: left, y: WEIGHTS.top - 8 },
        "weights so far, above their values",
      ],
    ]);
    setChildren(
      bars,
      scores.flatMap((score, i) => {
        const known = i < now.keysRead;
        const height = WEIGHTS.base - weightAt(weights[i]);
        return [
          [
            "rect",
            {
              x: x(i) + room * 0.16,
              width: room * 0.68,
              y: Math.min(y(score), y(0)),
              height: Math.abs(y(score) - y(0)),
              fill: known ? "var(--aw-key)" : "none",
              stroke: "var(--aw-key)",
            },
          ],
          [
            "rect",
            {
              x: x(i) + room * 0.16,
              width: room * 0.68,
              y: WEIGHTS.base - height,
              height,
              fill: "var(--aw-weight)",
            },
          ],
          [
            "text",
            {
              x: x(i) + room / 2,
              y: WEIGHTS.base + 18,
              "text-anchor": "middle",
              class: known ? "" : "attention-muted",
            },
            `${outcomes[i]}`,
          ],
        ];
      }),
    );
    const level = y(lift);
    setAttributes(maximum, {
      x1: left,
      x2: x(now.keysRead),
      y1: level,
      y2: level,
      visibility: now.read ? "visible" : "hidden",
    });
    setAttributes(maximumName, {
      x: right,
      y: 16,
      visibility: now.read ? "visible" : "hidden",
    });
    const answer = along.at(-1).output;
    const [least, most] = [Math.min(...outcomes), Math.max(...outcomes)];
    const up = (value) =>
      OUTPUT.bottom -
      OUTPUT.inset -
      ((value - least) / (most - least || 1)) * (OUTPUT.bottom - OUTPUT.top - 2 * OUTPUT.inset);
    const ends = along
      .slice(0, now.read)
      .map(({ output: value }, i) => [
        x(Math.min((i + 1) * block_size, scores.length)) - 8,
        up(value),
      ]);
    if (ends.length) ends.push(view.glide("dot", ends.pop()));
    setChildren(track, [
      ...ticksOf(least, most).flatMap((value) => tick(short(value), up(value))),
      ["text", { class: "attention-muted", x: left, y: OUTPUT.top - 8 }, "output so far"],
      [
        "text",
        {
          class: "attention-muted",
          x: right,
          y: OUTPUT.top - 8,
          "text-anchor": "end",
        },
        "╌╌ the full answer",
      ],
      [
        "line",
        {
          x1: left,
          x2: right,
          y1: up(answer),
          y2: up(answer),
          stroke: "var(--aw-output)",
          "stroke-width": 2,
          "stroke-dasharray": "6 5",
        },
      ],
      [
        "path",
        {
          d: ends.length
            ? `M${ends.map((end) => end.map((number) => number.toFixed(1)).join(" ")).join("L")}`
            : null,
          fill: "none",
          stroke: "var(--aw-output)",
          "stroke-width": 2,
        },
      ],
      ...ends.map(([cx, cy], i) => [
        "circle",
        {
          cx,
          cy,
          r: i === ends.length - 1 ? 7 : 4,
          fill: "var(--aw-output)",
          stroke: "var(--aw-paper)",
          "stroke-width": 1.5,
        },
      ]),
    ]);
    drawTotals(now, totals, largest);
    full(answer);
    if (!view.hasArrived()) return;
    shown(now, { factor: now.read < 2 ? "none" : undefined });
    further(now, { maximum: now.read < 1 ? "none" : undefined });
    view.say(words(state, now));
  });
  return view.cleanup;
}

export default { render };
