"""The contracts, run on an attention of the museum's form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

import attention_contracts as contracts
from attention_lib.masking import length_mask
from attention_workbook.museum.right import WINDOW

Attend = Callable[..., Any]  # a function of the common form, or a module's class

LENGTH = 7


class Bound(nn.Module):
    """An attention of the common form as ``attend(queries, keys, values)``."""

    real: Tensor | None

    def __init__(self, attend: Attend, real: Tensor | None = None, causal: bool = False) -> None:
        super().__init__()
        if isinstance(attend, type):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                attend = attend()
        self.attend, self.causal = attend, causal
        self.register_buffer("real", real)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Tensor | None = None
    ) -> Any:
        """Attend with what is bound, or with the padding given."""
        real = self.real if real is None else real
        return self.attend(queries, keys, values, real, self.causal)


@dataclass(frozen=True)
class _Inputs:
    """What the contracts give to an attention."""

    batch: int
    widths: tuple[int, int, int]
    num_heads: int

    @property
    def qkv(self) -> tuple[Tensor, Tensor, Tensor]:
        seeded = torch.Generator().manual_seed(0)
        q, k, v = (torch.randn(self.batch, LENGTH, d, generator=seeded) for d in self.widths)
        return q, k, v

    @property
    def lens(self) -> Tensor:
        return torch.tensor([5, 2, 7])[: self.batch]

    @property
    def lens_with_none(self) -> Tensor:
        return torch.tensor([5, 0, 7])[: self.batch]

    @property
    def left(self) -> Tensor:
        return torch.arange(LENGTH) >= LENGTH - self.lens.unsqueeze(-1)  # (batch, LENGTH)


def _real(lens: Tensor) -> Tensor:
    return length_mask(lens, LENGTH).squeeze(1)


def _padding_invariant(attend: Attend, at: _Inputs, **options: Any) -> None:
    for lens in (at.lens, at.lens_with_none):
        for causal in (False, True):
            bound = Bound(attend, _real(lens), causal)
            contracts.assert_padding_invariant(bound, *at.qkv, lens, **options)


def _plain(contract: Callable[..., None], attend: Attend, at: _Inputs, **options: Any) -> None:
    contract(Bound(attend), *at.qkv, **options)


def _masked(contract: Callable[..., None], attend: Attend, at: _Inputs) -> None:
    for causal in (False, True):
        contract(Bound(attend, _real(at.lens), causal), *at.qkv)


def _causal(contract: Callable[..., None], attend: Attend, at: _Inputs, **options: Any) -> None:
    contract(Bound(attend, causal=True), *at.qkv, **options)


def _lengths(contract: Callable[..., None], attend: Attend, at: _Inputs, *, none: bool) -> None:
    lens = at.lens_with_none if none else at.lens
    contract(Bound(attend, _real(lens)), *at.qkv, lens)


def _batch_independent(attend: Attend, at: _Inputs) -> None:
    contracts.assert_batch_independent(Bound(attend), *at.qkv)
    contracts.assert_batch_independent(Bound(attend), *at.qkv, _real(at.lens))


def _scaled(attend: Attend, at: _Inputs) -> None:
    scale = (at.widths[1] / at.num_heads) ** -0.5
    contracts.assert_scaled(Bound(attend), *at.qkv, scale=scale)


CONTRACTS: Mapping[str, Callable[[Attend, _Inputs], None]] = {
    "assert_causal": partial(_causal, contracts.assert_causal),
    "assert_decodes_like_prefill": partial(_causal, contracts.assert_decodes_like_prefill),
    "assert_window": partial(_causal, contracts.assert_window, window=WINDOW),
    "assert_padding_invariant": _padding_invariant,
    "assert_padding_invariant, NaN": partial(_padding_invariant, poison=float("nan")),
    "assert_padding_removable": lambda attend, at: contracts.assert_padding_removable(
        Bound(attend), *at.qkv, at.left
    ),
    "assert_mask_beats_any_score": partial(
        _lengths, contracts.assert_mask_beats_any_score, none=False
    ),
    "assert_survives_empty_rows": partial(
        _lengths, contracts.assert_survives_empty_rows, none=True
    ),
    "assert_rows_sum_to_one": partial(_masked, contracts.assert_rows_sum_to_one),
    "assert_weights_explain_output": partial(_masked, contracts.assert_weights_explain_output),
    "assert_scaled": _scaled,
    "assert_reads_queries": partial(_plain, contracts.assert_reads_queries),
    "assert_reads_values": partial(_plain, contracts.assert_reads_values),
    "assert_looks_around": partial(_plain, contracts.assert_looks_around),
    "assert_permutation_equivariant": partial(_plain, contracts.assert_permutation_equivariant),
    "assert_rotary_layout": partial(_plain, contracts.assert_rotary_layout),
    "assert_batch_independent": _batch_independent,
    "assert_pure": partial(_masked, contracts.assert_pure),
    "assert_deterministic_in_eval": partial(_plain, contracts.assert_deterministic_in_eval),
    "assert_differentiable": partial(_masked, contracts.assert_differentiable),
    "assert_owns_parameters": partial(_plain, contracts.assert_owns_parameters),
    "assert_forgets": partial(_plain, contracts.assert_forgets),
    "assert_device_independent": partial(_masked, contracts.assert_device_independent),
}


def verdicts(
    attend: Attend,
    *,
    batch: int = 3,
    widths: tuple[int, int, int] = (8, 8, 8),
    num_heads: int = 1,
) -> dict[str, str]:
    """Run every contract on an attention of the museum's form.

    Parameters
    ----------
    attend : callable
        ``attend(queries, keys, values, real, causal)``, or a class of modules whose ``forward``
        is that.
    batch : int
        How many sequences it gets, at most 3.
    widths : tuple of int
        The widths of queries, keys and values.
    num_heads : int
        Into how many heads it splits them; its scores are divided by the root of their width.

    Returns
    -------
    dict of str to str
        For each contract what it says, and an empty string where it is kept, or where it cannot be
        tested. An error that
        ``attend`` raises is said, too.

    Examples
    --------
    >>> from attention_workbook.museum import EXHIBITS
    >>> said = verdicts(EXHIBITS["unscaled"].broken)
    >>> [name for name, complaint in said.items() if complaint]
    ['assert_window', 'assert_scaled', 'assert_looks_around']
    """
    complaints = complaints_about(attend, batch, widths, num_heads)
    return {name: words or "" for name, words in complaints.items()}


@cache
def complaints_about(
    attend: Attend, batch: int, widths: tuple[int, int, int], num_heads: int
) -> dict[str, str | None]:
    inputs = _Inputs(batch, widths, num_heads)
    return {name: _complaint(contract, attend, inputs) for name, contract in CONTRACTS.items()}


def _complaint(
    contract: Callable[[Attend, _Inputs], None], attend: Attend, inputs: _Inputs
) -> str | None:
    """Return what a contract says, nothing in words where it is kept, ``None`` if not tested."""
    try:
        contract(attend, inputs)
    except AssertionError as error:
        return str(error)
    except contracts.NotTested:
        return None
    except Exception as error:  # whatever an attention may raise is a finding
        return f"raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return ""
