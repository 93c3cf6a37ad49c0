"""``check``: all contracts of an attention, called with queries, keys and values or one input."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from attention_contracts import (
    devices,
    learning,
    likeness,
    order,
    padding,
    positions,
    precision,
    reading,
    running,
)
from attention_contracts._adapters import Extra, bound, parameters
from attention_contracts._arguments import require_flag
from attention_contracts._call import mode
from attention_contracts._report import Report, Run, described, first_line, names_required
from attention_contracts._subject import Subject

MODULES = (order, positions, padding, reading, precision, running, devices, learning, likeness)
TESTS = {name: test for module in MODULES for name, test in module.CONTRACTS.items()}
CONTRACTS = described("attention", TESTS)


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
    num_kv_heads: int | None = None,
    lengths: Sequence[int] = (7, 4, 6),
    length: int | None = None,
    dtype: torch.dtype = torch.float32,
    scale: float | None = None,
    like: Callable[..., Any] | None = None,
    strict: bool = False,
    require: Sequence[str] = (),
) -> Report:
    """Test an attention: what it keeps, what it breaks, and what could not be tested.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values)`` or ``attend(x)``: a function or a module that returns
        the output, alone or first in a tuple, then the weights. Recognised by their type, and
        given the masks that they take: ``nn.MultiheadAttention``,
        ``F.scaled_dot_product_attention``, layers of transformers, and what takes ``valid_lens``
        and ``mask``. A module is tested in evaluation mode, in the dtype of its weights, with its
        mode restored.
    causal : bool
        Whether a query must not read later keys. What is recognised is given a causal mask.
    window : int, optional
        How many keys a query may read, its own included.
    padding : callable, optional
        ``padding(valid_lens, length)`` returns the keyword arguments that say how many keys of each
        sequence are real; ``valid_lens`` has shape ``(batch,)``, ``length`` is the number of keys.
    documents : callable, optional
        ``documents(ids)`` returns the keyword arguments that keep packed documents apart; ``ids``
        has shape ``(batch, len)``, one number for each document.
    d_q, d_k, d_v : int, optional
        Widths of queries, keys and values; by default that of the module, or 8.
    num_heads, num_kv_heads : int, optional
        Give inputs of four axes, ``(batch, num_heads, len, d_k)``; keys and values may have fewer.
    lengths : sequence of int
        Lengths of the sequences that all contracts are tried on, the largest first.
    length : int, optional
        Up to which length contracts are tried again. By default lengths double up to 514, and
        further to cross the chunks, windows and blocks that a module or its configuration names;
        they stop after three seconds. The report says where.
    dtype : torch.dtype
        Of the inputs, if ``attend`` has no weights.
    scale : float, optional
        The factor on the dot product that is right, where it is not ``1 / sqrt(d_k)`` of a head.
    like : callable, optional
        A reference. Its weights are copied to a copy of ``attend``, by name or by their roles, and
        both have to give the same output.
    strict : bool
        Whether what many right attentions do not promise counts as broken: fewer queries than
        keys, NaN behind the mask, empty rows, float16, and that nothing outlives the call.
    require : sequence of str
        Names of contracts, or "causality", "padding", "cache", "documents": the report is false if
        one of them could not be tested. What ``causal``, ``window``, ``padding``, ``documents``,
        ``scale`` and ``like`` name is required without it.

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
    if isinstance(attend, partial) and isinstance(attend.func, nn.Module) and not attend.args:
        attend = bound(attend.func, **attend.keywords)
    subject = Subject(
        attend,
        causal=causal,
        window=window,
        padding=padding,
        documents=documents,
        d_q=d_q,
        d_k=d_k,
        d_v=d_v,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        lengths=lengths,
        length=length,
        dtype=dtype,
        scale=scale,
        like=like,
    )
    require_flag("strict", strict)
    asked_for = _asked_for(causal, window, padding, documents, scale, like)
    required = names_required([*names_required(require, CONTRACTS), *asked_for], CONTRACTS)
    if not callable(attend):
        raise TypeError(f"attend: expected a callable (queries, keys, values), got {attend!r}")
    if is_model(attend):
        raise ValueError(
            "attend: expected an attention, got a model on token ids: "
            f"check_model({type(attend).__name__}) tests it"
        )
    name = getattr(attend, "__name__", type(attend).__name__)
    with mode(attend, training=False), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        subject = _called_twice(subject)
        run = Run(CONTRACTS, strict).on(subject, subject.longer())
        bound_reached = subject.bound(run.reached)
        title = f"{name}, called as {subject.adapted.kind}, causal={causal}, {bound_reached}"
        return run.report(title, _notes(subject), required)


def _asked_for(
    causal: bool, window: object, padding: object, documents: object, scale: object, like: object
) -> list[str]:
    """Return the contracts that a caller asks for by naming an option."""
    named = {
        "causality": causal is True,
        "window": window is not None,
        "padding, values": padding is not None,
        "mask is read": padding is not None,
        "packed documents": documents is not None,
        "scale": scale is not None,
        "like the reference": like is not None,
    }
    return [name for name, is_given in named.items() if is_given]


def is_model(attend: object) -> bool:
    """Whether this looks like a model on token ids, not like one of its attentions."""
    if not isinstance(attend, nn.Module):
        return False
    arguments = [*parameters(attend)][:1]
    if arguments[:1] in (["input_ids"], ["ids"], ["idx"], ["tokens"], ["token_ids"]):
        return True
    owns_table = any(isinstance(x, nn.Embedding) for x in attend.children())
    return owns_table and isinstance(next(attend.children()), nn.Embedding)


def _notes(subject: Subject) -> list[str]:
    """Say which arguments that look like masks were not used, and what of it."""
    unused = subject.adapted.unused
    if not unused:
        return []
    how = "" if subject.adapted.maskable else "; padding= and documents= say what they are to be"
    return [f"not used, though named like masks: {', '.join(unused)}{how}"]


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
        masks = ", ".join(subject.adapted.unused)
        raise ValueError(
            f"attend: expected to be called with {kind} of shape {', '.join(shapes)}, got "
            f"{type(error).__name__}: {first_line(error)}; d_k= sets the width, num_heads= a "
            "fourth axis" + (f", padding= gives {masks}" if masks else "")
        ) from error
    agree = first.equal(second) or bool(first.isnan().any())
    return replace(subject, random=not agree, late=late)
