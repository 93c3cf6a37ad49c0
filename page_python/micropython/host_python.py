"""What translated modules need of Python that MicroPython does not have."""

import builtins
from collections import OrderedDict

import host


def py_joined(*parts):
    result = []
    for part in parts:
        result.extend(part)
    return result


def py_ordered(*parts):
    """Return a dictionary that keeps its order, made of pairs and of other dictionaries."""
    result = OrderedDict()
    for part in parts:
        if isinstance(part, dict):
            for key in part:
                result[key] = part[key]
        else:
            result[part[0]] = part[1]
    return result


def py_from_keys(keys):
    return OrderedDict([(key, None) for key in keys])


def py_text(*parts):
    return "".join([str(part) for part in parts])


def py_formatted(value, spec):
    if isinstance(value, (int, float)) and spec and spec[-1] in "gef":
        return host.formatted(value, spec)
    return ("{:" + spec + "}").format(value)


def py_removeprefix(whole, part):
    return whole[len(part) :] if part and whole.startswith(part) else whole


def py_removesuffix(whole, part):
    return whole[: -len(part)] if part and whole.endswith(part) else whole


def combinations(items, count):
    """Yield the pairs, in the order of Python's itertools."""
    items = list(items)
    for i, one in enumerate(items):
        for other in items[i + 1 :]:
            yield one, other


_sorted = builtins.sorted


def stable_sorted(items, key=None, reverse=False):
    """Sort as Python does: what is equal keeps its order."""
    items = list(items)
    keys = [(item if key is None else key(item)) for item in items]
    sign = -1 if reverse else 1
    order = _sorted([(k, sign * i) for i, k in enumerate(keys)], reverse=reverse)
    return [items[sign * place] for _, place in order]


builtins.sorted = stable_sorted
