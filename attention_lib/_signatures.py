"""Signatures that tell a type checker when an attention returns weights, by ``need_weights``."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, cast, overload

from torch import Tensor

from attention_lib.cache import KeyValueCache


class AttentionLayer(Protocol):
    """A layer, as it is called."""

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: Literal[True] = True,
    ) -> tuple[Tensor, Tensor]: ...

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]: ...


class CachedLayer(Protocol):
    """A layer that takes a cache, too."""

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: Literal[True] = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor]: ...

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        need_weights: bool,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]: ...


class DotProductFunction(Protocol):
    """``scaled_dot_product_attention``, which has a scale, too."""

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        need_weights: Literal[True] = True,
    ) -> tuple[Tensor, Tensor]: ...

    @overload
    def __call__(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        valid_lens: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]: ...


def knows_weights(function: Callable[..., Any]) -> DotProductFunction:
    """Return the function itself, with the signature above for a type checker."""
    return cast(DotProductFunction, function)
