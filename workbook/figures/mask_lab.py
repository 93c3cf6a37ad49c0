"""Mask and softmax: what each fill value does in each dtype, and where weight leaks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.palette import LIGHT, SCORE_MAP, readable_on
from workbook.figures._figure import Figure
from workbook.figures._markup import Markup, map_color, svg, tag
from workbook.figures._rounding import DTYPES, fixed, rounded, rounded_softmax
from workbook.figures._traits import Numbers, OneOf, Switch, Whole

_TOKENS = ("so", "it", "was", "too", "tired")
_SIZE = len(_TOKENS)
_LOW_ROW = 2
_FILLS = {  # the number, and how it is written
    "0": (0.0, "0"),
    "-1e-6": (-1e-6, "−10⁻⁶"),
    "-1e6": (-1e6, "−10⁶"),
    "-1e9": (-1e9, "−10⁹"),
    "-inf": (-np.inf, "−∞"),
    "safe": (-np.inf, "−∞, and 0 for an empty row"),
}
# Half of the lowest finite number of each dtype.
_LOW = {
    "float16": float(np.finfo(np.float16).min) / 2,
    "bfloat16": -(2 - 2**-7) * 2.0**126,
    "float32": float(np.finfo(np.float32).min) / 2,
    "float64": float(np.finfo(np.float64).min) / 2,
}
# No weight they give is closer to a tie of float16 or bfloat16 than 2e-5 of itself, whatever the
# mask: the exponentials of different machines round to the same weights.
_SCORES = [
    [0.828, -0.208, 0.372, -0.579, 0.106],
    [-0.458, 1.261, 0.644, 0.088, -0.755],
    [0.228, 1.017, -0.301, 0.534, -0.121],
    [-0.682, 0.422, 0.706, 1.105, 0.279],
    [0.309, 1.472, -0.571, -0.179, 0.850],
]


class MaskLab(Figure):
    r"""Scores with a mask, and the weights that softmax makes of them.

    Five queries meet five keys. Masked scores are overwritten by assignment, ``scores[~mask] =
    fill``, and go through softmax, rounded as PyTorch rounds them on a CPU. ``fill="safe"`` is
    :func:`attention_lib.masking.masked_softmax`. In float16 an assigned :math:`-10^6` or
    :math:`-10^9` becomes :math:`-\infty`; ``masked_fill`` raises there, and the figure says so.

    Parameters
    ----------
    valid_len : int
        Number of keys that are no padding, 0 to 5.
    fill : str
        What masked scores become: ``"0"``, ``"-1e-6"``, ``"-1e6"``, ``"-1e9"``, ``"-inf"``, or
        ``"safe"``, that is -inf, and weights of 0 for a row with nothing to attend to.
    dtype : str
        ``"float16"``, ``"bfloat16"``, ``"float32"`` or ``"float64"``.
    causal : bool
        Whether a query sees only itself and what came before, too.
    left : bool
        Whether the padding stands on the left.
    low : bool
        Whether the scores of the third row are lowered by half of the dtype's lowest number.
    hidden : array of float
        Where a cell is masked besides, 1, else 0; shape ``(5, 5)``.
    scores : array of float
        The scores, shape ``(5, 5)``, numbers from -100 to 100.

    Examples
    --------
    >>> MaskLab(fill="-1e9", valid_len=0)  # doctest: +ELLIPSIS
    MaskLab(valid_len=0, fill='-1e9', dtype='float32', causal=False, left=False, low=False)
    """

    _script = "mask_lab.js"
    _title = "Mask and softmax"

    valid_len = Whole(3, min=0, max=_SIZE).tag(sync=True)
    fill = OneOf(list(_FILLS), "0").tag(sync=True)
    dtype = OneOf(list(DTYPES), "float32").tag(sync=True)
    causal = Switch(False).tag(sync=True)
    left = Switch(False).tag(sync=True)
    low = Switch(False).tag(sync=True)
    hidden = Numbers([[0] * 5] * 5, shape=(_SIZE, _SIZE), min=0, max=1).tag(sync=True)
    scores = Numbers(_SCORES, shape=(_SIZE, _SIZE), min=-100, max=100).tag(sync=True)

    @property
    def _task(self) -> str:  # type: ignore[override]
        allowed, _, weights = self._tables()
        leaks = bool((~allowed & (weights > 0)).any())
        return "Stop the leak." if leaks else "Make the mask leak."

    def _real(self) -> NDArray[Any]:
        """Return which positions are no padding."""
        position = np.arange(_SIZE)
        return position >= _SIZE - self.valid_len if self.left else position < self.valid_len

    def _tables(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return mask (True = may attend), scores as filled, and weights."""
        allowed = np.broadcast_to(self._real(), (_SIZE, _SIZE))
        if self.causal:
            allowed = np.tril(allowed)
        allowed = allowed & (np.array(self.hidden) == 0)
        empty = ~allowed.any(axis=1, keepdims=True)
        scores = rounded(self.scores, self.dtype).astype(np.float64)
        if self.low:
            scores[_LOW_ROW] = rounded(scores[_LOW_ROW] + _LOW[self.dtype], self.dtype)
        fill = rounded(_FILLS[self.fill][0], self.dtype)
        if self.fill == "safe":
            fill = np.where(empty, 0.0, fill)
        filled = np.where(allowed, scores, fill)
        weights = rounded_softmax(filled, self.dtype).astype(np.float64)
        if self.fill == "safe":
            weights[~allowed] = 0.0
        return allowed, filled, weights

    def words(self) -> str:
        allowed, _, weights = self._tables()
        empty = ~allowed.any(axis=1)
        nan_cells, empty_rows = int(np.isnan(weights).sum()), int(empty.sum())
        leaking = ~allowed & (weights > 0)
        leak = weights[leaking].sum()
        missed = np.abs(weights[~empty].sum(axis=1) - 1).max(initial=0.0)
        number, fill = _FILLS[self.fill]
        said = []
        if np.isfinite(number) and not np.isfinite(rounded(number, self.dtype)):
            said.append(
                f"float16 ends at −65504: masked_fill raises; assigned, as here, {fill} becomes −∞."
            )
        if nan_cells:
            said.append(f"{nan_cells} weights are NaN: a row of −∞ alone has no softmax.")
        if allowed.all():
            said.append("Nothing is masked.")
        elif leak > 0:
            rows = leaking.any(axis=1)
            is_low = self.low & (np.arange(_SIZE) == _LOW_ROW)
            nearly = "" if number == 0 else "nearly "
            reasons = {
                f"e to the power of {fill} is {nearly}1": rows & ~empty & ~is_low,
                "the low row lies below the fill": rows & ~empty & is_low,
                "a row with nothing to attend to is shared out evenly among them": rows & empty,
            }
            why = "; ".join(reason for reason, where in reasons.items() if where.any())
            said.append(
                f"Masked keys get {fixed(leak)} of the weight of 5 rows: {why}. "
                "Yet all rows sum to 1, to rounding."
            )
        elif nan_cells == 0:
            rest = ", and rows with nothing to attend to are 0" if empty_rows else ""
            said.append(f"Masked keys get exactly 0{rest}.")
        elif empty_rows < _SIZE:
            said.append("In the other rows masked keys get exactly 0.")
        masks = f"{self.valid_len} of 5 keys valid, padding on the "
        masks += "left" if self.left else "right"
        masks += ", causal mask" if self.causal else ""
        masks += ", one row of very low scores" if self.low else ""
        return (
            f"5 queries, {masks}; fill {fill}, in {self.dtype}: leaked weight "
            f"{fixed(leak)}, NaN cells {nan_cells}, row sum error {fixed(missed)}, "
            f"empty rows {empty_rows}. {' '.join(said)}"
        )

    def picture(self) -> Markup:
        allowed, filled, weights = self._tables()
        largest = max(np.abs(self.scores).max(), 1e-3)
        shades = (filled / largest + 1) / 2
        tokens = [t if real else "–" for t, real in zip(_TOKENS, self._real(), strict=True)]
        wide, tall, top = 52, 40, 56
        parts = []
        for left, title, numbers, shares, stops in (
            (44, "scores, masked ones overwritten", filled, shades, SCORE_MAP),
            (368, "weights", weights, weights, None),
        ):
            parts.append(tag("text", title, x=left, y=22, fill=LIGHT["muted"]))
            for i, token in enumerate(tokens):
                across = {"x": left + (i + 0.5) * wide, "y": top - 10, "text_anchor": "middle"}
                down = {"x": left - 8, "y": top + (i + 0.5) * tall + 4, "text_anchor": "end"}
                parts.append(tag("text", token, **across, fill=LIGHT["key"]))
                parts.append(tag("text", token, **down, fill=LIGHT["query"], font_weight=600))
            for i, j in np.ndindex(_SIZE, _SIZE):
                x, y, number = left + j * wide, top + i * tall, float(numbers[i, j])
                edge = 0 if allowed[i, j] else 5
                inner = {"x": x + edge, "y": y + edge, "rx": 3}
                inner |= {"width": wide - 2 - 2 * edge, "height": tall - 2 - 2 * edge}
                place = {"x": x + wide / 2 - 1, "y": y + tall / 2 + 3}
                place |= {"text_anchor": "middle", "font_size": 11.5}
                color, halo = LIGHT["ink"], LIGHT["mask"]
                if edge:
                    size = {"width": wide - 2, "height": tall - 2, "rx": 3}
                    parts.append(tag("rect", x=x, y=y, **size, fill="url(#masked)"))
                if np.isnan(number):
                    parts.append(tag("rect", **inner, fill="url(#nan)"))
                    color, halo = LIGHT["paper"], LIGHT["nan"]
                elif not edge or (stops is None and number > 0):
                    ground = map_color(float(shares[i, j]), *([stops] if stops else []))
                    parts.append(tag("rect", **inner, fill=ground))
                    color, halo = readable_on(ground), ""
                around = {"stroke": halo, "stroke_width": 4, "paint_order": "stroke"}
                parts.append(
                    tag("text", _compact(number), **place, **(around if halo else {}), fill=color)
                )
        return svg(*parts, width=640, height=top + _SIZE * tall + 14)


def _compact(value: float) -> str:
    """Return a number in a few letters, as ``compact`` of ``mask_lab.js`` does."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if 0.001 <= abs(value) < 1000:
        return fixed(value)
    digits, power = f"{value:.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{int(power)}".replace("-", "−")
