"""The graders of the chapter on masks: right answers pass, each known mistake is named."""

import pytest
import torch

from attention_lib.checks import masking as check
from attention_lib.masking import causal_mask, combine_masks, length_mask


def folded(valid_lens, num_heads, len_k):
    lens = valid_lens[:, None].expand(-1, num_heads).reshape(-1)  # (batch * num_heads,)
    return torch.arange(len_k) < lens[:, None, None]


def packed(documents):
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


def test_the_right_answers_pass():
    assert check.kept_cells(12)
    assert check.folded_mask(folded)
    assert check.packed_mask(packed)
    assert check.packed_mask(lambda documents: combine_masks(same(documents), causal(documents)))


def test_twelve_is_the_number_of_cells_that_pass_both_masks():
    both = combine_masks(causal_mask(5), length_mask(torch.tensor([3]), 5))
    assert both.sum() == 12


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (15, "must pass both"),
        (13, "hatched"),
        (18, "one mask or the other"),
        (6, "padded queries"),
        (25, "too large"),
        (3, "too small"),
        ("12", "a number is expected"),
    ],
)
def test_wrong_numbers_of_kept_cells_are_named(answer, words):
    verdict = check.kept_cells(answer)
    assert not verdict
    assert words in verdict.message


def written_into(valid_lens, num_heads, len_k):
    mask = folded(valid_lens, num_heads, len_k)
    valid_lens.zero_()
    return mask


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n, h, k: length_mask(n.repeat(h), k), "repeat gives 2, 3, 2, 3"),
        (lambda n, h, k: ~folded(n, h, k), "wrong way round"),
        (lambda n, h, k: torch.arange(k) <= folded_lens(n, h), "one key too many"),
        (lambda n, h, k: length_mask(n, k), "one mask a sequence"),
        (lambda n, h, k: folded(n, h, k).squeeze(1), "expected shape (4, 1, 4), got (4, 4)"),
        (lambda n, h, k: folded(n, h, k).float(), "expected dtype torch.bool"),
        (lambda n, h, k: torch.ones(len(n) * h, 1, k, dtype=torch.bool), "largest difference is 1"),
        (lambda n, h, k: length_mask(n.float(), k), "raised TypeError"),
        (written_into, "changed its input"),
        (torch.tensor([True]), "a function is expected"),
    ],
)
def test_wrong_folded_masks_are_named(answer, words):
    verdict = check.folded_mask(answer)
    assert not verdict
    assert words in verdict.message


def folded_lens(valid_lens, num_heads):
    return valid_lens.repeat_interleave(num_heads)[:, None, None]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda d: causal(d).expand(*d.shape, -1), "documents before its own"),
        (causal, "one mask for all rows"),
        (same, "the causal mask is missing"),
        (lambda d: same(d) | causal(d), "joined by or"),
        (lambda d: same(d) & causal(d).mT, "wrong way up"),
        (lambda d: ~packed(d), "wrong way round"),
        (lambda d: packed(d) & ~torch.eye(d.shape[-1], dtype=torch.bool), "does not see itself"),
        (lambda d: torch.ones_like(packed(d)), "largest difference"),
        (lambda d: packed(d)[:1], "expected shape (2, 4, 4), got (1, 4, 4)"),
        (lambda d: packed(d.fill_(0)), "changed its input"),
    ],
)
def test_wrong_packed_masks_are_named(answer, words):
    verdict = check.packed_mask(answer)
    assert not verdict
    assert words in verdict.message
