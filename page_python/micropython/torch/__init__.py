"""The small part of torch that exercises need, for MicroPython; the arithmetic is JavaScript's.

What is missing is refused in words. Every operation is built when it is first asked for, from its
signature in ``operations.js``.
"""

import builtins
import sys

from torch._kinds import (
    CPU,
    DTYPES,
    PYTHONS,
    Bool,
    Float,
    Int,
    Size,
    TimeIsUp,
    bfloat16,
    complex64,
    complex128,
    device,
    dtype,
    float16,
    unknown,
)
from torch._methods import unknown_use, where_
from torch._operations import operation, watch
from torch._tensor import METHODS, Tensor, as_tensor, in_place, tensor, unknown_name

inf, nan = Float("inf"), Float("nan")
e, pi = 2.718281828459045, 3.141592653589793
__version__ = "2 (a part of it, in this page)"
uint8, int8, int16, int32, int64, float32, float64 = (
    DTYPES[name] for name in ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")
)
bool = DTYPES["bool"]
float, double, int, long, short, half = float32, float64, int32, int64, int16, float16


zeros, ones, full, zeros_like, ones_like, full_like = (
    operation(_name) for _name in ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like")
)
cat, stack = operation("cat"), operation("stack")


def arange(start, end=None, step=1, dtype=None, device=None):
    numbers = [x.item() if isinstance(x, Tensor) else x for x in (start, end, step)]
    whole = all([x is None or type(x) is Int for x in numbers])
    return operation("_arange")(*numbers, whole, dtype)


def empty(*size, dtype=None, device=None):
    return operation("_empty")(*size, dtype=dtype)


def empty_like(x, dtype=None):
    return operation("zeros_like")(x, dtype=dtype)


def scalar_tensor(x, dtype=None):
    return tensor(x, dtype)


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return x.dtype.rank == 2


def numel(x):
    return x.numel()


def meshgrid(*tensors, indexing="ij"):
    if len(tensors) == 1 and not isinstance(tensors[0], Tensor):
        tensors = tensors[0]
    if indexing == "xy" and len(tensors) >= 2:
        swapped = meshgrid(tensors[1], tensors[0], *tensors[2:])
        return tuple([grid.transpose(0, 1) for grid in (swapped[1], swapped[0]) + swapped[2:]])
    shape = [len(x) for x in tensors]
    grids = []
    for axis, x in enumerate(tensors):
        sizes = [1] * len(shape)
        sizes[axis] = shape[axis]
        grids.append(x.reshape(sizes).expand(shape))
    return tuple(grids)


