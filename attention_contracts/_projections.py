"""The projections of a module: found by their names, and replaced to see what stands between them.

With what its projections return replaced by chosen queries, keys and values, and the last
projection left out, a module of one input answers like a function of three. It keeps all else that
it does: heads, positions, masks, normalisation. A projection is a module with a matrix, or a matrix
that the attention owns itself and multiplies by, as ``F.linear(x, self.in_proj_weight)`` does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

WORDS = re.compile(r"(^|_)(proj|projection|projector|linear|lin|layer|to|fc|attn|att|w)(?=_|$)")
ROLES = {
    "query": ("q", "qs", "query", "queries", "wq", "toqueries"),
    "key": ("k", "ks", "key", "keys", "wk", "tokeys"),
    "value": ("v", "vs", "value", "values", "wv", "tovalues"),
    "memory": ("kv", "keyvalue", "wkv"),
    "all": ("qkv", "querykeyvalue", "wqkv"),
}
OTHER_NAMES = {"c_attn": "qkv", "in_proj": "qkv", "att_proj": "qkv", "Wqkv": "qkv"}
HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads")
PRODUCTS = (F.linear, torch.matmul, Tensor.matmul, Tensor.__matmul__)  # of an input and a matrix
Matrix = nn.Module | nn.Parameter


@dataclass(frozen=True)
class Projections:
    """The matrices whose outputs become queries, keys and values, and the one that comes last.

    ``widths`` are those of queries, and of keys and values. ``heads`` is their number where the
    output of a shared matrix holds each head's query, key and value side by side.
    """

    inputs: tuple[Matrix, ...]
    last: Matrix | None
    widths: tuple[int, int]
    heads: int | None = None

    def replaced(
        self, call: Callable[[], Any], queries: Tensor, keys: Tensor, values: Tensor
    ) -> Any:
        """Make a call in which the projections return these."""
        outputs = self._outputs(queries, keys, values)
        with ExitStack() as watched:
            for matrix, output in zip(self.inputs, outputs, strict=True):
                _watch(watched, matrix, _returning(output))
            if self.last is not None:
                _watch(watched, self.last, _input)
            return call()

    def _outputs(self, queries: Tensor, keys: Tensor, values: Tensor) -> Sequence[Tensor]:
        if len(self.inputs) == 3:
            return queries, keys, values
        if len(self.inputs) == 2:
            return queries, torch.cat([keys, values], dim=-1)
        if self.heads is None:
            return [torch.cat([queries, keys, values], dim=-1)]
        parts = [x.unflatten(-1, (self.heads, -1)) for x in (queries, keys, values)]  # type: ignore[no-untyped-call]
        return [torch.cat(parts, dim=-1).flatten(-2)]


def _returning(output: Tensor) -> Callable[..., Tensor]:
    return lambda *_: output


def _input(_matrix: Matrix, inputs: tuple[Any, ...], _output: Any) -> Any:
    return inputs[0]


class _Products(TorchFunctionMode):
    """Hand each product with one parameter to a hook, as a module does with each of its calls."""

    def __init__(self, parameter: nn.Parameter, hook: Callable[..., Any]) -> None:
        super().__init__()
        self.parameter, self.hook = parameter, hook

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in PRODUCTS and len(args) > 1 and args[1] is self.parameter:
            changed = self.hook(self.parameter, args[:1], output)
            return output if changed is None else changed
        return output


def _watch(watched: ExitStack, matrix: Matrix, hook: Callable[..., Any]) -> None:
    """Call ``hook(matrix, inputs, output)`` after each use; what it returns replaces the output."""
    if isinstance(matrix, nn.Module):
        watched.callback(matrix.register_forward_hook(hook).remove)
    else:
        watched.enter_context(_Products(matrix, hook))


@dataclass
class _Layer:
    """A matrix that was used once: the widths of its input and its output, and when."""

    matrix: Matrix
    name: str
    width_in: int
    width: int
    time: int


def find(module: nn.Module, call: Callable[[], Any]) -> list[Projections]:
    """Return the projections that a module may have, more than one where a layout is unknown."""
    layers = _used_once(module, call)
    roles: dict[str, list[_Layer]] = {
        role: [x for x in layers if _role(x.name) in names] for role, names in ROLES.items()
    }
    lists = (
        [roles[role] for role in kinds]
        for kinds in (("query", "key", "value"), ("query", "memory"), ("all",))
    )
    for of_role in lists:
        if all(len(x) == 1 for x in of_role):
            return [*_layouts(module, [x[0] for x in of_role], layers)]
    return []


def _role(name: str) -> str:
    """Return a module's own name without the words that mean a projection."""
    *_, last_word = [word for word in name.split(".") if not word.isdigit()] or [""]
    return OTHER_NAMES.get(last_word, WORDS.sub("", last_word.lower()).replace("_", ""))


