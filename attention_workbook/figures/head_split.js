import {
  POWERS,
  createView,
  element,
  isStill,
  press,
  setAttributes,
  setChildren,
  svg,
} from "./_shared/index.js";

const SIDE = 95; // of a cell of 100
const [FLIGHT, ALL, FADING] = [450, 900, 700]; // milliseconds: of a number, until the last one starts, of its trail
const HUES = [1, 3, 2, 4]; // of the heads, the first two far apart on light and dark

/** Which number stands at each head, position and column; the right place of each; by number, the
    `place` where it lands, and whether it is `stray` there; and where the followed one does. */
export function measure({ length, d_model, num_heads, wrong, number }) {
  const d_k = d_model / num_heads;
  const table = (place) =>
    Array.from({ length: num_heads }, (_, head) =>
      Array.from({ length }, (__, position) =>
        Array.from({ length: d_k }, (___, column) => place(head, position, column)),
      ),
    );
  const right = table((head, position, column) => position * d_model + head * d_k + column);
  const heads = wrong
    ? table((head, position, column) => (head * length + position) * d_k + column)
    : right;
  const places = [];
  heads.forEach((rows, head) =>
    rows.forEach((row, position) =>
      row.forEach((value, column) => {
        places[value] = { head, position, column, stray: value !== right[head][position][column] };
      }),
    ),
  );
  const followed = Math.min(number, length * d_model - 1);
  const misplaced = places.filter(({ stray }) => stray).length;
  return { heads, right, d_k, number: followed, places, misplaced, ...places[followed] };
}

/** The finding in words. */
export function words({ length, d_model, wrong }, { number, head, position, column, misplaced }) {
  const way = wrong ? "Straight to the final shape" : "Cut the columns, then swap the axes";
  const verdict = misplaced
    ? `${misplaced} of ${length * d_model} numbers are not where they belong.`
    : "Every number is where it belongs.";
  return (
    `${way}: number ${number} of position ${Math.floor(number / d_model)} lands in head ${head} ` +
    `at position ${position}, column ${column}. ${verdict}`
  );
}

/** The look of a number in a cell at x, y. */
function tile({ value, head, chosen, stray, x = 0, y = 0 }) {
  return [
    [
      "rect",
      {
        x,
        y,
        width: SIDE,
        height: SIDE,
        rx: 8,
        "data-number": value,
        class: `attention-hue-${HUES[head]}`,
        stroke: `var(--aw-${stray ? "nan" : "ink"})`,
        "stroke-width": chosen ? 4 : stray ? 2.5 : 0,
      },
    ],
    [
      "text",
      { x: x + SIDE / 2, y: y + SIDE / 2, "font-weight": chosen ? 700 : 400 },
      String(value),
    ],
  ];
}

/** What is to be done: what it asks to be foretold is not in sight yet. */
function task({ num_heads }, { misplaced }) {
  if (misplaced > 0) return "Choose the right way, and watch the numbers go home.";
  if (num_heads === 1) return "Choose more heads under More: with one, both ways are the same.";
  return "Say which numbers the wrong way will leave in their place, then choose it.";
}

/** What is set, for a still picture. */
export function setting({ length, d_model, num_heads }) {
  return `${length} positions of width ${d_model} in ${num_heads} ${num_heads > 1 ? "heads" : "head"} of width ${d_model / num_heads}.`;
}

