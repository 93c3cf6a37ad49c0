"""The bug museum: attentions that are wrong in one line each, and a repaired one beside each.

All have one form, ``attend(queries, keys, values, real, causal)``: ``real`` is a boolean
``(batch, len_k)``, True = no padding, or ``None``; with ``causal`` a query sees no later key. They
return output and weights. The docstring of an exhibit says what is wrong, what is seen, the repair,
and who met it. The contracts of :mod:`attention_lib.contracts` run on all of them.

>>> exhibit = EXHIBITS["filled_with_zero"]
>>> exhibit.wrong
'Scores of masked keys become 0.'
>>> "assert_padding_invariant" in exhibit.caught_by()
True
>>> [name for name, complaint in verdicts(right_attention).items() if complaint]
['assert_window', 'assert_looks_around']

The last two are no promises of a plain attention: it has no window, and no projections.
"""

import html
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from string import ascii_lowercase
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_lib import contracts
from attention_lib._arguments import (
    require_a,
    require_all,
    require_count,
    require_flag,
    require_size,
    require_tensor,
)
from attention_lib.attention import Attention, scaled_dot_product_attention
from attention_lib.masking import causal_mask, length_mask, require_mask, window_mask
from attention_lib.multihead import merge_heads, split_heads
from attention_lib.positions import rotary_scores, sinusoidal_positions
from attention_lib.scoring import AdditiveScore, scaled_dot_scores

__all__ = ["CONTRACTS", "EXHIBITS", "Exhibit", "Gallery", "Matrix", "right_attention", "verdicts"]

Attend = Callable[..., Any]  # a function of the common form, or a module's class
Pair = tuple[Tensor, Tensor | None]

LENGTH, NUM_HEADS, WINDOW = 7, 2, 3
LABEL = re.compile(
    r" ?(?P<wrong>.+?) Seen: (?P<seen>.+?)\. Caught by: (?P<contract>.+?)\. "
    r"Repair: (?P<repair>.+?)\. Thread: (?P<thread>\S+) ?"
)


@dataclass(frozen=True)
class Exhibit:
    """An attention with a defect, and what is known about it.

    Parameters
    ----------
    name : str
        What it is called in ``EXHIBITS``.
    broken, repaired : callable
        Functions of the common form, or classes of modules whose ``forward`` has it.
    wrong, seen, repair : str
        What is wrong, what one sees of it, and what is right; a sentence or a part of one.
    contract : str
        The contract that is about just this; others may catch it, too.
    thread : str
        A public thread of somebody who met it; ``sources`` means the book's page of that name,
        ``none`` that we know of no thread.
    batch : int
        How many sequences the contracts give it.
    widths : tuple of int
        The widths of queries, keys and values that they have.
    num_heads : int
        Into how many heads it splits them.

    Raises
    ------
    TypeError, ValueError
        If the forms are not callable, what is said of them is no string, or the sizes are none.

    Examples
    --------
    >>> EXHIBITS["rotary_halves"].seen
    'the first token is right, and nonsense follows'
    """

    name: str
    broken: Attend
    repaired: Attend
    wrong: str
    seen: str
    contract: str
    repair: str
    thread: str
    batch: int = 3
    widths: tuple[int, int, int] = (8, 8, 8)
    num_heads: int = 1

    def __post_init__(self) -> None:
        _require_attention("broken", self.broken, self.batch, self.widths, self.num_heads)
        _require_attention("repaired", self.repaired, self.batch, self.widths, self.num_heads)
        for name in ("name", "wrong", "seen", "contract", "repair", "thread"):
            require_a(name, getattr(self, name), str)

    def caught_by(self) -> dict[str, str]:
        """Return what the contracts say that its repaired form keeps and it does not, by name."""
        kept = _verdicts(self.repaired, self.batch, self.widths, self.num_heads)
        said = _verdicts(self.broken, self.batch, self.widths, self.num_heads)
        return {name: said[name] for name in CONTRACTS if said[name] and not kept[name]}

    def promised(self) -> list[str]:
        """Return the contracts that its repaired form keeps, by name."""
        said = _verdicts(self.repaired, self.batch, self.widths, self.num_heads)
        return [name for name in CONTRACTS if not said[name]]


def _require_attention(
    name: str, attend: object, batch: int, widths: object, num_heads: int
) -> None:
    """Refuse what the contracts cannot be run on."""
    if not callable(attend):
        wanted = "a callable (queries, keys, values, real, causal)"
        raise TypeError(f"{name}: expected {wanted}, got {attend!r}")
    require_count("batch", batch)
    if batch > 3:
        raise ValueError(f"batch: expected at most 3, got {batch}")
    if not isinstance(widths, tuple) or len(widths) != 3:
        raise TypeError(f"widths: expected a tuple of three whole numbers, got {widths!r}")
    for number, width in enumerate(widths):
        require_count(f"widths[{number}]", width)
    require_count("num_heads", num_heads)
    if widths[1] % num_heads:
        raise ValueError(
            f"num_heads: expected a divisor of the keys' width {widths[1]}, got {num_heads}"
        )


