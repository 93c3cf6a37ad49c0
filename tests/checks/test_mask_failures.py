"""The graders of "Find where a mask leaks": the right answer passes, each mistake is named."""

import numpy as np
import torch

from attention_lib.checks import mask_failures as check
from attention_lib.masking import length_mask
from tests.checks.tables import judged


def folded(valid_lens, num_heads, len_k):
    lens = valid_lens[:, None].expand(-1, num_heads).reshape(-1)  # (batch * num_heads,)
    return torch.arange(len_k) < lens[:, None, None]


def folded_by_loops(valid_lens, num_heads, len_k):
    mask = torch.zeros(len(valid_lens) * num_heads, 1, len_k, dtype=torch.bool)
    for row, length in enumerate(n for n in valid_lens.tolist() for _ in range(num_heads)):
        mask[row, 0, :length] = True
    return mask


def folded_by_kron(valid_lens, num_heads, len_k):
    return length_mask(torch.kron(valid_lens, torch.ones(num_heads, dtype=torch.long)), len_k)


def positions_by_loops(real):
    positions = torch.zeros(real.shape, dtype=torch.long)
    for row in range(len(real)):
        count = 0
        for place in range(real.shape[1]):
            positions[row, place] = count if real[row, place] else 0
            count += int(real[row, place])
    return positions


def positions_by_numpy(real):
    return torch.from_numpy(np.maximum(np.cumsum(real.numpy(), axis=1) - 1, 0))


def leaks(attend, queries, keys, values, mask, poison=torch.nan):
    before, moved = attend(queries, keys, values), []
    for i, seen in enumerate(mask.unbind(dim=1)):
        k, v = (x.masked_fill(~seen[..., None], poison) for x in (keys, values))
        moved.append(~before.isclose(attend(queries, k, v)).all(-1)[:, i])
    return torch.stack(moved, dim=1)


def leaks_by_loops(attend, queries, keys, values, mask):
    found = torch.zeros(mask.shape[:2], dtype=torch.bool)
    before = attend(queries, keys, values)
    for row, query in np.ndindex(*mask.shape[:2]):
        k, v = keys.clone(), values.clone()
        k[row, ~mask[row, query]] = torch.nan
        v[row, ~mask[row, query]] = torch.nan
        after = attend(queries, k, v)[row, query]
        found[row, query] = not torch.allclose(after, before[row, query])
    return found


def leaks_exactly(attend, queries, keys, values, mask):
    before = attend(queries, keys, values)
    after = []
    for i in range(queries.shape[1]):
        hidden = ~mask[:, i].unsqueeze(-1)
        after.append(
            attend(
                queries,
                torch.where(hidden, torch.nan, keys),
                torch.where(hidden, torch.nan, values),
            )[:, i]
        )
    return (torch.stack(after, dim=1) != before).any(dim=-1)


def leaks_by_contraries(attend, queries, keys, values, mask):
    """Poison with NaN and with infinity: either is enough."""
    by_nan, by_inf = (leaks(attend, queries, keys, values, mask, x) for x in (torch.nan, torch.inf))
    return by_nan | by_inf


# grader -> answers that are right
RIGHT = [
    (check.repaired_weight, 0.625),
    (check.repaired_weight, 0.63),
    (check.repaired_weight, np.float32(0.625)),
    (check.repaired_weight, torch.tensor([0.5, 0.3]).div(0.8)[0]),
    (check.folded_mask, folded),
    (check.folded_mask, folded_by_loops),
    (check.folded_mask, folded_by_kron),
    (check.folded_mask, lambda lens, h, n: length_mask(lens, n).repeat_interleave(h, dim=0)),
    (check.token_positions, lambda real: (real.cumsum(-1) - 1).clamp(min=0)),
    (check.token_positions, lambda real: (real.long().cumsum(1) - 1) * real),
    (check.token_positions, lambda real: (real.cumsum(-1) - 1).masked_fill(~real, 1)
        .masked_fill(~real & (real.cumsum(-1) == 0), 0)),
    (check.token_positions, positions_by_loops),
    (check.token_positions, positions_by_numpy),
    (check.token_positions, lambda real: (real.cumsum(-1) - 1).clamp(min=0).int()),
    (check.leak_test, leaks),
    (check.leak_test, leaks_by_loops),
    (check.leak_test, leaks_exactly),
    (check.leak_test, leaks_by_contraries),
]  # fmt: skip


