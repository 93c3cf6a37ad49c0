"""Random calls of torch: shapes, dtypes, arguments, NaN and infinity, and what people get wrong."""

import random

import torch

DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.bool]
FLOATS = DTYPES[:2]
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e30, -1e-30, 900.0, -900.0, 0.5]


class Draw:
    """Random shapes, tensors and arguments; the same for each seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.special = 0.06

    def shape(self, least=0, most=4):
        sizes = [0, 1, 2, 3, 4, 5]
        return tuple(
            self.random.choices(sizes, [1, 4, 5, 5, 3, 2])[0]
            for _ in range(self.random.randint(least, most))
        )

    def number(self, dtype):
        if dtype == torch.bool:
            return self.random.random() < 0.5
        if not dtype.is_floating_point:
            return self.random.randint(-4, 5)
        if self.random.random() < self.special:
            return self.random.choice(SPECIAL)
        return self.random.choice([self.random.gauss(0, 2), self.random.randint(-3, 3)])

    def tensor(self, shape, dtypes=DTYPES):
        dtype = self.random.choices(dtypes, [4, 2, 2, 1, 1][: len(dtypes)])[0]
        count = torch.Size(shape).numel()
        return torch.tensor([self.number(dtype) for _ in range(count)], dtype=dtype).reshape(shape)

    def alike(self, shape):
        """A shape that broadcasts with another one, mostly."""
        cut = self.random.randint(0, len(shape))
        sizes = [size if self.random.random() < 0.7 else 1 for size in shape[cut:]]
        if sizes and self.random.random() < 0.1:
            sizes[self.random.randrange(len(sizes))] += 2
        return tuple(sizes)

    def dim(self, axes):
        return self.random.randint(-axes - (self.random.random() < 0.05), max(axes - 1, 0))

    def dims(self, axes):
        count = self.random.randint(1, max(axes, 1))
        return tuple(self.random.sample(range(-axes, 0), min(count, axes))) or -1

    def flag(self):
        return self.random.random() < 0.5


UNARY = [
    "neg",
    "abs",
    "sqrt",
    "rsqrt",
    "square",
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "erf",
    "reciprocal",
    "relu",
    "sign",
    "floor",
    "ceil",
    "trunc",
    "isnan",
    "isfinite",
    "isinf",
    "isposinf",
    "isneginf",
    "logical_not",
    "bitwise_not",
    "round",
    "nan_to_num",
]
PAIRS = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "remainder",
    "fmod",
    "floor_divide",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "atan2",
    "logaddexp",
]
SIGNS = ["+", "-", "*", "/", "**", "%", "//", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^"]


def unary(draw):
    name = draw.random.choice(UNARY)
    return [draw.tensor(draw.shape())], f"torch.{name}(a)"


def pair(draw):
    shape = draw.shape()
    inputs = [draw.tensor(shape), draw.tensor(draw.alike(shape))]
    return inputs, f"torch.{draw.random.choice(PAIRS)}(a, b)"


def operator(draw):
    shape = draw.shape()
    sign = draw.random.choice(SIGNS)
    scalar = draw.random.choice([2, -1, 0.5, 0.1, -1e-3, 1e200, True, 0])
    # MicroPython does not ask the right side of a comparison
    written = [f"a {sign} b", f"a {sign} {scalar}"]
    if sign not in SIGNS[7:13]:
        written.append(f"{scalar} {sign} a")
    code = draw.random.choice(written)
    return [draw.tensor(shape), draw.tensor(draw.alike(shape))], code


def reduction(draw):
    x = draw.tensor(draw.shape())
    name = draw.random.choice(
        ["sum", "mean", "amax", "amin", "all", "any", "norm", "logsumexp", "prod", "count_nonzero"]
    )
    how = draw.random.random()
    dim = draw.dim(x.dim())
    if name == "logsumexp" or how < 0.6:
        given = f"dim={dim}, keepdim={draw.flag()}" if name != "count_nonzero" else f"dim={dim}"
    elif how < 0.8 and name != "prod" and x.dim():
        given = f"dim={draw.dims(x.dim())}"
    else:
        given = ""
    return [x], f"a.{name}({given})"


def spread(draw):
    x = draw.tensor(draw.shape(1), FLOATS)
    name = draw.random.choice(["var", "std"])
    given = draw.random.choice(
        [
            *("", f"dim={draw.dim(x.dim())}", "unbiased=False"),
            *("dim=-1, correction=0, keepdim=True", "axis=-1, keepdims=True"),
        ]
    )
    return [x], f"a.{name}({given})"


def best(draw):
    x = draw.tensor(draw.shape(1))
    name = draw.random.choice(["argmax", "argmin", "max", "min", "cummax", "median"])
    dim = draw.dim(x.dim())
    if name == "median":
        return [draw.tensor(draw.shape(1), FLOATS)], "a.median()" if x.numel() else "a.sum()"
    if name == "cummax":
        return [x], f"a.cummax(dim={dim})"
    return [x], draw.random.choice(
        [
            *(f"a.{name}(dim={dim})", f"a.{name}(dim={dim}, keepdim=True)"),
            *(f"a.{name}(axis={dim}, keepdims=True)", f"a.{name}()"),
        ]
    )


def along(draw):
    x = draw.tensor(draw.shape())
    name = draw.random.choice(["softmax", "log_softmax", "cumsum", "cumprod"])
    code = f"a.{name}(dim={draw.dim(x.dim())})"
    return [x], code if draw.flag() else code.replace("a.", "torch.").replace("(", "(a, ")


def sorting(draw):
    x = draw.tensor(draw.shape(1), [torch.float32, torch.float64, torch.int64])
    dim = draw.dim(x.dim())
    return [x], draw.random.choice(
        [
            f"a.sort(dim={dim}, descending={draw.flag()}, stable=True)",
            f"a.argsort(dim={dim}, descending={draw.flag()}, stable=True)",
            f"a.topk(2, dim={dim}).values",
            f"torch.sort(a, dim={dim}).values",
        ]
    )


def product(draw):
    inner, other = draw.random.randint(0, 4), draw.random.randint(1, 4)
    left = (*draw.shape(0, 2), inner)
    right = (*left[: draw.random.randint(0, max(len(left) - 2, 0))], inner, other)
    if draw.random.random() < 0.2:
        right = draw.shape(0, 3)
    dtypes = draw.random.choice([[torch.float32], [torch.float64], [torch.int64], FLOATS])
    code = draw.random.choice(["a @ b", "torch.matmul(a, b)", "a.matmul(b)", "a @ b.mT"])
    return [draw.tensor(left, dtypes), draw.tensor(right, dtypes)], code


def einsum(draw):
    b, n, m, d = (draw.random.randint(1, 4) for _ in range(4))
    code, *shapes = draw.random.choice(
        [
            ("bnd,bmd->bnm", (b, n, d), (b, m, d)),
            ("nd,md->nm", (n, d), (m, d)),
            ("...nd,...md->...nm", (b, n, d), (m, d)),
            ("ij,jk", (n, m), (m, d)),
            ("bii->bi", (b, n, n), None),
            ("i,j->ij", (n,), (m,)),
            ("bhnd,bmd->bhnm", (b, 2, n, d), (b, m, d)),
            ("ij->", (n, m), None),
            ("ij,kj->ik", (n, m + 1), (d, m + 2)),
        ]
    )
    inputs = [draw.tensor(shape, [torch.float64]) for shape in shapes if shape]
    if draw.random.random() < 0.2:
        x, y = (draw.tensor((b, n, d), [torch.float64]) for n in (n, m))
        axes = draw.random.choice(
            [
                *("a, [0, 1, 30], b, [0, 2, 30]", "a, [..., 1, 30], b, [..., 2, 30], [..., 1, 2]"),
                *("a, [0, 1, 30], b, [0, 2, 30], [2, 0, 1]", "a, [0, 1, 2], b, [0, 52, 2]"),
            ]
        )
        return [x, y], f"torch.einsum({axes})"
    return inputs, f"torch.einsum({code!r}, {', '.join('ab'[: len(inputs)])})"


def reshaping(draw):
    x = draw.tensor(draw.shape(1, 4))
    sizes = list(x.shape)
    draw.random.shuffle(sizes)
    if sizes and draw.flag():
        sizes[draw.random.randrange(len(sizes))] = -1
    dim, other = draw.dim(x.dim()), draw.dim(x.dim())
    order = list(range(x.dim()))
    draw.random.shuffle(order)
    given = ", ".join(map(str, sizes))
    return [x], draw.random.choice(
        [
            f"a.reshape({given})", f"a.view({given})", f"a.view(({given},))",
            f"a.transpose({dim}, {other})", f"a.transpose({dim}, {other}).reshape({given})",
            f"a.transpose({dim}, {other}).view({given})", f"a.permute{tuple(order)}",
            f"a.permute{tuple(order)}.flatten({draw.dim(x.dim())})", f"a.flatten({dim}, {other})",
            f"a.unflatten({dim}, (-1, 2))", f"a.unflatten({dim}, (1, -1))", f"a.unsqueeze({dim})",
            f"a.squeeze({dim})", "a.squeeze()", "a.mT", "a.T" if x.dim() == 2 else "a.mT",
            f"a.movedim({dim}, {other})", f"torch.moveaxis(a, ({dim}, {other}), ({other}, {dim}))",
            f"a.movedim(({dim}, 0), (0,))", f"a.moveaxis(({dim},), (-1,))",
            f"a.expand(2, {', '.join(['-1'] * x.dim())})",
            f"a[:1].expand(3, {', '.join(map(str, x.shape[1:])) or 1})", f"a.flip({dim})",
            f"a.roll(2, {dim})", "a.roll(-1)", f"a.repeat({', '.join(['2'] * x.dim())})",
            f"a.repeat_interleave(2, dim={dim})", f"torch.stack([a, a], dim={dim})",
            f"torch.cat([a, a.flip(0)], dim={dim})", f"torch.concatenate([a, a], axis={dim})",
            f"torch.concat((a, a), dim={dim})", "torch.hstack([a, a.flip(0)])",
            "torch.vstack([a, a.flip(-1)])", "torch.vstack([a, a[0]])", "torch.hstack([a[0], a])",
            f"a.chunk(2, dim={dim})",
            f"a.split(2, dim={dim})", f"a.unbind({dim})", "a.tril()", "a.triu(1)", "a.tril(-1)",
            "a.diagonal()", f"a.narrow({dim}, 0, 1)", "a.nonzero()", "a.stride()",
            f"a.transpose({dim}, {other}).is_contiguous()", "a.tile(2)", "a.diag_embed()",
            "a.contiguous().view(-1)", f"a.select({dim}, 0)",
            "a.T.shape" if x.dim() == 2 else "a.shape",
        ]
    )  # fmt: skip


def indexing(draw):
    x = draw.tensor(draw.shape(1, 4))
    size = max(x.shape[0], 1)
    index = torch.tensor(
        [draw.random.randint(-size, size - 1) for _ in range(3)], dtype=torch.int64
    )
    mask = draw.tensor(x.shape[: draw.random.randint(1, x.dim())], [torch.bool])
    dim, places = draw.dim(x.dim()), [[1, 0], [-1, 7], [0]][draw.random.randint(0, 2)]
    number = draw.random.randint(-size - 1, size)
    code = draw.random.choice(
        [
            f"a[{number}]", "a[:, None]", "a[..., 0]", "a[..., -1:]", "a[None]", "a[1:]", "a[::2]",
            "a[:-1]", "a[b]", "a[c]", "a[..., :2]", "a[b, 0]", "a[:, 0]", "a[..., None]", "a[:, b]",
            "a[b[:, None], b]", "a[[0, -1]]", "a[0, ..., 0]", "a[b][..., None, :]", "a[:, :, 1:]",
            "a[c].shape", "a[0, 0, 0, 0]", "a[b.bool().nonzero()[:, 0]]",
            "a.index_select(0, b.abs())", "a.masked_select(c)",
            "a.gather(0, b[:1].abs().reshape(-1, *[1] * (a.dim() - 1)))",
            f"torch.take_along_dim(a, a.argsort(dim={dim}, stable=True), dim={dim})",
            f"a.take_along_dim(torch.tensor({places}).reshape(-1, *[1] * (a.dim() - 1)), 0)",
            f"a.take_along_dim(torch.tensor({places}).expand(*[1] * a.dim(), -1)[0], axis={dim})",
            f"torch.take_along_dim(a, torch.tensor({places}))",
            f"torch.take_along_dim(a, c, dim={dim})",
        ]
    )  # fmt: skip
    return [x, index, mask], code


def writing(draw):
    x = draw.tensor(draw.shape(1, 3))
    mask = draw.tensor(x.shape, [torch.bool])
    other = draw.tensor(draw.alike(x.shape))
    code = draw.random.choice(
        [
            "a[0] = 5", "a[..., 0] = 0.5", "a[b] = 0", "a[:] = c", "a[..., 1:] = -1", "a += c",
            "a[0] += 1", "a *= 2", "a -= 1.5", "a.masked_fill_(b, 3)", "a[b] = a[b] + 1",
            "a.clamp_(min=0)", "a.fill_(2)", "a.zero_()", "a.copy_(c)", "a[[0, 0]] = 1",
            "a.mT[...] = 0", "a.view(-1)[:2] = 7", "a.unbind(0)[0].fill_(1)",
            "a[:1].expand(2, -1)[0] = 1", "a[:, 0] = c", "a[None] = c", "a.add_(1, alpha=2)",
            "a.flatten()[0] = 9", "a.fill_diagonal_(2)", "a[0].fill_diagonal_(0.5)",
        ]
    )  # fmt: skip
    return [x, mask, other], f"{code}\nresult = a"


def masking(draw):
    x = draw.tensor(draw.shape(), FLOATS)
    mask = draw.tensor(draw.alike(x.shape), [torch.bool])
    code = draw.random.choice(
        [
            "a.masked_fill(b, -torch.inf)", "a.masked_fill(~b, 0.0)", "torch.where(b, a, 0)",
            "torch.where(b, a, a * 2)", "a.where(b, 1.5)", "a.masked_fill(b, -1e9).softmax(dim=-1)",
            "a.masked_fill(~b, -torch.inf).softmax(dim=-1).nan_to_num(0.0)", "a.clamp(min=0)",
            "a.clamp(-1, 1)", "a.clamp(max=a * 0.5)", "a.masked_fill(a, 0.0)", "a * b", "a + b",
            "b.cumsum(dim=-1)", "b.sum()", "b.float().mean()", "(a > 0) & b", "a.isclose(a * b)",
            "torch.allclose(a, a * 1.0000001, equal_nan=True)", "torch.equal(a, a)",
            "b.all(dim=-1)", "a.nan_to_num(1.0, 2.0, 3.0)", "a.masked_fill(b, True)",
            "b.masked_fill(b, False)",
        ]
    )  # fmt: skip
    return [x, mask], code


def making(draw):
    n, m = draw.random.randint(0, 5), draw.random.randint(1, 5)
    start, step = draw.random.choice([(0, 1), (1, 0.5), (-2, 2), (5, -1)])
    data = [[draw.random.randint(0, 3) for _ in range(m)] for _ in range(n + 1)]
    code = draw.random.choice(
        [
            f"torch.arange({n})", f"torch.arange({start}, {start + step * n}, {step})",
            f"torch.zeros({n}, {m})", f"torch.ones(({m}, {n}))", f"torch.full(({n},), 2)",
            f"torch.full(({n},), 0.5)", f"torch.eye({n})", f"torch.eye({n}, {m})",
            f"torch.linspace(0, 1, {m})", f"torch.tensor({data})", f"torch.tensor({data}) / 2",
            f"torch.tensor({data}, dtype=torch.float64)",
            f"torch.tensor({data[0]}, dtype=torch.bool)", f"torch.arange({m}, dtype=torch.float32)",
            f"torch.zeros({n}, dtype=torch.bool)", f"torch.ones({m}, {m}).tril()",
            f"F.one_hot(torch.arange({n}), {n + 2})", "torch.tensor([1, 2.5])", "torch.tensor(3)",
            "torch.tensor([True, 2])", "torch.tensor([[1, 2], [3]])", f"torch.full(({m},), True)",
            "torch.tensor([])", f"torch.arange({n}) < torch.arange({m})[:, None]",
            f"torch.diag(torch.arange({m}))", f"torch.outer(torch.arange({m}), torch.arange({n}))",
            f"torch.meshgrid(torch.arange({n}), torch.arange({m}), indexing='ij')",
        ]
    )  # fmt: skip
    return [], code


def kinds(draw):
    x = draw.tensor(draw.shape(0, 2))
    finite = x.nan_to_num(0, 1, -1).clamp(-100, 100) if x.is_floating_point() else x
    code = draw.random.choice(
        [
            "a.float()", "a.double()", "a.int()", "a.long()", "a.bool()", "a.to(torch.float64)",
            "a.type_as(a.double())", "a.dtype", "a.to(torch.int32)", "a.shape", "a.dim()",
            "a.numel()", "a.tolist()", "a.size()", "a.item()", "bool(a)", "len(a)", "a.ndim",
            "a.element_size()", "a.new_zeros(2)", "torch.zeros_like(a)",
            "torch.ones_like(a, dtype=torch.bool)", "torch.full_like(a, 2)",
            "a.is_floating_point()", "torch.result_type(a, 1.5)",
        ]
    )  # fmt: skip
    return [finite], code


def functions(draw):
    n, m, d = (draw.random.randint(1, 4) for _ in range(3))
    draw.special = 0  # PyTorch's own kernels disagree about overflows on the way
    a, b = draw.tensor((2, n, d), FLOATS[:1]), draw.tensor((2, m, d), FLOATS[:1])
    draw.special = 0.06
    code = draw.random.choice(
        [
            "F.softmax(a, dim=-1)", "F.relu(a)", "F.gelu(a)", "F.silu(a)", "F.softplus(a)",
            "F.normalize(a, dim=-1)", "F.cosine_similarity(a, a * 2, dim=-1)", "torch.cdist(a, b)",
            f"F.layer_norm(a, ({d},))", "F.linear(a, b[0])",
            "F.scaled_dot_product_attention(a, b, b)",
            "F.scaled_dot_product_attention(a, b, b, is_causal=True)", "F.mse_loss(a, a + 1)",
            f"F.cross_entropy(a[0], torch.arange({n}) % {d})", "a.norm(dim=-1, keepdim=True)",
            "torch.linalg.norm(a, dim=-1)", "torch.linalg.norm(a, axis=-1, keepdims=True)",
            "torch.linalg.vector_norm(a, ord=1, dim=-1)",
            "torch.bmm(a, b.mT)", "torch.mm(a[0], b[0].T)", "torch.dot(a[0, 0], b[0, 0])",
            "torch.mv(a[0], b[0, 0])", "F.pad(a, (1, 2))", "F.pad(a, (0, 0, 1, 0), value=1.0)",
            "torch.lerp(a, a * 2, 0.25)",
            "a.log_softmax(-1).gather(-1, a.argmax(-1, keepdim=True))", "torch.trace(a[0])",
            "torch.zeros(2, 5).scatter(-1, torch.tensor([[0, 1], [3, 3]]), 1.0)",
            "torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))",
            "torch.unique(torch.tensor([3, 1, 3]))", "torch.bincount(torch.tensor([3, 1, 3]))",
            "torch.outer(a[0, 0], b[0, 0])", "a.softmax(-1) @ a", "a.std(dim=-1)",
            "a.var(-1, unbiased=False)", "a.round(decimals=2)", "a.softmax()", "a.sum(dim=5)",
            "a @ b", "a.view(7, 13)", "torch.stack([a, b])", "torch.cat([a, b], dim=1)",
            "torch.cat([a, b], dim=0)", "a + b", "a.masked_fill(a > 0, 1.0)",
            "a.index_copy(1, torch.tensor([0]), b[:, :1])", "a.dist(a + 1)",
        ]
    )  # fmt: skip
    return [a, b], code


def printing(draw):
    x = draw.tensor(draw.shape(0, 3))
    scale = draw.random.choice([1, 1, 1000, 1e-3, 1e6]) if x.is_floating_point() else 1
    if draw.random.random() < 0.1:
        return [], draw.random.choice(
            ["repr(torch.arange(1200.) / 7)", "repr(torch.arange(40))", "repr(torch.zeros(60, 40))"]
        )
    return [x * scale], "repr(a)"


KINDS = [
    unary, pair, operator, reduction, spread, best, along, sorting, product, einsum, reshaping,
    indexing, writing, masking, making, kinds, functions, printing,
]  # fmt: skip
