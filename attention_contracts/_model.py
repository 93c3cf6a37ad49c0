"""``check_model``: contracts of a whole model, from token ids to logits."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attention_contracts._arguments import require_a, require_count, require_flag
from attention_contracts._call import mode
from attention_contracts._report import NotTested, Report, broken, first_line, run


def check_model(
    model: nn.Module, vocab_size: int | None = None, *, causal: bool = True, length: int = 12
) -> Report:
    """Test a model on random token ids: the future, padding, batches, caches, packed documents.

    Parameters
    ----------
    model : torch.nn.Module
        ``model(ids)`` for integers ``(batch, length)`` returns logits ``(batch, length, vocab)``,
        or a tuple that begins with them, or an object with ``.logits``. A model of Hugging Face is
        recognised by its configuration, and all its arguments are found. It is tested in
        evaluation mode, and its mode is restored. Take a small one.
    vocab_size : int, optional
        Token ids are below it; by default that of the model's configuration.
    causal : bool
        Whether the future must not reach the past, and a cache must agree.
    length : int
        Tokens of the longest text.

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
    >>> print(check_model(leaky, 50).broken[0].says)  # doctest: +ELLIPSIS
    with the tokens after position 2 replaced, the logits at position ... moved by ...
    """
    require_a("model", model, nn.Module)
    require_flag("causal", causal)
    require_count("length", length, 8)
    with mode(model, training=False), torch.no_grad(), torch.random.fork_rng(devices=[]):
        subject = _Model(model, vocab_size, causal, length)
        return run("model", CONTRACTS, subject, subject.title)


class _Model:
    """A model, token ids for it, and how large a difference is that rounding cannot explain."""

    def __init__(self, model: nn.Module, vocab_size: int | None, causal: bool, length: int) -> None:
        self.model, self.causal = model, causal
        self.config: Any = getattr(model, "config", None)
        text = getattr(self.config, "get_text_config", lambda: self.config)()
        vocab_size = vocab_size or getattr(text, "vocab_size", None)
        if vocab_size is None:
            raise ValueError("vocab_size: expected a number, as the model has no config, got None")
        require_count("vocab_size", vocab_size, 4)
        self.accepts = set(inspect.signature(model.forward).parameters)
        self.draw(vocab_size, length)
        self.whole = self.logits(self.ids[:1])
        if not torch.isfinite(self.whole).all():
            raise ValueError("model: expected finite logits of random tokens, got NaN or infinity")
        self.noise = 100 * torch.finfo(self.dtype).eps * self.whole.abs().amax().item()
        kind = "a Hugging Face model" if self.config is not None else "model(ids)"
        self.title = f"{type(model).__name__}, {kind}, {length} tokens of {vocab_size}"

    def draw(self, vocab_size: int, length: int) -> None:
        """Draw two texts without any special token, ``(2, length)``, and another token for each."""
        names = [f"{name}_token_id" for name in ("pad", "bos", "eos", "sep")]
        special = [getattr(self.config, name, None) for name in names]
        special = [one for some in special for one in (some if isinstance(some, list) else [some])]
        pad = special[0]
        self.pad = pad if isinstance(pad, int) and 0 <= pad < vocab_size else 0
        used = {*special, self.pad}
        ordinary = torch.tensor([x for x in range(min(vocab_size, 1000)) if x not in used])
        generator = torch.Generator().manual_seed(0)
        picked = torch.randint(len(ordinary), (2, length), generator=generator)
        device = next((parameter.device for parameter in self.model.parameters()), None)
        self.ids = ordinary[picked].to(device)
        self.others = ordinary[(picked + 1) % len(ordinary)].to(device)

    def logits(self, ids: Tensor, **more: Any) -> Tensor:
        """Return logits in float64, one row for each token."""
        return self.read(self.model(ids, **more), ids)

    def read(self, output: Any, ids: Tensor) -> Tensor:
        """Return the logits of an output."""
        found = getattr(output, "logits", output)
        found = found[0] if isinstance(found, tuple | list) else found
        if not isinstance(found, Tensor) or found.shape[:2] != ids.shape or found.dim() != 3:
            got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"model: expected logits (batch, length, vocab) for ids {tuple(ids.shape)}, "
                f"got {got}"
            )
        self.dtype = found.dtype
        return found.double()

    def same(self, before: Tensor, after: Tensor, what: str, first: int = 0) -> None:
        """Fail where logits (length, vocab) differ by more than rounding explains."""
        change = (after - before).abs().nan_to_num(nan=torch.inf).amax(dim=-1)
        if (worst := change.max().item()) > self.noise:
            place = first + int(change.argmax())
            raise broken("logits moved", when=what, place=place, size=worst, noise=self.noise)

    def moves(self, before: Tensor, after: Tensor, reason: str) -> None:
        """Demand a movement far above rounding: the positive control of a contract."""
        if not (after - before).abs().max().item() > 10 * self.noise:
            raise NotTested(reason)

    def reads_its_first_token(self) -> None:
        """Demand that the first token reaches the last logits: the control of several contracts."""
        changed = self.ids[:1].clone()
        changed[:, 0] = self.others[0, 0]
        before, after = self.whole[:, -1], self.logits(changed)[:, -1]
        self.moves(before, after, "the first token does not reach the last logits")

    def needs(self, name: str) -> None:
        """Demand an argument of the model's ``forward``."""
        if name not in self.accepts:
            raise NotTested(f"forward takes no {name}")


