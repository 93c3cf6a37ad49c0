"""Pictures in notebooks: without what is not to be seen; whether two show the same."""

import base64
import io
import re
import struct
from itertools import product

import numpy as np
from PIL import Image, ImageChops, ImageFilter, ImageStat

PNG, SVG = KINDS = ("image/png", "image/svg+xml")
HIDDEN = re.compile(r"<metadata>.*?</metadata>\s*|<!--.*?-->\s*", re.DOTALL)
NAME = re.compile(r'(\bid="|href="#|url\(#)([^")]+)')
INSIDE = re.compile(r"data:image/png;base64,([^\"]+)")
TAG = re.compile("<[^>]*>")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def bare(data):
    """A bundle of an output's data, by kind, with its pictures bare."""
    if PNG in data:
        data = data | {PNG: encode(bare_png(base64.b64decode(data[PNG])))}
    if SVG in data:
        data = data | {SVG: HIDDEN.sub("", "".join(data[SVG]))}  # matplotlib's date and version
    return data


def same_shown(stored, fresh):
    """Whether two bundles of data show the same picture in each kind that they have.

    Another matplotlib gives letters other widths, and so everything other places: of what two of
    them drew the PNGs decide.
    """
    if {*KINDS} & {*stored} != {*KINDS} & {*fresh}:
        return False
    pngs = [base64.b64decode(data[PNG]) for data in (stored, fresh) if PNG in data]
    svgs = ["".join(data[SVG]) for data in (stored, fresh) if SVG in data]
    if pngs and len({drawn_by(png) for png in pngs}) > 1:
        return same_picture(*pngs)
    return (not pngs or same_picture(*pngs)) and (not svgs or same_drawing(*svgs))


def drawn_by(png):
    return Image.open(io.BytesIO(png)).info.get("Software")


def encode(png):
    return base64.b64encode(png).decode()


def bare_png(png):
    """A PNG without comments: only what is to be seen, how large, and what drew it."""
    kept, at = [png[:8]], 8
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        chunk = png[at : at + length + 12]
        software = name == b"tEXt" and chunk[8:].startswith(b"Software\0")
        if name[:1].isupper() or name in (b"tRNS", b"pHYs") or software:
            kept.append(chunk)
        at += length + 12
    return b"".join(kept)


def same_picture(stored, fresh):
    """Whether two PNGs show the same.

    A pixel agrees if its colour lies between the extremes of the other picture within ``reach``
    pixels, give or take some of 256 levels: plain areas are held to ``levels``, edges may move by
    ``reach``. Both ways, no window of 12 x 12 pixels may hold more than ``bound`` others.

    The same matplotlib (each PNG names its own) draws the same letters; only a processor's rounding
    of an edge or of a colour may differ: 1 pixel, 4 levels (a step of a colour map), a bound of 2.
    One changed letter of a title gives 9, a changed digit 12, a heatmap's cell off by 0.025 144.

    Another matplotlib brings another rasteriser, which draws every letter a little differently and
    by the letters' widths sets margins and size: 2 pixels, 8 levels, a quarter of the window, and
    the best of all positions where sizes differ by up to 4. Matplotlib 3.10 against 3.11 (FreeType
    2.6 against 2.14) gives at most 29; a curve moved by 3 pixels 73, a heatmap's cell off by 0.04
    144. One letter in place of another goes unnoticed here.
    """
    if stored == fresh:
        return True
    a, b = (Image.open(io.BytesIO(png)).convert("RGB") for png in (stored, fresh))
    same_letters = drawn_by(stored) == drawn_by(fresh)
    if a.size != b.size:
        if same_letters or max(abs(a.width - b.width), abs(a.height - b.height)) > 4:
            return False
        a, b = min((overlap(a, b, *move) for move in product(range(-4, 5), repeat=2)), key=distance)
    reach, levels, bound = (1, 4, 2) if same_letters else (2, 8, 36)
    return worst_window(a, b, reach, levels) <= bound


def overlap(a, b, right, down):
    """What two pictures have in common when the second is moved."""
    left, top = max(right, 0), max(down, 0)
    width = min(a.width - left, b.width - max(-right, 0))
    height = min(a.height - top, b.height - max(-down, 0))
    first = a.crop((left, top, left + width, top + height))
    left, top = max(-right, 0), max(-down, 0)
    return first, b.crop((left, top, left + width, top + height))


def distance(pair):
    return np.mean(ImageStat.Stat(ImageChops.difference(*pair)).mean)


def worst_window(a, b, reach, levels, window=12):
    """The most pixels in any window that disagree with the other picture."""

    def outside(a, b):
        low, high = (
            np.asarray(b.filter(extreme(2 * reach + 1)), dtype=int)
            for extreme in (ImageFilter.MinFilter, ImageFilter.MaxFilter)
        )
        colours = np.asarray(a, dtype=int)
        return ((colours < low - levels) | (colours > high + levels)).any(axis=-1)

    disagree = outside(a, b) | outside(b, a)
    sums = np.pad(disagree.astype(int), window).cumsum(0).cumsum(1)  # also windows over the edge
    inside = sums[window:, window:] - sums[:-window, window:]
    return int((inside - sums[window:, :-window] + sums[:-window, :-window]).max())


def same_drawing(stored, fresh):
    """Whether two SVGs show the same.

    Their text is the same, letter by letter, but for the names that parts of a drawing give each
    other; numbers in tags may differ by a hundredth (of a point), as processors round; pictures
    inside are held to what :func:`same_picture` says.
    """
    if stored == fresh:
        return True
    pairs = [parts(svg) for svg in (stored, fresh)]
    (words, numbers, pngs), (other_words, other_numbers, other_pngs) = pairs
    return (
        words == other_words
        and all(map(nearly, numbers, other_numbers))
        and all(map(same_picture, pngs, other_pngs))
    )


def parts(svg):
    """The words of an SVG, names made ordinals; the numbers in its tags; its PNGs."""
    names = {}
    text = NAME.sub(lambda f: f"{f[1]}{names.setdefault(f[2], len(names))}", HIDDEN.sub("", svg))
    pngs = [base64.b64decode(png) for png in INSIDE.findall(text)]
    text = INSIDE.sub("", text)
    numbers = [number for tag in TAG.findall(text) for number in NUMBER.findall(tag)]
    return TAG.sub(lambda tag: NUMBER.sub("0", tag[0]), text), numbers, pngs


def nearly(a, b):
    return a == b or abs(float(a) - float(b)) < 0.015  # two neighbours among hundredths
