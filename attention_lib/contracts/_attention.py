"""``check``: contracts of an attention, called with queries, keys and values or with one input."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from attention_lib.contracts import order, padding, reading, running
from attention_lib.contracts._adapters import Extra
from attention_lib.contracts._call import evaluating
from attention_lib.contracts._contract import CONTRACTS
from attention_lib.contracts._report import Report, run
from attention_lib.contracts._subject import Subject, tried

__all__ = ["check"]
assert order and padding and reading and running  # they fill CONTRACTS


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
        Lengths of the sequences, the largest first; a 0 tests rows with nothing to attend to.
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
    with evaluating(attend), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return run(CONTRACTS, tried(subject), subject.title)
