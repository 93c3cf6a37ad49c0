"""Dtypes, shapes and errors of the page's torch."""

# Python's own, which torch's names and as_builtins replace elsewhere
Float, Int, Bool = float, int, bool


class dtype:
    def __init__(self, name, rank, size):
        self.name, self.itemsize = name, size
        self.is_floating_point, self.is_signed, self.is_complex = rank == 2, name != "uint8", False

    def __repr__(self):
        return "torch." + self.name


DTYPES = {}
for _name, _rank, _size, _letters in (
    ("bool", 0, 1, "Bool"), ("uint8", 1, 1, "Byte"), ("int8", 1, 1, "Char"),
    ("int16", 1, 2, "Short"), ("int32", 1, 4, "Int"), ("int64", 1, 8, "Long"),
    ("float32", 2, 4, "Float"), ("float64", 2, 8, "Double"),
):  # fmt: skip
    DTYPES[_name] = dtype(_name, _rank, _size)
    DTYPES[_name].rank, DTYPES[_name].letters = _rank, _letters
PYTHONS = {Int: DTYPES["int64"], Bool: DTYPES["bool"], Float: DTYPES["float64"]}


def dtype_of(kind):
    """Return a dtype, where one of Python's types may stand for it."""
    return PYTHONS.get(kind, kind)


# these have names only
float16, bfloat16 = dtype("float16", 2, 2), dtype("bfloat16", 2, 2)
complex64, complex128 = dtype("complex64", 3, 8), dtype("complex128", 3, 16)


class Size(tuple):
    def numel(self):
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self):
        return "torch.Size([" + ", ".join([str(size) for size in self]) + "])"

    def __str__(self):
        return repr(self)


class device:
    def __init__(self, name="cpu", index=None):
        if not str(name).startswith("cpu"):
            raise RuntimeError("this page computes on the CPU")
        self.type, self.index = "cpu", None

    def __repr__(self):
        return "device(type='cpu')"

    def __str__(self):
        return "cpu"

    def __eq__(self, other):
        return str(other) == "cpu"


CPU = device()


class TimeIsUp(BaseException):
    """Raised by an operation where the reader's code has run too long."""


ERRORS = {
    "TimeIsUp": TimeIsUp,
    "RuntimeError": RuntimeError,
    "IndexError": IndexError,
    "ValueError": ValueError,
    "TypeError": TypeError,
    "NotImplementedError": NotImplementedError,
    "MemoryError": MemoryError,
    "OverflowError": OverflowError,
}


def unknown(name):
    return AttributeError(
        "this page does not know " + name + ": it has a part of torch, and the notebook has it all"
    )
