"""The graders of "Mask before the softmax": the right answer passes, each mistake is named."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from attention_lib.checks import masking as check
from attention_lib.masking import causal_mask, combine_masks, length_mask, masked_softmax
from tests.checks.tables import judged


def padding_by_loops(valid_lens, len_k):
    mask = torch.zeros(len(valid_lens), len_k, dtype=torch.bool)
    for row, length in enumerate(valid_lens.tolist()):
        mask[row, length:] = True
    return mask


def padding_by_list(valid_lens, len_k):
    return torch.tensor([[place >= n for place in range(len_k)] for n in valid_lens.tolist()])


def softmax_by_loops(scores, mask):
    mask = mask.expand_as(scores)
    weights = torch.zeros_like(scores)
    for row in np.ndindex(*scores.shape[:-1]):
        if mask[row].any():
            weights[row][mask[row]] = scores[row][mask[row]].softmax(dim=-1)
    return weights


def softmax_by_exponentials(scores, mask):
    highest = scores.masked_fill(~mask, -torch.inf).amax(dim=-1, keepdim=True)
    highest = highest.masked_fill(highest == -torch.inf, 0.0)
    shares = torch.where(mask, (scores - highest).exp(), 0.0)
    return shares / shares.sum(dim=-1, keepdim=True).masked_fill(~mask.any(-1, keepdim=True), 1.0)


def softmax_added(scores, mask):
    bias = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (torch.where(mask, scores, 0.0) + bias).softmax(dim=-1).nan_to_num(0.0)


def softmax_in_numpy(scores, mask):
    filled = np.where(mask.numpy(), scores.numpy(), -np.inf)
    highest = filled.max(axis=-1, keepdims=True)
    shares = np.exp(filled - np.where(np.isinf(highest), 0, highest))
    return shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-30)


def packed_by_loops(documents):
    length = documents.shape[-1]
    mask = torch.zeros(*documents.shape, length, dtype=torch.bool)
    for row in range(documents.shape[0]):
        for query in range(length):
            for key in range(query + 1):
                mask[row, query, key] = documents[row, query] == documents[row, key]
    return mask


def same(documents):
    return documents.unsqueeze(-1) == documents.unsqueeze(-2)


def causal(documents):
    return causal_mask(documents.shape[-1])


def by_distance(documents):
    places = torch.arange(documents.shape[-1])
    apart = documents[..., :, None] - documents[..., None, :]
    return (apart == 0) & (places[:, None] >= places)


# grader -> answers that are right
RIGHT = [
    (check.kept_cells, 12),
    (check.kept_cells, 12.0),
    (check.kept_cells, np.int64(12)),
    (check.kept_cells, combine_masks(causal_mask(5), length_mask(torch.tensor([3]), 5)).sum()),
    (check.lowest_loss, math.log(3)),
    (check.lowest_loss, 1.1),
    (check.lowest_loss, np.log(3)),
    (check.lowest_loss, F.cross_entropy(torch.zeros(1, 3), torch.tensor([1]))),
    (check.key_padding, lambda lens, n: ~length_mask(lens, n).squeeze(1)),
    (check.key_padding, lambda lens, n: torch.arange(n) >= lens.unsqueeze(-1)),
    (check.key_padding, padding_by_loops),
    (check.key_padding, padding_by_list),
    (check.masked_softmax, lambda scores, mask: masked_softmax(scores, mask=mask)),
    (check.masked_softmax, lambda scores, mask: torch.where(
        mask, torch.where(mask, scores, -torch.inf).softmax(dim=-1), 0.0)),
    (check.masked_softmax, softmax_by_loops),
    (check.masked_softmax, softmax_by_exponentials),
    (check.masked_softmax, softmax_added),
    (check.masked_softmax, softmax_in_numpy),
    (check.packed_mask, packed_by_loops),
    (check.packed_mask, lambda documents: combine_masks(same(documents), causal(documents))),
    (check.packed_mask, lambda documents: same(documents).tril()),
    (check.packed_mask, by_distance),
]  # fmt: skip


def filled(number):
    return lambda scores, mask: scores.masked_fill(~mask, number).softmax(dim=-1)


def in_place(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return scores.softmax(dim=-1).nan_to_num(0.0)


def divided_again(scores, mask):
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


def masked_twice(scores, mask):
    return masked_softmax(masked_softmax(scores, mask=mask), mask=mask)


def divided_by_at_least(least):
    def weights(scores, mask):
        kept = torch.where(mask, scores.softmax(dim=-1), 0.0)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=least)

    return weights


def sum_of_at_least(least):
    def weights(scores, mask):
        highest = scores.nan_to_num(-1e30).amax(dim=-1, keepdim=True)
        kept = torch.where(mask, (scores - highest).exp(), 0.0)
        return kept / kept.sum(dim=-1, keepdim=True).clamp(min=least)

    return weights


def exponentials(scores, mask):
    weights = scores.exp() * mask
    return weights / weights.sum(dim=-1, keepdim=True)


def lowest_number(scores, mask):
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)


def keeps_gaps(documents):
    mask = by_distance(documents)
    documents.zero_()
    return mask


# grader, wrong answer, what must be said of it
WRONG = [
    (check.kept_cells, 15, "must pass both"),
    (check.kept_cells, 13, "hatched"),
    (check.kept_cells, 18, "one mask or the other"),
    (check.kept_cells, 6, "padded queries"),
    (check.kept_cells, 9, "1, 2 and 3"),
    (check.kept_cells, 10, "the diagonal"),
    (check.kept_cells, 25, "too large"),
    (check.kept_cells, 3, "too small"),
    (check.kept_cells, 11, "too small"),
    (check.kept_cells, "12", "a number is expected"),
    (check.kept_cells, [12], "a number is expected"),
    (check.kept_cells, float("nan"), "NaN"),
    (check.lowest_loss, 1 / 3, "probability"),
    (check.lowest_loss, -math.log(3), "positive"),
    (check.lowest_loss, math.log2(3), "bits"),
    (check.lowest_loss, math.log10(3), "base 10"),
    (check.lowest_loss, 3 * math.log(3), "weighted"),
    (check.lowest_loss, math.log(3) / 3, "one of three"),
    (check.lowest_loss, math.log(26), "blind guessing"),
    (check.lowest_loss, math.log(2), "two letters"),
    (check.lowest_loss, 0.562, "in the chapter"),
    (check.lowest_loss, 0, "a cheat"),
    (check.lowest_loss, 3, "number of letters"),
    (check.lowest_loss, 2.0, "too large"),
    (check.lowest_loss, "ln 3", "a number is expected"),
    (check.lowest_loss, 1.0, "too small"),
    (check.key_padding, lambda lens, n: length_mask(lens, n).squeeze(1), "True stands at the real"),
    (check.key_padding, length_mask, "this book's mask"),
    (check.key_padding, lambda lens, n: ~length_mask(lens, n), "without an axis"),
    (check.key_padding, lambda lens, n: (~length_mask(lens, n)).squeeze(), "squeeze(1)"),
    (check.key_padding, lambda lens, n: torch.arange(n) > lens[:, None], "first key of the"),
    (check.key_padding, lambda lens, n: torch.arange(1, n + 1) >= lens[:, None], "last real key"),
    (check.key_padding, lambda lens, n: torch.arange(n) < n - lens[:, None], "at the left"),
    (check.key_padding, lambda lens, n: (~length_mask(lens, n)).expand(-1, n, -1), "each query"),
    (check.key_padding, lambda lens, n: torch.zeros(len(lens), n).bool(), "nothing is ignored"),
    (check.key_padding, lambda lens, n: (torch.arange(n) >= lens[:, None]).T, "transposed"),
    (check.key_padding, lambda lens, n: (torch.arange(n) >= lens[:, None]).float(), "as numbers"),
    (check.key_padding, lambda lens, n: torch.arange(n) >= lens[0], "one row for the whole batch"),
    (check.key_padding, lambda lens, n: torch.arange(n) >= lens, "along the same axis"),
    (check.key_padding, lambda lens, n: [], "list"),
    (check.masked_softmax, filled(-torch.inf), "is NaN"),
    (check.masked_softmax, filled(-1e9), "the fill is a number"),
    (check.masked_softmax, filled(-1e6), "the fill is a number"),
    (check.masked_softmax, filled(0.0), "e to the power of 0"),
    (check.masked_softmax, filled(-1e-6), "e to the power of 0"),
    (check.masked_softmax, lowest_number, "shared out evenly over the padding"),
    (check.masked_softmax, lambda s, m: filled(-1e9)(s, m) * m, "loses all its weight"),
    (check.masked_softmax, lambda s, m: (s * m).softmax(-1), "hidden scores become 0"),
    (check.masked_softmax, lambda s, m: s.softmax(-1), "no effect"),
    (check.masked_softmax, lambda s, m: s.softmax(-1) * m, "after the softmax"),
    (check.masked_softmax, masked_twice, "softmax is taken twice: its weights lie close"),
    (check.masked_softmax, divided_by_at_least(1e-9), "before they are hidden"),
    (check.masked_softmax, divided_by_at_least(1e-6), "before they are hidden"),
    (check.masked_softmax, sum_of_at_least(1e-3), "it is not to be raised"),
    (check.masked_softmax, sum_of_at_least(1.0), "it is not to be raised"),
    (check.masked_softmax, divided_again, "900"),
    (check.masked_softmax, exponentials, "e to the power of 900"),
    (check.masked_softmax, lambda s, m: masked_softmax(s, mask=~m), "wrong way round"),
    (check.masked_softmax, lambda s, m: filled(-torch.inf)(s, ~m), "wrong way round"),
    (check.masked_softmax, lambda s, m: s.masked_fill(~m, -torch.inf).softmax(-2).nan_to_num(),
        "dim=-2"),
    (check.masked_softmax, lambda s, m: torch.where(m, s, -torch.inf).softmax(0), "(dim=0)"),
    (check.masked_softmax, lambda s, m: torch.where(m, s, -torch.inf).softmax(0).nan_to_num(),
        "(dim=0)"),
    (check.masked_softmax, lambda s, m: s.masked_fill(~m, -torch.inf), "softmax is missing"),
    (check.masked_softmax, in_place, "changed its input"),
    (check.masked_softmax, lambda s, m: masked_softmax(s, mask=m) / 2, "0.5 times"),
    (check.masked_softmax, lambda s, m: masked_softmax(s, mask=m) > 0, "dtype"),
    (check.masked_softmax, lambda s, m: -masked_softmax(s, mask=m), "wrong sign"),
    (check.masked_softmax, lambda s, m: masked_softmax(s.nan_to_num(), mask=m).masked_fill(
        ~m.any(-1, keepdim=True), 1 / s.shape[-1]), "shared out evenly"),
    (check.packed_mask, lambda x: causal(x).expand(*x.shape, -1), "before its own"),
    (check.packed_mask, causal, "one mask for all rows"),
    (check.packed_mask, same, "the causal mask is missing"),
    (check.packed_mask, lambda x: same(x) | causal(x), "joined by or"),
    (check.packed_mask, lambda x: same(x) ^ causal(x), "exclusive or"),
    (check.packed_mask, lambda x: same(x).triu(), "wrong way up"),
    (check.packed_mask, lambda x: same(x).tril(-1), "does not see itself"),
    (check.packed_mask, lambda x: ~same(x).tril(), "wrong way round"),
    (check.packed_mask, lambda x: ~same(x) & causal(x), "=="),
    (check.packed_mask, lambda x: x[:, :, None] >= x[:, None, :], "after it"),
    (check.packed_mask, lambda x: (x[:, :, None] >= x[:, None, :]).tril(), "smaller number"),
    (check.packed_mask, lambda x: ((x[:, :, None] - x[:, None]).abs() <= 1).tril(), "neighbouring"),
    (check.packed_mask, lambda x: same(x).tril().float(), "as numbers"),
    (check.packed_mask, lambda x: same(x).tril()[0], "shape"),
    (check.packed_mask, keeps_gaps, "changed its input"),
]  # fmt: skip


test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_twelve_is_the_number_of_cells_that_pass_both_masks():
    both = combine_masks(causal_mask(5), length_mask(torch.tensor([3]), 5))
    assert both.sum() == check.kept_cells.right


def test_the_mask_for_the_layer_hides_what_it_should():
    """What the grader accepts makes PyTorch's layer answer as it would without the padding."""
    layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    tokens = torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(1))
    ignored = padding_by_loops(torch.tensor([3]), 5)
    masked, _ = layer(tokens, tokens, tokens, key_padding_mask=ignored)
    alone, _ = layer(tokens[:, :3], tokens[:, :3], tokens[:, :3])
    torch.testing.assert_close(masked[:, :3], alone)