EXHIBITS: dict[str, Exhibit] = {}


# ------------------------------------------------------------------------- what is right


def right_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    real: Tensor | None = None,
    causal: bool = False,
) -> Pair:
    """Attend as it is right: the repaired form of most exhibits.

    Parameters
    ----------
    queries, keys, values : torch.Tensor
        Shapes ``(batch, len_q, d_k)``, ``(batch, len_k, d_k)``, ``(batch, len_k, d_v)``.
    real : torch.Tensor, optional
        Boolean ``(batch, len_k)``, True = no padding.
    causal : bool
        Whether a query sees no later key.

    Returns
    -------
    tuple of torch.Tensor
        Output ``(batch, len_q, d_v)`` and weights ``(batch, len_q, len_k)``.

    Raises
    ------
    TypeError, ValueError
        As :func:`~attention_lib.attention.scaled_dot_product_attention`.

    Examples
    --------
    >>> x = torch.eye(2)[None]
    >>> right_attention(x, x, x, torch.tensor([[True, False]]))[1]
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    require_all(queries, keys, values)
    require_flag("causal", causal)
    if real is not None:
        require_mask("real", real)
        require_tensor("real", real, rank=2, axes="(batch, len_k)")
        require_size("real", real, -1, keys.shape[-2], "keys")
    mask = _allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def _allowed(queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool) -> Tensor:
    """Return who may attend to whom, booleans ``(batch or 1, len_q, len_k)``."""
    len_q, len_k = queries.shape[-2], keys.shape[-2]
    mask = torch.ones(1, len_q, len_k, dtype=torch.bool, device=keys.device)
    if causal:
        mask = mask & causal_mask(len_q, len_k, keys.device)
    return mask if real is None else mask & real.unsqueeze(-2)


def _finished(scores: Tensor, values: Tensor) -> Pair:
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


def fused(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """PyTorch's function, with the mask that it reads: True = may attend."""
    mask = _allowed(queries, keys, real, causal)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