def _future(subject: _Model) -> None:
    if not subject.causal:
        raise NotTested("causal=False: the model may read the future")
    subject.reads_its_first_token()
    length = subject.ids.shape[1]
    for last in sorted({length // 4 - 1, length // 2, length - 2}):
        changed = subject.ids[:1].clone()
        changed[:, last + 1 :] = subject.others[:1, last + 1 :]
        before, after = subject.whole[0], subject.logits(changed)[0]
        what = f"with the tokens after position {last} replaced"
        subject.same(before[: last + 1], after[: last + 1], what)


def _padded(subject: _Model, left: bool) -> str:
    """A short text, padded to the length of another, gives the logits that it gives alone."""
    subject.needs("attention_mask")
    ids, length = subject.ids, subject.ids.shape[1]
    short = length - length // 3
    at = slice(length - short, None) if left else slice(None, short)
    batch, real = ids.clone(), torch.ones_like(ids)
    batch[1], real[1] = subject.pad, 0
    batch[1, at], real[1, at] = ids[1, :short], 1
    alone = subject.logits(ids[1:, :short])[0]
    if left or not subject.causal:
        unmasked = subject.logits(batch)[1, at]
        subject.moves(alone, unmasked, "without a mask, padding changes nothing either")
    else:
        subject.reads_its_first_token()
    what = f"with {length - short} tokens of padding on the {'left' if left else 'right'}"
    if not left or "position_ids" not in subject.accepts:
        what += " (forward takes no position_ids)" if left else ""
        subject.same(alone, subject.logits(batch, attention_mask=real)[1, at], what)
        return ""
    # Most count from 0, some from the padding's id on, and some find the positions themselves.
    places = (real.cumsum(-1) - 1).clamp(min=0)
    offset = torch.where(real.bool(), places + subject.pad + 1, subject.pad)
    ways: dict[str, dict[str, Any]] = {
        "position_ids that count tokens": {"position_ids": places},
        "no position_ids": {},
        "position_ids from pad_token_id + 1 on": {"position_ids": offset},
    }
    failed = []
    for way, more in ways.items():
        try:
            given_back = subject.logits(batch, attention_mask=real, **more)[1, at]
            subject.same(alone, given_back, f"{what} and {way}")
        except (AssertionError, IndexError) as error:
            failed.append(str(error))
        else:
            return f"a text was padded on the left, its mask given, and {way}"
    raise AssertionError(failed[0])


def _single(subject: _Model) -> None:
    together = subject.logits(subject.ids)
    subject.moves(together[0], together[1], "two texts give the same logits")
    for row in (0, 1):
        alone = subject.logits(subject.ids[row : row + 1])[0]
        subject.same(together[row], alone, f"text {row} given alone")


def _cached(subject: _Model, size: int) -> None:
    if not subject.causal:
        raise NotTested("causal=False: no cache can agree")
    subject.needs("use_cache")
    subject.reads_its_first_token()
    ids = subject.ids[:1]
    names = ("past_key_values", "cache_params")  # an output has one of them, or none
    name = next((name for name in names if name in subject.accepts), names[0])
    subject.needs(name)
    cache: Any = None
    for start in range(0, ids.shape[1], size):
        step = ids[:, start : start + size]
        given = {} if cache is None else {name: cache}
        output = subject.model(step, use_cache=True, **given)
        cache = getattr(output, name, None)
        if cache is None:
            raise NotTested(f"no {name} came back with use_cache=True")
        what = f"with {start} tokens in the cache and {step.shape[1]} given"
        before = subject.whole[0, start : start + size]
        subject.same(before, subject.read(output, step)[0], what, start)


def _documents(subject: _Model) -> str:
    """Two texts in one row: position ids that start anew, or a mask in blocks, part them."""
    subject.needs("position_ids")
    length = subject.ids.shape[1]
    half = length // 2
    alone = subject.logits(subject.ids[:1, half:])[0]
    subject.moves(alone, subject.whole[0, half:], "a text before changes nothing in any case")
    places = torch.arange(length, device=subject.ids.device)
    document = (places >= half).long()
    ways: dict[str, dict[str, Any]] = {"position ids that start anew": {}}
    if "attention_mask" in subject.accepts:
        blocks = document[:, None] == document
        seen = blocks.tril() if subject.causal else blocks
        added = torch.zeros_like(seen, dtype=subject.dtype)
        added.masked_fill_(~seen, torch.finfo(added.dtype).min)
        ways["a mask (1, 1, length, length)"] = {"attention_mask": added[None, None]}
    anew, said = (places - half * document)[None], []
    for way, more in ways.items():
        try:
            packed = subject.logits(subject.ids[:1], position_ids=anew, **more)[0]
            subject.same(alone, packed[half:], f"with {way}", half)
        except (AssertionError, RuntimeError, ValueError, TypeError, IndexError) as error:
            said.append(f"{way}: {first_line(error)}")
        else:
            return f"two texts in one row, parted by {way}"
    raise NotTested("nothing that was tried parts two texts in one row; " + "; ".join(said))


def _fused(subject: _Model) -> str:
    """The same model with its plain and with its fused attention."""
    model: Any = subject.model
    chosen = getattr(subject.config, "_attn_implementation", None)
    if chosen is None or not hasattr(model, "set_attn_implementation"):
        raise NotTested("the model has no set_attn_implementation")
    subject.reads_its_first_token()
    other = "sdpa" if chosen == "eager" else "eager"
    try:
        with suppress(ValueError, ImportError):
            model.set_attn_implementation(other)
        if getattr(model.config, "_attn_implementation", None) != other:
            raise NotTested(f"the model has no {other} attention")
        after = subject.logits(subject.ids[:1])[0]
    finally:
        with suppress(ValueError):
            model.set_attn_implementation(chosen)
    subject.same(subject.whole[0], after, f"with {other} in place of {chosen}")
    return f"{other} gives what {chosen} gives"


def _again(subject: _Model) -> None:
    together = subject.logits(subject.ids)
    subject.moves(together[0], together[1], "two texts give the same logits")
    torch.manual_seed(1)
    again = subject.logits(subject.ids[:1])[0]
    subject.same(subject.whole[0], again, "called again, after another text")


class _WithoutDropout(TorchFunctionMode):
    """Replace dropout by the identity, in PyTorch's fused attention as well."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout):
            return args[0] if args else kwargs["input"]
        if func is F.scaled_dot_product_attention:
            kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


def _training(subject: _Model) -> None:
    subject.reads_its_first_token()
    with mode(subject.model, training=True), _WithoutDropout():
        first, second = (subject.logits(subject.ids[:1])[0] for _ in range(2))
    if not torch.equal(first, second):
        raise NotTested("training mode is random beside dropout: layer drop, noise in a router")
    subject.same(subject.whole[0], first, "in training mode, with dropout left out")


CONTRACTS: dict[str, Callable[[_Model], str | None]] = {
    "future": _future,
    "right padding": partial(_padded, left=False),
    "left padding": partial(_padded, left=True),
    "batch = single": _single,
    "cached, one token": partial(_cached, size=1),
    "cached, chunks": partial(_cached, size=5),
    "packed documents": _documents,
    "eager = fused": _fused,
    "evaluation twice": _again,
    "training = evaluation": _training,
}
