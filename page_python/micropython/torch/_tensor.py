"""The tensor, which Python knows by a number, and what Python asks of it."""

from array import array

import door
from uctypes import addressof

from torch._kinds import DTYPES, PYTHONS, Bool, Float, Int, Size, dtype_of, unknown
from torch._kinds import dtype as dtype_type
from torch._operations import (
    SIGNATURES,
    js_array,
    kind_of,
    made,
    number,
    operation,
    tensor_type,
    type_name,
    watch,
)


def in_place(x, result):
    made(door.call("_in_place", x._n, "t", result._n))
    return x


class Tensor:
    def __init__(self, data=(), is_number=False):
        if not is_number:  # as readers call it
            if type(data) is Int:
                raise unknown("torch.Tensor of a size")
            data = tensor(data, DTYPES["float32"])._n
        self._n = data

    def __getattr__(self, name):
        if name == "shape":
            self.shape = Size(door.shape(self._n))
            return self.shape
        if name == "dtype":
            self.dtype = DTYPES[door.dtype(self._n)]
            return self.dtype
        if name == "_strides":
            return tuple(door.strides(self._n))
        if name in PROPERTIES:
            if watch[0]:
                watch[0]("torch." + name)
            return PROPERTIES[name](self)
        if watch[0] and name in METHODS:
            watch[0]("torch." + name)
            if name in ("tolist", "numpy") and self.dtype.rank == 2:
                watch[0]("left." + name)
        function = METHODS.get(name) or (None if name in FUNCTIONS_ONLY else operation(name))
        if function:
            return lambda *given, **named: function(self, *given, **named)
        if name.endswith("_") and not name.startswith("_") and name[:-1] not in RESHAPING:
            function = METHODS.get(name[:-1]) or operation(name[:-1])
            if function:
                return lambda *given, **named: in_place(self, function(self, *given, **named))
        raise unknown_name("Tensor.", name)

    def __repr__(self):
        return str(door.text(self._n))

    def __str__(self):
        return str(door.text(self._n))

    def __hash__(self):
        return id(self)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self):
        count = self.numel()
        if count != 1:
            raise RuntimeError(
                "Boolean value of Tensor with "
                + ("no values" if count == 0 else "more than one value")
                + " is ambiguous"
            )
        return self.item() != 0

    def __int__(self):
        return Int(self.item())

    def __contains__(self, x):
        return Bool((self == x).any())

    def __neg__(self):
        return made(door.call("neg", self._n))

    def __pos__(self):
        return self

    def __abs__(self):
        return made(door.call("abs", self._n))

    def __invert__(self):
        return made(door.call("bitwise_not", self._n))

    def __matmul__(self, other):
        if not isinstance(other, Tensor):
            raise TypeError(
                "unsupported operand type(s) for @: 'Tensor' and '%s'" % type_name(other)
            )
        if watch[0]:
            watch[0]("torch.matmul")
        return made(door.call("matmul", self._n, other._n))

    def __rmatmul__(self, other):
        raise TypeError("unsupported operand type(s) for @: '%s' and 'Tensor'" % type_name(other))

    def __getitem__(self, index):
        return made(door.getItem(self._n, _index(index)))

    def __setitem__(self, index, value):
        kind = "t" if isinstance(value, Tensor) else kind_of(value)
        if not kind:
            raise TypeError("can't assign a %s to a torch.FloatTensor" % type_name(value))
        held = value._n if kind == "t" else number(value)
        made(door.setItem(self._n, _index(index), kind, held))


tensor_type[0] = Tensor


def unknown_name(before, name):
    """Return the error of a name that is not known, with a known one that is a slip away."""
    for other in list(METHODS) + list(PROPERTIES) + list(SIGNATURES):
        if other[0] != "_" and name[-1] != "_" and _is_slip(name, other):
            return AttributeError(
                "this page does not know %s%s; did you mean `%s`?" % (before, name, other)
            )
    return unknown(before + name)


def _is_slip(name, other):
    """Whether one letter was changed, added or left out, or two were swapped."""
    longer = max(len(name), len(other))
    if len(name) < 4 or longer - min(len(name), len(other)) > 1:
        return False
    begin = end = 0
    while begin < longer - 1 and name[begin : begin + 1] == other[begin : begin + 1]:
        begin += 1
    while end < longer - 1 and name[len(name) - 1 - end] == other[len(other) - 1 - end]:
        end += 1
        if end >= min(len(name), len(other)):
            break
    same = begin + end
    return same >= longer - 1 or (same == longer - 2 and sorted(name) == sorted(other))


RESHAPING = ("unsqueeze", "squeeze", "t", "transpose", "swapaxes", "swapdims")
METHODS, PROPERTIES, FUNCTIONS_ONLY = {}, {}, []  # _methods.py fills them


def _index(index):
    return js_array([_index_part(part) for part in (index if type(index) is tuple else (index,))])


def _index_part(part):
    if part is None or type(part) is Int:
        return part
    if part is ...:
        return door.rest()
    if isinstance(part, Tensor):
        if not part.shape and part.dtype.rank == 1:
            return part.item()
        return door.picked(part._n)
    if type(part) is Bool:
        raise unknown("indexing by True or False")
    if isinstance(part, (list, tuple, range)):
        return door.picked(tensor(list(part), dtype=None if part else DTYPES["int64"])._n)
    if hasattr(part, "start"):
        return door.slice(
            *[None if at is None else Int(at) for at in (part.start, part.stop, part.step)]
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        "indices (got %s)" % type_name(part)
    )


