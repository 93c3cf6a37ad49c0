"""Methods of tensors that are more than one operation."""

from torch._kinds import CPU, DTYPES, Bool, Int, unknown
from torch._operations import SIGNATURES, operation
from torch._tensor import (
    FUNCTIONS_ONLY,
    METHODS,
    PROPERTIES,
    Tensor,
    cast_to,
    item,
    tensor,
    to,
    tolist,
)


def _best(lowest):
    name, join = ("_min", "minimum") if lowest else ("_max", "maximum")
    whole = "amin" if lowest else "amax"

    def function(x, dim=None, keepdim=False, other=None, axis=None, keepdims=False):
        dim = axis if dim is None else dim
        if isinstance(dim, Tensor) or other is not None:
            return operation(join)(x, dim if other is None else other)
        if dim is None:
            if x.numel() == 0:
                raise RuntimeError(
                    "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                    "the reduction dim with the 'dim' argument." % name[1:]
                )
            return operation(whole)(x)
        return operation(name)(x, dim, keepdim or keepdims)

    return function


def _median(x, dim=None, keepdim=False):
    if dim is not None:
        raise unknown("the median along an axis")
    return operation("median")(x)


def _split(x, size, dim=0):
    name = "_split_sizes" if isinstance(size, (list, tuple)) else "_split"
    return operation(name)(x, size, dim)


def _spread(name):
    def function(
        x, dim=None, unbiased=True, keepdim=False, correction=None, axis=None, keepdims=False
    ):
        if type(dim) is Bool:
            dim, unbiased = None, dim
        count = Int(unbiased) if correction is None else correction
        return operation(name)(x, axis if dim is None else dim, count, keepdim or keepdims)

    return function


def where_(condition, x=None, y=None):
    if x is None:
        return condition.nonzero(as_tuple=True)
    return operation("where")(condition, x, y)


def _nonzero(x, as_tuple=False):
    found = operation("nonzero")(x)
    return found.unbind(1) if as_tuple else found


def _size(x, dim=None):
    if dim is None:
        return x.shape
    if not -len(x.shape) <= dim < len(x.shape):
        raise IndexError(
            "Dimension out of range (expected to be in range of [%d, %d], but got %d)"
            % (-len(x.shape), len(x.shape) - 1, dim)
        )
    return x.shape[dim]


def _div(x, other, rounding_mode=None):
    if rounding_mode is None:
        return operation("div")(x, other)
    if rounding_mode == "floor":
        return operation("floor_divide")(x, other)
    quotient = operation("div")(x, other).trunc()
    return quotient.to(operation("_result_type")(x, other))


def _add(name):
    def function(x, other, alpha=1):
        return operation(name)(x, other if alpha == 1 else alpha * other)

    return function


def _scatter(x, dim, index, src=None, value=None, reduce=None):
    if reduce is not None:
        raise unknown("scatter with reduce")
    return operation("scatter")(x, dim, index, value if src is None else src)


def _moved(x, source, destination):
    if type(source) is Int and type(destination) is Int:
        source, destination = (source,), (destination,)
    if type(source) is Int or type(destination) is Int:
        raise TypeError("movedim() takes two ints, or two tuples of ints")
    return operation("_movedim")(x, source, destination)


def _fill_diagonal(x, fill_value, wrap=False):
    if wrap:
        raise unknown("fill_diagonal_ with wrap")
    sizes = x.shape
    if len(sizes) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(sizes) > 2 and min(sizes) < max(sizes):
        raise RuntimeError("all dimensions of input must be of equal length")
    for place in range(min(sizes)):
        x[(place,) * len(sizes)] = fill_value
    return x


def _new(name):
    def function(x, *given, dtype=None, device=None):
        return operation(name)(*given, dtype=dtype or x.dtype)

    return function


def unknown_use(name):
    def function(*given, **named):
        raise unknown(name)

    return function