def _used_once(module: nn.Module, call: Callable[[], Any]) -> list[_Layer]:
    """Return the matrices that one call uses once, in their order."""
    layers: list[_Layer] = []

    def note(name: str, matrix: Matrix, inputs: tuple[Any, ...], output: Any) -> None:
        tensors = [x for x in (*inputs[:1], output) if isinstance(x, Tensor) and x.dim() >= 2]
        if len(tensors) == 2:
            width_in, width = (x.shape[-1] for x in tensors)
            layers.append(_Layer(matrix, name, width_in, width, time=len(layers)))

    with ExitStack() as watched:
        for name, matrix in _matrices(module):
            _watch(watched, matrix, partial(note, name))
        call()
    return [x for x in layers if sum(x.matrix is y.matrix for y in layers) == 1]


def _matrices(module: nn.Module) -> Iterator[tuple[str, Matrix]]:
    """Yield the modules that have a matrix, and the matrices that have no module of their own."""
    for name, submodule in module.named_modules():
        weight = getattr(submodule, "weight", None)
        if name and isinstance(weight, Tensor) and weight.dim() == 2:
            yield name, submodule
        for own_name, parameter in submodule.named_parameters(recurse=False):
            if own_name != "weight" and parameter.dim() == 2:
                yield own_name.removesuffix("_weight"), parameter


def _layouts(
    module: nn.Module, inputs: list[_Layer], layers: list[_Layer]
) -> Sequence[Projections]:
    later = [x for x in layers if x.time > max(y.time for y in inputs)]
    last = later[-1] if later else None
    matrices = tuple(x.matrix for x in inputs)
    last_matrix = None if last is None else last.matrix
    if len(inputs) > 1:  # of two the second has keys and values
        width_of_keys = inputs[1].width // (2 if len(inputs) == 2 else 1)
        return [Projections(matrices, last_matrix, (inputs[0].width, width_of_keys))]
    stacked_width = inputs[0].width
    width = last.width_in if last else stacked_width // 3
    widths = (width, (stacked_width - width) // 2)
    if widths[1] < 1 or width + 2 * widths[1] != stacked_width:
        return []
    layouts = [Projections(matrices, last_matrix, widths)]
    heads = [x for submodule in module.modules() for x in _numbers_of_heads(submodule)]
    if heads and widths[0] == widths[1] and width % heads[0] == 0:
        layouts.append(Projections(matrices, last_matrix, widths, heads=heads[0]))
    return layouts


def _numbers_of_heads(submodule: nn.Module) -> list[int]:
    candidates = (
        getattr(holder, name, None)
        for holder in (submodule, getattr(submodule, "config", None))
        for name in HEADS
    )
    return [x for x in candidates if isinstance(x, int) and x > 0]


def random_inputs(widths: tuple[int, int], like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return normal queries, keys and values for projections of these widths."""
    generator = torch.Generator().manual_seed(1)
    sizes = (widths[0], widths[1], widths[1])
    queries, keys, values = (
        torch.randn(*like.shape[:-1], width, generator=generator, device="cpu").to(like)
        for width in sizes
    )
    return queries, keys, values
