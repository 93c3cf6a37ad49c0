"""The still pictures of the figure Walk, a step each."""

import numpy as np

from attention_lib.palette import LIGHT, SCORE_MAP
from workbook.figures._markup import Markup, map_color, svg, tag
from workbook.figures._rounding import fixed
from workbook.figures._walk_numbers import PADS, Array, Seen

WIDTH, ROW, TOP, NAME, RIGHT = 460, 23, 52.0, 72.0, 456.0
LEFT = NAME + 8
SPAN = RIGHT - LEFT


def _text(x: float, y: float, said: str, role: str = "muted", anchor: str = "start") -> Markup:
    bold = "bold" if role in ("query", "output") else None
    look = {"fill": LIGHT[role], "text_anchor": anchor, "font_weight": bold}
    return tag("text", said, x=x, y=y, **look)


def _line(place: float) -> float:
    return TOP + (place + 0.5) * ROW


def _strip(numbers: Array, x: float, y: float, width: float, most: float, role: str) -> Markup:
    """Cells in a frame of the role's colour."""
    cell = width / len(numbers)
    high = ROW * 0.66
    cells = (
        tag(
            "rect",
            x=x + i * cell,
            y=y - high / 2,
            width=cell + 0.2,
            height=high,
            fill=map_color(0.5 + number / (2 * most), SCORE_MAP),
        )
        for i, number in enumerate(numbers)
    )
    frame = {"fill": "none", "stroke": LIGHT[role]}
    return tag("g", *cells, tag("rect", x=x, y=y - high / 2, width=width, height=high, **frame))


def _strips(rows: Array, x: float, width: float, role: str, shares: Array | None = None) -> Markup:
    most = float(np.abs(rows).max())
    drawn = (_strip(row, x, _line(i), width, most, role) for i, row in enumerate(rows))
    if shares is None:
        return tag("g", *drawn)
    return tag(
        "g", *(tag("g", one, opacity=0.08 + 0.92 * s) for one, s in zip(drawn, shares, strict=True))
    )


def _bars(weights: Array, x: float, unit: float, role: str = "weight") -> Markup:
    """Bars from an axis at x, a row each."""
    return tag(
        "g",
        *(
            tag(
                "rect",
                x=x + min(weight * unit, 0),
                y=_line(i) - ROW * 0.28,
                width=max(abs(weight) * unit, 0.5),
                height=ROW * 0.56,
                fill=LIGHT[role],
            )
            for i, weight in enumerate(weights)
        ),
    )


def _numbers(values: Array) -> list[Markup]:
    best = values.argmax()
    return [
        _text(RIGHT, _line(i) + 4.5, fixed(value, 2), "ink" if i == best else "muted", "end")
        for i, value in enumerate(values)
    ]


def _names(seen: Seen, *, answer: bool = False, x: float = NAME, anchor: str = "end") -> Markup:
    words = seen.read.words
    roles = {seen.it: "query", **({seen.read.meant: "output"} if answer else {})}
    return tag(
        "g",
        *(
            _text(x, _line(i) + 4.5, word if i else "(nothing)", roles.get(i, "ink"), anchor)
            for i, word in enumerate(words)
        ),
    )


def _question(seen: Seen) -> list[Markup]:
    """The sentence as it is written, and the two words that *it* may mean."""
    words, parts, places = seen.read.words, [], {}
    lines = [range(1, 8), range(8, len(words))]
    for number, line in enumerate(lines):
        x, y = WIDTH / 2 - sum(10 * len(words[i]) + 14 for i in line) / 2, 90 + 110 * number
        for i in line:
            wide = 10 * len(words[i]) + 14
            places[i] = x + wide / 2, y
            look = {"fill": LIGHT["query" if i == seen.it else "ink"], "text_anchor": "middle"}
            parts.append(tag("text", words[i], x=x + wide / 2, y=y, font_size=19, **look))
            x += wide
    x1, y1 = places[seen.it]
    for noun in seen.nouns:
        x2, y2 = places[noun]
        curve = f"M{x1:.1f} {y1 - 20}C{x1:.1f} {y1 - 60} {x2:.1f} {y2 + 50} {x2:.1f} {y2 + 10}"
        look = {"fill": "none", "stroke": LIGHT["query"], "stroke_dasharray": "4 4"}
        parts.append(tag("path", d=curve, **look))
    return parts


