"""Graders for the chapter on what attention costs.

Examples
--------
>>> cross_operations(6144000)
Not yet: that is half: there are two products, and a multiplication and an addition are two \
    operations.
>>> one_step(lambda largest, normaliser, total, scores, values: (largest, normaliser, total))
Not yet: the new block has no effect.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lib.checks._cases import draws
from attention_lib.checks._grading import Verdict, grade
from attention_lib.checks._mistakes import Named
from attention_lib.checks._questions import Choice, Number, Quiz

__all__ = [
    "additive_bytes",
    "cache_of_a_context",
    "cross_operations",
    "merged_outputs",
    "one_step",
    "quiz",
]

INFINITY = float("inf")
Three = tuple[Tensor, Tensor, Tensor]
Two = tuple[Tensor, Tensor]

cross_operations = Number(
    "The operations of both products, when 20 queries meet 300 keys in eight heads of width 64",
    8 * 2 * 20 * 300 * (64 + 64),
    because="each of 8 × 20 × 300 pairs takes 64 products and sums for its score, and 64 for "
    "its share of the output: 12 288 000.",
    mistakes=[
        (
            8 * 20 * 300 * 128,
            "that is half: there are two products, and a multiplication and an addition are two "
            "operations.",
        ),
        (2 * 20 * 300 * 128, "that is one head; there are eight."),
        (8 * 2 * 300 * 300 * 128, "only the 20 queries ask, not all 300 places."),
        (8 * 2 * 320 * 320 * 128, "queries and keys are two sequences: 20 × 300 pairs."),
        (8 * 2 * 20 * 20 * 128, "each of the 20 queries meets all 300 keys."),
        (8 * 20 * 300 * 64, "that is one product, and of it the multiplications alone."),
        (8 * 8 * 2 * 20 * 300 * 128, "the heads are counted twice: 64 is the width of one head."),
        (8 * 20 * 300, "that is the number of pairs; each takes many operations."),
        (2 * 20 * 300 * 64, "that is one product of one head."),
        (8 * 2 * (20 + 300) * 128, "every query meets every key: 20 × 300 pairs, not 20 + 300."),
    ],
)

cache_of_a_context = Number(
    "The bytes of a cache after 8192 tokens, in a model with 48 layers, 32 query heads, 8 "
    "key-value heads of width 128, in bfloat16",
    8192 * 48 * 8 * 2 * 128 * 2,
    because="a token leaves 48 × 8 keys and as many values, of 128 numbers of 2 bytes: 196 608 "
    "bytes; 8192 tokens leave 1 610 612 736.",
    mistakes=[
        (48 * 8 * 2 * 128 * 2, "that is one token; there are 8192."),
        (
            8192 * 48 * 8 * 128 * 2,
            "that is half: keys and values are kept, and each number takes 2 bytes.",
        ),
        (8192 * 48 * 8 * 128, "that is the numbers in all keys; values and bytes are missing."),
        (8192 * 48 * 8 * 2 * 128 * 4, "4 bytes a number is float32; bfloat16 takes 2."),
        (8192 * 48 * 32 * 2 * 128 * 2, "query heads leave nothing: 8 heads of keys are kept."),
        (8192 * 8 * 2 * 128 * 2, "that is one layer; there are 48."),
        (8192 * 48 * 2 * 128 * 2, "that is one key-value head a layer; there are 8."),
        (8192 * 48 * 40 * 2 * 128 * 2, "query heads leave nothing: 8 heads of keys are kept."),
        (8192 * 48 * 8 * 3 * 128 * 2, "queries are not kept: a past token never asks again."),
        (8192**2 * 48 * 8 * 2, "weights are not kept; the cache grows with the length alone."),
        (8192 * 48 * 8 * 2 * 128 * 16, "bfloat16 has 16 bits, which are 2 bytes."),
    ],
)

additive_bytes = Number(
    "The bytes of W_q q + W_k k for each pair, for 8 sequences of 512 queries and 512 keys, "
    "256 hidden numbers, in float32",
    8 * 512 * 512 * 256 * 4,
    because="each of 8 × 512 × 512 pairs has 256 numbers of 4 bytes: 2 147 483 648.",
    mistakes=[
        (8 * 512 * 512 * 256, "that is the count of numbers; in float32 each takes 4 bytes."),
        (
            8 * 512 * 512 * 4,
            "that is one number a pair, or as many as in all W_q q and W_k k; each of 512 × 512 "
            "pairs in each sequence has 256.",
        ),
        (512 * 512 * 256 * 4, "that is one sequence; there are eight."),
        (8 * 512 * 256 * 4, "that is one number a query; the sum has a row for each pair."),
        (8 * 512 * 512 * 256 * 2, "2 bytes a number is half precision; float32 takes 4."),
        (
            8 * 512 * 512 * 256 * 8,
            "that is double: the hidden width is 256, and float32 takes 4 bytes.",
        ),
        (8 * 512 * 512, "that is the number of pairs; each has 256 numbers of 4 bytes."),
        (8 * 512 * 512 * 256 * 32, "float32 has 32 bits, which are 4 bytes."),
    ],
)

quiz = Quiz(
    Choice(
        "What does a fused kernel save?",
        [
            "half of the operations",
            "the bytes of scores and weights, which it never writes down",
            "the reading of keys and values",
        ],
        "b",
        {
            "a": "it does the same operations; only a causal mask halves them.",
            "b": "scores and weights live in blocks that stay in the processor.",
            "c": "it reads them all: every query needs every key.",
        },
    ),
    Choice(
        "Of two blocks of keys you know each one's output, a weighted mean. What do you need to "
        "join them?",
        [
            "how many keys each block has",
            "nothing: the joint output is the mean of both",
            "how much weight each block has: its normaliser, and the score it counts from",
        ],
        "c",
        {
            "a": "one key with a high score outweighs many with low ones.",
            "b": "then a block of unimportant keys would count as much as any other.",
            "c": "both together say what the block's exponentials sum to.",
        },
    ),
    Number(
        "Four processes hold a quarter of a text each, and attention is causal. Of the 4 × 4 "
        "pairs of query blocks and key blocks, how many have anything to compute?",
        10,
        because="process 0 needs its own block, process 1 two, then three, then four: 10.",
        mistakes=[
            (16, "that is without a causal mask: a block of the future is skipped."),
            (6, "a process's own block counts, too: its queries see the keys before them."),
            (8, "half of the pairs of tokens, but blocks on the diagonal count, too."),
            (4, "those are the blocks on the diagonal; earlier blocks are seen, too."),
            (12, "that is all blocks but the diagonal; the future is to be left out."),
        ],
    ),
)


def one_step(answer: object) -> Verdict:
    """Grade a step of the online softmax.

    Parameters
    ----------
    answer : callable
        ``answer(largest, normaliser, total, scores, values)``: what was read so far, shapes
        ``(len_q, 1)``, ``(len_q, 1)`` and ``(len_q, d_v)``; the scores of a new block
        ``(len_q, len_k)`` and its values ``(len_k, d_v)``. Returns the three anew.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> def forgetful(largest, normaliser, total, scores, values):
    ...     largest = torch.maximum(largest, scores.amax(-1, keepdim=True))
    ...     powers = torch.exp(scores - largest)
    ...     return largest, normaliser + powers.sum(-1, keepdim=True), total + powers @ values
    >>> one_step(forgetful)
    Not yet: what was read before still counts from the old largest score: rescale it.
    """
    Step = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Three]

    def step(
        rescale_sum: bool = True,
        rescale_total: bool = True,
        new: Callable[[Tensor, Tensor], Tensor] = torch.maximum,
        sign: float = 1.0,
        own: bool = False,
    ) -> Step:
        def read(
            largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
        ) -> Three:
            of_block = scores.amax(dim=-1, keepdim=True)
            now = new(largest, of_block)
            factor = torch.exp(sign * (largest - now))
            powers = torch.exp(scores - (of_block if own else now))
            return (
                now,
                normaliser * (factor if rescale_sum else 1) + powers.sum(dim=-1, keepdim=True),
                total * (factor if rescale_total else 1) + powers @ values,
            )

        return read

    reference = step()

    def divided(
        largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
    ) -> Three:
        now, summed, weighted = reference(largest, normaliser, total, scores, values)
        return now, summed, weighted / summed

    def without_largest(
        largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
    ) -> Three:
        powers = torch.exp(scores)
        before = torch.exp(largest)
        now = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        return (
            now,
            normaliser * before + powers.sum(dim=-1, keepdim=True),
            total * before + powers @ values,
        )

    def block_alone(
        largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
    ) -> Three:
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        return (
            scores.amax(dim=-1, keepdim=True),
            powers.sum(dim=-1, keepdim=True),
            powers @ values,
        )

    def of_all_rows(
        largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
    ) -> Three:
        now = torch.maximum(largest, scores.max())
        factor, powers = torch.exp(largest - now), torch.exp(scores - now)
        return (
            now,
            normaliser * factor + powers.sum(dim=-1, keepdim=True),
            total * factor + powers @ values,
        )

    def softmaxed(
        largest: Tensor, normaliser: Tensor, total: Tensor, scores: Tensor, values: Tensor
    ) -> Three:
        now, summed, _ = reference(largest, normaliser, total, scores, values)
        factor = torch.exp(largest - now)
        return now, summed, total * factor + torch.softmax(scores, dim=-1) @ values

    def highest(scores: Tensor) -> Tensor:
        return scores.amax(dim=-1, keepdim=True)

    def changed(
        largest: Tensor,
        normaliser: Tensor,
        total: Tensor,
        scores: Tensor,
        values: Tensor,
        new: Tensor | None = None,
        raised: Tensor | None = None,
        summed: Callable[..., Tensor] = torch.sum,
        keep: bool = True,
    ) -> Three:
        """Take the step with something else in one place."""
        now = torch.maximum(largest, highest(scores)) if new is None else new
        factor = torch.exp(largest - now)
        powers = torch.exp(scores - now) if raised is None else raised
        more = summed(powers, dim=-1, keepdim=keep)
        return now, normaliser * factor + more, total * factor + powers @ values

    mistakes: Named = [
        (
            step(rescale_sum=False, rescale_total=False),
            "what was read before still counts from the old largest score: rescale it.",
        ),
        (step(rescale_total=False), "the normaliser is rescaled, the total is not."),
        (step(rescale_sum=False), "the total is rescaled, the normaliser is not."),
        (
            step(sign=-1.0),
            "the factor is upside down: e to the power of old minus new, which is at most 1.",
        ),
        (
            step(new=lambda old, block: block),
            "the new largest score is the larger of two, the old one and the block's.",
        ),
        (
            step(new=lambda old, block: old),
            "the largest score stays the old one; a block may hold a larger one.",
        ),
        (
            step(own=True),
            "the block's powers count from the block's own largest score, not from the new one.",
        ),
        (divided, "the total is divided already; divide once, after the last block."),
        (without_largest, "the powers count from 0, not from the largest score: 900 overflows."),
        (block_alone, "what was read before is forgotten."),
        (
            lambda largest, normaliser, total, scores, values: (largest, normaliser, total),
            "the new block has no effect.",
        ),
        (of_all_rows, "each query has a largest score of its own: take it along the keys."),
        (softmaxed, "the block's weights are divided by its own sum; add the powers undivided."),
        (
            lambda *given: reference(*given)[2] / reference(*given)[1],
            "that is the output; the three numbers are asked for.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, raised=torch.exp(s)),
            "the block's powers count from 0; they count from the new largest score.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, raised=torch.exp(s - m)),
            "the block's powers count from the old largest score; they count from the new one.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, raised=torch.softmax(s, dim=-1)),
            "the block's weights are taken, which are divided already: e to the power of the "
            "scores less the new largest one is added.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, new=torch.minimum(m, highest(s))),
            "the smaller of the two largest scores is taken; take the larger one.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, new=m + highest(s)),
            "the two largest scores are added; take the larger one.",
        ),
        *(
            (
                lambda m, n, t, s, v, old=old, block=block: (
                    reference(m, n, t, s, v)[0],
                    reference(m, n if old[0] else 0 * n, t, s if block[0] else s - 9999, v)[1]
                    if old[0] or block[0]
                    else 0 * n,
                    reference(m, n, t if old[1] else 0 * t, s, v if block[1] else 0 * v)[2],
                ),
                sentence,
            )
            for old, block, sentence in (
                ((0, 1), (1, 1), "the normaliser forgets what was read before."),
                ((1, 0), (1, 1), "the total forgets what was read before."),
                ((1, 1), (1, 0), "the block's values are not added to the total."),
            )
        ),
        (
            lambda m, n, t, s, v: (
                reference(m, n, t, s, v)[0],
                n * torch.exp(m - reference(m, n, t, s, v)[0]),
                reference(m, n, t, s, v)[2],
            ),
            "the block's powers are not added to the normaliser.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n, t, s, v, summed=torch.mean),
            "the mean of the block's powers is added to the normaliser; it is their sum.",
        ),
        (
            lambda m, n, t, s, v: changed(m, n + 1, t, s, v),
            "1 is added to the old normaliser; before the first block it is 0.",
        ),
        (
            lambda *given: (given := reference(*given)) and (given[0], given[1].log(), given[2]),
            "the logarithm of the normaliser comes back; the sum itself is asked for.",
        ),
        *(
            (wrong, "an axis is lost: keepdim=True keeps (len_q, 1).")
            for wrong in (
                lambda m, n, t, s, v: changed(m, n, t, s, v, keep=False),
                lambda m, n, t, s, v: changed(m, n, t, s, v, new=torch.maximum(m, s.amax(dim=-1))),
            )
        ),
        *(
            (
                lambda m, n, t, s, v, first=first: (
                    reference(m, n, t, s, v)
                    if bool(m.isfinite().all())
                    else (highest(s), *(torch.full_like(x, torch.nan) for x in (n, t)))
                ),
                "the first block comes out as NaN: e to the power of −∞ is 0, but −∞ times 0 or "
                "divided by something is not.",
            )
            for first in (0,)
        ),
    ]
    cases = []
    for seed, (len_q, len_k, d_v) in enumerate(((1, 2, 1), (2, 3, 5), (3, 5, 2), (5, 1, 3))):
        normal = draws(70 + seed, torch.float64 if seed == 2 else torch.float32)
        before = 2 * normal(len_q, 1), normal(len_q, 1).exp() + 1, normal(len_q, d_v)
        cases.append((*before, 2 * normal(len_q, len_k), normal(len_k, d_v)))
    normal = draws(80)
    nothing = torch.full((2, 1), -INFINITY), torch.zeros(2, 1), torch.zeros(2, 3)
    cases.append((*nothing, normal(2, 5), normal(5, 3)))
    steep = torch.tensor([[900.0], [-900.0]])
    for scores in (torch.tensor([[899.0, 901.0], [-902.0, -901.0]]), -steep.expand(2, 3)):
        cases.append(
            (steep, 1 + normal(2, 1).abs(), normal(2, 3), scores, normal(scores.shape[1], 3))
        )
    return grade(answer, reference, cases, mistakes, axes=["query", "column"])


def merged_outputs(answer: object) -> Verdict:
    """Grade the merge of two outputs of a fused kernel.

    Parameters
    ----------
    answer : callable
        ``answer(output_a, log_sum_a, output_b, log_sum_b)``: outputs ``(len_q, d_v)`` over two
        blocks of keys, and the logarithm of the sum of the exponentials of their scores,
        ``(len_q, 1)``, which is -inf where a query may see no key of the block. Returns both for
        all keys.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> merged_outputs(lambda a, log_a, b, log_b: ((a + b) / 2, torch.logaddexp(log_a, log_b)))
    Not yet: that is the plain mean of both outputs; the block with the larger sum counts more.
    """
    Share = Callable[[Tensor, Tensor], Two]

    def mixed(share: Share) -> Callable[[Tensor, Tensor, Tensor, Tensor], Two]:
        def merge(output_a: Tensor, log_sum_a: Tensor, output_b: Tensor, log_sum_b: Tensor) -> Two:
            of_a, of_b = share(log_sum_a, log_sum_b)
            return output_a * of_a + output_b * of_b, torch.logaddexp(log_sum_a, log_sum_b)

        return merge

    def right(log_a: Tensor, log_b: Tensor) -> Two:
        total = torch.logaddexp(log_a, log_b)
        total = total.masked_fill(total == -INFINITY, 0.0)
        return torch.exp(log_a - total), torch.exp(log_b - total)

    def naive(log_a: Tensor, log_b: Tensor) -> Two:
        total = log_a.exp() + log_b.exp()
        return log_a.exp() / total, log_b.exp() / total

    def with_nan(log_a: Tensor, log_b: Tensor) -> Two:
        total = torch.logaddexp(log_a, log_b)
        return torch.exp(log_a - total), torch.exp(log_b - total)

    def undivided(log_a: Tensor, log_b: Tensor) -> Two:
        largest = torch.maximum(log_a, log_b)
        largest = largest.masked_fill(largest == -INFINITY, 0.0)
        return torch.exp(log_a - largest), torch.exp(log_b - largest)

    def winner(log_a: Tensor, log_b: Tensor) -> Two:
        a_wins = (log_a > log_b).to(log_a.dtype)
        return a_wins, 1 - a_wins

    def half(log_a: Tensor, log_b: Tensor) -> Two:
        shares = torch.stack(right(log_a / 2, log_b / 2))
        return shares[0], shares[1]

    reference = mixed(right)

    def and_log_sum(
        of: Callable[[Tensor, Tensor], Tensor],
    ) -> Callable[[Tensor, Tensor, Tensor, Tensor], Two]:
        def merge(output_a: Tensor, log_sum_a: Tensor, output_b: Tensor, log_sum_b: Tensor) -> Two:
            output, _ = reference(output_a, log_sum_a, output_b, log_sum_b)
            return output, of(log_sum_a, log_sum_b)

        return merge

    def by_sums(
        a: Tensor,
        log_a: Tensor,
        b: Tensor,
        log_b: Tensor,
        total: Callable[[Tensor], Tensor],
        less: Tensor | float = 0.0,
    ) -> Two:
        of_a, of_b = torch.exp(log_a - less), torch.exp(log_b - less)
        return (a * of_a + b * of_b) / total(of_a + of_b), less + torch.log(of_a + of_b)

    def with_joint(
        a: Tensor,
        log_a: Tensor,
        b: Tensor,
        log_b: Tensor,
        joint: Callable[[Tensor, Tensor], Tensor],
    ) -> Two:
        total = joint(log_a, log_b)
        safe = total.masked_fill(total == -INFINITY, 0.0)
        return a * torch.exp(log_a - safe) + b * torch.exp(log_b - safe), total

    mistakes: Named = [
        (
            mixed(lambda a, b: (torch.full_like(a, 0.5), torch.full_like(b, 0.5))),
            "that is the plain mean of both outputs; the block with the larger sum counts more.",
        ),
        (
            mixed(lambda a, b: (torch.ones_like(a), torch.ones_like(b))),
            "the outputs are added; their shares have to sum to 1.",
        ),
        (mixed(lambda a, b: right(b, a)), "the shares are exchanged: each output has its own sum."),
        (
            mixed(lambda a, b: (a / (a + b), b / (a + b))),
            "the shares are in proportion to the logarithms; take the sums, e to their power.",
        ),
        (mixed(naive), "e to the power of 900 overflows: subtract the larger logarithm first."),
        (
            mixed(with_nan),
            "where both blocks are empty, -inf minus -inf is NaN; the output there is 0.",
        ),
        (mixed(undivided), "the shares do not sum to 1: divide by the sum of both."),
        (mixed(winner), "the block with the larger sum gets all; the other has its share, too."),
        (mixed(half), "the shares are made of half the logarithms."),
        (
            lambda output_a, log_sum_a, output_b, log_sum_b: (output_a, log_sum_a),
            "the second block has no effect.",
        ),
        (
            and_log_sum(lambda a, b: a + b),
            "the output is right; logarithms of sums are not added: the sums are.",
        ),
        (
            and_log_sum(torch.maximum),
            "the output is right; the larger logarithm is not that of both sums together.",
        ),
        (
            and_log_sum(lambda a, b: torch.exp(torch.logaddexp(a, b))),
            "the output is right; the logarithm of the sum is asked for, and that is the sum.",
        ),
        (
            lambda output_a, log_sum_a, output_b, log_sum_b: reference(
                output_a, log_sum_a, output_b, log_sum_b
            )[0],
            "the output is right; return the logarithm of the joint sum as well, for the next "
            "merge.",
        ),
        *(
            (
                lambda a, log_a, b, log_b, total=total: by_sums(a, log_a, b, log_b, total),
                "e to the power of 900 overflows, and of −900 is 0: subtract the larger "
                "logarithm first.",
            )
            for total in (lambda x: x, lambda x: x.clamp(min=1e-30), lambda x: x + 1e-9)
        ),
        (
            lambda a, log_a, b, log_b: by_sums(
                a, log_a, b, log_b, lambda x: x.clamp(min=1e-38), torch.maximum(log_a, log_b).max()
            ),
            "one largest logarithm is subtracted for all queries; each has its own.",
        ),
        *(
            (
                lambda a, log_a, b, log_b, joint=joint: with_joint(a, log_a, b, log_b, joint),
                sentence,
            )
            for joint, sentence in (
                (torch.add, "logarithms of sums are not added: the sums are."),
                (torch.maximum, "the larger logarithm is not that of both sums together."),
                (torch.logaddexp2, "that logarithm has the base 2; e is the base here."),
            )
        ),
        (
            mixed(lambda log_a, log_b: (log_a, log_b)),
            "the outputs are multiplied by logarithms; take e to their power.",
        ),
        (
            mixed(lambda log_a, log_b: ((log_a >= log_b).to(log_a), (log_a < log_b).to(log_a))),
            "the block with the larger sum gets all; the other has its share, too.",
        ),
        (
            mixed(lambda log_a, log_b: (right(log_a, log_b)[0], -right(log_a, log_b)[1])),
            "the second output is subtracted; both are added.",
        ),
        (
            mixed(lambda log_a, log_b: tuple(x**2 for x in right(log_a, log_b))),  # type: ignore
            "the shares are squared, and do not sum to 1.",
        ),
        *(
            (
                and_log_sum(lambda a, b, fill=fill: torch.logaddexp(a, b).nan_to_num(neginf=fill)),  # type: ignore[misc]
                "the output is right; the logarithm of a sum of nothing is −∞, for the next merge.",
            )
            for fill in (0.0, None)
        ),
        (
            and_log_sum(lambda a, b: torch.logaddexp(a, b).squeeze(-1)),
            "the output is right; the logarithm lost an axis: (len_q, 1).",
        ),
        (
            and_log_sum(
                lambda a, b: torch.logaddexp(a, b).logsumexp(dim=0, keepdim=True).expand_as(a)
            ),
            "the output is right; the logarithms of all queries are joined, and each has its own.",
        ),
    ]
    cases = []
    for seed, (len_q, d_v) in enumerate(((1, 1), (2, 5), (3, 2), (5, 3))):
        normal = draws(90 + seed, torch.float64 if seed == 2 else torch.float32)
        cases.append(
            (normal(len_q, d_v), 2 * normal(len_q, 1), normal(len_q, d_v), normal(len_q, 1))
        )
    normal = draws(99)
    steep, empty = torch.tensor([[900.0], [-900.0], [3.0]]), torch.full((3, 1), -INFINITY)
    cases.append((normal(3, 2), steep, normal(3, 2), steep + normal(3, 1)))
    cases.append((normal(3, 2), steep, torch.zeros(3, 2), empty))
    cases.append(
        (torch.zeros(3, 2), empty, normal(3, 2), torch.tensor([[1.0], [-INFINITY], [0.0]]))
    )
    return grade(answer, reference, cases, mistakes, axes=["query", "column"])