PROPERTIES.update(
    {
        "mT": lambda x: operation("_mT")(x),
        "T": lambda x: operation("_T")(x),
        "H": lambda x: operation("t")(x),
        "ndim": lambda x: len(x.shape),
        "device": lambda x: CPU,
        "data": lambda x: x,
        "requires_grad": lambda x: False,
        "grad": lambda x: None,
        "is_cuda": lambda x: False,
        "itemsize": lambda x: x.dtype.itemsize,
        "nbytes": lambda x: x.numel() * x.dtype.itemsize,
    }
)
METHODS.update(
    {
        "item": item,
        "tolist": tolist,
        "dim": lambda x: len(x.shape),
        "ndimension": lambda x: len(x.shape),
        "numel": lambda x: x.shape.numel(),
        "nelement": lambda x: x.shape.numel(),
        "size": _size,
        "stride": lambda x, dim=None: x._strides if dim is None else x._strides[dim],
        "element_size": lambda x: x.dtype.itemsize,
        "is_floating_point": lambda x: x.dtype.rank == 2,
        "is_complex": lambda x: False,
        "to": to,
        "type_as": lambda x, other: x.to(other.dtype),
        "type": lambda x, kind=None: (
            "torch." + x.dtype.letters + "Tensor" if kind is None else x.to(kind)
        ),
        "float": cast_to(DTYPES["float32"]),
        "double": cast_to(DTYPES["float64"]),
        "int": cast_to(DTYPES["int32"]),
        "long": cast_to(DTYPES["int64"]),
        "short": cast_to(DTYPES["int16"]),
        "bool": cast_to(DTYPES["bool"]),
        "detach": lambda x: Tensor(x._n, True),
        "cpu": lambda x: x,
        "numpy": unknown_use("Tensor.numpy"),
        "backward": unknown_use("gradients"),
        "requires_grad_": unknown_use("gradients"),
        "half": unknown_use("torch.float16"),
        "bfloat16": unknown_use("torch.bfloat16"),
        "cuda": unknown_use("a GPU"),
        "median": _median,
        "max": _best(False),
        "min": _best(True),
        "var": _spread("var"),
        "std": _spread("std"),
        "split": _split,
        "where": lambda x, condition, other: operation("where")(condition, x, other),
        "nonzero": _nonzero,
        "movedim": _moved,
        "moveaxis": _moved,
        "fill_diagonal_": _fill_diagonal,
        "expand_as": lambda x, other: x.expand(other.shape),
        "view_as": lambda x, other: x.view(other.shape),
        "reshape_as": lambda x, other: x.reshape(other.shape),
        "div": _div,
        "divide": _div,
        "true_divide": _div,
        "add": _add("add"),
        "sub": _add("sub"),
        "subtract": _add("sub"),
        "multiply": lambda x, other: x * other,
        "absolute": lambda x: x.abs(),
        "negative": lambda x: -x,
        "less": lambda x, other: x < other,
        "greater": lambda x, other: x > other,
        "not_equal": lambda x, other: x != other,
        "clip": lambda x, min=None, max=None: x.clamp(min, max),
        "clamp_min": lambda x, min: x.clamp(min, None),
        "clamp_max": lambda x, max: x.clamp(None, max),
        "scatter": _scatter,
        "fill": lambda x, value: operation("full_like")(x, value),
        "zero": lambda x: operation("zeros_like")(x),
        "copy": lambda x, other, non_blocking=False: (
            other.to(x.dtype) if x.shape == other.shape else (x.zero() + other).to(x.dtype)
        ),
        "new_zeros": _new("_empty"),
        "new_ones": _new("ones"),
        "new_full": _new("full"),
        "new_empty": _new("_empty"),
        "new_tensor": lambda x, data, dtype=None: tensor(data, dtype or x.dtype),
        "logit": lambda x: (x / (1 - x)).log(),
        "dist": lambda x, other, p=2: (x - other).norm(p),
        "addmm": lambda x, a, b: x + a @ b,
        "baddbmm": lambda x, a, b: x + a @ b,
        "mul": lambda x, other: operation("mul")(x, other),
    }
)
FUNCTIONS_ONLY.extend((
    "zeros", "ones", "full", "eye", "linspace", "zeros_like", "ones_like", "full_like", "stack",
    "cat", "concat", "concatenate", "hstack", "vstack", "einsum", "one_hot", "normalize",
    "layer_norm", "cosine_similarity", "cdist", "gelu", "silu", "softplus", "bitwise_not",
))  # fmt: skip


def _method(name):
    return lambda x, *given, **named: operation(name)(x, *given, **named)


for _name, _signature in SIGNATURES.items():
    if " x:" in _signature and _name not in METHODS and _name not in FUNCTIONS_ONLY:
        setattr(Tensor, _name, _method(_name))
