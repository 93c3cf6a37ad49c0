import {
  addPatterns,
  breadth,
  colorMap,
  createView,
  element,
  isStill,
  setAttributes,
  setChildren,
  svg,
  unpackReader,
} from "./_shared/index.js";
import { adding, computing } from "./_walk/computing.js";
import { beliefMarks, labels } from "./_walk/labels.js";
import { machineMarks } from "./_walk/machine.js";
import { measure, place, words } from "./_walk/numbers.js";
import { sectionsOf, walkWithPage } from "./_walk/page.js";
import { rulerPlaces, scene, sizes } from "./_walk/scene.js";
import {
  ALONE,
  ANSWER,
  BRIGHTEST,
  HEADS,
  MACHINE,
  MASKED,
  OTHER,
  PADS,
  SCORES,
  SOFTMAX,
  STEPS,
  WORDS,
} from "./_walk/steps.js";
import { strips } from "./_walk/strips.js";
import { arrived, createClock, ramp, sceneAt } from "./_walk/time.js";

export function render({ model, el }) {
  const traits = ["step", "word", "swap"];
  // The step after the walk is a figure of its own, about the heads.
  const isAlone = model.get("step") === BRIGHTEST;
  const view = createView(
    { model, el },
    {
      label: isAlone ? ALONE : "A sentence goes through attention",
      task: isAlone
        ? "Press a head: “it” then gets what this head brings in the other sentence."
        : "Go on step by step, and watch how “it” finds its meaning.",
      traits,
      given: [
        "text",
        "choices",
        "nouns",
        "head",
        "packed",
        "scales",
        "vocabulary",
        "width",
        "num_heads",
      ],
      isScrolled: sectionsOf(el).length > 0,
    },
  );
  const given = view.state();
  const reader = unpackReader(given, given.vocabulary.length);
  view.root.classList.add("attention-walk");
  let measured = measure(given, reader);
  let isWithPage = false;
  let picture = null; // the scene that was drawn last
  const clock = createClock({ again: () => view.again(), isStill });

  const shown = isAlone ? null : view.readout({ name: "step", label: "Step", parent: view.stage });
  const plot = view.plot({
    height: 420,
    description: "The words of the sentence and what the reader computes of them at this step",
  });
  const layer = (kind) => plot.svg.appendChild(svg("g", { class: kind }));
  const { masked } = addPatterns(plot.svg);
  const band = plot.svg.appendChild(
    svg("rect", { class: "attention-surface attention-area", rx: 4 }),
  );
  const [lines, points, bars, hatched] = [
    "attention-line attention-weight",
    "attention-line attention-output",
    "",
    "",
  ].map(layer);
  const cells = layer("");
  const map = colorMap(view.root, "--aw-score-map");
  const color = (share) => `rgb(${map(Math.round(share * 48) / 48).join()})`; // few: stills are small
  const rowsOf = ({ start, first, padding, it }) => ({
    vector: start,
    key: [...first.keys, ...padding],
    query: [first.queries[it]],
    value: first.values,
    output: [first.output[it]],
  });
  const drawings = Object.entries(rowsOf(measured)).map(([kind, rows]) => [
    kind,
    strips(cells, kind, rows, color),
  ]);
  const [computed, track, names, said, hits] = [
    "attention-walk-computed attention-over",
    "",
    "",
    "attention-walk-said",
    "attention-walk-hits",
  ].map(layer);
  const signed = (number, most) => color(0.5 + number / (2 * most));

  const go = (by) => view.set("step", Math.min(Math.max(model.get("step") + by, 1), STEPS.length));
  const back = view.button("Back", () => go(-1));
  const slider = view.slider({
    trait: "step",
    label: "Step",
    min: 1,
    max: STEPS.length,
    text: (step) => `${step} of ${STEPS.length}`,
    words: (step) => `${step} of ${STEPS.length}: ${STEPS[step - 1]}`,
  });
  const next = view.button("Next", () => go(1));
  for (const control of [back, slider.closest("label"), next]) control.hidden = isAlone;
  const pick = (trait, label, options) => {
    const list = element(
      "select",
      {},
      ...options.map(([option, title]) => element("option", { value: option }, title)),
    );
    list.addEventListener("change", () => view.set(trait, list.value), { signal: view.signal });
    const control = view.controls.appendChild(
      element(
        "label",
        { class: "attention-pick" },
        element("span", { class: "attention-name" }, label),
        list,
      ),
    );
    return () => {
      list.value = model.get(trait);
      return control;
    };
  };
  const heads = given.num_heads.flatMap((count, number) =>
    Array.from({ length: count }, (_, i) => `${number + 1}.${i + 1}`),
  );
  const showWord = pick(
    "word",
    "Last word",
    given.choices.map((word) => [word, word]),
  );
  const showSwap = pick("swap", "Swap what comes from", [
    ["nothing", "no head"],
    ...heads.map((head) => [head, `layer ${head.replace(".", ", head ")}`]),
  ]);
  hits.addEventListener(
    "click",
    ({ target }) => {
      const head = heads[[...hits.children].indexOf(target)];
      view.set("swap", model.get("swap") === head ? "nothing" : head);
    },
    { signal: view.signal },
  );
  names.addEventListener(
    "click",
    ({ target }) => {
      if (target !== names.children[measured.words.length - 1]) return;
      view.set(
        "word",
        given.choices[(given.choices.indexOf(model.get("word")) + 1) % given.choices.length],
      );
    },
    { signal: view.signal },
  );

  // Whoever comes to the step about another word finds the word swapped, and as it was on leaving.
  let before = model.get("step");
  const swapWord = () => {
    const [from, now, [one, two]] = [before, model.get("step"), given.choices];
    before = now;
    if (now === OTHER && from !== OTHER && model.get("word") === one) view.set("word", two);
    if (from === OTHER && now !== OTHER && model.get("word") === two) view.set("word", one);
  };
  view.onChange("step", () => {
    clock.turn(model.get("step"), model.get("step") === before + 1, picture);
    swapWord();
  });
  document.addEventListener(
    "keydown",
    (event) => {
      const whole = document.fullscreenElement === view.root;
      const inside =
        whole || view.root.contains(event.target) || (isWithPage && event.target === document.body);
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: whole ? 1 : 0, PageUp: whole ? -1 : 0 }[
        event.key
      ];
      if (
        !by ||
        !inside ||
        isAlone ||
        event.target.matches("input, select, textarea") ||
        event.altKey ||
        event.ctrlKey ||
        event.metaKey
      )
        return;
      event.preventDefault();
      event.stopPropagation();
      go(by);
    },
    { signal: view.signal, capture: true },
  );

  view.start(() => {
    const { step, word, swap } = view.state();
    view.part("numbers", `${word} ${swap}`, () => {
      measured = measure(view.state(), reader);
    });
    view.part("colours", word, () => {
      const rows = rowsOf(measured);
      for (const [kind, drawing] of drawings) drawing.paint(rows[kind]);
    });
    const measures = (one) => sizes(plot.width, measured.words.length, one);
    const [at, last] = [measures(step), Math.max(step - 1, 1)];
    plot.setHeight(at.height);
    const time = clock.time();
    const before = scene(last, measured, measures(last));
    picture = clock.morph(sceneAt(step, time, before, scene(step, measured, at)));
    draw(step, time, picture, at);
    if (!isAlone) shown(step, `${step}. ${STEPS[step - 1]}`);
    setAttributes(back, { "aria-disabled": String(step === 1) });
    setAttributes(next, { "aria-disabled": String(step === STEPS.length) });
    showWord().hidden = step === BRIGHTEST;
    showSwap().hidden = step !== BRIGHTEST;
    view.say(time === 1 ? words(view.state(), measured) : "");
  });

  /** Draw what stands at a moment, be it on the way from one step to the next. */
  function draw(step, time, now, at) {
    const { row, top, left, right, width, line, floor, font, name, wide } = at;
    const { it, words: written } = measured;
    setAttributes(band, {
      x: 0,
      y: line(it) - row / 2,
      width,
      height: row,
      visibility: [WORDS, HEADS, BRIGHTEST].includes(step) ? "hidden" : null,
    });
    for (const [kind, drawing] of drawings) drawing.move(now[kind]);

    const middle = (left + right) / 2;
    const wayTo = (x1, i, x2, j) =>
      `M${x1} ${line(i)}C${(x1 + x2) / 2} ${line(i)} ${(x1 + x2) / 2} ${line(j)} ${x2} ${line(j)}`;
    const begin = name + 5 + now.machine[0] * (wide ? 70 : 38);
    const end = middle - (wide ? 34 : 28);
    const drawn = (d, [thick, opacity]) => [
      "path",
      opacity < 0.01
        ? { d, visibility: "hidden" }
        : { d, "stroke-width": thick, "stroke-opacity": opacity },
    ];
    setChildren(lines, [
      ...now.firstHop.flatMap((froms, to) =>
        froms.map((look, from) => drawn(wayTo(begin, from, end, to), look)),
      ),
      ...now.secondHop.map((look, from) =>
        drawn(wayTo(middle + (wide ? 34 : 28), from, right - 14, it), look),
      ),
    ]);
    const arc = (noun) => {
      const [[x1, y1, size], [x2, y2]] = [now.names[it], now.names[noun]];
      return [
        "path",
        {
          d: `M${x1} ${y1 - size * 0.8}C${x1} ${y1 - size * 2} ${x2} ${y2 + size * 2} ${x2} ${y2 + size * 0.8}`,
          class: "attention-line attention-query attention-dashed",
        },
      ];
    };
    const ends = written.map((word, i) => [name - breadth(word) * font - 16, line(i)]);
    const edge = 5; // the middle of the line that runs down the left side, and is up to 8 thick
    const answer = ([x, y]) => {
      const under = floor + (wide ? 22 : 8);
      return (
        `M${right - 6} ${line(it) + 9}V${under - 12}Q${right - 6} ${under} ${right - 18} ${under}` +
        `H${edge + 12}Q${edge} ${under} ${edge} ${under - 12}` +
        `V${y + 10}Q${edge} ${y} ${Math.min(edge + 10, x)} ${y}H${x}`
      );
    };
    setChildren(points, [
      ...now.pointing.flatMap((look, to) => {
        const [x, y] = [Math.max(ends[to][0], edge), ends[to][1]];
        const tip = {
          d: `M${x} ${y - 8}L${x + 13} ${y}L${x} ${y + 8}z`,
          class: "attention-area attention-output",
        };
        return [drawn(answer([x, y]), look), ["path", { ...tip, opacity: look[1] }]];
      }),
      ...(step === WORDS ? measured.nouns.map(arc) : []),
    ]);

    const patched = step === BRIGHTEST ? measured.patched : -1;
    setAttributes(bars, {
      opacity: step === SOFTMAX ? 1 - ramp(time, 0.05, 0.12) + ramp(time, 0.82, 0.86) : 1,
    });
    const kindOf = (i) => (step > MASKED ? "weight" : measured.dots[i] < 0 ? "minus" : "plus");
    setChildren(
      bars,
      now.bars.flatMap((rows, head) =>
        rows.map(([x, y, long, high, opacity], i) => [
          "rect",
          {
            x,
            y: y + high * 0.08,
            width: long,
            height: high * 0.84,
            opacity,
            class:
              patched === head // what a swapped head looks at no longer counts
                ? "attention-box attention-muted"
                : `attention-area attention-edged attention-${kindOf(i)}`,
            visibility: opacity < 0.01 ? "hidden" : null,
          },
        ]),
      ),
    );
    setChildren(
      hatched,
      step === MASKED
        ? [
            [
              "rect",
              { x: left, y: floor, width: right - left - 40, height: PADS * row, fill: masked },
            ],
          ]
        : [],
    );

    const color = (i) =>
      i === it
        ? "attention-query"
        : i === measured.meant && step >= ANSWER && step < BRIGHTEST
          ? "attention-output"
          : "attention-plain";
    const word = (x, y, size, opacity, kind, said) => [
      "text",
      {
        x,
        y: y + size * 0.35,
        "text-anchor": "middle",
        class: kind,
        opacity,
        visibility: opacity < 0.01 ? "hidden" : null,
      },
      said,
    ];
    // While products stand there line by line, the lines of the other words rest.
    const followed = place(measured.dots);
    const rest = (i) => (step === SCORES && i !== followed ? 1 - 0.8 * adding(time) : 1);
    setAttributes(names, { "font-size": now.names[0][2] });
    setChildren(names, [
      ...now.names.map(([x, y, size, opacity], i) =>
        word(x, y, size, opacity * rest(i), color(i), i ? written[i] : "(nothing)"),
      ),
      ...now.pads.map(([x, y, size, opacity]) =>
        word(x, y, size, opacity, "attention-muted", "(empty)"),
      ),
      ...now.middle.map(([opacity], i) =>
        word(middle, line(i), font, opacity, color(i), i ? written[i] : "(nothing)"),
      ),
    ]);

    setAttributes(computed, { "font-size": wide ? 12 : 10.5 });
    setChildren(
      computed,
      step === MACHINE
        ? machineMarks(measured, at, signed, masked, arrived(step, time))
        : computing(step, time, measured, at, signed),
    );
    setChildren(track, [
      [
        "line",
        {
          ...{ x1: now.axis[0], x2: now.axis[0], y1: top - 2, y2: floor, opacity: now.axis[1] },
          class: "attention-axis",
        },
      ],
      ...beliefMarks(step, time, measured, now, at),
    ]);
    setChildren(said, labels(step, time, measured, now, at));
    setChildren(
      hits,
      step === BRIGHTEST
        ? rulerPlaces(step, measured, at).map(({ x, y, long, high, each }, i) => [
            "rect",
            {
              x: x - 4,
              y: y + high / 2 + 4 - each, // from above the head's name
              width: long + 8,
              height: each - 2,
              rx: 4,
              class: "attention-press",
              "data-chosen": patched === i ? "true" : null,
            },
          ])
        : [],
    );
  }

  isWithPage = walkWithPage(view, model, el, clock.scrub);
  return view.cleanup;
}

export default { render };
