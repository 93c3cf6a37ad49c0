import {
  POWERS,
  asDone,
  createView,
  isStill,
  label,
  press,
  setAttributes,
  setChildren,
  svg,
} from "./_shared/index.js";

const SIDE = 95; // of a cell of 100
const [FLIGHT, ALL, FADING] = [450, 900, 700]; // milliseconds: of a number, until the last one starts, of its trail
const WAYS = { right: "right: cut, then swap axes", wrong: "wrong: reshape at once" };
const WANTED = 3; // the head that a number is to land in
const SMALLEST = 20; // pixels of a cell, as long as right and wrong stand side by side

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
export function words(
  { length, d_model, num_heads, wrong },
  { number, head, position, misplaced },
) {
  const own = Math.floor(number / d_model);
  const lands = `number ${number} of position ${own} lands in head ${head} at position ${position}`;
  const d_k = d_model / num_heads;
  if (!wrong) {
    const gets = `each head gets ${d_k} ${d_k > 1 ? "numbers" : "number"} of every position.`;
    const said = `N${lands.slice(1)}: ${gets}`;
    return head === WANTED ? asDone(said) : said;
  }
  if (misplaced === 0)
    return "Done: with one head, both ways are the same, and a test that uses one sees nothing.";
  return `The wrong way puts ${misplaced} of ${length * d_model} numbers in the wrong place: ${lands}.`;
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
        class: `attention-pale attention-series-${head + 1}`,
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
  // Cells lie in a grid of 100 units, so that a change of size moves a few groups, not every cell.
  const group = (name) =>
    plot.svg.appendChild(
      svg("g", {
        class: `attention-${name}`,
        "text-anchor": "middle",
        "dominant-baseline": "central",
      }),
    );
  const matrix = group("tiles");
  const splits = Object.keys(WAYS).map((way) => ({
    way,
    trails: group("trails"),
    cells: group("tiles"),
    tiles: [], // by number
  }));
  const names = plot.svg.appendChild(svg("g"));
  let layout; // as it was cut last
  let cuts = 0; // how often it was cut anew
  const show = view.numbers({
    misplaced: "In the wrong place",
    head: "Lands in head",
    position: "At position",
    column: "In column",
  });

  view.slider({
    trait: "length",
    label: "Positions",
    min: 2,
    max: 5,
    words: (length) => `${length} positions`,
  });
  view.slider({
    trait: "num_heads",
    label: "Heads",
    min: 0,
    max: 2,
    ...POWERS,
    words: (num_heads) => `${num_heads} ${num_heads > 1 ? "heads" : "head"}`,
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
    trait: "number",
    label: "Follow the number",
    more: true,
    min: 0,
    max: () => model.get("length") * model.get("d_model") - 1,
    words: (number) => `number ${number}`,
  });
  view.toggle({ trait: "wrong", label: "Show the wrong way beside the right one", more: true });

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
  const home = (value, { d_k }) => Math.floor((value % model.get("d_model")) / d_k);
  function drawTiles({ tiles, cells }, cut, areThere) {
    const { places, number, d_k } = cut;
    while (tiles.length > places.length) tiles.pop().remove();
    places.forEach((place, value) => {
      tiles[value] ??= cells.appendChild(svg("g"));
      const stray = place.stray && areThere;
      const look = { value, head: home(value, cut), stray, chosen: value === number };
      setChildren(tiles[value], tile(look));
      const [x, y] = placeOf(place, d_k);
      setAttributes(tiles[value], { transform: `translate(${x} ${y})` });
    });
  }

  /** Let the numbers go from the matrix, which stands so far left and above, to their heads: one after
      the other, each with a trail. */
  function fly({ tiles, trails }, cut, d_model, [aside, above]) {
    const { places, d_k } = cut;
    trails.replaceChildren();
    places.forEach((place, value) => {
      const [x, y] = placeOf(place, d_k);
      const [x0, y0] = [100 * (value % d_model) - aside, 100 * Math.floor(value / d_model) - above];
      const delay = (ALL * value) / places.length;
      tiles[value].animate(
        [{ transform: `translate(${x0}px, ${y0}px)` }, { transform: `translate(${x}px, ${y}px)` }],
        { duration: FLIGHT, delay, easing: "ease-in-out", fill: "backwards" },
      );
      const middle = SIDE / 2;
      const trail = svg("path", {
        d: `M${x0 + middle} ${y0 + middle}L${x + middle} ${y + middle}`,
        class: `attention-line attention-series-${home(value, cut) + 1}`,
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

  /** The size of a cell, and where the matrix and the two ways of cutting it stand. */
  function place({ length, d_model, num_heads, wrong }) {
    const margin = plot.width > 420 ? 74 : 16;
    const room = plot.width - margin;
    const across = d_model + (num_heads - 1) / 2;
    const beside = wrong && room / (2 * across + 1.5) >= SMALLEST;
    const cell = Math.min(room / (beside ? 2 * across + 1.5 : across), 46);
    const left = margin + (room - (beside ? 2 * across + 1.5 : across) * cell) / 2;
    const [top, tall] = [26, length * cell + 50];
    const second = beside ? [left + (across + 1.5) * cell, top + tall] : [left, top + 2 * tall];
    const first = [left, top + tall];
    const ofMatrix = [beside ? left + (across + 0.75 - d_model / 2) * cell : left, top];
    return {
      cell,
      ofMatrix,
      ofSplits: [first, second],
      height: Math.ceil((wrong ? second : first)[1] + tall - 28),
    };
  }

  view.start(() => {
    const settings = view.state();
    const { length, d_model, num_heads, wrong } = settings;
    const measured = measure(settings);
    const { cell, ofMatrix, ofSplits, height } = place(settings);
    const shown = splits.slice(0, wrong ? 2 : 1);
    setChildren(
      matrix,
      measured.places
        .map((_, value) => value)
        .flatMap((value) =>
          tile({
            value,
            head: home(value, measured),
            chosen: value === measured.number,
            x: 100 * (value % d_model),
            y: 100 * Math.floor(value / d_model),
          }),
        ),
    );
    const now = JSON.stringify([length, d_model, num_heads, wrong]);
    const isCut = layout !== undefined && layout !== now;
    layout = now;
    if (isCut) cuts += 1;
    view.glide("flight", cuts, { length: ALL + FLIGHT });
    const areThere = !view.isMoving();
    const scale = (one, [x, y]) =>
      setAttributes(one, {
        transform: `translate(${x} ${y}) scale(${cell / 100})`,
        "font-size": (100 * Math.min(Math.max(cell * 0.46, 9), 15)) / cell,
      });
    scale(matrix, ofMatrix);
    splits.forEach((one, i) => {
      const cut = measure({ ...settings, wrong: i === 1 });
      setAttributes(one.cells, { display: shown.includes(one) ? null : "none" });
      view.part(one.way, JSON.stringify([cut, areThere]), () => drawTiles(one, cut, areThere));
      const away = ofSplits[i].map((at, axis) => ((at - ofMatrix[axis]) * 100) / cell);
      if (isCut && shown.includes(one) && !isStill()) fly(one, cut, d_model, away);
      for (const part of [one.cells, one.trails]) scale(part, ofSplits[i]);
    });

    const rows = ([x, y]) =>
      Array.from({ length }, (_, row) =>
        label(
          plot.width > 420 ? `position ${row}` : String(row),
          "muted",
          x - 8,
          y + (row + 0.5) * cell + 4,
          "end",
        ),
      );
    const isBeside = wrong && ofSplits[0][1] === ofSplits[1][1];
    setChildren(names, [
      label(`queries of all heads, ${length} × ${d_model}`, "muted", ofMatrix[0], ofMatrix[1] - 9),
      ...[ofMatrix, ...ofSplits.slice(0, isBeside ? 1 : shown.length)].flatMap(rows),
      ...shown.flatMap(({ way }, i) => {
        const [x, y] = ofSplits[i];
        return [
          ...(wrong ? [label(WAYS[way], "chosen", x, y - 9)] : []),
          ...measured.heads.map((_, head) =>
            label(
              measured.d_k * cell > 50 ? `head ${head}` : String(head),
              "muted",
              x + head * (measured.d_k + 0.5) * cell,
              y + length * cell + 15,
            ),
          ),
        ];
      }),
    ]);
    plot.setHeight(height);
    if (!areThere) return; // what is said comes when the last number has landed
    view.task(
      wrong
        ? "Find a setting in which the wrong way does no harm."
        : `${press()} a number, and choose the heads so that it lands in head ${WANTED}.`,
    );
    show(measured, {
      misplaced: String(measured.misplaced),
      head: String(measured.head),
      position: String(measured.position),
      column: String(measured.column),
    });
    view.say(words(settings, measured), setting(settings));
  });
  return view.cleanup;
}

export default { render };
