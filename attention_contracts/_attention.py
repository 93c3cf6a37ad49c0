"""``check``: contracts of an attention, called with queries, keys and values or with one input.

:func:`contract` gives it the functions that test a :class:`Call`::

    @asserting
    @contract("name", needs=["causal"])
    def assert_something(call: Call, *, tolerance: float | None = None) -> None: ...

What it may need is in ``HAS``, and what a report says about it in ``labels.toml``.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention_contracts import _adapters
from attention_contracts._adapters import Extra
from attention_contracts._arguments import require_count, require_finite, require_flag
from attention_contracts._call import Call, mode
from attention_contracts._masks import causal, within_length
from attention_contracts._report import NotTested, Report, first_line, run, untested

Test = TypeVar("Test", bound=Callable[..., None])
ARGUMENTS = {  # names that they have in use
    "cache": ("cache", "kv_cache", "past_key_value", "layer_past"),
    "positions": ("positions", "position_ids"),
}


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
    late: Sequence[str] = ()  # parameters that had no shape before the first call

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
    def adapted(self) -> _adapters.Adapted:
        return _adapters.adapt(self.attend, self.padding, self.documents)

    @cached_property
    def drawn(self) -> tuple[Tensor, Tensor, Tensor]:
        """Normal queries, keys and values, like the weights of a module."""
        weights = self.attend.parameters() if isinstance(self.attend, nn.Module) else ()
        made = (x for x in weights if not nn.parameter.is_lazy(x) and x.is_floating_point())
        like = next(made, torch.zeros((), dtype=self.dtype)).detach()
        width = self.d_k or _adapters.input_width(self.attend) or 8
        before = (len(self.lengths), *([self.num_heads] if self.num_heads else []), self.lengths[0])
        generator = torch.Generator().manual_seed(0)
        q, k, v = (
            torch.randn(*before, each, generator=generator).to(like.device, like.dtype)
            for each in (self.d_q or width, width, self.d_v or width)
        )
        return (q, q, q) if self.adapted.single else (q, k, v)

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
        return torch.tensor(self.lengths, device=self.drawn[0].device).clamp(min=1)

    @property
    def takes_padding(self) -> bool:
        return self.padding is not None or self.adapted.maskable

    @property
    def returns_weights(self) -> bool:
        with suppress(TypeError):
            self.call().output_and_weights()
            return True
        return False

    def argument(self, kind: str) -> str:
        """Return the name of its argument of a kind, or an empty one."""
        named = _adapters.parameters(self.attend)
        return next((name for name in ARGUMENTS[kind] if name in named), "")

    def call(self, padding: Tensor | None = None, *, copies: bool = True) -> Call:
        """Return the call that contracts change, with lengths or booleans for the real keys.

        It is made with copies, so that changing its inputs breaks one contract and not all.
        """

        def attend(*given: Tensor) -> Any:
            queries, keys, values, *each = (x.clone() for x in given) if copies else given
            real = each[0] if each else padding
            if real is not None and real.dtype != torch.bool:
                real = within_length(real, keys.shape[-2])
            allowed = None
            if self.adapted.maskable and self.causal:
                allowed = causal(queries.shape[-2], keys.shape[-2], keys.device)[None]
            return self.adapted.call(queries, keys, values, allowed, real)

        module = self.attend if isinstance(self.attend, nn.Module) else None
        single, late = self.adapted.single, self.late
        return Call(attend, self.inputs, single=single, module=module, late=late)

    def plain(self) -> "Subject":
        """Return the attention without its projections."""
        module = _adapters.without_projections(self.attend, self.inputs[0].shape[-1])
        return replace(self, attend=module)


CONTRACTS: dict[str, Callable[[Subject], None]] = {}  # filled by the modules that declare them
HAS: dict[str, Callable[[Subject], object]] = {  # what a contract may need
    "causal": lambda subject: subject.causal,
    "three": lambda subject: not subject.adapted.single,
    "padding": lambda subject: subject.takes_padding,
    "weights": lambda subject: subject.returns_weights,
    "module": lambda subject: isinstance(subject.attend, nn.Module),
    "no order": lambda subject: not subject.causal and subject.window is None,
    "no window": lambda subject: subject.window is None,
    "window": lambda subject: subject.window is not None,
    "cache": lambda subject: subject.adapted.single and subject.argument("cache"),
    "positions": lambda subject: not subject.adapted.maskable and subject.argument("positions"),
}


def once(core: Callable[..., None], subject: Subject) -> None:
    """Test an attention as it is called without padding."""
    core(subject.call())


def itself(core: Callable[..., None], subject: Subject) -> None:
    """Let the contract make its calls itself."""
    core(subject)


def with_and_without_padding(core: Callable[..., None], subject: Subject) -> None:
    """Test it again with a padding mask, if it takes one: a mask may replace another."""
    core(subject.call())
    if subject.takes_padding:
        with suppress(NotTested):
            core(subject.call(subject.lens))


def contract(
    name: str,
    *,
    needs: Sequence[str] = (),
    test: Callable[[Callable[..., None], Subject], None] = once,
    plain: bool = False,
    strict: bool = False,
    excuse: str = "",
) -> Callable[[Test], Test]:
    """Give a function of a call to ``check``, which runs it where nothing that it needs is missing.

    ``test`` makes the calls, with ``plain`` of the attention without its projections. With
    ``strict`` a break counts only if the user asks for it, as right attentions do not promise it;
    with an ``excuse`` it never does.
    """
    excuse = "not promised" if strict else excuse
    if unknown := {*needs} - {*HAS}:
        raise ValueError(f"needs: expected some of {', '.join(HAS)}, got {', '.join(unknown)}")

    def declare(core: Test) -> Test:
        def tried(subject: Subject) -> None:
            for need in needs:
                if not HAS[need](subject):
                    raise untested(need, names=", ".join(ARGUMENTS.get(need, ())))
            try:
                test(core, subject.plain() if plain else subject)
            except AssertionError as error:
                if not excuse or (strict and subject.strict):
                    raise
                raise untested(excuse, error=error) from error

        CONTRACTS[name] = tried
        return core

    return declare


def check(
    attend: Callable[..., Any],
    causal: bool = False,
    *,
    window: int | None = None,
    padding: Extra | None = None,
    documents: Extra | None = None,
    d_q: int | None = None,
    d_k: int | None = None,
    d_v: int | None = None,
    num_heads: int | None = None,
    lengths: Sequence[int] = (7, 4, 6),
    dtype: torch.dtype = torch.float32,
    scale: float | None = None,
    strict: bool = False,
) -> Report:
    """Test an attention: what it keeps, what it breaks, and what could not be tested.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` or ``attend(x)``: a function or a module that returns
        the output, alone or first in a tuple, then the weights. Recognised by their type, and
        given the masks that they take: ``nn.MultiheadAttention``,
        ``F.scaled_dot_product_attention``, the attentions of this library and of transformers.
        A module is tested in evaluation mode, in the dtype of its weights, with its mode restored.
    causal : bool
        Whether a query must not read later keys. What is recognised is given a causal mask.
    window : int, optional
        How many keys a query may read, its own included.
    padding : callable, optional
        ``padding(valid_lens)`` returns the keyword arguments that say how many keys of each
        sequence are real; ``valid_lens`` has shape ``(batch,)``.
    documents : callable, optional
        ``documents(ids)`` returns the keyword arguments that keep packed documents apart; ``ids``
        has shape ``(batch, len)``, one number for each document.
    d_q, d_k, d_v : int, optional
        Widths of queries, keys and values; by default that of the module, or 8.
    num_heads : int, optional
        Give inputs of four axes, ``(batch, num_heads, len, d_k)``.
    lengths : sequence of int
        Lengths of the sequences, the largest first.
    dtype : torch.dtype
        Of the inputs, if ``attend`` has no weights.
    scale : float, optional
        The factor on the dot product that is right, where it is not ``1 / sqrt(d_k)`` of a head.
    strict : bool
        Whether what many right attentions do not promise counts as broken: fewer queries than
        keys, NaN behind the mask, empty rows, and that nothing outlives the call.

    Returns
    -------
    Report
        What is kept, broken, and not tested.

    Raises
    ------
    TypeError, ValueError
        If ``attend`` is not callable or its first call fails, or a size is none.

    Examples
    --------
    >>> report = check(torch.nn.MultiheadAttention(8, 2), causal=True)
    >>> bool(report), len(report.kept) > 10
    (True, True)
    """
    subject = Subject(**locals())  # its fields are these arguments
    if not callable(attend):
        raise TypeError(f"attend: expected a callable (queries, keys, values), got {attend!r}")
    name = getattr(attend, "__name__", type(attend).__name__)
    title = f"{name}, called as {subject.adapted.kind}, causal={causal}"
    with mode(attend, training=False), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return run("attention", CONTRACTS, _called_twice(subject), title)


def _called_twice(subject: Subject) -> Subject:
    """Say what the call needs if it fails, and note whether it is random."""
    attend, inputs, kind = subject.attend, subject.drawn, subject.adapted.kind
    named = attend.named_parameters() if isinstance(attend, nn.Module) else ()
    late = [name for name, x in named if nn.parameter.is_lazy(x)]
    try:
        call = subject.call()
        first, second = (call.output(*inputs) for _ in range(2))
    except Exception as error:
        shapes = [str(tuple(x.shape)) for x in inputs[: 1 if subject.adapted.single else 3]]
        raise ValueError(
            f"attend: expected to be called with {kind} of shape {', '.join(shapes)}, got "
            f"{type(error).__name__}: {first_line(error)}; d_k= sets the width, num_heads= a "
            "fourth axis"
        ) from error
    same = first.equal(second) or bool(first.isnan().any())
    return replace(subject, random=not same, late=late)