def _operator(name, sign, swapped):
    def apply(self, other):
        if isinstance(other, Tensor):
            kind, value = "t", other._n
        else:
            kind, value = kind_of(other), other
            if not kind:
                if name in ("eq", "ne"):
                    return name == "ne"
                left, right = "Tensor", type_name(other)
                if swapped:
                    left, right = right, left
                raise TypeError(
                    "unsupported operand type(s) for %s: '%s' and '%s'" % (sign, left, right)
                )
            value = number(value)
        if swapped:
            return made(door.call(name, kind, value, "t", self._n))
        return made(door.call(name, "t", self._n, kind, value))

    return apply


def _augmented(operator):
    return lambda self, other: in_place(self, operator(self, other))


for _dunder, _name, _sign in (
    ("add", "add", "+"), ("sub", "sub", "-"), ("mul", "mul", "*"), ("truediv", "div", "/"),
    ("floordiv", "floor_divide", "//"), ("mod", "remainder", "%"), ("pow", "pow", "** or pow()"),
    ("and", "bitwise_and", "&"), ("or", "bitwise_or", "|"), ("xor", "bitwise_xor", "^"),
    ("lshift", "bitwise_left_shift", "<<"), ("rshift", "bitwise_right_shift", ">>"),
):  # fmt: skip
    _apply = _operator(_name, _sign, False)
    setattr(Tensor, "__%s__" % _dunder, _apply)
    setattr(Tensor, "__r%s__" % _dunder, _operator(_name, _sign, True))
    setattr(Tensor, "__i%s__" % _dunder, _augmented(_apply))
for _name, _sign in (
    ("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
):  # fmt: skip
    setattr(Tensor, "__%s__" % _name, _operator(_name, _sign, False))


def _numbers(x):
    """Return a tensor's numbers as a flat list of Python's."""
    count = x.numel()
    held = array("d", bytes(8 * max(count, 1)))
    door.write(x._n, addressof(held))
    cast = (Bool, Int, Float)[x.dtype.rank]
    return [cast(held[i]) for i in range(count)]


def item(x):
    if x.numel() != 1:
        raise RuntimeError("a Tensor with %d elements cannot be converted to Scalar" % x.numel())
    return _numbers(x)[0]


def tolist(x):
    numbers = _numbers(x)
    if not x.shape:
        return numbers[0]
    for axis in range(len(x.shape) - 1, 0, -1):
        size, count = x.shape[axis], Size(x.shape[:axis]).numel()
        numbers = [numbers[i * size : (i + 1) * size] for i in range(count)]
    return numbers


def _flattened(data, shape, depth, into):
    """Append the numbers of nested lists to one list, and check that they make a block."""
    if isinstance(data, Tensor):
        data = data.tolist()
    if not isinstance(data, (list, tuple, range)):
        if depth != len(shape):
            raise TypeError("not a sequence")
        if not kind_of(data):
            raise TypeError("must be real number, not %s" % type_name(data))
        into.append(data)
        return
    if depth == len(shape):
        raise ValueError("too many dimensions")
    if len(data) != shape[depth]:
        raise ValueError(
            "expected sequence of length %d at dim %d (got %d)" % (shape[depth], depth, len(data))
        )
    for item in data:
        _flattened(item, shape, depth + 1, into)


def tensor(data, dtype=None, device=None, requires_grad=False):
    if requires_grad:
        raise unknown("gradients")
    if isinstance(data, Tensor):
        return data.clone() if dtype is None else data.clone().to(dtype)
    dtype = dtype_of(dtype)
    shape, inner = [], data
    while isinstance(inner, (list, tuple, range, Tensor)):
        if isinstance(inner, Tensor):
            shape += list(inner.shape)
            break
        shape.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    into = []
    _flattened(data, shape, 0, into)
    if dtype is None:
        kinds = [kind_of(x) for x in into]
        dtype = DTYPES["float32"]
        if kinds and "f" not in kinds:
            dtype = DTYPES["int64" if "i" in kinds else "bool"]
    held = array("d", [Float(x) for x in into] or [0.0])
    kind = dtype.name
    if dtype.rank == 1:
        held = array("d", [Float(Int(x)) for x in into] or [0.0])
    return made(door.tensor(addressof(held), len(into), js_array(shape), kind))


def as_tensor(data, dtype=None, device=None):
    dtype = dtype_of(dtype)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    return tensor(data, dtype)


def to(x, *given, dtype=None, device=None, copy=False, non_blocking=False):
    for what in given:
        if isinstance(what, Tensor):
            dtype = what.dtype
        elif isinstance(what, dtype_type) or what in PYTHONS:
            dtype = what
        elif isinstance(what, str) and what != "cpu":
            raise RuntimeError("this page computes on the CPU")
    dtype = dtype_of(dtype)
    result = x if dtype is None else operation("_cast")(x, dtype)
    return result.clone() if copy and result._n == x._n else result


def cast_to(kind):
    return lambda x: x if x.dtype is kind else operation("_cast")(x, kind)