def _row_by_row(step: int, seen: Seen) -> list[Markup]:
    """Steps 2 to 8: vectors, query and keys, scores, weights, and the mixture of the values."""
    layer, it, head, size = seen.read.layers[0], seen.it, seen.followed, seen.size
    keys, query = layer.keys[head], layer.queries[head, it]
    keyed, near = min(size * 18, SPAN * 0.42), min(size * 12, SPAN * 0.3)
    parts = [_names(seen)]
    if step == 2:
        parts += [
            _text(LEFT, TOP - 10, f"each word as {seen.read.start.shape[1]} numbers"),
            _strips(seen.read.start, LEFT, SPAN, "grid"),
        ]
    elif step == 3:
        parts += [
            _text(LEFT, TOP - 10, "vectors"),
            _strips(seen.read.start, LEFT, SPAN * 0.4, "grid"),
            _text(RIGHT - keyed - 8, TOP - 10, "query of “it”", "query", "end"),
            _strip(query, RIGHT - keyed, TOP - 15, keyed, float(np.abs(query).max()), "query"),
            _strips(keys, RIGHT - keyed, keyed, "key"),
        ]
    elif step <= 6:
        scores = seen.dots if step == 4 else seen.dots / np.sqrt(size)
        start, end = LEFT + near + 12, RIGHT - 48
        low, high = min(0.0, seen.dots.min()), max(0.0, seen.dots.max())
        unit = (end - start) / (high - low)
        said = "query · key" + (f" ÷ √{size}" if step > 4 else "")
        parts += [
            _text(NAME, TOP - 10, "query", "query", "end"),
            _strip(query, LEFT, TOP - 15, near, float(np.abs(query).max()), "query"),
            _strips(keys, LEFT, near, "key"),
            _text(RIGHT, TOP - 10, said, anchor="end"),
            _bars(scores, start - low * unit, unit, "accent"),
            *_numbers(scores),
        ]
    elif step == 7:
        parts += [
            _text(LEFT, TOP - 10, "weights, which sum to 1"),
            _bars(seen.row, LEFT, SPAN - 48),
            *_numbers(seen.row),
        ]
    else:
        values, output = layer.values[head], layer.brought[head, it]
        x, bottom = RIGHT - keyed, _line(len(keys) + 0.6)
        parts += [
            _text(LEFT, TOP - 10, "weights"),
            _bars(seen.row, LEFT, SPAN - keyed - 12),
            _text(RIGHT, TOP - 10, "values", "value", "end"),
            _strips(values, x, keyed, "value", seen.row),
            _text(x - 8, bottom + 4.5, "their mixture", "output", "end"),
            _strip(output, x, bottom, keyed, float(np.abs(output).max()), "output"),
        ]
    for i in range(len(keys), len(keys) + PADS) if step in (6, 7) else ():
        parts += [
            _text(NAME, _line(i) + 4.5, "(empty)", anchor="end"),
            _text(RIGHT, _line(i) + 4.5, "−∞" if step == 6 else "0", anchor="end"),
        ]
        if step == 6:
            hatch = {"width": SPAN - 48, "height": ROW, "fill": "url(#masked)"}
            parts.append(tag("rect", x=LEFT, y=_line(i) - ROW / 2, **hatch))
    return parts


def _heads(step: int, seen: Seen) -> list[Markup]:
    """The weights of *it* in every head of layer 1, or of both layers."""
    layers = seen.read.layers[:1] if step == 9 else seen.swapped.layers
    tables = [
        (i, j, table[seen.it]) for i, y in enumerate(layers) for j, table in enumerate(y.weights)
    ]
    column = (SPAN + 4) / len(tables)
    parts = [_names(seen)]
    for place, (layer, head, row) in enumerate(tables):
        x, best = LEFT + place * column, int(row.argmax())
        patched = f"{layer + 1}.{head + 1}" == seen.swap
        if head == 0:
            parts.append(_text(x, TOP - 28, f"layer {layer + 1}"))
        parts += [
            _text(x, TOP - 10, f"head {head + 1}", "muted"),
            tag("g", _bars(row, x, column * 0.46), opacity=0.35 if patched else 1),
            _text(x + column * 0.48 * row[best] + 3, _line(best) + 4.5, fixed(row[best], 2), "ink"),
        ]
    return parts