def written_into(valid_lens, num_heads, len_k):
    mask = folded(valid_lens, num_heads, len_k)
    valid_lens.zero_()
    return mask


def in_one(into):
    def test(attend, queries, keys, values, mask):
        def attend_only(q, k, v):
            return attend(q, k if "k" in into else keys, v if "v" in into else values)

        return leaks(attend_only, queries, keys, values, mask)

    return test


def larger_than(attend, queries, keys, values, mask):
    before = attend(queries, keys, values)
    moved = []
    for i in range(mask.shape[1]):
        k, v = (x.masked_fill(~mask[:, i, :, None], torch.nan) for x in (keys, values))
        moved.append(((attend(queries, k, v) - before).abs() > 1e-4).any(dim=-1)[:, i])
    return torch.stack(moved, dim=1)


def all_queries(attend, queries, keys, values, mask):
    before = attend(queries, keys, values)
    moved = []
    for i in range(mask.shape[1]):
        k, v = (x.masked_fill(~mask[:, i, :, None], torch.nan) for x in (keys, values))
        moved.append(~before.isclose(attend(queries, k, v)).flatten(1).all(dim=-1))
    return torch.stack(moved, dim=1)


def padding_alone(attend, queries, keys, values, mask):
    everywhere = mask.any(dim=1, keepdim=True).expand_as(mask)
    return leaks(attend, queries, keys, values, everywhere)


def poisoned_queries(attend, queries, keys, values, mask):
    q = torch.full_like(queries, torch.nan)
    return ~attend(q, keys, values).isclose(attend(queries, keys, values)).all(-1)


def spoils_its_input(attend, queries, keys, values, mask):
    keys[~mask[:, 0]] = torch.nan
    return leaks(attend, queries, keys, values, mask)


def from_the_right(real):
    return (real.flip(-1).cumsum(-1).flip(-1) - 1).clamp(min=0) * real


