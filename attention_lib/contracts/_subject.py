"""The attention that a check is about, how it is called, and with which inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib._arguments import require_count, require_finite, require_flag
from attention_lib.contracts._adapters import (
    Adapted,
    Extra,
    adapt,
    input_width,
    without_projections,
)
from attention_lib.contracts._call import Call, output_for
from attention_lib.contracts._report import NotTested
from attention_lib.masking import causal_mask, length_mask


@dataclass(frozen=True)
class Subject:
    """An attention, how it is called, and what it is called with: see ``check``."""

    attend: Any
    causal: bool
    window: int | None = None
    padding: Extra | None = None
    documents: Extra | None = None
    d_q: int | None = None
    d_k: int | None = None
    d_v: int | None = None
    num_heads: int | None = None
    lengths: Sequence[int] = (7, 4, 6)
    dtype: torch.dtype = torch.float32
    scale: float | None = None
    strict: bool = False
    random: bool = False  # whether two calls in evaluation differ
    lazy: tuple[str, ...] = ()  # parameters that had no shape before the first call

    def __post_init__(self) -> None:
        require_flag("causal", self.causal)
        require_flag("strict", self.strict)
        for name in ("window", "d_q", "d_k", "d_v", "num_heads"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
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
        return adapt(self.attend, self.padding, self.documents)

    @cached_property
    def drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """Normal queries, keys and values, like the weights of a module."""
        weights = self.attend.parameters() if isinstance(self.attend, nn.Module) else ()
        made = (x for x in weights if not nn.parameter.is_lazy(x) and x.is_floating_point())
        like = next(made, torch.zeros((), dtype=self.dtype)).detach()
        width = self.d_k or input_width(self.attend) or 8
        before = (len(self.lengths), *([self.num_heads] if self.num_heads else []), self.lengths[0])
        generator = torch.Generator().manual_seed(0)
        q, k, v = (
            torch.randn(*before, each, generator=generator).to(like.device, like.dtype)
            for each in (self.d_q or width, width, self.d_v or width)
        )
        return (q, q, q) if self.adapted.single else (q, k, v)

    @property
    def title(self) -> str:
        name = getattr(self.attend, "__name__", type(self.attend).__name__)
        return f"{name}, called as {self.adapted.kind}, causal={self.causal}"

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, of an attention whose answers can be compared."""
        if self.random:
            raise NotTested("outputs are random in evaluation mode: nothing can be compared")
        queries, keys, values = (x.clone() for x in self.drawn)
        return queries, keys, values

    @property
    def lens(self) -> Tensor:
        """Lengths of the sequences, none of them empty."""
        return torch.tensor(self.lengths, device=self.drawn[0].device).clamp(min=1)

    @property
    def takes_padding(self) -> bool:
        return self.padding is not None or self.adapted.maskable

    def call(self, padding: Tensor | None = None, *, copies: bool = True) -> Call:
        """Return the call that contracts change, with lengths or booleans for the real keys."""

        def attend(queries: Tensor, keys: Tensor, values: Tensor, *each: Tensor) -> Any:
            real = each[0] if each else padding
            if real is not None and real.dtype != torch.bool:
                real = length_mask(real, keys.shape[-2]).squeeze(1)
            return self.ask(queries, keys, values, real, copies=copies)

        module = self.attend if isinstance(self.attend, nn.Module) else None
        return Call(attend, *self.inputs, single=self.adapted.single, module=module)

    def ask(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        real: Tensor | None = None,
        *,
        copies: bool = True,
    ) -> Any:
        """Call with copies, so that changing its inputs breaks one contract and not all."""
        if copies:
            queries, keys, values = (x.clone() for x in (queries, keys, values))
        allowed = None
        if self.adapted.maskable and self.causal:
            allowed = causal_mask(queries.shape[-2], keys.shape[-2], keys.device)[None]
        return self.adapted.call(queries, keys, values, allowed, real)

    def plain(self) -> "Subject":
        """Return the attention without its projections."""
        if not isinstance(self.attend, nn.Module) or not any(
            x.dim() == 2 for x in self.attend.parameters()
        ):
            return self
        return replace(self, attend=without_projections(self.attend, self.inputs[0].shape[-1]))


# What a contract may need: each of these raises NotTested where it is missing.


def needs_causal(subject: Subject) -> None:
    if not subject.causal:
        raise NotTested("causal=False")


def needs_three(subject: Subject) -> None:
    if subject.adapted.single:
        raise NotTested("a single input: queries, keys and values cannot be changed apart")


def needs_padding(subject: Subject) -> None:
    if not subject.takes_padding:
        raise NotTested("no way to pass padding: padding=lambda valid_lens: {…} gives one")


def needs_weights(subject: Subject) -> None:
    try:
        subject.call().output_and_weights()
    except TypeError as error:
        raise NotTested("no weights are returned") from error


def needs_module(subject: Subject) -> None:
    if not isinstance(subject.attend, nn.Module):
        raise NotTested("a function: it has no parameters and no training mode")


def tried(subject: Subject) -> Subject:
    """Call an attention twice; say what the call needs if it fails, and note if it is random."""
    attend, inputs, kind = subject.attend, subject.drawn, subject.adapted.kind
    named = attend.named_parameters() if isinstance(attend, nn.Module) else ()
    lazy = tuple(name for name, x in named if nn.parameter.is_lazy(x))
    try:
        first, second = (output_for(subject.call().attend, *inputs) for _ in range(2))
    except Exception as error:
        shapes = [str(tuple(x.shape)) for x in inputs[: 1 if subject.adapted.single else 3]]
        said = str(error).partition("\n")[0]
        raise ValueError(
            f"attend: expected to be called with {kind} of shape {', '.join(shapes)}, got "
            f"{type(error).__name__}: {said}; d_k= sets the width, num_heads= a fourth axis"
        ) from error
    same = first.equal(second) or bool(first.isnan().any())
    return replace(subject, random=not same, lazy=lazy)
