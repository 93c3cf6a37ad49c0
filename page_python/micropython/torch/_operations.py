"""Operations by their signatures: the arguments go through the door, the results come back."""

from collections import namedtuple

import door

from torch._kinds import DTYPES, ERRORS, PYTHONS, Bool, Float, Int, dtype, unknown

_LARGE = 1 << 30  # larger ints would not reach JavaScript as numbers
watch = [None]  # called with the name of each function while an answer is watched
tensor_type = [None]  # Tensor, which is made of operations


def made(result, names=None):
    """Return what an operation gave to the door, or raise its error."""
    kind = type(result)
    if kind is Int:
        return tensor_type[0](result, True)
    if kind is str:
        return DTYPES.get(result, result)
    if kind is not _JsProxy:
        return result
    if hasattr(result, "error"):
        raise ERRORS[result.error](result.message)
    tensors = [tensor_type[0](number, True) for number in result]
    return names(*tensors) if names else tuple(tensors)


def js_array(items):
    """Return what JavaScript sees as an array."""
    if len(items) <= 64:
        return door.list(*items)
    array = door.list()
    for start in range(0, len(items), 64):
        array.push(*items[start : start + 64])
    return array


_JsProxy = type(door.list())


def kind_of(x):
    """Return what a number is to the door: b, i or f; an empty text for anything else."""
    kind = type(x)
    return "b" if kind is Bool else "i" if kind is Int else "f" if kind is Float else ""


def number(x):
    return Float(x) if type(x) is Int and not -_LARGE < x < _LARGE else x


def type_name(x):
    return "ellipsis" if x is ... else type(x).__name__


def _refused(name, parameter, wanted, x):
    return TypeError(
        "%s(): argument '%s' must be %s, not %s" % (name, parameter, wanted, type_name(x))
    )


def _is_tensor(x):
    return isinstance(x, tensor_type[0])


def _whole(name, parameter, x):
    if _is_tensor(x) and x.numel() == 1 and x.dtype.rank == 1:
        return x.item()
    if type(x) is not Int:
        raise _refused(name, parameter, "int", x)
    return x


def _tensor(name, parameter, x):
    if not _is_tensor(x):
        raise _refused(name, parameter, "Tensor", x)
    return x._n


def _wholes(name, parameter, x):
    items = x if isinstance(x, (tuple, list)) else (x,)
    return js_array([_whole(name, parameter, item) for item in items])


def _decimal(name, parameter, x):
    x = x.item() if _is_tensor(x) else 2 if x == "fro" else x
    if x is None or not kind_of(x):
        raise _refused(name, parameter, "Number", x)
    return Float(x)


def _boolean(name, parameter, x):
    if type(x) is not Bool:
        raise _refused(name, parameter, "bool", x)
    return x


def _dtype(name, parameter, x):
    if not isinstance(x, dtype):
        if x not in PYTHONS:
            raise _refused(name, parameter, "torch.dtype", x)
        x = PYTHONS[x]
    if x.name not in DTYPES:
        raise unknown(repr(x))
    return x.name


def _tensors(name, parameter, x):
    tensors = x.unbind(0) if _is_tensor(x) else x
    if not isinstance(tensors, (tuple, list)):
        raise _refused(name, parameter, "tuple of Tensors", x)
    for place, tensor in enumerate(tensors):
        if not _is_tensor(tensor):
            raise TypeError(
                "expected Tensor as element %d in argument 0, but got %s"
                % (place, type_name(tensor))
            )
    return js_array([tensor._n for tensor in tensors])


# by the kinds of a signature; capital letters take None as well
_CONVERT = {
    "t": _tensor, "i": _whole, "l": _wholes, "n": _decimal, "b": _boolean, "d": _dtype,
    "T": _tensors, "s": lambda name, parameter, x: x,
}  # fmt: skip


def _convert(raw, name, parameter, kind, x):
    """Append an argument as the door takes it: one thing, of an operand its kind and itself."""
    if kind in "oO":
        if _is_tensor(x):
            raw += ["t", x._n]
        elif x is None and kind == "O":
            raw += [None, None]
        elif kind_of(x):
            raw += [kind_of(x), number(x)]
        else:
            raise _refused(name, parameter, "Tensor or Number", x)
    elif x is None and kind in "ILNds":
        raw.append(None)
    else:
        raw.append(_CONVERT[kind if kind == "T" else kind.lower()](name, parameter, x))


_ALIASES = {"axis": "dim", "keepdims": "keepdim", "input": "x", "self": "x", "tensor": "x"}
_REQUIRED = object()  # the default of an argument that has none
SIGNATURES = {line.split(" ", 1)[0]: line for line in str(door.signatures).split("\n")}
OPERATIONS = {}


def _parameters(signature):
    names = None
    if " ->" in signature:
        signature, results = signature.split(" ->")
        names = results.split() and namedtuple(
            "torch.return_types." + signature.split(" ")[0].lstrip("_"), results.split()
        )
    parts = signature.split(" ")
    found = []
    for part in parts[1:]:
        given, equals, default = part.partition("=")
        parameter, kind = given.split(":")
        value = eval(default, {}) if equals else _REQUIRED
        found.append((parameter, kind, value))
    return found, names


def operation(name):
    """Return the function of an operation; None if there is none of this name."""
    if name in OPERATIONS:
        return OPERATIONS[name]
    if name not in SIGNATURES:
        return None
    parameters, names = _parameters(SIGNATURES[name])
    shown = name.lstrip("_")

    def function(*given, **named):
        if watch[0]:
            watch[0]("torch." + shown)
        for other in ("device", "requires_grad", "generator", "memory_format", "inplace"):
            if named.pop(other, None) and other == "requires_grad":
                raise unknown("gradients")
        raw, place = [], 0
        for parameter, kind, default in parameters:
            if place < len(given):
                value = given[place]
                place += 1
                if kind == "l" and type(value) is Int:
                    value = [value]
                    while place < len(given) and type(given[place]) is Int:
                        value.append(given[place])
                        place += 1
            elif parameter in named:
                value = named.pop(parameter)
            else:
                value = default
                for alias in named:
                    if _ALIASES.get(alias) == parameter:
                        value = named.pop(alias)
                        break
            if value is _REQUIRED:
                if kind == "l" and place == len(given):
                    value = ()
                else:
                    raise TypeError(
                        '%s() missing 1 required positional arguments: "%s"' % (shown, parameter)
                    )
            _convert(raw, shown, parameter, kind, value)
        if place < len(given):
            raise TypeError(
                "%s() takes %d positional arguments but %d were given"
                % (shown, len(parameters), len(given))
            )
        for rest in named:
            raise TypeError("%s() got an unexpected keyword argument '%s'" % (shown, rest))
        return made(door.call(name, *raw), names)

    OPERATIONS[name] = function
    return function
