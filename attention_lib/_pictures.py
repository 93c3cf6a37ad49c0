"""What still pictures and slider figures share: arrays out of anything, and the convex hull."""

from collections.abc import Iterable
from typing import Any

Point = tuple[float, float]


def plain(value: Any) -> Any:
    """Return a torch tensor, or those in a list, as numpy arrays; leave all else."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()  # numpy knows no gradient, no other device, and no bfloat16
    return (value.double() if value.is_floating_point() else value).numpy()


def convex_hull(points: Iterable[Iterable[float]]) -> list[Point]:
    """Return the corners of the convex hull of points in the plane (Andrew's monotone chain).

    They come in order; points on an edge are none.
    """
    ordered = sorted((float(x), float(y)) for x, y in points)

    def half(points: list[Point]) -> list[Point]:
        corners: list[Point] = []
        for point in points:
            while len(corners) > 1 and not _turns_left(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return half(ordered) + half(ordered[::-1]) or ordered[:1]


def _turns_left(first: Point, second: Point, third: Point) -> bool:
    (x1, y1), (x2, y2), (x3, y3) = first, second, third
    return (x2 - x1) * (y3 - y1) > (y2 - y1) * (x3 - x1)
