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

# The one tolerance of all pictures: those that nbval compares, and screenshots.
REACH, LEVELS, WINDOW, MARGIN = 2, 4, 12, 4  # pixels, levels of 256, pixels, pixels
TENTH = 0.1  # points


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
    if svgs and len({drawn_by(png) for png in pngs}) < 2 and not same_drawing(*svgs):
        return False
    return not pngs or same_picture(*pngs)


def drawn_by(png):
    return Image.open(io.BytesIO(png)).info.get("Software")


def encode(png):
    return base64.b64encode(png).decode()


def bare_png(png):
    """A PNG without comments: only what is to be seen, how large, and what drew it."""
    chunks, start = [png[:8]], 8
    while start < len(png):
        length, name = struct.unpack(">I4s", png[start : start + 8])
        chunk = png[start : start + length + 12]
        software = name == b"tEXt" and chunk[8:].startswith(b"Software\0")
        if name[:1].isupper() or name in (b"tRNS", b"pHYs") or software:
            chunks.append(chunk)
        start += length + 12
    return b"".join(chunks)


def same_picture(stored, fresh):
    """Whether two PNGs show the same: pictures of matplotlib or screenshots of a browser.

    A pixel agrees if its colour lies, within LEVELS of 256, between the extremes of the other
    picture within REACH pixels: plain areas are held to a step of a colour map, edges may move.
    Both ways, at most a quarter of any WINDOW may disagree. Where sizes differ by up to MARGIN
    pixels, the best of all positions counts.

    So two rasterisers, which draw each letter a little differently, still draw the same picture:
    matplotlib 3.10 and 3.11 (FreeType 2.6 and 2.14) disagree in at most 25 pixels of 144 where they
    lay out alike. A curve moved by 3 pixels gives 52, a heatmap's cell off by 0.025 144. One letter
    in place of another goes unnoticed here; :func:`same_drawing` sees it.
    """
    if stored == fresh:
        return True
    a, b = (Image.open(io.BytesIO(png)).convert("RGB") for png in (stored, fresh))
    if max(abs(a.width - b.width), abs(a.height - b.height)) > MARGIN:
        return False
    if a.size != b.size:
        moves = product(range(-MARGIN, MARGIN + 1), repeat=2)
        a, b = min((overlap(a, b, *move) for move in moves), key=distance)
    return worst_window(a, b) <= WINDOW**2 // 4


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


def worst_window(a, b):
    """The most pixels in any window that disagree with the other picture."""
    differing = ImageChops.difference(a, b).point(lambda level: 255 * (level > LEVELS)).getbbox()
    if differing is None:
        return 0
    left, top, right, bottom = differing
    box = (
        *(max(left - REACH, 0), max(top - REACH, 0)),
        *(min(right + REACH, a.width), min(bottom + REACH, a.height)),
    )
    a, b = a.crop(box), b.crop(box)

    def outside(a, b):
        low, high = (
            np.asarray(b.filter(extreme(2 * REACH + 1)), dtype=int)
            for extreme in (ImageFilter.MinFilter, ImageFilter.MaxFilter)
        )
        colours = np.asarray(a, dtype=int)
        return ((colours < low - LEVELS) | (colours > high + LEVELS)).any(axis=-1)

    disagree = outside(a, b) | outside(b, a)
    sums = np.pad(disagree.astype(int), WINDOW).cumsum(0).cumsum(1)  # also windows over the edge
    inside = sums[WINDOW:, WINDOW:] - sums[:-WINDOW, WINDOW:]
    return int((inside - sums[WINDOW:, :-WINDOW] + sums[:-WINDOW, :-WINDOW]).max())


def same_drawing(stored, fresh):
    """Whether two SVGs show the same.

    Their text is the same, letter by letter, but for the names that parts of a drawing give each
    other; numbers in tags may differ by a TENTH of a point, which no eye sees, and processors'
    rounding stays far below; pixels of the pictures inside, one a cell of a heatmap, by LEVELS.
    """
    if stored == fresh:
        return True
    pairs = [parts(svg) for svg in (stored, fresh)]
    (words, numbers, pngs), (other_words, other_numbers, other_pngs) = pairs
    return (
        words == other_words
        and all(
            abs(float(a) - float(b)) < TENTH for a, b in zip(numbers, other_numbers, strict=True)
        )
        and all(map(same_pixels, pngs, other_pngs))
    )


def same_pixels(*pngs):
    a, b = (np.asarray(Image.open(io.BytesIO(png)).convert("RGBA"), dtype=int) for png in pngs)
    return a.shape == b.shape and abs(a - b).max() <= LEVELS


def parts(svg):
    """The words of an SVG, names made ordinals; the numbers in its tags; its PNGs."""
    names = {}
    text = NAME.sub(lambda f: f"{f[1]}{names.setdefault(f[2], len(names))}", HIDDEN.sub("", svg))
    pngs = [base64.b64decode(png) for png in INSIDE.findall(text)]
    text = INSIDE.sub("", text)
    numbers = [number for tag in TAG.findall(text) for number in NUMBER.findall(tag)]
    return TAG.sub(lambda tag: NUMBER.sub("0", tag[0]), text), numbers, pngs
