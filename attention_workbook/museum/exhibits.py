"""The exhibits: each with its repaired form, and its label."""

import re
from dataclasses import dataclass

from attention_workbook.museum import functions, layers, right
from attention_workbook.museum.judging import CONTRACTS, Attend, complaints_about


@dataclass(frozen=True)
class Exhibit:
    """An attention with a defect, and what is known about it.

    Parameters
    ----------
    broken, repaired : callable
        Functions of the common form, or classes of modules whose ``forward`` has it.
    symptom, repair : str
        What one sees of the defect, and what is right.
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

    Examples
    --------
    >>> EXHIBITS["rotary_halves"].symptom
    'the first token is right, and nonsense follows'
    """

    broken: Attend
    symptom: str
    contract: str
    repair: str
    thread: str
    repaired: Attend = right.right_attention
    batch: int = 3
    widths: tuple[int, int, int] = (8, 8, 8)
    num_heads: int = 1

    @property
    def name(self) -> str:
        """What it is called in ``EXHIBITS``: the name of the broken form."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.broken.__name__).lower()

    @property
    def wrong(self) -> str:
        """What is wrong, as the docstring of the broken form says."""
        return self.broken.__doc__ or ""

    def caught_by(self) -> dict[str, str]:
        """Return what the contracts say that its repaired form keeps and it does not, by name."""
        complaints = complaints_about(self.broken, self.batch, self.widths, self.num_heads)
        return {name: words for name in self.promised() if (words := complaints[name])}

    def promised(self) -> list[str]:
        """Return the contracts that its repaired form keeps, by name."""
        complaints = complaints_about(self.repaired, self.batch, self.widths, self.num_heads)
        return [name for name in CONTRACTS if complaints[name] == ""]


_IN_ORDER = (
    Exhibit(
        functions.filled_with_zero,
        symptom="padding keeps a share of the weight, because e to the power of 0 is 1",
        contract="assert_padding_invariant",
        repair="fill with −∞",
        thread="sources",
    ),
    Exhibit(
        functions.filled_with_a_millionth,
        symptom="what a fill of 0 shows",
        contract="assert_padding_invariant",
        repair="fill with −∞",
        thread="sources",
    ),
    Exhibit(
        functions.filled_with_a_million,
        symptom="float16 raises; an empty row spreads over padding; a lower score loses to padding",
        contract="assert_mask_beats_any_score",
        repair="−∞, and 0 for an empty row",
        thread="https://github.com/facebookresearch/fairseq/issues/3575",
    ),
    Exhibit(
        functions.filled_with_a_billion,
        symptom="float16 raises; a score below it gives all weight to padding",
        contract="assert_mask_beats_any_score",
        repair="−∞, and 0 for an empty row",
        thread="https://github.com/NVIDIA/apex/issues/1052",
    ),
    Exhibit(
        functions.filled_with_the_lowest,
        symptom="an empty row spreads over its padding; two such masks, added, are −∞",
        contract="assert_padding_invariant",
        repair="−∞, and 0 for an empty row",
        thread="https://github.com/huggingface/transformers/pull/17306",
    ),
    Exhibit(
        functions.nan_on_an_empty_row,
        symptom="NaN, and in the backward pass NaN in the gradients of the whole batch",
        contract="assert_survives_empty_rows",
        repair="answer an empty row with 0",
        thread="https://github.com/pytorch/pytorch/issues/41508",
    ),
    Exhibit(
        functions.result_thrown_away,
        symptom="the mask has no effect",
        contract="assert_padding_invariant",
        repair="assign the result",
        thread="sources",
    ),
    Exhibit(
        functions.mask_the_other_way,
        symptom="the model reads the padding and the future, and nothing else",
        contract="assert_padding_invariant",
        repair="one meaning, turned round at the border",
        thread="https://github.com/pytorch/pytorch/issues/170400",
    ),
    Exhibit(
        functions.mask_added,
        symptom="hidden keys keep a share, only a little less than the others",
        contract="assert_padding_invariant",
        repair="a boolean mask",
        thread="https://github.com/pytorch/pytorch/issues/21518",
    ),
    Exhibit(
        functions.masked_after_softmax,
        symptom="rows sum to less than 1, and what is hidden decides how much less",
        contract="assert_rows_sum_to_one",
        repair="mask, then softmax",
        thread="none",
    ),
    Exhibit(
        functions.zero_times_nan,
        symptom="a NaN in the padding reaches every output",
        contract="assert_padding_invariant, NaN",
        repair="put values of padding to 0 first",
        thread="https://github.com/pytorch/pytorch/issues/101967",
    ),
    Exhibit(
        functions.masked_in_place,
        symptom="the caller's tensor changes; a leaf that requires a gradient raises",
        contract="assert_pure",
        repair="masked_fill, which makes a new tensor",
        thread="sources",
    ),
    Exhibit(
        functions.mask_made_elsewhere,
        symptom="it works on the CPU and fails on the first GPU",
        contract="assert_device_independent",
        repair="stay in PyTorch, on the device of the scores",
        thread="sources",
    ),
    Exhibit(
        functions.softmax_over_the_batch,
        symptom="rows do not sum to 1, and sequences share their weight",
        contract="assert_rows_sum_to_one",
        repair="dim=-1, always written out",
        thread="sources",
    ),
    Exhibit(
        functions.unscaled,
        symptom="one weight near 1, gradients near 0",
        contract="assert_scaled",
        repair="divide by √d",
        thread="none",
    ),
    Exhibit(
        functions.divided_by_d,
        symptom="weights that are nearly equal",
        contract="assert_scaled",
        repair="divide by √d",
        thread="none",
    ),
    Exhibit(
        functions.scaled_by_another_width,
        symptom="where the width is 512, weights are near 0 or 1",
        contract="assert_scaled",
        repair="read the width off the queries",
        thread="sources",
    ),
    Exhibit(
        functions.divided_by_root_of_d_model,
        symptom="weights flatter than those of a model that was trained with √d_k",
        contract="assert_scaled",
        repair="divide by the root of the head's width",
        thread="https://github.com/karpathy/ng-video-lecture/pull/6",
        num_heads=2,
        repaired=right.heads,
    ),
    Exhibit(
        functions.values_from_the_keys,
        symptom="nothing, as long as both are the same tensor",
        contract="assert_reads_values",
        repair="weights times values",
        thread="none",
    ),
    Exhibit(
        functions.dropout_in_evaluation,
        symptom="outputs that change from call to call; 11.83 where the mean is 10",
        contract="assert_deterministic_in_eval",
        repair="dropout_p=0.0 unless self.training",
        thread="https://github.com/pytorch/pytorch/issues/124464",
        repaired=right.fused,
    ),
    Exhibit(
        layers.WeightsAfterDropout,
        symptom="in training the rows of a heatmap sum to other numbers than 1",
        contract="assert_rows_sum_to_one",
        repair="return the weights before dropout",
        thread="https://github.com/pytorch/pytorch/issues/42929",
        repaired=right.Dropped,
    ),
    Exhibit(
        layers.AdditiveWithoutTanh,
        symptom="the weights are the same for every query: softmax cancels what all keys share",
        contract="assert_reads_queries",
        repair="tanh of the sum",
        thread="sources",
        widths=(5, 7, 8),
        repaired=right.Additive,
    ),
    Exhibit(
        layers.SizesWrittenIn,
        symptom="it works for the example and raises for all else",
        contract="assert_reads_queries",
        repair="sizes are arguments",
        thread="sources",
        widths=(5, 7, 8),
        repaired=right.Additive,
    ),
    Exhibit(
        layers.MatricesSwapped,
        symptom="nothing, until the two have different widths",
        contract="assert_reads_queries",
        repair="names that match what they multiply",
        thread="sources",
        widths=(5, 7, 8),
        repaired=right.Additive,
    ),
    Exhibit(
        functions.no_projections,
        symptom="each token gives nearly all its weight to itself, even after division by √d",
        contract="assert_looks_around",
        repair="learned projections",
        thread="sources",
        widths=(64, 64, 64),
        repaired=right.Projected,
    ),
    Exhibit(
        layers.NormMadeInForward,
        symptom="it is never trained and never saved",
        contract="assert_owns_parameters",
        repair="make it once, in __init__",
        thread="sources",
        repaired=right.Normed,
    ),
    Exhibit(
        layers.LayersMadeLate,
        symptom="a seed set at the start does not fix them, and they cannot be counted or compared",
        contract="assert_owns_parameters",
        repair="explicit sizes",
        thread="sources",
        widths=(64, 64, 64),
        repaired=right.Projected,
    ),
    Exhibit(
        layers.WeightsKept,
        symptom="the graph of the last call stays in memory; a picture shows the last call only",
        contract="assert_forgets",
        repair="return them",
        thread="sources",
    ),
    Exhibit(
        layers.CacheNeverEmptied,
        symptom="an answer that depends on who asked before",
        contract="assert_pure",
        repair="a cache is an argument",
        thread="none",
    ),
    Exhibit(
        layers.PaddingMaskAdded,
        symptom="padding gets more weight than real keys",
        contract="assert_padding_invariant",
        repair="a boolean, True = ignore",
        thread="https://github.com/pytorch/pytorch/issues/92554",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        layers.HintWithoutMask,
        symptom="the model reads the future, if the weights are asked for",
        contract="assert_causal",
        repair="is_causal is a hint; give the mask",
        thread="https://github.com/pytorch/pytorch/issues/99282",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        layers.HintOverMask,
        symptom="without weights the mask is ignored, and padding leaks",
        contract="assert_padding_invariant",
        repair="give the hint only where the mask is causal and nothing more",
        thread="https://github.com/pytorch/pytorch/issues/118972",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        layers.MasksTiled,
        symptom="right with one head; with several, a sequence has its neighbours' masks",
        contract="assert_batch_independent",
        repair="repeat_interleave",
        thread="https://github.com/line/lighthouse/issues/77",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        layers.BatchFirstForgotten,
        symptom="the output has its shape, and sequences attend to each other",
        contract="assert_batch_independent",
        repair="batch_first=True",
        thread="none",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        layers.HeadsAveraged,
        symptom="a map that no head has",
        contract="assert_weights_explain_output",
        repair="average_attn_weights=False",
        thread="https://github.com/pytorch/pytorch/issues/34537",
        num_heads=2,
        repaired=right.Layer,
    ),
    Exhibit(
        functions.future_only,
        symptom="every token reads the future only, and the last reads nothing",
        contract="assert_causal",
        repair="True = may attend, in this function",
        thread="https://github.com/rasbt/LLMs-from-scratch/issues/1061",
        repaired=right.fused,
    ),
    Exhibit(
        functions.upper_left,
        symptom="with a cache, the new token sees the first key only",
        contract="assert_decodes_like_prefill",
        repair="align the last query with the last key",
        thread="https://github.com/pytorch/pytorch/issues/108108",
        repaired=right.fused,
    ),
    Exhibit(
        layers.FastPath,
        symptom="exactly 0 in evaluation without gradients, something else in training",
        contract="assert_differentiable",
        repair="never read outputs at padding; or put them to 0",
        thread="https://github.com/pytorch/pytorch/issues/97111",
        repaired=right.Encoder,
    ),
    Exhibit(
        functions.left_padding_by_place,
        symptom="short prompts get nonsense, long ones do not",
        contract="assert_padding_removable",
        repair="positions from the mask, cumsum − 1",
        thread="https://github.com/unslothai/unsloth/issues/3699",
        repaired=right.positions_by_token,
    ),
    Exhibit(
        functions.window_with_one_more,
        symptom="a model that is a little worse than it was in training",
        contract="assert_window",
        repair="i − j < w, not ≤",
        thread="https://github.com/huggingface/transformers/issues/39408",
        repaired=right.windowed,
    ),
    Exhibit(
        functions.cache_one_short,
        symptom="generated text differs from what one pass over the same text gives",
        contract="assert_decodes_like_prefill",
        repair="keep w keys, the new one included",
        thread="https://github.com/ml-explore/mlx-lm/issues/390",
        repaired=right.cached_window,
    ),
    Exhibit(
        functions.rotary_halves,
        symptom="the first token is right, and nonsense follows",
        contract="assert_rotary_layout",
        repair="permute queries' and keys' matrices, or take the other layout",
        thread="https://github.com/huggingface/transformers/issues/25199",
        repaired=right.rotary,
    ),
    Exhibit(
        functions.view_for_transpose,
        symptom="every shape is right, and positions are mixed",
        contract="assert_causal",
        repair="view, then transpose",
        thread="https://github.com/harvardnlp/annotated-transformer/issues/118",
        num_heads=2,
        repaired=right.heads,
    ),
    Exhibit(
        functions.batch_taken_for_heads,
        symptom="no error where batch and heads are equally many; heads get sequences' masks",
        contract="assert_batch_independent",
        repair="(batch, 1, len_q, len_k)",
        thread="none",
        num_heads=2,
        batch=2,
        repaired=right.heads,
    ),
)

EXHIBITS = {exhibit.name: exhibit for exhibit in _IN_ORDER}