def einsum(equation, *operands):
    if isinstance(equation, Tensor):
        return _einsum_of_lists(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return operation("einsum")(equation, operands)


def _einsum_of_lists(*given):
    """Return the sum of products of tensors that are each followed by the numbers of their axes."""
    pairs = [given[at : at + 2] for at in range(0, len(given) - 1, 2)]
    equation = ",".join([_letters(axes) for _, axes in pairs])
    if len(given) % 2:
        equation += "->" + _letters(given[-1])
    return operation("einsum")(equation, [x for x, _ in pairs])


def _letters(numbers):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    if any([number is not ... and not 0 <= number < 52 for number in numbers]):
        raise ValueError(
            "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        )
    return "".join(["..." if number is ... else letters[number] for number in numbers])


def chain_matmul(*tensors):
    result = tensors[0]
    for other in tensors[1:]:
        result = result @ other
    return result


def broadcast_tensors(*tensors):
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple([x.expand(shape) for x in tensors])


def broadcast_shapes(*shapes):
    result = zeros(())
    for shape in shapes:
        result = result + zeros(shape)
    return result.shape


def result_type(x, other):
    return operation("_result_type")(x, other)


def promote_types(a, b):
    return result_type(zeros(1, dtype=a), zeros(1, dtype=b))


_LIMITS = {  # largest number, step after 1, smallest normal number, bits
    "float16": (65504.0, 0.0009765625, 6.103515625e-05, 16),
    "bfloat16": (3.3895313892515355e38, 0.0078125, 1.1754943508222875e-38, 16),
    "float32": (3.4028234663852886e38, 1.1920928955078125e-07, 1.1754943508222875e-38, 32),
    "float64": (1.7976931348623157e308, 2.220446049250313e-16, 2.2250738585072014e-308, 64),
}


class finfo:
    def __init__(self, kind=float32):
        if isinstance(kind, Tensor):
            kind = kind.dtype
        self.max, self.eps, self.tiny, self.bits = _LIMITS[kind.name]
        self.min, self.smallest_normal, self.dtype = -self.max, self.tiny, kind.name


class iinfo:
    def __init__(self, kind):
        self.bits = kind.itemsize * 8
        signed = kind.name != "uint8"
        self.max = (1 << (self.bits - signed)) - 1
        self.min = -self.max - 1 if signed else 0


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __call__(self, function):
        return function


inference_mode = enable_grad = no_grad


def get_default_dtype():
    return float32


def is_grad_enabled():
    return False


class Generator:
    """PyTorch's generator; the one whose number is 0 is everybody's."""

    def __init__(self, device="cpu", number=None):
        self._number = Int(str(operation("_seeded")(67280421310721 % 2**32, number)))

    def manual_seed(self, seed):
        operation("_seeded")(seed, self._number)
        return self


_everybodys = []


def manual_seed(seed):
    if not _everybodys:
        _everybodys.append(Generator(number=0))
    return _everybodys[0].manual_seed(seed)


def _size_of(size):
    return size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _random(name):
    def function(*size, generator=None, dtype=None, device=None):
        number = generator._number if generator else 0
        return operation(name)(_size_of(size), number, dtype)

    return function


rand, randn = _random("_rand"), _random("_randn")


def randint(low, high=None, size=None, generator=None, dtype=None, device=None):
    if size is None:
        low, high, size = 0, low, high
    number = generator._number if generator else 0
    return operation("_randint")(low, high, size, number)


def randn_like(x):
    return randn(x.shape, dtype=x.dtype)


def rand_like(x):
    return rand(x.shape, dtype=x.dtype)


class _Part:
    """A part of torch that has operations under other names."""

    def __init__(self, name, **own):
        self._name, self._own = name, own

    def __getattr__(self, name):
        if name in self._own:
            return self._own[name]
        function = operation(name) if self._name.endswith("functional") else None
        if function is None:
            raise unknown(self._name + "." + name)
        return function


def _linear(x, weight, bias=None):
    result = x @ weight.T
    return result if bias is None else result + bias


def _attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if dropout_p:
        raise unknown("dropout in training")
    if enable_gqa:
        group = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(group, -3), value.repeat_interleave(group, -3)
    if is_causal:
        attn_mask = ones(query.shape[-2], key.shape[-2], dtype=bool).tril()
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        if attn_mask.dtype is bool:
            scores = scores + zeros(attn_mask.shape).masked_fill(~attn_mask, -inf)
        else:
            scores = scores + attn_mask
    weights = scores.softmax(-1)
    if attn_mask is not None and attn_mask.dtype is bool:
        weights = weights.masked_fill(~attn_mask.any(-1, True), 0.0)
    return weights @ value


def _dropout(x, p=0.5, training=True, inplace=False):
    if training and p:
        raise unknown("dropout in training")
    return x


def _pad(x, pad, mode="constant", value=0):
    if mode != "constant":
        raise unknown("torch.nn.functional.pad with mode='%s'" % mode)
    for step in range(len(pad) // 2):
        dim = -1 - step
        for place in (0, 1):
            count = pad[2 * step + place]
            if count < 0:
                size = x.shape[dim] + count
                x = x.narrow(dim, 0 if place else -count, size)
            elif count:
                shape = list(x.shape)
                shape[dim] = count
                extra = full(shape, value or 0.0, dtype=x.dtype)
                x = cat([x, extra] if place else [extra, x], dim)
    return x


def _cross_entropy(x, target, reduction="mean"):
    return operation("_cross_entropy")(x, target, reduction)


def _mse(x, target, reduction="mean"):
    gaps = (x - target).square()
    return gaps if reduction == "none" else gaps.mean() if reduction == "mean" else gaps.sum()


def _embedding(ids, table):
    return table[ids]


def _norm(x, ord=2, dim=None, keepdim=False, axis=None, keepdims=False):
    dim, keepdim = axis if dim is None else dim, keepdim or keepdims
    if dim is None and len(x.shape) > 1 and ord != 2:
        raise unknown("torch.linalg.norm of a matrix")
    return operation("norm")(x, 2 if ord is None else ord, dim, keepdim)


def _functional_softmax(name):
    def function(x, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            raise TypeError('%s() missing 1 required positional arguments: "dim"' % name)
        return operation(name)(x, dim, dtype)

    return function


functional = _Part(
    "torch.nn.functional",
    softmax=_functional_softmax("softmax"),
    log_softmax=_functional_softmax("log_softmax"),
    relu=lambda x, inplace=False: x.relu(),
    logsigmoid=lambda x: -operation("softplus")(-x),
    linear=_linear,
    scaled_dot_product_attention=_attention,
    dropout=_dropout,
    pad=_pad,
    cross_entropy=_cross_entropy,
    mse_loss=_mse,
    embedding=_embedding,
    nll_loss=unknown_use("torch.nn.functional.nll_loss"),
)
nn = _Part(
    "torch.nn",
    functional=functional,
    Softmax=lambda dim=None: lambda x: functional.softmax(x, dim=dim),
)
linalg = _Part(
    "torch.linalg",
    norm=_norm,
    vector_norm=_norm,
    matmul=lambda x, other: x @ other,
    vecdot=lambda x, other, dim=-1: (x * other).sum(dim),
    diagonal=lambda x, offset=0, dim1=-2, dim2=-1: x.diagonal(offset, dim1, dim2),
)
cuda = _Part("torch.cuda", is_available=lambda: False)
_PARTS = {
    "torch.nn": nn, "torch.nn.functional": functional, "torch.linalg": linalg, "torch.cuda": cuda,
}  # fmt: skip
sys.modules.update(_PARTS) if hasattr(sys.modules, "update") else None


def __getattr__(name):
    if name == "__path__":
        return None
    function = METHODS.get(name) if name not in ("float", "double", "int", "long") else None
    if name == "where":
        function = where_
    function = function or (None if name.startswith("_") else operation(name))
    if function is None:
        raise unknown_name("torch.", name)
    return function


def _float_of(x=0.0):
    return x.item() * 1.0 if isinstance(x, Tensor) else Float(x)


def as_builtins():
    """Let Python's own functions take tensors, and what MicroPython leaves out."""
    real_isinstance, real_zip, real_round = builtins.isinstance, builtins.zip, builtins.round

    def kinds(classes):
        if type(classes) is tuple:
            return tuple([kinds(one) for one in classes])
        return Float if classes is _float_of else classes

    def zip_(*lists, strict=False):
        if strict:
            lists = [list(one) for one in lists]
            for place, one in enumerate(lists):
                if len(one) != len(lists[0]):
                    raise ValueError(
                        "zip() argument %d is %s than argument%s"
                        % (
                            place + 1,
                            "longer" if len(one) > len(lists[0]) else "shorter",
                            " 1" if place == 1 else "s 1-%d" % place,
                        )
                    )
        return real_zip(*lists)

    class slice_:
        def __init__(self, start, stop=..., step=None):
            self.start, self.stop = (None, start) if stop is ... else (start, stop)
            self.step = step

    def extreme(real, is_better):
        def function(*items, key=None, **default):
            items = list(items[0] if len(items) == 1 else items)
            values = items if key is None else [key(item) for item in items]
            if not any([real_isinstance(value, Tensor) for value in values]):
                return real(items, key=key, **default) if key else real(items, **default)
            best = 0
            for place in range(1, len(items)):
                if is_better(values[place], values[best]):
                    best = place
            return items[best]

        return function

    builtins.max = extreme(builtins.max, lambda a, b: a > b)
    builtins.min = extreme(builtins.min, lambda a, b: a < b)
    builtins.float = _float_of
    PYTHONS[_float_of] = float64
    builtins.isinstance = lambda x, classes: real_isinstance(x, kinds(classes))
    builtins.zip = zip_
    builtins.slice = slice_
    builtins.round = lambda x, digits=None: (
        x.round(decimals=digits or 0)
        if real_isinstance(x, Tensor)
        else real_round(x)
        if digits is None
        else real_round(x, digits)
    )
