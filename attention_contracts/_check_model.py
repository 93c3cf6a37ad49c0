"""``check_model``: contracts of a whole model, from token ids to logits."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from attention_contracts._arguments import require_a, require_count, require_flag
from attention_contracts._call import mode
from attention_contracts._model import CACHES, Model
from attention_contracts._report import (
    Contract,
    NotTested,
    Report,
    Run,
    first_line,
    names_required,
)


def check_model(
    model: nn.Module,
    vocab_size: int | None = None,
    *,
    causal: bool = True,
    length: int = 130,
    require: Sequence[str] = (),
) -> Report:
    """Test a model on random token ids: the future, padding, batches, caches, packed documents.

    Parameters
    ----------
    model : torch.nn.Module
        ``model(ids)`` for integers ``(batch, length)`` returns logits ``(batch, length, vocab)``,
        or a tuple that begins with them, or an object with ``.logits`` or ``.last_hidden_state``. A
        model of Hugging Face is recognised by its configuration, and all its arguments are found;
        of an encoder-decoder the decoder is tested. It is tested in evaluation mode, and its mode
        is restored. Take a small one.
    vocab_size : int, optional
        Token ids are below it; by default that of the model's configuration.
    causal : bool
        Whether the future must not reach the past, and a cache must agree.
    length : int
        Tokens of the longest text. It grows to cross the chunks, windows and blocks that the
        configuration names, and shrinks to what the model can take.
    require : sequence of str
        Names of contracts, or "causality", "padding", "cache", "documents": the report is false if
        one of them could not be tested.

    Returns
    -------
    Report
        What is kept, broken, and not tested.

    Raises
    ------
    TypeError, ValueError
        If ``vocab_size`` is missing, or an argument is of another kind; if ``model(ids)`` returns
        no logits.

    Examples
    --------
    >>> leaky = nn.Sequential(nn.Embedding(50, 8), nn.Conv1d(12, 12, 1), nn.Linear(8, 50))
    >>> print(check_model(leaky, 50, length=12).broken[0].says)
    with the tokens after position 0 replaced, the logits at position ... moved by ...
    """
    require_a("model", model, nn.Module)
    require_flag("causal", causal)
    require_count("length", length, 8)
    required = names_required(require, CONTRACTS)
    with mode(model, training=False), torch.no_grad(), torch.random.fork_rng(devices=[]):
        subject = Model(model, vocab_size, causal, length)
        return Run(CONTRACTS).on(subject).report(subject.title, required=required)


def _future(subject: Model) -> str:
    if not subject.causal:
        raise NotTested("causal=False: the model may read the future")
    length = subject.length
    sizes = {16, 32, 64, 128} | {*subject.sizes.values()}
    edges = {n * size + off for size in sizes for n in (1, 2) for off in (-1, 0)}
    for position in sorted(x for x in edges | {0, length // 2, length - 2} if 0 <= x < length - 1):
        changed = subject.ids[:1].clone()
        changed[:, position + 1 :] = subject.other_ids[:1, position + 1 :]
        expected, logits = subject.original[0], subject.logits(changed)[0]
        change = f"with the tokens after position {position} replaced"
        try:
            subject.same(expected[: position + 1], logits[: position + 1], change, sums=False)
        except AssertionError as error:
            layer = subject.first_layer_that_differs(subject.ids[:1], changed, position + 1)
            raise AssertionError(f"{error}" + (f"; first in {layer}" if layer else "")) from None
    subject.tokens_meet()
    return f"later tokens were replaced, {subject.bound()}"


def _padded(subject: Model, left: bool) -> str:
    """A short text, padded to the length of another, gives the logits that it gives alone."""
    subject.needs("attention_mask")
    ids, length = subject.ids, subject.length
    short_length = length - length // 3
    real_places = slice(length - short_length, None) if left else slice(None, short_length)
    batch, real = ids.clone(), torch.ones_like(ids)
    batch[1], real[1] = subject.pad, 0
    batch[1, real_places], real[1, real_places] = ids[1, :short_length], 1
    alone = subject.logits(ids[1:, :short_length])[0]
    change = f"with {length - short_length} tokens of padding on the {'left' if left else 'right'}"
    positions = {"position_ids", "decoder_position_ids"} & subject.accepts
    if not left or not positions:
        change += " (forward takes no position_ids)" if left else ""
        subject.same(alone, subject.logits(batch, attention_mask=real)[1, real_places], change)
        if left or not subject.causal:
            unmasked = subject.logits(batch)[1, real_places]
            subject.moves(alone, unmasked, "without a mask, padding changes nothing either")
        else:
            subject.tokens_meet()
        return f"a text was padded on the {'left' if left else 'right'}, and its mask given"
    # Most count from 0, some from the padding's id on, and some find the positions themselves.
    places = (real.cumsum(-1) - 1).clamp(min=0)
    offset = torch.where(real.bool(), places + subject.pad + 1, subject.pad)
    ways: dict[str, dict[str, Any]] = {
        "position_ids that count tokens": {"position_ids": places},
        "no position_ids": {},
        "position_ids from pad_token_id + 1 on": {"position_ids": offset},
    }
    failed = []
    for positions_given, arguments in ways.items():
        try:
            logits = subject.logits(batch, attention_mask=real, **arguments)[1, real_places]
            subject.same(alone, logits, f"{change} and {positions_given}")
        except (AssertionError, IndexError) as error:
            failed.append(str(error))
        else:
            unmasked = subject.logits(batch)[1, real_places]
            subject.moves(alone, unmasked, "without a mask, padding changes nothing either")
            return f"a text was padded on the left, its mask given, and {positions_given}"
    raise AssertionError(failed[0])


def _single(subject: Model) -> None:
    together = subject.logits(subject.ids)
    for row in (0, 1):
        alone = subject.logits(subject.ids[row : row + 1])[0]
        subject.same(together[row], alone, f"text {row} given alone")
    subject.moves(together[0], together[1], "two texts give the same logits")


def _cached(subject: Model, size: int) -> str:
    if not subject.causal:
        raise NotTested("causal=False: no cache can agree")
    subject.needs("use_cache")
    name = subject.needs(*CACHES)
    ids = subject.ids[:1, : max(130, 8 * size)]  # the last tokens of a longer text take too long
    cache: Any = None
    for start in range(0, ids.shape[1], size):
        step = ids[:, start : start + size]
        cached = {} if cache is None else {name: cache}
        output = subject.run(step, use_cache=True, **cached)
        caches = (getattr(output, each, None) for each in (name, *CACHES))
        cache = next((x for x in caches if x is not None), None)
        if cache is None:
            raise NotTested(f"no {name} came back with use_cache=True")
        change = f"with {start} tokens in the cache and {step.shape[1]} given"
        expected = subject.original[0, start : start + size]
        subject.same(expected, subject.read(output, step)[0], change, start)
    subject.tokens_meet()
    return f"{ids.shape[1]} tokens were given in steps of {size} with a cache"


def _shifted(subject: Model) -> str:
    """Rotary positions are relative: moved all alike they change nothing."""
    subject.needs("position_ids")
    text_config = getattr(subject.config, "get_text_config", lambda: subject.config)()
    rotary = ("rope_theta", "rope_parameters", "rope_scaling", "rotary_pct", "rotary_dim")
    if not any(getattr(text_config, name, None) for name in rotary):
        raise NotTested("the configuration names no rotary positions: they may be absolute")
    places = torch.arange(subject.length, device=subject.ids.device)[None]
    shifted = subject.logits(subject.ids[:1], position_ids=places + 3)[0]
    subject.same(subject.original[0], shifted, "with all positions moved by 3")
    gap = places + 3 * (places >= subject.length // 2)
    stretched = subject.logits(subject.ids[:1], position_ids=gap)[0]
    subject.moves(subject.original[0], stretched, "position_ids are not read")
    return "all positions were moved by 3"


def _documents(subject: Model) -> str:
    """Two texts in one row: position ids that start anew, or a mask in blocks, part them."""
    subject.needs("position_ids")
    length = subject.length
    half = length // 2
    alone = subject.logits(subject.ids[:1, half:])[0]
    subject.moves(alone, subject.original[0, half:], "a text before changes nothing in any case")
    places = torch.arange(length, device=subject.ids.device)
    document = (places >= half).long()
    ways: dict[str, dict[str, Any]] = {"position ids that start anew": {}}
    if "attention_mask" in subject.accepts:
        blocks = document[:, None] == document
        visible = blocks.tril() if subject.causal else blocks
        additive_mask = torch.zeros_like(visible, dtype=subject.dtype)
        additive_mask.masked_fill_(~visible, torch.finfo(additive_mask.dtype).min)
        ways["a mask (1, 1, length, length)"] = {"attention_mask": additive_mask[None, None]}
    positions, failed = (places - half * document)[None], []
    for parting, arguments in ways.items():
        try:
            packed = subject.logits(subject.ids[:1], position_ids=positions, **arguments)[0]
            subject.same(alone, packed[half:], f"with {parting}", half)
        except (
            AssertionError,
            NotTested,
            RuntimeError,
            ValueError,
            TypeError,
            IndexError,
        ) as error:
            failed.append(f"{parting}: {first_line(error)}")
        else:
            return f"two texts in one row, parted by {parting}"
    raise NotTested("nothing that was tried parts two texts in one row; " + "; ".join(failed))


def _fused(subject: Model) -> str:
    """The same model with its plain and with its fused attention."""
    model: Any = subject.model
    implementation = getattr(subject.config, "_attn_implementation", None)
    if implementation is None or not hasattr(model, "set_attn_implementation"):
        raise NotTested("the model has no set_attn_implementation")
    another = "sdpa" if implementation == "eager" else "eager"
    try:
        with suppress(ValueError, ImportError):
            model.set_attn_implementation(another)
        if getattr(model.config, "_attn_implementation", None) != another:
            raise NotTested(f"the model has no {another} attention")
        logits = subject.logits(subject.ids[:1])[0]
    finally:
        with suppress(ValueError):
            model.set_attn_implementation(implementation)
    subject.same(subject.original[0], logits, f"with {another} in place of {implementation}")
    subject.tokens_meet()
    return f"{another} gives what {implementation} gives"


def _again(subject: Model) -> None:
    together = subject.logits(subject.ids)
    torch.manual_seed(1)
    again = subject.logits(subject.ids[:1])[0]
    subject.same(subject.original[0], again, "called again, after another text", sums=False)
    subject.moves(together[0], together[1], "two texts give the same logits")


class _WithoutDropout(TorchFunctionMode):
    """Replace dropout by the identity, in PyTorch's fused attention as well."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout):
            return args[0] if args else kwargs["input"]
        if func is F.scaled_dot_product_attention:
            kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


