"""The colours, the same in every picture: plain constants, for ``plots`` and for figures.

Queries, keys, values and output have each their colour wherever they appear, and so have the
weights (bars, curves, arrows). ``LIGHT`` and ``DARK`` map the same names to colours for a light
and for a dark ground:

==============================  ==================================================================
``paper``, ``surface``          the ground, and a slightly raised patch of it
``ink``, ``muted``              text and axes, secondary text
``grid``                        hairlines that may be overlooked (the one colour without contrast)
``accent``                      controls, focus rings, reference lines
``query``, ``key``, ``value``,  the roles; readable as text, told apart by colour-blind readers
``output``, ``weight``
``minus``, ``plus``             a number below and above zero, where its size is not in the colour
``mask``, ``mask_line``         the fill and the hatching of what may not be attended to
``nan``                         what is not a number; drawn with crosses, so not by colour alone
``series_1`` … ``series_4``     curves of several runs or settings, in order
==============================  ==================================================================

``WEIGHT_MAP`` runs from weight 0 to weight 1, ``SCORE_MAP`` from the lowest over 0 to the
highest score or other number that has a sign: evenly spaced colours, to be joined by straight
lines in sRGB, so that matplotlib and JavaScript paint the same. The first samples matplotlib's
*viridis* (van der Walt, Smith 2015), whose lightness rises evenly from end to end. The second
runs from grey to green, two colours that no role has, and colour-blind readers can tell them
apart; ``SCORE_MAP_IN_THE_DARK`` is its twin for a dark ground.
"""

__all__ = [
    "DARK",
    "LIGHT",
    "SCORE_MAP",
    "SCORE_MAP_IN_THE_DARK",
    "WEIGHT_MAP",
    "contrast",
    "readable_on",
]

LIGHT = {
    "paper": "#faf9f6",
    "surface": "#f1efea",
    "ink": "#1d2129",
    "muted": "#5d646f",
    "grid": "#dedcd6",
    "accent": "#44546a",
    "query": "#104a86",
    "key": "#a9610a",
    "value": "#8a1f48",
    "output": "#7d4de8",
    "weight": "#0a7a70",
    "minus": "#7f6e7d",
    "plus": "#639513",
    "mask": "#e4e3df",
    "mask_line": "#83868b",
    "nan": "#c8102e",
    "series_1": "#440154",
    "series_2": "#3e4989",
    "series_3": "#2a788e",
    "series_4": "#1fa188",
}

DARK = {
    "paper": "#1b1d22",
    "surface": "#262930",
    "ink": "#e8e9ec",
    "muted": "#a4abb6",
    "grid": "#3b3f48",
    "accent": "#a9bcd6",
    "query": "#559af8",
    "key": "#f5a81c",
    "value": "#ff5589",
    "output": "#dcc2ff",
    "weight": "#8ff0cf",
    "minus": "#a18f9e",
    "plus": "#9acf44",
    "mask": "#34373e",
    "mask_line": "#80868f",
    "nan": "#e5242e",
    "series_1": "#765ad0",
    "series_2": "#2f94ac",
    "series_3": "#57c988",
    "series_4": "#fff5c2",
}

WEIGHT_MAP = (
    *("#440154", "#471365", "#482475", "#463480", "#414487", "#3b528b", "#355f8d"),
    *("#2f6c8e", "#2a788e", "#25848e", "#21918c", "#1e9c89", "#22a884", "#2fb47c"),
    *("#44bf70", "#5ec962", "#7ad151", "#9bd93c", "#bddf26", "#dfe318", "#fde725"),
)

SCORE_MAP = (
    *("#2a2029", "#3e323d", "#534552", "#695867", "#7f6e7d", "#958493", "#ab9ba9"),
    *("#c0b3be", "#d6ccd5", "#ebe6eb", "#f7f7f6", "#e9f4d3", "#cce2a4", "#aed175"),
    *("#91be4e", "#78aa2b", "#639513", "#517f0e", "#426a0a", "#33550c", "#254104"),
)

# On a dark page: zero is the least bright.
SCORE_MAP_IN_THE_DARK = (
    *("#eee4ed", "#c8b8c6", "#a18f9e", "#796877", "#4f444d", "#25272d", "#364927"),
    *("#52752c", "#73a434", "#9acf44", "#c6f563"),
)


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2.2 defines it.

    Parameters
    ----------
    first, second : str
        Colours as ``#rrggbb``.

    Returns
    -------
    float
        At least 4.5 between a text and its ground.

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def readable_on(ground: str) -> str:
    """Return which of black and white stands out better on a colour: 4.5 to 1 on every one.

    Parameters
    ----------
    ground : str
        A colour as ``#rrggbb``, such as one of a map.

    Examples
    --------
    >>> readable_on(WEIGHT_MAP[0]), readable_on(WEIGHT_MAP[10]), readable_on(WEIGHT_MAP[-1])
    ('#ffffff', '#000000', '#000000')
    """
    return max(("#000000", "#ffffff"), key=lambda color: contrast(color, ground))


def _require_color(color: object) -> None:
    digits = {*"0123456789abcdefABCDEF"}
    if not (
        isinstance(color, str) and len(color) == 7 and color[0] == "#" and {*color[1:]} <= digits
    ):
        raise ValueError(f"color: expected #rrggbb, got {color!r}")


def _luminance(color: str) -> float:
    _require_color(color)
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