def _path(
    x1: float, y1: float, x2: float, y2: float, role: str, width: float, opacity: float
) -> Markup:
    middle = (x1 + x2) / 2
    curve = f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    look = {"fill": "none", "stroke": LIGHT[role], "stroke_width": width}
    return tag("path", d=curve, stroke_opacity=opacity, **look)


def _layers(step: int, seen: Seen) -> list[Markup]:
    """Who reads whom in the two layers; then the pointing head's answer."""
    one, two = (layer.weights.mean(axis=0) for layer in seen.read.layers)
    it, middle, faint = seen.it, (LEFT + RIGHT) / 2, 1.0 if step == 10 else 0.35
    parts = []
    for i, much in enumerate(two[it]):
        for j, weight in enumerate(one[i] * much):
            if weight > 0.01:
                ends = NAME + 5, _line(j), middle - 32, _line(i)
                width, opacity = 0.6 + 11 * weight**0.5, faint * min(1.0, 4 * weight)
                parts.append(_path(*ends, "weight", width, opacity))
        if much > 0.01:
            ends = middle + 32, _line(i), RIGHT - 14, _line(it)
            parts.append(_path(*ends, "weight", 0.6 + 11 * much**0.5, faint * min(1.0, 4 * much)))
    answer, meant = seen.read.answers[2], seen.read.meant
    if step > 10:
        for i, weight in enumerate(answer):
            if weight > 0.01:
                ends = RIGHT - 14, _line(it), NAME + 5, _line(i)
                parts.append(_path(*ends, "output", 1 + 9 * weight, weight))
        label = fixed(answer[meant], 2)
        parts.append(_text(LEFT + 4, _line(meant) - 5, label, "output"))
    return [
        *parts,
        _text(NAME, TOP - 10, "words", anchor="end"),
        _text(middle, TOP - 10, "after layer 1", anchor="middle"),
        _text(RIGHT, TOP - 10, "after layer 2", anchor="end"),
        _names(seen, answer=step > 10),
        _names(seen, answer=step > 10, x=middle, anchor="middle"),
        _text(RIGHT, _line(it) + 4.5, "it", "query", "end"),
    ]


def _track(step: int, seen: Seen) -> list[Markup]:
    """Between the two words, what the reader would have answered before, and would answer now."""
    y, reach = TOP + (len(seen.read.words) + 2.6) * ROW, WIDTH / 2 - 66
    left, right = (seen.read.words[noun] for noun in reversed(seen.nouns))
    past = [seen.read.answers[0], *([seen.read.answers[1]] if step >= 10 else [])]
    look = {"fill": LIGHT["paper"], "stroke": LIGHT["output"], "stroke_width": 1.5}

    def at(answer: Array) -> float:
        return float(WIDTH / 2 + (answer[seen.nouns[0]] - answer[seen.nouns[1]]) * reach)

    return [
        _text(8, y + 4.5, left),
        _text(WIDTH - 8, y + 4.5, right, anchor="end"),
        _text(WIDTH / 2, y - 14, "what the model would answer now", anchor="middle"),
        tag("line", x1=WIDTH / 2 - reach, x2=WIDTH / 2 + reach, y1=y, y2=y, stroke=LIGHT["muted"]),
        *(tag("circle", cx=at(one), cy=y, r=5, **look) for one in past),
        tag("circle", cx=at(seen.told(step)), cy=y, r=7, fill=LIGHT["output"]),
    ]


def still(step: int, seen: Seen) -> Markup:
    """Return the picture of a step."""
    rows = len(seen.read.words)
    if step == 1:
        return svg(*_question(seen), width=WIDTH, height=250)
    if step in (9, 13):
        parts = _heads(step, seen)
    else:
        parts = _row_by_row(step, seen) if step < 9 else _layers(step, seen)
    band = tag(
        "rect", x=0, y=_line(seen.it) - ROW / 2, width=WIDTH, height=ROW, fill=LIGHT["surface"]
    )
    if step < 8:
        return svg(band, *parts, width=WIDTH, height=TOP + (rows + PADS + 0.5) * ROW)
    return svg(band, *parts, *_track(step, seen), width=WIDTH, height=TOP + (rows + 3.4) * ROW)