export function render({ model, el }) {
  const traits = ["length", "d_model", "num_heads", "wrong", "number"];
  const view = createView({ model, el }, { label: "Splitting into heads", traits });
  const plot = view.plot({
    height: 400,
    description: "The numbers of a matrix, and the head, position and column that each lands in",
  });
  // Cells lie in a grid of 100 units, so that a change of size moves two groups, not every cell.
  const grid = {
    class: "attention-tiles",
    "text-anchor": "middle",
    "dominant-baseline": "central",
  };
  const trails = plot.svg.appendChild(svg("g", { class: "attention-trails" }));
  const matrix = plot.svg.appendChild(svg("g", grid));
  const split = plot.svg.appendChild(svg("g", grid));
  const tiles = []; // of the heads, by number
  let layout; // as it was cut last
  let cuts = 0; // how often it was cut anew
  const names = plot.svg.appendChild(svg("g"));
  view.stage.append(
    element(
      "div",
      { class: "attention-legend" },
      element(
        "span",
        {},
        `Each row is made from the whole word, its queries for all heads side by side; keys and values are cut alike. ${press()} a number to follow it. Colour: its head; red frame: the wrong place.`,
      ),
    ),
  );

  const misplaced = view.readout({
    name: "misplaced",
    label: "numbers are not where they belong",
    large: true,
  });
  const lands = view.numbers(
    { head: "Lands in head", position: "At position", column: "In column" },
    view.readouts,
  );

  const ways = view.choice({
    trait: "wrong",
    label: "From (len, d_model) to (num_heads, len, d_k)",
    options: [
      [false, "right: cut the columns, then swap axes"],
      [true, "wrong: reshape straight to the shape"],
    ],
  });
  view.stage.prepend(ways[0].closest("fieldset")); // it comes first
  view.slider({
    trait: "number",
    label: "Follow the number",
    more: true,
    min: 0,
    max: () => model.get("length") * model.get("d_model") - 1,
    words: (number) => `number ${number}`,
  });
  view.slider({
    trait: "length",
    label: "Positions",
    more: true,
    min: 2,
    max: 5,
    words: (length) => `${length} positions`,
  });
  view.slider({
    trait: "d_model",
    label: "Width d_model",
    more: true,
    min: 4,
    max: 12,
    step: 4,
    words: (d_model) => `width ${d_model}`,
  });
  view.slider({
    trait: "num_heads",
    label: "Heads",
    more: true,
    min: 0,
    max: 2,
    ...POWERS,
    words: (num_heads) => `${num_heads} ${num_heads > 1 ? "heads" : "head"}`,
  });

  // Click a number to follow it.
  plot.svg.addEventListener(
    "pointerdown",
    (event) => {
      const { number } = event.target.dataset ?? {};
      if (number !== undefined) view.set("number", Number(number));
    },
    { signal: view.signal },
  );

  const placeOf = ({ head, position, column }, d_k) => [
    100 * (head * (d_k + 0.5) + column),
    100 * position,
  ];
  function drawTiles({ places, number, d_k }, areThere) {
    while (tiles.length > places.length) tiles.pop().remove();
    places.forEach((place, value) => {
      const { head, stray } = place;
      tiles[value] ??= split.appendChild(svg("g"));
      const look = { value, head, stray: stray && areThere, chosen: value === number };
      setChildren(tiles[value], tile(look));
      const [x, y] = placeOf(place, d_k);
      setAttributes(tiles[value], { transform: `translate(${x} ${y})` });
    });
  }

  /** Let the numbers go from the matrix, which stands so far above the heads, to their heads: one after
      the other, each with a trail. */
  function fly({ places, d_k }, d_model, above) {
    trails.replaceChildren();
    places.forEach((place, value) => {
      const [x, y] = placeOf(place, d_k);
      const [x0, y0] = [100 * (value % d_model), 100 * Math.floor(value / d_model) - above];
      const delay = (ALL * value) / places.length;
      tiles[value].animate(
        [{ transform: `translate(${x0}px, ${y0}px)` }, { transform: `translate(${x}px, ${y}px)` }],
        { duration: FLIGHT, delay, easing: "ease-in-out", fill: "backwards" },
      );
      const middle = SIDE / 2;
      const trail = svg("path", {
        d: `M${x0 + middle} ${y0 + middle}L${x + middle} ${y + middle}`,
        class: `attention-hue-${HUES[place.head]}`,
        pathLength: 1,
        "stroke-dasharray": 1,
      });
      trails.append(trail);
      trail.animate({ strokeDashoffset: [1, 0] }, { duration: FLIGHT, delay, fill: "backwards" });
      trail.animate(
        { opacity: [1, 0] },
        { duration: FADING, delay: delay + FLIGHT, fill: "forwards" },
      );
    });
  }

  view.start(() => {
    const settings = view.state();
    const { length, d_model, num_heads } = settings;
    const measured = measure(settings);

    // One width for all: the matrix, and the heads side by side with half a cell between.
    const wide = plot.width > 420;
    const margin = wide ? 74 : 18;
    const across = d_model + (num_heads - 1) / 2;
    const cell = Math.min((plot.width - margin) / across, 52);
    const left = (plot.width + margin - across * cell) / 2; // in the middle
    const size = Math.min(Math.max(cell * 0.46, 9), 15);
    const top = 30;
    const below = top + length * cell + 46;
    setChildren(
      matrix,
      measured.places.flatMap(({ head }, value) =>
        tile({
          value,
          head,
          chosen: value === measured.number,
          x: 100 * (value % d_model),
          y: 100 * Math.floor(value / d_model),
        }),
      ),
    );
    const now = JSON.stringify([length, d_model, num_heads, settings.wrong]);
    const isCut = layout !== undefined && layout !== now;
    layout = now;
    if (isCut) cuts += 1;
    view.glide("flight", cuts, { length: ALL + FLIGHT });
    const areThere = !view.isMoving();
    view.part("heads", JSON.stringify([measured, areThere]), () => drawTiles(measured, areThere));
    if (isCut && !isStill()) fly(measured, d_model, (100 * (below - top)) / cell);
    for (const [group, y] of [
      [matrix, top],
      [split, below],
      [trails, below],
    ]) {
      setAttributes(group, {
        transform: `translate(${left} ${y}) scale(${cell / 100})`,
        "font-size": (100 * size) / cell,
      });
    }

    const name = (text, across, down, anchor) => [
      "text",
      { x: across, y: down, "text-anchor": anchor, class: "attention-muted" },
      text,
    ];
    setChildren(names, [
      name(
        `${wide ? "queries made for all heads" : "queries of all heads"}: ${length} × ${d_model}`,
        left,
        top - 10,
        "start",
      ),
      ...measured.heads.map((_, head) =>
        name(
          measured.d_k * cell > 50 ? `head ${head}` : String(head),
          left + head * (measured.d_k + 0.5) * cell,
          below + length * cell + 16,
          "start",
        ),
      ),
      ...[top, below].flatMap((y) =>
        Array.from({ length }, (_, row) =>
          name(wide ? `position ${row}` : String(row), left - 8, y + (row + 0.5) * cell + 3, "end"),
        ),
      ),
    ]);
    plot.setHeight(Math.ceil(below + length * cell + 24));
    if (!areThere) return; // what is said comes when the last number has landed
    misplaced(measured.misplaced, String(measured.misplaced));
    lands(measured, {
      head: String(measured.head),
      position: String(measured.position),
      column: String(measured.column),
    });
    view.task(task(settings, measured));
    view.say(words(settings, measured), setting(settings));
  });
  return view.cleanup;
}

export default { render };