# grader, wrong answer, what must be said of it
WRONG = [
    (check.repaired_weight, 0.5, "sum to 1"),
    (check.repaired_weight, 0.6, "evenly"),
    (check.repaired_weight, 0.7, "first key"),
    (check.repaired_weight, 0.375, "second weight"),
    (check.repaired_weight, 0.55, "both padding"),
    (check.repaired_weight, 0.8, "divide by it"),
    (check.repaired_weight, 1.6, "wrong way up"),
    (check.repaired_weight, 5 / 3, "two real weights"),
    (check.repaired_weight, 0.5 / 0.9, "not by .9"),
    (check.repaired_weight, 1, "second key"),
    (check.repaired_weight, 0.3, "too small"),
    (check.repaired_weight, 2.0, "too large"),
    (check.repaired_weight, ".625", "a number is expected"),
    (check.folded_mask, lambda n, h, k: length_mask(n.repeat(h), k), "repeat gives 2, 3, 2, 3"),
    (check.folded_mask, lambda n, h, k: ~folded(n, h, k), "wrong way round"),
    (check.folded_mask, lambda n, h, k: torch.arange(k) <= folded_lens(n, h), "one key too many"),
    (check.folded_mask, lambda n, h, k: torch.arange(1, k + 1) < folded_lens(n, h), "last real"),
    (check.folded_mask, lambda n, h, k: length_mask(n, k), "one mask a sequence"),
    (check.folded_mask, lambda n, h, k: folded(n, h, k).unflatten(0, (-1, h)), "axis of their own"),
    (check.folded_mask, lambda n, h, k: folded(n, h, k).squeeze(1), "axis for the queries"),
    (check.folded_mask, lambda n, h, k: folded(n, h, k).flip(-1), "at the right"),
    (check.folded_mask, lambda n, h, k: torch.ones(len(n) * h, 1, k).bool(), "nothing is hidden"),
    (check.folded_mask, lambda n, h, k: folded(n, h, k).expand(-1, k, -1), "each of len_k"),
    (check.folded_mask, lambda n, h, k: folded(n, h, k).float(), "as numbers"),
    (check.folded_mask, lambda n, h, k: length_mask(n.float(), k), "raised TypeError"),
    (check.folded_mask, lambda n, h, k: folded_lens(n, h), "shape"),
    (check.folded_mask, written_into, "changed its input"),
    (check.token_positions, lambda real: real.cumsum(-1), "count from 0"),
    (check.token_positions, lambda real: real.cumsum(-1) * real, "count from 0"),
    (check.token_positions, lambda real: real.cumsum(-1) - 1, "gets −1"),
    (check.token_positions, lambda real: torch.arange(real.shape[1]).expand(real.shape), "the row"),
    (check.token_positions, lambda real: torch.arange(real.shape[1]) * real, "place in the row"),
    (check.token_positions, from_the_right,
        "from the right"),
    (check.token_positions, lambda real: ((~real).cumsum(-1) - 1).clamp(min=0) * real,
        "padding is counted"),
    (check.token_positions, lambda real: (real.cumsum(0) - 1).clamp(min=0) * real, "dim=0"),
    (check.token_positions, lambda real: torch.zeros_like(real).long(), "position 0"),
    (check.token_positions, lambda real: (torch.arange(real.shape[1])
        - (~real).sum(-1, keepdim=True)).clamp(min=0), "left alone"),
    (check.token_positions, lambda real: real.long(), "as numbers"),
    (check.token_positions, lambda real: (real.flatten().cumsum(0).view_as(real) - 1)
        .clamp(min=0) * real, "next"),
    (check.token_positions, lambda real: real.sum(-1), "shape"),
    (check.token_positions, lambda real: -(real.cumsum(-1) - 1).clamp(min=0), "should be"),
    (check.leak_test, lambda a, q, k, v, m: torch.zeros(m.shape[:2]).bool(), "no leak anywhere"),
    (check.leak_test, lambda a, q, k, v, m: torch.ones(m.shape[:2]).bool(), "leak everywhere"),
    (check.leak_test, lambda *case: leaks(*case, poison=1.0), "only NaN"),
    (check.leak_test, lambda *case: leaks(*case, poison=1e3), "only NaN"),
    (check.leak_test, lambda *case: leaks(*case, poison=1e9), "only NaN"),
    (check.leak_test, lambda *case: leaks(*case, poison=0.0), "only NaN"),
    (check.leak_test, in_one("k"), "only the keys"),
    (check.leak_test, in_one("v"), "only the values"),
    (check.leak_test, padding_alone, "no query may see"),
    (check.leak_test, lambda a, q, k, v, m: leaks(a, q, k, v, ~m), "may be seen"),
    (check.leak_test, larger_than, "not larger"),
    (check.leak_test, all_queries, "all queries"),
    (check.leak_test, lambda *case: ~leaks(*case), "swapped"),
    (check.leak_test, poisoned_queries, "one that obeys"),
    (check.leak_test, spoils_its_input, "changed its input"),
    (check.leak_test, lambda *case: leaks(*case).any(), "one answer comes back"),
]  # fmt: skip


def folded_lens(valid_lens, num_heads):
    return valid_lens.repeat_interleave(num_heads)[:, None, None]


test_right_answers_pass, test_wrong_answers_hear_why = judged(RIGHT, WRONG)


def test_no_message_holds_an_address():
    """The attentions that are judged wrongly are called by their names."""
    verdict = check.leak_test(lambda a, q, k, v, m: leaks(a, q, k, v, m).roll(1, dims=0))
    assert "Given attend = one that" in verdict.message
    assert "0x" not in verdict.message
