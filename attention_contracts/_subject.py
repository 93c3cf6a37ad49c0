"""What ``check`` tests: an attention, and the calls that contracts are made of."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_contracts import _adapters, _projections, _transformers
from attention_contracts._adapters import Adapted, Extra
from attention_contracts._arguments import require_count, require_finite, require_flag
from attention_contracts._call import Call
from attention_contracts._masks import named_sizes, visible, within_length
from attention_contracts._projections import Projections
from attention_contracts._report import NotTested

CACHES = ("past_key_values", "past_key_value", "cache", "kv_cache", "layer_past", "past", "kv")
POSITIONS = ("positions", "position_ids")
ONE_INPUT = (
    "a single input, and its projections could not be told apart: check what stands between them, "
    "as check(lambda queries, keys, values: …)"
)
LONGEST = 514  # positions: two blocks of 256 and two more
SECONDS = 3.0  # for longer sequences
POWERS = (16, 32, 64, 128, 256, 512)


def _adapted(attend: Any, padding: Extra | None, documents: Extra | None) -> Adapted:
    """Find out how an attention is called."""
    if padding is not None or documents is not None:
        return _adapters.by_signature(attend, padding, documents)
    if attend is F.scaled_dot_product_attention:
        kind = "PyTorch's function, True = may attend"
        return Adapted(_adapters.function, kind, maskable=True)
    if isinstance(attend, nn.MultiheadAttention):
        kind = "PyTorch's layer, True = ignore"
        return Adapted(partial(_adapters.layer, attend), kind, maskable=True)
    if layer := _transformers.layer_in(attend):
        return _transformers.adapt(attend, layer)
    if {"valid_lens", "mask"} <= _adapters.parameters(attend).keys():
        kind = "valid_lens and mask, True = may attend"
        return Adapted(partial(_adapters.with_lengths_and_mask, attend), kind, maskable=True)
    return _adapters.by_signature(attend, None, None)


@dataclass(frozen=True)
class Subject:
    """An attention, how it is called, and what it is called with: see ``check``."""

    attend: Any
    causal: bool = False
    window: int | None = None
    padding: Extra | None = None
    documents: Extra | None = None
    d_q: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    num_heads: int | None = None
    num_kv_heads: int | None = None
    lengths: Sequence[int] = (7, 4, 6)
    length: int | None = None
    dtype: torch.dtype = torch.float32
    scale: float | None = None
    like: Any = None
    random: bool = False  # whether two calls in evaluation differ
    late: Sequence[str] = ()  # parameters that had no shape before the first call

    def __post_init__(self) -> None:
        require_flag("causal", self.causal)
        for name in ("window", "d_q", "d_k", "d_v", "num_heads", "num_kv_heads", "length"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        if self.num_kv_heads and (self.num_heads or 0) % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads: expected a divisor of num_heads, got {self.num_kv_heads} beside "
                f"num_heads={self.num_heads}"
            )
        if self.scale is not None:
            require_finite("scale", self.scale)
        for number, length in enumerate(self.lengths):
            require_count(f"lengths[{number}]", length, 0)
        longest, *others = (*self.lengths, 0)
        if len(others) < 2 or longest < max(4, *others):
            raise ValueError(
                f"lengths: expected two at least, the first the largest and at least 4, "
                f"got {tuple(self.lengths)}"
            )

    @cached_property
    def adapted(self) -> Adapted:
        return _adapted(self.attend, self.padding, self.documents)

    @cached_property
    def like_numbers(self) -> Tensor:
        """A tensor of the dtype and on the device of the weights, or of the inputs."""
        weights = self.attend.parameters() if isinstance(self.attend, nn.Module) else ()
        usable_weights = (
            x for x in weights if not nn.parameter.is_lazy(x) and x.is_floating_point()
        )
        return next(usable_weights, torch.zeros((), dtype=self.dtype)).detach()

    def draw(self, length: int, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Draw normal queries, keys and values."""
        module_widths = _adapters.input_widths(self.attend) or (8, 8, 8)
        d_q, d_k, d_v = (self.d_k, self.d_k, self.d_k) if self.d_k else module_widths
        d_q, d_v = self.d_q or d_q, self.d_v or d_v
        kv_heads = self.num_kv_heads or self.num_heads
        of_queries, of_keys = (
            (batch, *([heads] if heads else []), length) for heads in (self.num_heads, kv_heads)
        )
        generator = torch.Generator().manual_seed(0)
        like = self.like_numbers
        q, k, v = (
            torch.randn(*shape, generator=generator, device="cpu").to(like)
            for shape in ((*of_queries, d_q), (*of_keys, d_k), (*of_keys, d_v))
        )
        return (q, q, q) if self.adapted.single else (q, k, v)

    @cached_property
    def drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.draw(self.lengths[0], len(self.lengths))

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Copies of them, of an attention whose answers can be compared."""
        if self.random:
            raise NotTested("outputs are random in evaluation mode: nothing can be compared")
        queries, keys, values = (x.clone() for x in self.drawn)
        return queries, keys, values

    @property
    def lens(self) -> Tensor:
        """Lengths of the sequences, none of them empty."""
        return torch.tensor(self.lengths, device=self.like_numbers.device).clamp(min=1)

    @property
    def takes_padding(self) -> bool:
        return self.padding is not None or self.adapted.maskable

    @property
    def returns_weights(self) -> bool:
        with suppress(TypeError):
            self.call().output_and_weights()
            return True
        return False

    def argument(self, names: Sequence[str]) -> str:
        """Return which of these arguments it has, or an empty name."""
        named = _adapters.parameters(self.attend)
        return next((name for name in names if name in named), "")

    def needs_padding(self) -> None:
        """Demand a way to say which keys are padding."""
        if not self.takes_padding:
            unused = ", ".join(self.adapted.unused)
            raise NotTested(
                "no way to pass padding: padding=lambda valid_lens, length: {…} gives one"
                + (f", for {unused} perhaps" if unused else "")
            )

    def needs_module(self) -> None:
        if not isinstance(self.attend, nn.Module):
            raise NotTested("a function: it has no parameters and no training mode")

    def needs_causal(self) -> None:
        if not self.causal:
            raise NotTested("causal=False")

    def needs_weights(self) -> None:
        if not self.returns_weights:
            raise NotTested("no weights are returned")

    def allowed(self, len_q: int, len_k: int, device: torch.device) -> Tensor | None:
        """Return the mask of order that an adapter gives, where it can give one."""
        if not self.adapted.maskable:
            return None
        return visible(len_q, len_k, device, causal=self.causal, window=self.window)

    def call(
        self,
        padding: Tensor | None = None,
        *,
        copies: bool = True,
        function: Callable[..., Any] | None = None,
    ) -> Call:
        """Return the call that contracts change, with lengths or booleans for the real keys.

        It is made with copies, so that changing its inputs breaks one contract and not all.
        """
        function = function or self.adapted.call

        def attend(*tensors: Tensor) -> Any:
            queries, keys, values, *each = (x.clone() for x in tensors) if copies else tensors
            real = each[0] if each else padding
            if real is not None and real.dtype != torch.bool:
                real = within_length(real, keys.shape[-2])
            allowed = self.allowed(queries.shape[-2], keys.shape[-2], keys.device)
            return function(queries, keys, values, allowed, real)

        return Call(attend, self.inputs, single=self.adapted.single, late=self.late)

    def calls(self) -> list[Call]:
        """Return the call without padding and, where it takes any, with it."""
        return [self.call(), *([self.call(self.lens)] if self.takes_padding else [])]

    def apart(self, padding: Tensor | None = None) -> Call:
        """Return a call of queries, keys and values, whose projections may be replaced."""
        if not self.adapted.single:
            return self.call(padding)
        if self.opened is None:
            raise NotTested(ONE_INPUT)
        return self._opened_call(self.opened, padding)

    def bare(self, padding: Tensor | None = None) -> Call:
        """Return a call of queries, keys and values without any projections."""
        if self.opened is not None:
            return self._opened_call(self.opened, padding)
        if self.adapted.single:
            raise NotTested(ONE_INPUT)
        module = _adapters.without_projections(self.attend, self.inputs[0].shape[-1])
        return replace(self, attend=module).call(padding)

    @cached_property
    def opened(self) -> Projections | None:
        """Its projections, where they are known: values of 0 then give an output of 0."""
        if not isinstance(self.attend, nn.Module):
            return None
        inputs = self.inputs
        attend = self.call().attend
        with torch.no_grad():
            for projections in _projections.find(self.attend, lambda: attend(*inputs)):
                with suppress(Exception):  # what a wrong layout may raise
                    call = self._opened_call(projections, None)
                    queries, keys, values = call.inputs
                    nothing = call.output(queries, keys, values * 0)
                    if not nothing.any() and call.original.any():
                        return projections
        return None

    def _opened_call(self, projections: Projections, padding: Tensor | None) -> Call:
        def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Any:
            batch, length = queries.shape[0], queries.shape[-2]
            x = [self.drawn[0][:1, ..., :1, :].expand(batch, length, -1)] * 3
            if not self.adapted.single:
                x = [y[:1, :1].expand(batch, length, -1) for y in self.drawn]
            real = None if padding is None else within_length(padding, keys.shape[-2])
            allowed = self.allowed(length, keys.shape[-2], keys.device)
            function = partial(self.adapted.call, *x, allowed, real)
            return projections.replaced(function, *(y.clone() for y in (queries, keys, values)))

        return Call(attend, _projections.random_inputs(projections.widths, self.inputs[0]))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Chunks, windows and blocks that its code or configuration names."""
        return named_sizes(self.attend) | ({"window": self.window} if self.window else {})

    @cached_property
    def longest(self) -> int:
        """The length that is aimed at: it crosses the chunks, windows and blocks that are named."""
        return self.length or min(
            max([LONGEST, *(2 * size + 2 for size in self.sizes.values())]), 8 * LONGEST
        )

    def bound(self, reached: "Subject") -> str:
        """Return up to which length, and across which sizes, the longest sequence went."""
        length = reached.lengths[0]
        crossed = [f"{name} of {size}" for name, size in self.sizes.items() if size < length]
        text = reached.size() + (f"; crossed: {', '.join(crossed)}" if crossed else "")
        ended = self.length is None and length // 8 < self.longest // 8
        return text + ("; longer ones took too long, or could not be called" if ended else "")

    def longer(self, seconds: float = SECONDS) -> Iterator["Subject"]:
        """Yield the same with longer and longer sequences, until the time is spent."""
        target = self.longest
        steps = {2**n + 2 for n in range(4, 13)} | {2 * size + 2 for size in self.sizes.values()}
        steps = {n for n in steps if self.lengths[0] < n < target} | {target}
        begin, last = time.thread_time(), 0.0
        for n in sorted(steps):
            before = time.thread_time()
            if self.length is None and before - begin + 4 * last > seconds:
                return
            for length in (n, n // 8 * 8):  # some take whole blocks alone
                with suppress(Exception):  # of a length that it cannot take
                    if length > self.lengths[0]:
                        longer = replace(self, lengths=(length, length // 2))
                        longer.call().output(*longer.draw(length, 1))
                        yield longer
                        break
            last = time.thread_time() - before

    def size(self) -> str:
        """Return up to which length this was tested."""
        return f"{'up to ' if self.lengths[0] > 7 else ''}{self.lengths[0]} positions"

    def places(self, every: int = 16) -> list[int]:
        """Return positions to try: each of a short sequence, and edges of blocks of a long one."""
        length = self.lengths[0]
        blocks = {n * size for n in (1, 2) for size in {*POWERS, *self.sizes.values()}}
        edges = {edge + off for edge in blocks for off in (-1, 0)}
        chosen = {0, 1, length // 3, length // 2, length - 2, length - 1} | edges
        return [x for x in range(length) if length <= every or x in chosen]
