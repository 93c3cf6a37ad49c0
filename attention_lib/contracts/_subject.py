"""The attention that a check is about, how it is called, and with which inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from attention_lib.contracts._calls import output_for
from attention_lib.contracts._report import NotTested
from attention_lib.masking import causal_mask, length_mask

__all__ = ["Subject", "subject_of"]


@dataclass(frozen=True)
class Subject:
    """An attention, how it is called, and what it is called with."""

    attend: Any
    adapted: Adapted
    causal: bool
    window: int | None
    padding: Extra | None
    documents: Extra | None
    lengths: Tensor
    scale: float | None
    strict: bool
    drawn: tuple[Tensor, Tensor, Tensor]
    random: bool = False

    @property
    def title(self) -> str:
        name = getattr(self.attend, "__name__", type(self.attend).__name__)
        return f"{name}, called as {self.adapted.kind}, causal={self.causal}"

    def bound(self, lens: Tensor | None = None, *, copies: bool = True) -> Callable[..., Any]:
        """Return ``attend(queries, keys, values)`` with its masks, of given lengths."""

        def attend(queries: Tensor, keys: Tensor, values: Tensor, *each: Tensor) -> Any:
            length = keys.shape[-2]
            valid = each[0] if each else lens
            real = None if valid is None else length_mask(valid, length).squeeze(1)
            return self.call(queries, keys, values, real, copies=copies)

        return attend

    def call(
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

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, of an attention whose answers can be compared."""
        if self.random:
            raise NotTested("outputs are random in evaluation mode: nothing can be compared")
        queries, keys, values = (x.clone() for x in self.drawn)
        return queries, keys, values

    def three(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values, where they are read apart."""
        if self.adapted.single:
            raise NotTested("a single input: queries, keys and values cannot be changed apart")
        return self.inputs

    def with_padding(self) -> None:
        if self.padding is None and not self.adapted.maskable:
            raise NotTested("no way to pass padding: padding=lambda valid_lens: {…} gives one")

    def plain(self) -> "Subject":
        """Return the attention without its projections."""
        if not isinstance(self.attend, nn.Module) or not any(
            x.dim() == 2 for x in self.attend.parameters()
        ):
            return self
        module = without_projections(self.attend, self.inputs[0].shape[-1])
        adapted = adapt(module, self.padding, self.documents)
        return Subject(**{**vars(self), "attend": module, "adapted": adapted})


def subject_of(
    attend: Any,
    causal: bool,
    *,
    window: int | None = None,
    padding: Extra | None = None,
    documents: Extra | None = None,
    d_k: int | None = None,
    d_v: int | None = None,
    num_heads: int | None = None,
    lengths: Sequence[int] = (7, 4, 6),
    dtype: torch.dtype = torch.float32,
    scale: float | None = None,
    strict: bool = False,
) -> Subject:
    """Draw the inputs and try them."""
    require_flag("strict", strict)
    for name, count in (("window", window), ("d_k", d_k), ("d_v", d_v), ("num_heads", num_heads)):
        if count is not None:
            require_count(name, count)
    if scale is not None:
        require_finite("scale", scale)
    for number, length in enumerate(lengths):
        require_count(f"lengths[{number}]", length, 0)
    if len(lengths) < 2 or lengths[0] != max(lengths) or lengths[0] < 4:
        raise ValueError(f"lengths: expected two at least, the first the largest and at least 4, "
                         f"got {tuple(lengths)}")  # fmt: skip
    width = d_k or input_width(attend) or 8
    weight = None
    if isinstance(attend, nn.Module):
        made = (x for x in attend.parameters() if not nn.parameter.is_lazy(x))
        weight = next((x for x in made if x.is_floating_point()), None)
    like = torch.zeros((), dtype=dtype) if weight is None else weight.detach()
    adapted = adapt(attend, padding, documents)
    heads = () if num_heads is None else (num_heads,)
    generator = torch.Generator().manual_seed(0)
    widths = (width, width, d_v or width)
    sizes = [(len(lengths), *heads, max(lengths), each) for each in widths]
    q, k, v = (torch.randn(size, generator=generator).to(like.device, like.dtype) for size in sizes)
    if adapted.single:
        k = v = q
    subject = Subject(
        attend, adapted, causal, window, padding, documents,
        torch.tensor(lengths, device=q.device), scale, strict, (q, k, v),
    )  # fmt: skip
    try:
        twice = [output_for(subject.bound(), q, k, v) for _ in range(2)]
    except Exception as error:
        shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v)[: 1 if adapted.single else 3])
        said = str(error).partition("\n")[0]
        raise ValueError(
            f"attend: expected to be called with {adapted.kind} of shape {shapes}, got "
            f"{type(error).__name__}: {said}; d_k= sets the width, num_heads= a fourth axis"
        ) from error
    same = twice[0].equal(twice[1]) or bool(twice[0].isnan().any())
    return subject if same else Subject(**{**vars(subject), "random": True})
