"""``check_model``: contracts of a whole model, from token ids to logits."""

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_contracts._arguments import require_a, require_count, require_flag
from attention_contracts._call import mode
from attention_contracts._model import Extra, Model
from attention_contracts._report import (
    Because,
    NotTested,
    Report,
    Run,
    described,
    first_line,
    names_required,
)
from attention_contracts._subject import CACHES
from attention_contracts.order import cause_of_step


def check_model(
    model: nn.Module,
    vocab_size: int | None = None,
    *,
    causal: bool = True,
    length: int | None = None,
    padding: Extra | None = None,
    documents: Extra | None = None,
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
        is restored; of one in half precision a copy in float32 is tested, and then compared with
        it. Take a small one.
    vocab_size : int, optional
        Token ids are below it; by default that of the model's configuration.
    causal : bool
        Whether the future must not reach the past, and a cache must agree.
    length : int, optional
        Tokens of the longest text. By default 130, and more to cross the chunks, windows and blocks
        that the configuration names; then up to 514 for three seconds, or less where the model
        takes less. The report says where it stopped.
    padding : callable, optional
        ``padding(real)`` returns the keyword arguments that say which tokens are real; ``real`` is
        boolean of shape ``(batch, length)``. Arguments named as masks usually are, are found.
    documents : callable, optional
        ``documents(ids)`` returns the keyword arguments that keep packed texts apart; ``ids`` has
        one number for each text, of shape ``(batch, length)``.
    require : sequence of str
        Names of contracts, or "causality", "padding", "cache", "documents": the report is false if
        one of them could not be tested. What ``padding`` and ``documents`` name is required
        without it.

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
    if length is not None:
        require_count("length", length, 8)
    asked = {"right padding": padding is not None, "packed documents": documents is not None}
    asked_for = [name for name, given in asked.items() if given]
    required = names_required([*names_required(require, CONTRACTS), *asked_for], CONTRACTS)
    with mode(model, training=False), torch.no_grad(), torch.random.fork_rng(devices=[]):
        subject = Model(model, vocab_size, causal, length, padding, documents)
        run = Run(CONTRACTS).on(subject, subject.longer())
        title = subject.title.replace(subject.bound(), run.reached.bound())
        return run.report(title, subject.notes, required)


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
    return "later tokens were replaced"


def _padded(subject: Model, left: bool) -> str:
    """A short text, padded to the length of another, gives the logits that it gives alone."""
    ids, length = subject.ids, subject.length
    subject.real(torch.ones_like(ids))
    short_length = length - length // 3
    real_places = slice(length - short_length, None) if left else slice(None, short_length)
    batch, real = ids.clone(), torch.ones_like(ids)
    batch[1], real[1] = subject.pad, 0
    batch[1, real_places], real[1, real_places] = ids[1, :short_length], 1
    alone = subject.logits(ids[1:, :short_length])[0]
    change = f"with {length - short_length} tokens of padding on the {'left' if left else 'right'}"
    positions = {"position_ids", "decoder_position_ids"} & subject.accepts
    if not left or not positions:
        padded = subject.logits(batch, **subject.real(real))[1, real_places]
        try:
            subject.same(alone, padded, change)
        except AssertionError as error:
            if not left or subject.padding is not None:
                raise
            raise NotTested(f"forward takes no position_ids, and counts places; {error}") from None
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
            logits = subject.logits(batch, **subject.real(real), **arguments)[1, real_places]
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
    inside = "start_pos" in subject.accepts  # the model keeps its cache itself
    name = "" if inside else subject.needs(*CACHES, "cache_params")
    asks = {"use_cache": True} if "use_cache" in subject.accepts else {}
    ids = subject.ids[:1, : max(130, 8 * size)]  # the last tokens of a longer text take too long
    cache: Any = None
    for start in range(0, ids.shape[1], size):
        step = ids[:, start : start + size]
        more = {"start_pos": start} if inside else {} if cache is None else {name: cache}
        output = subject.run(step, **asks, **more)
        cache = subject.cache_of(output, name)
        if cache is None and not inside:
            raise NotTested(f"no {name} came back{' with use_cache=True' if asks else ''}")
        change = f"with {start} tokens in the cache and {step.shape[1]} given"
        expected = subject.original[0, start : start + size]
        try:
            subject.same(expected, subject.read(output, step)[0], change, start)
        except AssertionError as error:
            raise Because(str(error), cause_of_step(start, size)) from None
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
    ids, half = subject.ids[:1], subject.length // 2
    alone = subject.logits(ids[:, half:])[0]
    subject.moves(alone, subject.original[0, half:], "a text before changes nothing in any case")
    document = (torch.arange(subject.length, device=ids.device) >= half).long()

    def part(parting: str, **arguments: Any) -> None:
        packed = subject.logits(ids, **arguments)[0]
        subject.same(alone, packed[half:], f"with {parting}", half)

    if subject.documents is not None:
        given = subject.documents(document[None])
        try:
            part("documents=", **given)
        except AssertionError as moved:
            other = torch.where(document == 0, subject.other_ids[:1], ids)
            first, second = (subject.logits(x, **given)[0, half:] for x in (ids, other))
            subject.same(first, second, "with documents= and another first text", half)
            raise NotTested(f"{moved}; yet it does not read the first: positions go on?") from None
        return "two texts in one row, parted by documents="
    failed = []
    for parting, arguments in _ways_to_part(subject, document, half).items():
        try:
            part(parting, **arguments)
        except (AssertionError, NotTested, RuntimeError, ValueError, TypeError, IndexError) as no:
            failed.append(f"{parting}: {first_line(no)}")
            continue
        beside = ""
        if "attention_mask" in subject.accepts and "attention_mask" not in arguments:
            ones = torch.ones_like(ids)
            try:
                part(parting, attention_mask=ones, **arguments)
                beside = "; a mask of ones beside them changes nothing"
            except (AssertionError, NotTested):
                beside = "; beside a mask of ones they meet, so give none"
                subject.notes.append("packed texts meet where a mask of ones is given as well")
        return f"two texts in one row, parted by {parting}{beside}"
    raise NotTested(
        "nothing that was tried parts two texts in one row (documents=lambda ids: {…} says how); "
        + "; ".join(failed)
    )


def _ways_to_part(subject: Model, document: Tensor, half: int) -> dict[str, dict[str, Any]]:
    """Return arguments that may part two texts, the second of which begins in the middle."""
    subject.needs("position_ids")
    length = subject.length
    places = torch.arange(length, device=document.device) - half * document
    positions = {"position_ids": places[None]}
    ways: dict[str, dict[str, Any]] = {"position ids that start anew": dict(positions)}
    if "use_cache" in subject.accepts:
        ways["position ids that start anew and use_cache=False"] = positions | {"use_cache": False}
    if "attention_mask" in subject.accepts:
        blocks = document[:, None] == document
        visible = blocks.tril() if subject.causal else blocks
        additive_mask = torch.zeros_like(visible, dtype=subject.dtype)
        additive_mask.masked_fill_(~visible, torch.finfo(additive_mask.dtype).min)
        more = {"attention_mask": additive_mask[None, None]}
        ways["a mask (1, 1, length, length)"] = positions | more
    return ways


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


def _in_training(subject: Model) -> str:
    """Training mode as it is, dropout included, with one random state for each call."""
    model = copy.copy(subject)
    model.model = copy.deepcopy(subject.model)

    def logits(ids: Tensor) -> Tensor:
        torch.manual_seed(0)
        with mode(model.model, training=True):
            return model.logits(ids)[0]

    ids, middle = subject.ids[:1], subject.length // 2
    first = logits(ids)
    if not first.isfinite().all():
        share = 1 - first.isfinite().double().mean().item()
        raise AssertionError(f"in training mode {share:.0%} of the logits are NaN or infinite")
    if not torch.equal(first, logits(ids)):
        raise NotTested("training mode is random beyond PyTorch's random state")
    if not subject.causal:
        return "the logits stayed finite in training mode"
    changed = ids.clone()
    changed[:, middle:] = subject.other_ids[:1, middle:]
    evaluated = subject.logits(changed)[0, :middle]
    if (evaluated - subject.original[0, :middle]).abs().max().item() > subject.noise:
        raise NotTested("it reads later tokens in evaluation as well")
    with_change = logits(changed)
    what = f"in training mode, with the tokens from position {middle} on replaced"
    subject.same(first[:middle], with_change[:middle], what, sums=False)
    subject.moves(first[middle:], with_change[middle:], "other tokens give the same logits")
    return "in training mode, with dropout, the logits stayed finite and saw no later token"


def _order(subject: Model) -> None:
    shuffled = subject.ids[:1].clone()
    shuffled[:, :-1] = shuffled[:, :-1].roll(subject.length // 3, dims=1)
    reason = "no order is seen: with all tokens before it shuffled, the last logits are the same"
    last = subject.original[:, -1]
    subject.tokens_meet()
    try:
        subject.moves(last, subject.logits(shuffled)[:, -1], reason)
    except NotTested:
        subject.notes.append(reason)
        raise


def _in_half(subject: Model) -> str:
    half = copy.copy(subject)
    half.model, dtype = subject.given, next(subject.given.parameters(), torch.zeros(())).dtype
    if subject.given is subject.model:
        dtype = torch.bfloat16
        half.model = copy.deepcopy(subject.model).to(dtype)
    with mode(half.model, training=False):
        logits = half.logits(subject.ids[:1])
    if not logits.isfinite().all():
        raise AssertionError(f"in {dtype} the logits are NaN or infinite, in float32 they are not")
    size = subject.original.abs().amax().item()
    error = (logits - subject.original).abs().amax().item() / size
    if error > 0.2 and subject.given is not subject.model:
        raise AssertionError(f"in {dtype} the logits differ by {error:.2g} of the largest")
    return f"in {dtype} the logits stayed finite, and differed by {error:.1g} of the largest"


TESTS: dict[str, Callable[[Any], str | None]] = {
    "future": _future,
    "right padding": partial(_padded, left=False),
    "left padding": partial(_padded, left=True),
    "batch = single": _single,
    "cached, one token": partial(_cached, size=1),
    "cached, chunks": partial(_cached, size=5),
    "positions shifted": _shifted,
    "packed documents": _documents,
    "eager = fused": _fused,
    "evaluation twice": _again,
    "training = evaluation": _training,
    "training mode": _in_training,
    "order is seen": _order,
    "half precision": _in_half,
}
CONTRACTS = described("model", TESTS)