def heads(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Two heads without projections."""
    parts = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    mask = _allowed(queries, keys, real, causal).unsqueeze(1)  # (batch, 1, len_q, len_k)
    output, weights = scaled_dot_product_attention(*parts, mask=mask)
    return merge_heads(output), weights


def rotary(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Rotary positions in the layout of the paper."""
    scores = rotary_scores(queries, keys)
    hidden = ~_allowed(queries, keys, real, causal)
    return _finished(scores.masked_fill(hidden, -torch.inf), values)


def positions_by_token(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Sines added by the number of the token, wherever the padding stands."""
    kept = _allowed(queries[:, :1], keys, real, False)[:, 0]  # (batch or 1, len_k)
    places = (kept.cumsum(dim=-1) - 1).clamp(min=0)
    return _placed(queries, keys, values, real, causal, places)


def _placed(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool, places: Tensor
) -> Pair:
    waves = sinusoidal_positions(keys.shape[-2], keys.shape[-1]).to(keys)[places]
    return right_attention(
        queries + waves[:, -queries.shape[-2] :], keys + waves, values, real, causal
    )


def windowed(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """A causal window of three keys, the query's own included."""
    return _windowed(queries, keys, values, real, WINDOW)


def _windowed(queries: Tensor, keys: Tensor, values: Tensor, real: Any, window: int) -> Pair:
    near = window_mask(queries.shape[-2], keys.shape[-2], window=window, device=keys.device)
    mask = _allowed(queries, keys, real, True) & near
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


def cached_window(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The same window, from a cache that drops what no query needs any more."""
    return _cached(queries, keys, values, real, WINDOW)


def _cached(queries: Tensor, keys: Tensor, values: Tensor, real: Any, kept: int) -> Pair:
    last = slice(-(kept + queries.shape[-2] - 1), None)
    real = None if real is None else real[..., last]
    return _windowed(queries, keys[..., last, :], values[..., last, :], real, WINDOW)


class Layer(nn.Module):
    """PyTorch's layer with two heads; its projections are identities."""

    average, batch_first = False, True

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, NUM_HEADS, bias=False, batch_first=self.batch_first)
        with torch.no_grad():
            self.layer.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
            self.layer.out_proj.weight.copy_(torch.eye(8))

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return what the layer is told, in its own words: True = ignore."""
        hidden = ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device) if causal else None
        return {"attn_mask": hidden, "key_padding_mask": None if real is None else ~real}

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Tensor | None, causal: bool
    ) -> Any:
        """Return output and weights, ``(batch, num_heads, len_q, len_k)``."""
        told = self.masks(queries, keys, real, causal)
        return self.layer(queries, keys, values, average_attn_weights=self.average, **told)


class Additive(nn.Module):
    """The library's additive attention, for queries and keys of different widths."""

    sizes = (5, 7, 6)

    def __init__(self) -> None:
        super().__init__()
        self.score = AdditiveScore(*self.sizes)
        self.attention = Attention(self.score)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Any:
        """Return output and weights."""
        return self.attention(queries, keys, values, mask=_allowed(queries, keys, real, causal))


class Projected(nn.Module):
    """One head with learned projections."""

    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(64, 64, bias=False) for _ in range(3))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        return right_attention(self.W_q(queries), self.W_k(keys), self.W_v(values), real, causal)


class Normed(nn.Module):
    """Attention, then a layer norm that the module owns."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        output, weights = right_attention(queries, keys, values, real, causal)
        return self.norm(queries + output), weights


class Dropped(nn.Module):
    """Dropout on the weights, in training only; the weights that come back are those before."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        _, weights = right_attention(queries, keys, values, real, causal)
        assert weights is not None
        return F.dropout(weights, 0.5, self.training) @ values, weights


class Encoder(nn.Module):
    """PyTorch's encoder, its padded outputs put to 0 whatever the path."""

    cleared = True

    def __init__(self) -> None:
        super().__init__()
        block = nn.TransformerEncoderLayer(8, NUM_HEADS, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 1)
        self.eval()

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return the output for the queries, which attend to themselves."""
        hidden = ~causal_mask(queries.shape[-2], device=queries.device) if causal else None
        with warnings.catch_warnings(record=True):  # the fast path calls itself a prototype
            warnings.simplefilter("always")  # recorded, even where warnings are errors
            output = self.encoder(
                queries, mask=hidden, src_key_padding_mask=None if real is None else ~real
            )
        if self.cleared and real is not None:
            output = output.masked_fill(~real.unsqueeze(-1), 0.0)
        return output, None


# ------------------------------------------------------------------------- what is wrong


def _exhibit(repaired: Attend = right_attention, **sizes: Any) -> Callable[[Attend], Attend]:
    """Put a broken attention into the museum; its docstring is its label."""

    def add(broken: Attend) -> Attend:
        text = re.sub(r"\s+", " ", broken.__doc__ or "")
        label = LABEL.fullmatch(text)
        if label is None:
            raise ValueError(f"{broken.__name__}: its docstring is no label, {text!r}")
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", broken.__name__).lower()
        said: dict[str, Any] = label.groupdict()
        EXHIBITS[name] = Exhibit(name, broken, repaired, **said, **sizes)
        return broken

    return add


def _filled(fill: float) -> Attend:
    def attend(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
        hidden = ~_allowed(queries, keys, real, causal)
        return _finished(scaled_dot_scores(queries, keys).masked_fill(hidden, fill), values)

    return attend


@_exhibit()
def filled_with_zero(*call: Any) -> Any:
    """Scores of masked keys become 0.

    Seen: padding keeps a share of the weight, because e to the power of 0 is 1.
    Caught by: assert_padding_invariant.
    Repair: fill with −∞.
    Thread: sources
    """
    return _filled(0.0)(*call)


@_exhibit()
def filled_with_a_millionth(*call: Any) -> Any:
    """Masked scores become 10 to the power of −6, where −10 to the power of 6 was meant.

    Seen: what a fill of 0 shows.
    Caught by: assert_padding_invariant.
    Repair: fill with −∞.
    Thread: sources
    """
    return _filled(-1e-6)(*call)


@_exhibit()
def filled_with_a_million(*call: Any) -> Any:
    """Masked scores become −10 to the power of 6.

    Seen: float16 raises; an empty row spreads over its padding; a lower score loses to padding.
    Caught by: assert_mask_beats_any_score.
    Repair: −∞, and 0 for an empty row.
    Thread: https://github.com/facebookresearch/fairseq/issues/3575
    """
    return _filled(-1e6)(*call)


@_exhibit()
def filled_with_a_billion(*call: Any) -> Any:
    """Masked scores become −10 to the power of 9.

    Seen: float16 raises; a score below it gives all weight to padding.
    Caught by: assert_mask_beats_any_score.
    Repair: −∞, and 0 for an empty row.
    Thread: https://github.com/NVIDIA/apex/issues/1052
    """
    return _filled(-1e9)(*call)


@_exhibit()
def filled_with_the_lowest(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Any:
    """Masked scores become the lowest number of the dtype.

    Seen: an empty row spreads over its padding; two such masks, added, are −∞.
    Caught by: assert_padding_invariant.
    Repair: −∞, and 0 for an empty row.
    Thread: https://github.com/huggingface/transformers/issues/17306
    """
    return _filled(torch.finfo(queries.dtype).min)(queries, keys, values, real, causal)


@_exhibit()
def nan_on_an_empty_row(*call: Any) -> Any:
    """Masked scores become −∞, in rows with nothing to attend to as well.

    Seen: NaN, and in the backward pass NaN in the gradients of the whole batch.
    Caught by: assert_survives_empty_rows.
    Repair: answer an empty row with 0.
    Thread: https://github.com/pytorch/pytorch/issues/41508
    """
    return _filled(-torch.inf)(*call)


@_exhibit()
def result_thrown_away(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The tensor that masked_fill returns is not used.

    Seen: the mask has no effect.
    Caught by: assert_padding_invariant.
    Repair: assign the result.
    Thread: sources
    """
    scores = scaled_dot_scores(queries, keys)
    scores.masked_fill(~_allowed(queries, keys, real, causal), -torch.inf)
    return _finished(scores, values)


@_exhibit()
def mask_the_other_way(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """True is taken for "hidden", where it means "may attend".

    Seen: the model reads the padding and the future, and nothing else.
    Caught by: assert_padding_invariant.
    Repair: one meaning, turned round at the border.
    Thread: https://github.com/pytorch/pytorch/issues/170400
    """
    shown = _allowed(queries, keys, real, causal)
    return _finished(scaled_dot_scores(queries, keys).masked_fill(shown, -torch.inf), values)


@_exhibit()
def mask_added(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """A mask of 0.0 and 1.0 is added to the scores.

    Seen: hidden keys keep a share, only a little less than the others.
    Caught by: assert_padding_invariant.
    Repair: a boolean mask.
    Thread: https://github.com/pytorch/pytorch/issues/21518
    """
    mask = _allowed(queries, keys, real, causal).to(queries.dtype)
    return _finished(scaled_dot_scores(queries, keys) + mask, values)


@_exhibit()
def masked_after_softmax(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Weights are multiplied by the mask after the softmax.

    Seen: rows sum to less than 1, and what is hidden decides how much less.
    Caught by: assert_rows_sum_to_one.
    Repair: mask, then softmax.
    Thread: none
    """
    weights = scaled_dot_scores(queries, keys).softmax(dim=-1)
    weights = weights * _allowed(queries, keys, real, causal)
    return weights @ values, weights


@_exhibit()
def zero_times_nan(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Values of masked keys are multiplied by a weight of 0, and nothing else hides them.

    Seen: a NaN in the padding reaches every output.
    Caught by: assert_padding_invariant, NaN.
    Repair: put values of padding to 0 first.
    Thread: https://github.com/pytorch/pytorch/issues/101967
    """
    _, weights = right_attention(queries, keys.nan_to_num(), values.nan_to_num(), real, causal)
    assert weights is not None
    return weights @ values, weights


@_exhibit()
def masked_in_place(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """What is hidden is overwritten through a reshaped view.

    Seen: the caller's tensor changes; a leaf that requires a gradient raises.
    Caught by: assert_pure.
    Repair: masked_fill, which makes a new tensor.
    Thread: sources
    """
    rows = values.reshape(-1, values.shape[-1])
    if real is not None:
        rows[~real.reshape(-1)] = 0.0
    return right_attention(queries, keys, values, real, causal)


@_exhibit()
def mask_made_elsewhere(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The mask leaves PyTorch, and comes back without a device.

    Seen: it works on the CPU and fails on the first GPU.
    Caught by: assert_device_independent.
    Repair: stay in PyTorch, on the device of the scores.
    Thread: sources
    """
    mask = torch.tensor(_allowed(queries, keys, real, causal).tolist())
    return scaled_dot_product_attention(queries, keys, values, mask=mask)


@_exhibit()
def softmax_over_the_batch(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The softmax runs over the first axis, which it guesses when it is given none.

    Seen: rows do not sum to 1, and sequences share their weight.
    Caught by: assert_rows_sum_to_one.
    Repair: dim=-1, always written out.
    Thread: sources
    """
    hidden = ~_allowed(queries, keys, real, causal)
    weights = scaled_dot_scores(queries, keys).masked_fill(hidden, -torch.inf).softmax(dim=0)
    return weights @ values, weights


@_exhibit()
def unscaled(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The scores are not divided at all.

    Seen: one weight near 1, gradients near 0.
    Caught by: assert_scaled.
    Repair: divide by √d.
    Thread: none
    """
    mask = _allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=1.0)


@_exhibit()
def divided_by_d(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The scores are divided by d, without its root.

    Seen: weights that are nearly equal.
    Caught by: assert_scaled.
    Repair: divide by √d.
    Thread: none
    """
    mask, scale = _allowed(queries, keys, real, causal), 1 / queries.shape[-1]
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=scale)


@_exhibit()
def scaled_by_another_width(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The divisor is √64, whatever the width of queries and keys.

    Seen: where the width is 512, weights are near 0 or 1.
    Caught by: assert_scaled.
    Repair: read the width off the queries.
    Thread: sources
    """
    mask = _allowed(queries, keys, real, causal)
    return scaled_dot_product_attention(queries, keys, values, mask=mask, scale=64**-0.5)


@_exhibit(heads, num_heads=2)
def divided_by_root_of_d_model(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Each head divides by the root of the whole width, not of its own.

    Seen: weights flatter than those of a model that was trained with √d_k.
    Caught by: assert_scaled.
    Repair: divide by the root of the head's width.
    Thread: https://github.com/karpathy/ng-video-lecture/pull/6
    """
    parts = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    mask, scale = _allowed(queries, keys, real, causal).unsqueeze(1), queries.shape[-1] ** -0.5
    output, weights = scaled_dot_product_attention(*parts, mask=mask, scale=scale)
    return merge_heads(output), weights


@_exhibit()
def values_from_the_keys(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """The values are taken from the keys.

    Seen: nothing, as long as both are the same tensor.
    Caught by: assert_reads_values.
    Repair: weights times values.
    Thread: none
    """
    return right_attention(queries, keys, keys, real, causal)


@_exhibit(fused)
def dropout_in_evaluation(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Dropout is on, whatever the mode.

    Seen: outputs that change from call to call; 11.83 where the mean is 10.
    Caught by: assert_deterministic_in_eval.
    Repair: dropout_p=0.0 unless self.training.
    Thread: https://github.com/pytorch/pytorch/issues/124464
    """
    mask = _allowed(queries, keys, real, causal)
    return F.scaled_dot_product_attention(queries, keys, values, mask, dropout_p=0.1), None


@_exhibit(Dropped)
class WeightsAfterDropout(Dropped):
    """The weights that come back are those after dropout.

    Seen: in training the rows of a heatmap sum to other numbers than 1.
    Caught by: assert_rows_sum_to_one.
    Repair: return the weights before dropout.
    Thread: https://github.com/pytorch/pytorch/issues/42929
    """

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        _, weights = right_attention(queries, keys, values, real, causal)
        assert weights is not None
        weights = F.dropout(weights, 0.5, self.training)
        return weights @ values, weights


@_exhibit(Additive, widths=(5, 7, 8))
class AdditiveWithoutTanh(Additive):
    """The additive score lacks its tanh.

    Seen: the weights are the same for every query, since softmax cancels what all keys share.
    Caught by: assert_reads_queries.
    Repair: tanh of the sum.
    Thread: sources
    """

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        score = self.score
        sums = score.W_q(queries).unsqueeze(-2) + score.W_k(keys).unsqueeze(-3)
        hidden = ~_allowed(queries, keys, real, causal)
        scores = score.w_v(sums).squeeze(-1).masked_fill(hidden, -torch.inf)
        return _finished(scores, values)


@_exhibit(Additive, widths=(5, 7, 8))
class SizesWrittenIn(Additive):
    """The sizes of the one example are written into the layer.

    Seen: it works for the example and raises for all else.
    Caught by: assert_reads_queries.
    Repair: sizes are arguments.
    Thread: sources
    """

    sizes = (2, 2, 8)


@_exhibit(Additive, widths=(5, 7, 8))
class MatricesSwapped(Additive):
    """The query goes through the key's matrix, and the key through the query's.

    Seen: nothing, until the two have different widths.
    Caught by: assert_reads_queries.
    Repair: names that match what they multiply.
    Thread: sources
    """

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        score = self.score
        sums = score.W_k(queries).unsqueeze(-2) + score.W_q(keys).unsqueeze(-3)
        hidden = ~_allowed(queries, keys, real, causal)
        scores = score.w_v(sums.tanh()).squeeze(-1).masked_fill(hidden, -torch.inf)
        return _finished(scores, values)


@_exhibit(Projected, widths=(64, 64, 64))
def no_projections(*call: Any) -> Any:
    """Queries, keys and values are the tokens themselves.

    Seen: each token gives nearly all its weight to itself, even after division by √d.
    Caught by: assert_looks_around.
    Repair: learned projections.
    Thread: sources
    """
    return right_attention(*call)


@_exhibit(Normed)
class NormMadeInForward(nn.Module):
    """The layer norm is made inside forward.

    Seen: it is never trained and never saved.
    Caught by: assert_owns_parameters.
    Repair: make it once, in __init__.
    Thread: sources
    """

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        output, weights = right_attention(queries, keys, values, real, causal)
        return nn.LayerNorm(8, device=output.device)(queries + output), weights


@_exhibit(Projected, widths=(64, 64, 64))
class LayersMadeLate(nn.Module):
    """The projections are lazy: they have no numbers before the first call.

    Seen: a seed set at the start does not fix them, and they cannot be counted or compared.
    Caught by: assert_owns_parameters.
    Repair: explicit sizes.
    Thread: sources
    """

    def __init__(self) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.LazyLinear(64, bias=False) for _ in range(3))

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        return right_attention(self.W_q(queries), self.W_k(keys), self.W_v(values), real, causal)


@_exhibit()
class WeightsKept(nn.Module):
    """The weights are stored on the module, for a picture later.

    Seen: the graph of the last call stays in memory, and the picture shows the last call only.
    Caught by: assert_forgets.
    Repair: return them.
    Thread: sources
    """

    weights: Tensor | None = None

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        output, self.weights = right_attention(queries, keys, values, real, causal)
        return output, self.weights


@_exhibit()
class CacheNeverEmptied(nn.Module):
    """The cache of one text is still there when the next begins.

    Seen: an answer that depends on who asked before.
    Caught by: assert_pure.
    Repair: a cache is an argument.
    Thread: none
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, Tensor]] = []

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
    ) -> Pair:
        """Return output and weights."""
        self.seen.append((keys, values))
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.seen, strict=True))
        if real is not None:
            real = F.pad(real, (keys.shape[-2] - real.shape[-1], 0), value=True)
        return right_attention(queries, keys, values, real, causal)


@_exhibit(Layer, num_heads=2)
class PaddingMaskAdded(Layer):
    """The layer's key_padding_mask is a float, 1.0 at the padding.

    Seen: padding gets more weight than real keys.
    Caught by: assert_padding_invariant.
    Repair: a boolean, True = ignore.
    Thread: https://github.com/pytorch/pytorch/issues/92554
    """

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the padding as 1.0, and the future as −∞, which has to be of the same kind."""
        told = super().masks(*call)
        hidden, padding = told["attn_mask"], told["key_padding_mask"]
        if hidden is not None:
            told["attn_mask"] = torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)
        return told | {"key_padding_mask": None if padding is None else padding.float()}


@_exhibit(Layer, num_heads=2)
class HintWithoutMask(Layer):
    """The layer's is_causal=True is given with a mask that hides nothing.

    Seen: the model reads the future, if the weights are asked for.
    Caught by: assert_causal.
    Repair: is_causal is a hint; give the mask.
    Thread: https://github.com/pytorch/pytorch/issues/99282
    """

    def masks(self, *call: Any) -> dict[str, Any]:
        """Return the hint, and a mask of False."""
        told = super().masks(*call)
        if told["attn_mask"] is not None:
            told |= {"attn_mask": torch.zeros_like(told["attn_mask"]), "is_causal": True}
        return told


@_exhibit(Layer, num_heads=2)
class HintOverMask(Layer):
    """The layer's is_causal=True is given with a mask that hides more than the future.

    Seen: without weights the mask is ignored, and padding leaks.
    Caught by: assert_padding_invariant.
    Repair: give the hint only where the mask is causal and nothing more.
    Thread: https://github.com/pytorch/pytorch/issues/118972
    """

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return causal and padding as one mask for each head, and the hint."""
        if not causal:
            return super().masks(queries, keys, real, causal)
        hidden = ~_allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        folded = hidden.repeat_interleave(NUM_HEADS, dim=0)
        return {"attn_mask": folded, "is_causal": True, "need_weights": False}


@_exhibit(Layer, num_heads=2)
class MasksTiled(Layer):
    """One mask for each head, in the wrong order: repeat in place of repeat_interleave.

    Seen: right with one head; with several, a sequence has its neighbours' masks.
    Caught by: assert_batch_independent.
    Repair: repeat_interleave.
    Thread: https://github.com/line/lighthouse/issues/77
    """

    def masks(
        self, queries: Tensor, keys: Tensor, real: Tensor | None, causal: bool
    ) -> dict[str, Any]:
        """Return one mask for each head of each sequence, heads first."""
        hidden = ~_allowed(queries, keys, real, causal).expand(len(queries), -1, -1)
        return {"attn_mask": hidden.repeat(NUM_HEADS, 1, 1)}


@_exhibit(Layer, num_heads=2)
class BatchFirstForgotten(Layer):
    """The layer is not told that the batch comes first.

    Seen: the output has its shape, and sequences attend to each other.
    Caught by: assert_batch_independent.
    Repair: batch_first=True.
    Thread: none
    """

    batch_first = False


@_exhibit(Layer, num_heads=2)
class HeadsAveraged(Layer):
    """The layer returns the mean of its heads' weights, as it does by default.

    Seen: a map that no head has.
    Caught by: assert_weights_explain_output.
    Repair: average_attn_weights=False.
    Thread: https://github.com/pytorch/pytorch/issues/34537
    """

    average = True


@_exhibit(fused)
def future_only(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """PyTorch's function gets an upper triangle of True, as the layer would want it.

    Seen: every token reads the future only, and the last reads nothing.
    Caught by: assert_causal.
    Repair: True = may attend, in this function.
    Thread: https://github.com/rasbt/LLMs-from-scratch/issues/1061
    """
    mask = _allowed(queries, keys, real, False)
    if causal:
        mask = mask & ~causal_mask(queries.shape[-2], keys.shape[-2], keys.device)
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


@_exhibit(fused)
def upper_left(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The triangle starts in the upper left, where a cache needs the lower right.

    Seen: with a cache, the new token sees the first key only.
    Caught by: assert_decodes_like_prefill.
    Repair: align the last query with the last key.
    Thread: https://github.com/pytorch/pytorch/issues/108108
    """
    mask = _allowed(queries, keys, real, False)
    if causal:
        mask = mask & torch.ones_like(mask).tril()
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask), None


@_exhibit(Encoder)
class FastPath(Encoder):
    """The encoder's outputs at padded places are used.

    Seen: exactly 0 in evaluation without gradients, something else in training.
    Caught by: assert_differentiable.
    Repair: never read outputs at padding; or put them to 0.
    Thread: https://github.com/pytorch/pytorch/issues/97111
    """

    cleared = False


@_exhibit(positions_by_token)
def left_padding_by_place(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Positions count places, with padding on the left.

    Seen: short prompts get nonsense, long ones do not.
    Caught by: assert_padding_removable.
    Repair: positions from the mask, cumsum − 1.
    Thread: https://github.com/unslothai/unsloth/issues/3699
    """
    places = torch.arange(keys.shape[-2], device=keys.device).unsqueeze(0)
    return _placed(queries, keys, values, real, causal, places)


@_exhibit(windowed)
def window_with_one_more(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """A window of w keys counts w keys before the query, and its own on top.

    Seen: a model that is a little worse than it was in training.
    Caught by: assert_window.
    Repair: i − j < w, not ≤.
    Thread: https://github.com/huggingface/transformers/issues/39408
    """
    return _windowed(queries, keys, values, real, WINDOW + 1)


@_exhibit(cached_window)
def cache_one_short(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """The cache of a window keeps one key too few.

    Seen: generated text differs from what one pass over the same text gives.
    Caught by: assert_decodes_like_prefill.
    Repair: keep w keys, the new one included.
    Thread: https://github.com/ml-explore/mlx-lm/issues/390
    """
    return _cached(queries, keys, values, real, WINDOW - 1)


@_exhibit(rotary)
def rotary_halves(queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool) -> Pair:
    """Weights that were trained with pairs of neighbours run in code that pairs halves.

    Seen: the first token is right, and nonsense follows.
    Caught by: assert_rotary_layout.
    Repair: permute queries' and keys' matrices, or take the other layout.
    Thread: https://github.com/huggingface/transformers/issues/25199
    """
    hidden = ~_allowed(queries, keys, real, causal)
    scores = rotary_scores(queries, keys, layout="halves").masked_fill(hidden, -torch.inf)
    return _finished(scores, values)


@_exhibit(heads, num_heads=2)
def view_for_transpose(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """Heads are split by a view alone, without the transpose.

    Seen: every shape is right, and positions are mixed.
    Caught by: assert_causal.
    Repair: view, then transpose.
    Thread: https://github.com/harvardnlp/annotated-transformer/issues/118
    """
    parts = [x.reshape(len(x), NUM_HEADS, x.shape[1], -1) for x in (queries, keys, values)]
    mask = _allowed(queries, keys, real, causal).unsqueeze(1)
    output, weights = scaled_dot_product_attention(*parts, mask=mask)
    return merge_heads(output), weights


@_exhibit(heads, num_heads=2, batch=2)
def batch_taken_for_heads(
    queries: Tensor, keys: Tensor, values: Tensor, real: Any, causal: bool
) -> Pair:
    """A mask (batch, len_q, len_k) meets scores with an axis for heads.

    Seen: no error where batch and heads are equally many; heads get sequences' masks.
    Caught by: assert_batch_independent.
    Repair: (batch, 1, len_q, len_k).
    Thread: none
    """
    parts = [split_heads(x, NUM_HEADS) for x in (queries, keys, values)]
    mask = _allowed(queries, keys, real, causal)
    output, weights = scaled_dot_product_attention(*parts, mask=mask)
    return merge_heads(output), weights


# ------------------------------------------------------------------------- the contracts, bound


class _Bound(nn.Module):
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
            bound = _Bound(attend, _real(lens), causal)
            contracts.assert_padding_invariant(bound, *at.qkv, lens, **options)


def _plain(contract: Callable[..., None], attend: Attend, at: _Inputs, **options: Any) -> None:
    contract(_Bound(attend), *at.qkv, **options)


def _masked(contract: Callable[..., None], attend: Attend, at: _Inputs) -> None:
    for causal in (False, True):
        contract(_Bound(attend, _real(at.lens), causal), *at.qkv)


def _causal(contract: Callable[..., None], attend: Attend, at: _Inputs, **options: Any) -> None:
    contract(_Bound(attend, causal=True), *at.qkv, **options)


def _lengths(contract: Callable[..., None], attend: Attend, at: _Inputs, *, none: bool) -> None:
    lens = at.lens_with_none if none else at.lens
    contract(_Bound(attend, _real(lens)), *at.qkv, lens)


def _batch_independent(attend: Attend, at: _Inputs) -> None:
    contracts.assert_batch_independent(_Bound(attend), *at.qkv)
    contracts.assert_batch_independent(_Bound(attend), *at.qkv, _real(at.lens))


def _scaled(attend: Attend, at: _Inputs) -> None:
    scale = (at.widths[1] / at.num_heads) ** -0.5
    contracts.assert_scaled(_Bound(attend), *at.qkv, scale=scale)


CONTRACTS: Mapping[str, Callable[[Attend, _Inputs], None]] = {
    "assert_causal": partial(_causal, contracts.assert_causal),
    "assert_decodes_like_prefill": partial(_causal, contracts.assert_decodes_like_prefill),
    "assert_window": partial(_causal, contracts.assert_window, window=WINDOW),
    "assert_padding_invariant": _padding_invariant,
    "assert_padding_invariant, NaN": partial(_padding_invariant, poison=float("nan")),
    "assert_padding_removable": lambda attend, at: contracts.assert_padding_removable(
        _Bound(attend), *at.qkv, at.left
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
        For each contract what it says, and an empty string where it is kept. An error that
        ``attend`` raises is said, too.

    Raises
    ------
    TypeError, ValueError
        If ``attend`` is not callable, or a size is none.

    Examples
    --------
    >>> said = verdicts(EXHIBITS["unscaled"].broken)
    >>> [name for name, complaint in said.items() if complaint]
    ['assert_window', 'assert_scaled', 'assert_looks_around']
    """
    _require_attention("attend", attend, batch, widths, num_heads)
    return dict(_verdicts(attend, batch, widths, num_heads))


def _chosen(names: Sequence[str] | None) -> list[Exhibit]:
    """Return the exhibits of some names, all of them without any."""
    if names is None:
        return list(EXHIBITS.values())
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"names: expected a sequence of names of EXHIBITS, got {names!r}")
    if unknown := [name for name in names if name not in EXHIBITS]:
        raise ValueError(f"names: expected names of EXHIBITS, got {unknown[0]!r}")
    return [EXHIBITS[name] for name in names]


class Gallery:
    """The exhibits as a table: what is wrong, what is seen, what catches it, the repair, a thread.

    Parameters
    ----------
    names : sequence of str, optional
        Which exhibits; all by default.

    Raises
    ------
    ValueError
        If there is no such exhibit.

    Examples
    --------
    >>> Gallery(["unscaled"])
    unscaled: The scores are not divided at all. Seen: one weight near 1, gradients near 0. \
Caught by: assert_scaled. Repair: divide by √d. Thread: none
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.exhibits = _chosen(names)

    def __repr__(self) -> str:
        return "\n".join(
            f"{x.name}: {x.wrong} Seen: {x.seen}. Caught by: {x.contract}. "
            f"Repair: {x.repair}. Thread: {x.thread}"
            for x in self.exhibits
        )

    def _repr_html_(self) -> str:
        heads = ("What is wrong", "What is seen", "Caught by", "Repair")
        head = "".join(f'<th scope="col">{name}</th>' for name in heads)
        rows = "".join(f"<tr>{_cells(exhibit)}</tr>" for exhibit in self.exhibits)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _breakable(name: str) -> str:
    """Let a line break after each part of a name, as HTML."""
    return html.escape(name).replace("_", "_<wbr>")


def _cells(exhibit: Exhibit) -> str:
    wrong, seen, repair = map(html.escape, (exhibit.wrong, exhibit.seen, exhibit.repair))
    if exhibit.thread.startswith("https://"):
        repair += f' (<a href="{exhibit.thread}">thread</a>)'
    name, contract = _breakable(exhibit.name), exhibit.contract.removeprefix("assert_")
    cells = (
        f"{wrong}<br><code>{name}</code>",
        seen,
        f"<code>{_breakable(contract)}</code>",
        repair,
    )
    return "".join(f"<td>{cell}</td>" for cell in cells)


class Matrix:
    """Every contract on every exhibit, as a table: a row for each exhibit, contracts by letters.

    X means caught, a dot kept; a blank, that the repaired form does not keep the contract either,
    so that it was never promised.

    Parameters
    ----------
    names : sequence of str, optional
        Which exhibits; all by default.

    Raises
    ------
    ValueError
        If there is no such exhibit.

    Examples
    --------
    >>> matrix = Matrix(["unscaled", "window_with_one_more"])
    >>> matrix
                         a b c d e f g h i j k l m n o p q r s t u v w
    unscaled             . .   . . . . . . . X . .   . . . . . . . . .
    window_with_one_more . . X . . .   . . .   . .     . . . . . . . .
    >>> matrix.letters["c"], matrix.letters["k"]
    ('assert_window', 'assert_scaled')
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.letters = dict(zip(ascii_lowercase, CONTRACTS, strict=False))
        self.marks = {exhibit.name: self._row(exhibit) for exhibit in _chosen(names)}

    @staticmethod
    def _row(exhibit: Exhibit) -> str:
        caught, promised = exhibit.caught_by(), exhibit.promised()
        return "".join("X" if c in caught else "." if c in promised else " " for c in CONTRACTS)

    def __repr__(self) -> str:
        wide = max(map(len, self.marks))
        rows = {"": "".join(self.letters)} | self.marks
        return "\n".join(
            f"{name:{wide}} {' '.join(marks)}".rstrip() for name, marks in rows.items()
        )

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" title="{name}">{letter}</th>' for letter, name in self.letters.items()
        )
        rows = "".join(
            f'<tr><th scope="row">{_breakable(name)}</th><td>{"</td><td>".join(marks)}</td></tr>'
            for name, marks in self.marks.items()
        )
        return f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"


@cache
def _verdicts(
    attend: Attend, batch: int, widths: tuple[int, int, int], num_heads: int
) -> dict[str, str]:
    inputs = _Inputs(batch, widths, num_heads)
    return {name: _said(contract, attend, inputs) for name, contract in CONTRACTS.items()}


def _said(contract: Callable[[Attend, _Inputs], None], attend: Attend, inputs: _Inputs) -> str:
    try:
        contract(attend, inputs)
    except AssertionError as error:
        return str(error)
    except Exception as error:  # whatever an attention may raise is a finding
        return f"raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return ""
