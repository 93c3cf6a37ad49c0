"""Online softmax: one pass over the keys in blocks, with a running maximum and normaliser."""

import math
from typing import Any

import numpy as np

from attention_lib.palette import LIGHT
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, svg, tag
from workbook.figures._rounding import fixed
from workbook.figures._traits import Numbers, Whole

_COUNT = 12
_RANGE: dict[str, Any] = {"shape": (_COUNT,), "min": -50, "max": 50}


class OnlineSoftmax(Figure):
    r"""Twelve scores read block by block, as fused attention kernels do.

    After each block three numbers stand: the largest score so far :math:`m`, the normaliser
    :math:`\ell = \sum_i e^{a_i - m}` and the output :math:`o = \sum_i e^{a_i - m} v_i / \ell`.
    When a block brings a larger maximum, what was summed before is multiplied by
    :math:`e^{m_\text{old} - m_\text{new}}`. After the last block :math:`o` is the softmax's own.

    Parameters
    ----------
    block_size : int
        Keys in a block, 1 to 12.
    step : int
        Blocks that have been read, from 0; all of them if it is too large.
    scores, outcomes : sequence of float
        Twelve scores, and the value of each key, a number; from -50 to 50.

    Notes
    -----
    Milakov and Gimelshein (2018); in attention: Rabe and Staats (2021), Dao et al. (2022).

    Examples
    --------
    >>> OnlineSoftmax(block_size=4, step=2)
    OnlineSoftmax(block_size=4, step=2)
    """

    _script = "online_softmax.js"
    _title = "Softmax in one pass"
    _task = "Read the blocks, and watch the output come to the full answer, the lower dashed line."

    block_size = Whole(3, min=1, max=_COUNT).tag(sync=True)
    step = Whole(2, min=0, max=_COUNT).tag(sync=True)
    scores = Numbers([0.5, 1.2, -0.3, 2.1, 0.1, 1.4, -1.0, 0.9, 3.2, 1.7, -0.4, 2.4], **_RANGE).tag(
        sync=True
    )
    outcomes = Numbers([4.0, 1.0, 3.0, 2.0, 5.0, 1.0, 4.0, 2.0, 6.0, 3.0, 1.0, 5.0], **_RANGE).tag(
        sync=True
    )

    def _blocks(self) -> int:
        return math.ceil(_COUNT / self.block_size)

    def _read(self, step: int) -> tuple[float, float, float, float, float]:
        """The three numbers after ``step`` blocks, read one by one; the normaliser before the last
        of them, and the factor that it was multiplied by."""
        largest, normaliser, total, before, factor = -math.inf, 0.0, 0.0, 0.0, 1.0
        for block in range(min(step, self._blocks())):
            here = slice(block * self.block_size, (block + 1) * self.block_size)
            scores, values = np.array(self.scores[here]), np.array(self.outcomes[here])
            new = max(largest, scores.max())
            factor = math.exp(largest - new)  # 0 before the first block
            powers = np.exp(scores - new)
            before = normaliser
            normaliser = normaliser * factor + powers.sum()
            total = total * factor + powers @ values
            largest = new
        return largest, normaliser, total, before, factor

    def words(self) -> str:
        step, blocks = min(self.step, self._blocks()), self._blocks()
        if step == 0:
            return f"No block of {self.block_size} read yet: no maximum, normaliser 0, output 0."
        largest, normaliser, total, _, factor = self._read(step)
        seen = min(step * self.block_size, _COUNT)
        end = f"of {seen} {'key' if seen == 1 else 'keys'} so far"
        kept = f"what stood before was multiplied by {fixed(factor)}"
        if factor == 1:
            kept = "the maximum stayed, nothing was rescaled"
        if step == blocks:
            end = "the whole softmax, in one pass"
            raised = sum(self._read(block)[-1] < 1 for block in range(2, blocks + 1))
            kept = f"later blocks that raised the maximum and rescaled: {raised} of {blocks - 1}"
        if step == 1:
            kept = "nothing stood before"
        return (
            f"{step} of {blocks} block{'s' if blocks > 1 else ''} of {self.block_size} read. "
            f"Maximum {fixed(largest)}, "
            f"normaliser {fixed(normaliser)}, output {fixed(total / normaliser)}: {end}; {kept}."
        )

    def picture(self) -> Markup:
        width, height, left, base, unit = 640, 376, 48, 120, 22
        seen = min(self.step * self.block_size, _COUNT)
        largest, normaliser, _, _, _ = self._read(self.step)
        room = (width - left - 24) / _COUNT
        scale = 2.4 / max(2.4, np.abs(self.scores).max())
        parts = [
            tag("text", "scores", x=8, y=24, fill=LIGHT["muted"]),
            tag("text", "weights so far", x=8, y=196, fill=LIGHT["muted"]),
            tag("line", x1=left, x2=width - 24, y1=base, y2=base, stroke=LIGHT["grid"]),
            tag("line", x1=left, x2=width - 24, y1=284, y2=284, stroke=LIGHT["grid"]),
        ]
        for i, score in enumerate(self.scores):
            x, length = left + room * i + room * 0.15, unit * 1.6 * score * scale
            parts.append(
                tag(
                    "rect",
                    x=x,
                    y=base - max(length, 0.0),
                    width=room * 0.7,
                    height=abs(length),
                    fill=LIGHT["key"],
                    fill_opacity=1 if i < seen else 0.3,
                )
            )
            if i < seen:
                weight = math.exp(score - largest) / normaliser
                parts.append(
                    tag(
                        "rect",
                        x=x,
                        y=284 - 80 * weight,
                        width=room * 0.7,
                        height=80 * weight,
                        fill=LIGHT["weight"],
                    )
                )
        if seen:
            y = base - unit * 1.6 * largest * scale
            end = left + room * seen
            dashes = {"stroke_dasharray": "5 4", "stroke_width": 1.5}
            parts.append(tag("line", x1=left, x2=end, y1=y, y2=y, stroke=LIGHT["accent"], **dashes))
        for block in range(1, self._blocks()):
            x = left + room * block * self.block_size
            parts.append(tag("line", x1=x, x2=x, y1=32, y2=284, stroke=LIGHT["grid"]))
        return svg(*parts, *self._totals(left, width - 24), width=width, height=height)

    def _totals(self, left: float, right: float) -> list[Markup]:
        """Return the normaliser before the block; what the factor leaves of it; what is new."""
        read = min(self.step, self._blocks())
        _, normaliser, _, before, factor = self._read(self.step)
        largest = max(self._read(step)[1] for step in range(1, self._blocks() + 1))
        upper, lower, tall = 322, 348, 14
        old, kept, end = (
            left + total / largest * (right - left)
            for total in (before, before * factor, normaliser)
        )
        color = LIGHT["weight"]
        name = "normaliser before the block, and with it"
        parts = [tag("text", name, x=8, y=upper - 8, fill=LIGHT["muted"])]
        if read > 1:
            room = old < right - 80
            place = {"x": old + (8 if room else -8), "y": upper + 11, "font_weight": 600}
            anchor = "start" if room else "end"
            parts += [
                tag("path", d=f"M{old:.1f} {upper + tall}L{kept:.1f} {lower}", stroke=color),
                tag(
                    "rect",
                    x=left,
                    y=upper,
                    width=old - left,
                    height=tall,
                    fill="none",
                    stroke=color,
                ),
                tag("text", f"× {fixed(factor)}", **place, text_anchor=anchor, fill=LIGHT["ink"]),
            ]
        if read > 0:
            bar: dict[str, Any] = {"y": lower, "height": tall, "fill": color}
            parts += [
                tag("rect", x=left, width=kept - left, **bar),
                tag("rect", x=kept, width=end - kept, **bar, fill_opacity=0.3),
            ]
        return parts
