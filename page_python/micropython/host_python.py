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


def py_formatted(value, spec=""):
    value = _plain(value)
    if not spec:
        return str(value)
    if isinstance(value, (int, float)) and spec[-1] in "gef":
        width, dot, digits = spec[:-1].partition(".")
        if (digits.isdigit() or not dot) and (not width or (width.isdigit() and width[0] != "0")):
            text = host.formatted(value, dot + digits + spec[-1])
            return " " * (int(width or 0) - len(text)) + text
    return ("{:" + spec + "}").format(value)


def _plain(value):
    """A tensor of one number, without axes, as the number that formats write."""
    return value.item() if hasattr(value, "item") and not value.shape else value


def py_format(text, *given, **named):
    given = [_plain(value) for value in given]
    return text.format(*given, **{name: _plain(named[name]) for name in named})


class py_percent:
    """A text before ``%``."""

    def __init__(self, text):
        self.text = text

    def __mod__(self, values):
        if isinstance(values, tuple):
            return self.text % tuple([_plain(value) for value in values])
        return self.text % _plain(values)


class py_dict(OrderedDict):
    """A dictionary as readers write it: it keeps its order."""

    def __init__(self, *pairs):
        super().__init__(pairs)

    def __repr__(self):
        return "{" + ", ".join([repr(key) + ": " + repr(self[key]) for key in self]) + "}"


def py_pairs(mapping):
    return list(mapping.items())


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
    keys = [k.item() if hasattr(k, "item") else k for k in keys]  # tensors of one number
    sign = -1 if reverse else 1
    order = _sorted([(k, sign * i) for i, k in enumerate(keys)], reverse=reverse)
    return [items[sign * place] for _, place in order]


builtins.sorted = stable_sorted
