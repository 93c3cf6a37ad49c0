import {
  createView,
  fixed,
  setAttributes,
  setChildren,
  setText,
  short,
  svg,
} from "./_shared/index.js";

const HEIGHT = 398;
const [LEFT, RIGHT] = [34, 4]; // of what is drawn; the scales stand left of it
// Where the scores stand, the powers below them, and the output, top to bottom, and in them the bars.
const SCORES = { top: 22, bottom: 132, inset: 10 };
const POWERS = { top: 162, bottom: 288, inset: 10, base: 264 };
const OUTPUT = { top: 318, bottom: HEIGHT - 10 };

const blocksOf = ({ block_size, scores }) => Math.ceil(scores.length / block_size);

/** Maximum, normaliser and output after `step` blocks, read one by one; the weights they imply; and
    the `factor` that the last block multiplied by what stood before. */
export function measure({ block_size, step, scores, outcomes }) {
  const blocks = blocksOf({ block_size, scores });
  const read = Math.min(step, blocks);
  let maximum = -Infinity;
  let normaliser = 0;
  let total = 0;
  let factor = 1;
  let least = 1; // of the factors, after the first block
  for (let block = 0; block < read; block += 1) {
    const here = scores.slice(block * block_size, (block + 1) * block_size);
    const larger = Math.max(maximum, ...here);
    factor = Math.exp(maximum - larger); // 0 before the first block
    if (block > 0) least = Math.min(least, factor);
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
    factor,
    least,
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

/** The finding in words; `least` is the smallest factor of all blocks. */
export function words({ block_size }, { blocks, read, output, factor }, least) {
  if (read === 0) return `No block of ${block_size} read yet.`;
  const so = `${read} of ${blocks} ${blocks === 1 ? "block" : "blocks"} of ${block_size} read`;
  let what = `a new maximum, and the bars before it are multiplied by ${fixed(factor)}.`;
  if (factor === 1) what = "the maximum stays, and nothing is rescaled.";
  if (read === 1) what = "nothing stood before it.";
  if (block_size === 1 && read > 1 && factor === least)
    what += " Done: no other key shrinks them so much.";
  if (read === blocks)
    what += ` The output, ${fixed(output)}, is the whole softmax’s, in one pass.`;
  return `${so}: ${what}`;
}

export function render({ model, el }) {
  const traits = ["block_size", "step", "scores", "outcomes"];
  const view = createView(
    { model, el },
    {
      label: "Softmax in one pass",
      task: "Set the block to one key and read on: which key shrinks the bars before it most?",
      traits,
    },
  );
  const plot = view.plot({
    height: HEIGHT,
    description:
      "Scores read block by block; below them e to the power of score minus maximum so far, and the output so far",
  });
  const ground = plot.svg.appendChild(svg("g"));
  const bars = plot.svg.appendChild(svg("g"));
  const maximum = plot.svg.appendChild(
    svg("line", { stroke: "var(--aw-accent)", "stroke-width": 2, "stroke-dasharray": "5 4" }),
  );
  const maximumName = plot.svg.appendChild(
    svg("text", { class: "attention-muted", "text-anchor": "end" }, "╌╌ maximum so far"),
  );

  const factorName = plot.svg.appendChild(
    svg("text", { class: "attention-weight", "text-anchor": "end" }),
  );
  const track = plot.svg.appendChild(svg("g"));

  const shown = view.numbers({
    output: "Output so far",
    factor: "Rescaled by",
    maximum: "Maximum",
    normaliser: "Normaliser",
    full: "The full answer",
  });
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

  view.start(() => {
    const state = view.state();
    const { scores, outcomes, block_size } = state;
    const now = measure(state);
    // As a new maximum arrives, the bars before it shrink together, and the output moves.
    const powersOf = ({ weights, normaliser }) =>
      scores.map((_, i) => (weights[i] ?? 0) * normaliser);
    const [powers, lift] = view.glide("powers", [powersOf(now), now.read ? now.maximum : 0], {
      length: 600,
    });
    // How high the bars stood before the last block shrank them.
    const before =
      now.factor < 1 && now.read > 1 ? powersOf(measure({ ...state, step: now.read - 1 })) : [];
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
    const tick = (number, y) => [
      ["line", { class: "attention-grid", x1: left, x2: right, y1: y, y2: y }],
      ["text", { class: "attention-muted", x: left - 6, y: y + 4.5, "text-anchor": "end" }, number],
    ];
    const powerAt = (power) => POWERS.base - power * (POWERS.base - POWERS.top - POWERS.inset);
    setChildren(ground, [
      ...[SCORES, POWERS].map(({ top, bottom }) => [
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
      ...[SCORES, POWERS].flatMap(({ top, bottom }) =>
        between.map((place) => [
          "line",
          { class: "attention-grid", x1: place, x2: place, y1: top, y2: bottom },
        ]),
      ),
      ...ticksOf(lowest, highest).flatMap((score) => tick(short(score), y(score))),
      ...[0, 0.5, 1].flatMap((power) => tick(short(power), powerAt(power))),
      ["text", { class: "attention-muted", x: left, y: 16 }, "scores"],
      [
        "text",
        { class: "attention-muted", x: left, y: POWERS.top - 8 },
        plot.width > 420
          ? "e to the power of (score − maximum so far), above the values"
          : `e^(score − maximum)${plot.width > 300 ? ", above the values" : ""}`,
      ],
    ]);
    setChildren(
      bars,
      scores.flatMap((score, i) => {
        const sign = (number) => (number < 0 ? "var(--aw-minus)" : "var(--aw-plus)");
        const known = i < now.keysRead;
        return [
          [
            "rect",
            {
              x: x(i) + room * 0.16,
              width: room * 0.68,
              y: Math.min(y(score), y(0)),
              height: Math.abs(y(score) - y(0)),
              fill: known ? sign(score) : "none",
              stroke: sign(score),
            },
          ],
          [
            "rect",
            {
              x: x(i) + room * 0.16,
              width: room * 0.68,
              y: powerAt(powers[i]),
              height: POWERS.base - powerAt(powers[i]),
              fill: "var(--aw-weight)",
            },
          ],
          [
            "rect",
            {
              x: x(i) + room * 0.16,
              width: room * 0.68,
              y: powerAt(before[i] ?? 0),
              height: POWERS.base - powerAt(before[i] ?? 0),
              fill: "none",
              stroke: "var(--aw-weight)",
              "stroke-dasharray": "3 3",
              visibility: before[i] ? null : "hidden",
            },
          ],
          [
            "text",
            {
              x: x(i) + room / 2,
              y: POWERS.base + 18,
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
    setAttributes(factorName, {
      x: right,
      y: POWERS.top - 8,
      visibility: before.length ? "visible" : "hidden",
    });
    setText(factorName, `${plot.width > 420 ? "╌╌ before, " : ""}× ${fixed(now.factor)}`);
    const answer = along.at(-1).output;
    const [least, most] = [Math.min(...outcomes), Math.max(...outcomes)];
    const up = (value) =>
      OUTPUT.bottom - ((value - least) / (most - least || 1)) * (OUTPUT.bottom - OUTPUT.top);
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
    if (!view.hasArrived()) return;
    shown(
      { ...now, full: answer },
      {
        factor: now.read < 2 ? "none" : undefined,
        maximum: now.read < 1 ? "none" : undefined,
      },
    );
    view.say(words(state, now, along.at(-1).least));
  });
  return view.cleanup;
}

export default { render };