def _training(subject: Model) -> None:
    with mode(subject.model, training=True), _WithoutDropout():
        first, second = (subject.logits(subject.ids[:1])[0] for _ in range(2))
    if not torch.equal(first, second):
        raise NotTested("training mode is random beside dropout: layer drop, noise in a router")
    subject.same(subject.original[0], first, "in training mode, with dropout left out")
    subject.tokens_meet()


CONTRACTS = (
    Contract(
        "future",
        _future,
        how="later tokens were replaced",
        means="the mask is missing or not causal; every loss measured with it is too good",
        chapter="mask-failures",
    ),
    Contract(
        "right padding",
        partial(_padded, left=False),
        how="a text was padded on the right, and its mask given",
        means="the padding mask does not reach every layer, or something averages over all "
        "positions",
        chapter="mask-failures",
    ),
    Contract(
        "left padding",
        partial(_padded, left=True),
        how="a text was padded on the left, its mask and its positions given",
        means="positions count places instead of tokens, or a state reads the padding; batched "
        "generation gives other texts than single",
        chapter="positions",
    ),
    Contract(
        "batch = single",
        _single,
        how="each text was given alone",
        means="samples are mixed: an axis is taken for another, or statistics run over the batch",
        chapter="bug-museum",
    ),
    Contract(
        "cached, one token",
        partial(_cached, size=1),
        how="the text was given token by token with a cache",
        means="positions or masks do not count what is in the cache",
        chapter="masks-in-use",
    ),
    Contract(
        "cached, chunks",
        partial(_cached, size=5),
        how="the text was given in chunks of 5 with a cache",
        means="the causal mask of a chunk is aligned with the first key instead of the last",
        chapter="masks-in-use",
    ),
    Contract(
        "positions shifted",
        _shifted,
        how="all positions were moved by 3",
        means="only queries or only keys are turned, or positions are added as well",
        chapter="positions",
    ),
    Contract(
        "packed documents",
        _documents,
        how="two texts were given in one row",
        means="texts that share a row read each other",
        chapter="masks-in-use",
    ),
    Contract(
        "eager = fused",
        _fused,
        how="the implementation of attention was exchanged",
        means="one implementation gets another mask or another scale",
        chapter="mask-failures",
    ),
    Contract(
        "evaluation twice",
        _again,
        how="the same text was given again, with another random state",
        means="dropout is on, or a state survives the call",
        chapter="bug-museum",
    ),
    Contract(
        "training = evaluation",
        _training,
        how="training mode without dropout was compared with evaluation",
        means="a path that only one of the two modes takes",
        chapter="mask-failures",
    ),
)
