"""A model as contracts see it: token ids in, logits out, whatever its arguments are called."""

import copy
import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn

from attention_contracts._arguments import require_count
from attention_contracts._masks import named_sizes
from attention_contracts._report import NotTested
from attention_contracts._subject import CACHES

LONGEST = 130  # tokens: one block of 128 and two more
SHORTER = (64, 32, 16, 12, 8)  # lengths that are tried where the longest is too long
SMALL = 5e-3  # of the largest logit
MASKS = ("attention_mask", "mask", "padding_mask", "key_padding_mask")
LIMITS = ("max_position_embeddings", "n_positions", "max_target_positions", "max_seq_len")
SECONDS = 3.0  # for longer texts
Extra = Callable[[Tensor], dict[str, Any]]


class Model:
    """A model, token ids for it, and how large a difference is that rounding cannot explain."""

    def __init__(
        self,
        model: nn.Module,
        vocab_size: int | None,
        causal: bool,
        length: int | None,
        padding: Extra | None = None,
        documents: Extra | None = None,
    ) -> None:
        self.given, self.model, self.causal = model, in_single(model), causal
        self.padding, self.documents = padding, documents
        self.notes: list[str] = []
        model = self.model
        self.config: Any = getattr(model, "config", None)
        text = getattr(self.config, "get_text_config", lambda: self.config)()
        vocab_size = vocab_size or getattr(text, "vocab_size", None)
        if vocab_size is None:
            raise ValueError("vocab_size: expected a number, as the model has no config, got None")
        require_count("vocab_size", vocab_size, 4)
        tables = [x for x in model.children() if isinstance(x, nn.Embedding)]
        if tables and vocab_size > tables[0].num_embeddings:
            raise ValueError(
                f"vocab_size: expected at most the {tables[0].num_embeddings} rows of the model's "
                f"table, got {vocab_size}"
            )
        self.vocab_size, self.fixed = vocab_size, length is not None
        begin = time.thread_time()
        self.accepts = _accepted(model)
        self.decodes = "decoder_input_ids" in self.accepts and bool(
            getattr(self.config, "is_encoder_decoder", False)
        )
        self.targets = ""
        self.sizes = named_sizes(model)
        self.length = self._longest(vocab_size, length)
        self.draw(vocab_size, self.length)
        self.original = self.logits(self.ids[:1])
        if not torch.isfinite(self.original).all():
            raise ValueError("model: expected finite logits of random tokens, got NaN or infinity")
        self.noise = self._rounding()
        self.seconds = time.thread_time() - begin
        kind = "a Hugging Face model" if self.config is not None else "model(ids)"
        kind = "an encoder-decoder, its decoder tested" if self.decodes else kind
        self.title = f"{type(model).__name__}, {kind}, {self.bound()} of {vocab_size}"

    def _rounding(self) -> float:
        """Return how far rounding may move the logits.

        Weights that are off by an epsilon move them as well: a recurrence amplifies both.
        """
        epsilon = torch.finfo(self.dtype).eps
        noise = 100 * epsilon * self.original.abs().amax().item()
        nudged = copy.copy(self)
        nudged.model = copy.deepcopy(self.model)
        if not torch.equal(nudged.logits(self.ids[:1]), self.original):
            return noise  # the model is random: another contract says so
        generator = torch.Generator().manual_seed(0)
        for weight in nudged.model.parameters():
            if weight.is_floating_point():
                factor = torch.randn(weight.shape, generator=generator, device="cpu").to(weight)
                weight.mul_(1 + epsilon * factor)
        return max(noise, 30 * (nudged.logits(self.ids[:1]) - self.original).abs().amax().item())

    def bound(self) -> str:
        """Return up to how many tokens, and across which sizes, it is tested."""
        crossed = [f"{name} of {size}" for name, size in self.sizes.items() if size < self.length]
        text = f"up to {self.length} tokens"
        return text + (f" (crossed: {', '.join(crossed)})" if crossed else "")

    def size(self) -> str:
        """Return up to how many tokens a contract was tested."""
        return f"up to {self.length} tokens"

    def longer(self, seconds: float = SECONDS) -> Iterator["Model"]:
        """Yield the same with longer texts, until there are 514 tokens or the time is spent."""
        begin, last = time.thread_time(), self.seconds
        limit = min(self._named(LIMITS) or self._named(("block_size",)), default=514)
        for length in (258, 514):
            if self.fixed or not self.length < length <= limit:
                continue
            before = time.thread_time()
            if before - begin + 8 * last > seconds:
                return
            longer = copy.copy(self)
            longer.length = length
            with suppress(Exception):
                longer.draw(self.vocab_size, length)
                longer.original = longer.logits(longer.ids[:1])
                yield longer
            last = time.thread_time() - before

    def _longest(self, vocab_size: int, length: int | None) -> int:
        """Return a length that crosses what is named, or the longest of some that can be run."""
        largest = max((x for x in self.sizes.values()), default=0)
        target = length or max(LONGEST, min(2 * largest + 2, 4 * LONGEST))
        length = length or LONGEST
        # Alone, a block_size is nanoGPT's longest text; beside one of these it is a chunk.
        limit = min(self._named(LIMITS) or self._named(("block_size",)), default=target)
        lengths = [
            n for n in dict.fromkeys((target, length, limit, *SHORTER)) if n <= max(target, 8)
        ]
        lengths = sorted((n for n in lengths if n <= limit), reverse=True) or [min(length, limit)]
        for number, candidate in enumerate(lengths):
            self.draw(vocab_size, candidate)
            try:
                self.logits(self.ids[:1])
            except Exception:
                if number == len(lengths) - 1:
                    raise
            else:
                return candidate
        raise AssertionError  # the last one raises

    def _named(self, names: tuple[str, ...]) -> list[int]:
        """Return the lengths that the configuration or the model has under these names."""
        holders = (self.config, self.model)
        lengths = [getattr(holder, name, None) for holder in holders for name in names]
        return [x for x in lengths if isinstance(x, int) and x >= 8]

    def draw(self, vocab_size: int, length: int) -> None:
        """Draw two texts without any special token, ``(2, length)``, and another token for each."""
        names = [f"{name}_token_id" for name in ("pad", "bos", "eos", "sep")]
        special: list[Any] = []
        for name in names:
            ids = getattr(self.config, name, None)
            special += ids if isinstance(ids, list) else [ids]
        pad = special[0]
        self.pad = pad if isinstance(pad, int) and 0 <= pad < vocab_size else 0
        used = {*special, self.pad}
        ordinary = torch.tensor([x for x in range(min(vocab_size, 1000)) if x not in used])
        generator = torch.Generator().manual_seed(0)
        picked = torch.randint(len(ordinary), (2, length), generator=generator)
        device = next((parameter.device for parameter in self.model.parameters()), None)
        self.ids = ordinary[picked].to(device)
        self.other_ids = ordinary[(picked + 1) % len(ordinary)].to(device)
        self.source = ordinary[(picked[:1, :12] + 2) % len(ordinary)].to(device)

    def run(self, ids: Tensor, **more: Any) -> Any:
        """Call the model; an encoder-decoder gets one source for all rows."""
        if self.targets:
            more = {self.targets: ids, **more}
        if "start_pos" in self.accepts:
            more = {"start_pos": 0, **more}
        if not self.decodes:
            return self.model(ids, **more)
        renamed = {
            f"decoder_{name}": x for name, x in more.items() if f"decoder_{name}" in self.accepts
        }
        more = {name: x for name, x in more.items() if f"decoder_{name}" not in renamed}
        source = self.source.expand(len(ids), -1)
        return self.model(input_ids=source, decoder_input_ids=ids, **renamed, **more)

    def logits(self, ids: Tensor, **more: Any) -> Tensor:
        """Return logits in float64, one row for each token."""
        output = self.run(ids, **more)
        if not self.targets and self._last_alone(output, ids):
            # Some return the last logits alone, unless they are to compute a loss.
            self.targets = next((x for x in ("targets", "labels") if x in self.accepts), "")
            output = self.run(ids, **more)
        return self.read(output, ids)

    def _last_alone(self, output: Any, ids: Tensor) -> bool:
        logits = self._tensor(output)
        return (
            isinstance(logits, Tensor) and logits.dim() == 3 and logits.shape[1] == 1 < ids.shape[1]
        )

    def real(self, mask: Tensor) -> dict[str, Any]:
        """Return the arguments that say which tokens, ``(batch, length)``, are no padding."""
        if self.padding is not None:
            return self.padding(mask.bool())
        name = self.needs(*MASKS)
        return {name: mask if name == "attention_mask" else mask.bool()}

    def cache_of(self, output: Any, name: str) -> Any:
        """Return the cache that came back, by its name or in the last place, or None."""
        for each in (name, *CACHES, "cache_params"):
            if (cache := getattr(output, each, None)) is not None:
                return cache
        several = isinstance(output, tuple | list) and len(output) > 1
        return output[-1] if several and output[-1] is not output[0] else None

    def _tensor(self, output: Any) -> Any:
        for name in ("logits", "last_hidden_state"):
            if isinstance(tensor := getattr(output, name, None), Tensor):
                return tensor
        return output[0] if isinstance(output, tuple | list) and output else output

    def read(self, output: Any, ids: Tensor) -> Tensor:
        """Return the logits of an output, or its hidden states."""
        logits = self._tensor(output)
        if not isinstance(logits, Tensor) or logits.shape[:2] != ids.shape or logits.dim() != 3:
            got = tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            hint = "; it is the last position alone" if self._last_alone(output, ids) else ""
            raise ValueError(
                f"model: expected logits (batch, length, vocab) for ids {tuple(ids.shape)}, "
                f"got {got}{hint}"
            )
        self.dtype = logits.dtype
        return logits.double()

    def same(
        self,
        expected: Tensor,
        logits: Tensor,
        change: str,
        first_position: int = 0,
        *,
        sums: bool = True,
    ) -> None:
        """Fail where logits (length, vocab) differ by more than rounding explains.

        With ``sums`` the two add up in other orders, which a recurrence may amplify: a movement
        that is small all the same proves nothing.
        """
        difference = (logits - expected).abs().nan_to_num(nan=torch.inf).amax(dim=-1)
        if (worst := difference.max().item()) > self.noise:
            place = first_position + int(difference.argmax())
            movement = (
                f"{change}, the logits at position {place} moved by {worst:.2g} (rounding explains "
                f"{self.noise:.1g})"
            )
            if sums and worst < SMALL * self.original.abs().amax().item():
                raise NotTested(f"{movement}: too little to tell a mistake from rounding")
            raise AssertionError(movement)

    def moves(self, original: Tensor, logits: Tensor, reason: str) -> None:
        """Demand a movement far above rounding: the positive control of a contract."""
        moved = (logits - original).abs().max().item()
        if 0 < moved <= 10 * self.noise:
            reason = f"what should move the logits moves them by {moved:.1g}, as rounding may"
        if not moved > 10 * self.noise:
            raise NotTested(reason)

    def tokens_meet(self) -> None:
        """Demand that a token reaches the logits of the next few: the control of contracts.

        A window may hide it from those that come later.
        """
        place = self.length // 2
        changed = self.ids[:1].clone()
        changed[:, place] = self.other_ids[0, place]
        logits = self.logits(changed)
        self.moves(
            self.original[:, place + 1 :],
            logits[:, place + 1 :],
            "no token reaches the logits of later positions",
        )

    def needs(self, *names: str) -> str:
        """Demand one of some arguments of the model's ``forward``, and return it."""
        for name in names:
            if {name, f"decoder_{name}"} & self.accepts:
                return name
        hint = "; padding=lambda real: {…} says how" if "attention_mask" in names else ""
        raise NotTested(f"forward takes no {' or '.join(names[:3])}{hint}")

    def first_layer_that_differs(self, first: Tensor, second: Tensor, end: int) -> str:
        """Return the first layer whose output before ``end`` is not the same for two texts."""
        layers = max(
            (
                (name, module)
                for name, module in self.model.named_modules()
                if isinstance(module, nn.ModuleList)
            ),
            key=lambda named_layers: len(named_layers[1]),
            default=("", nn.ModuleList()),
        )
        outputs: list[list[Tensor]] = [[], []]
        for ids, outputs_of_text in zip((first, second), outputs, strict=True):
            with _watching(layers[1], outputs_of_text):
                self.run(ids)
        for number, (first_output, second_output) in enumerate(zip(*outputs, strict=False)):
            comparable = first_output.shape == second_output.shape and first_output.dim() == 3
            limit = 100 * torch.finfo(first_output.dtype).eps * first_output.abs().amax()
            if comparable and (first_output - second_output)[:, :end].abs().amax() > limit:
                return f"{layers[0]}.{number} ({type(layers[1][number]).__name__})"
        return ""


def in_single(model: nn.Module) -> nn.Module:
    """Return the model, or a copy in float32 if its weights are of half precision."""
    weights = (x for x in model.parameters() if x.is_floating_point())
    half = next(weights, torch.zeros(())).dtype in (torch.float16, torch.bfloat16)
    return copy.deepcopy(model).float() if half else model


@contextmanager
def _watching(layers: Sequence[nn.Module] | nn.ModuleList, into: list[Tensor]) -> Iterator[None]:
    """Write down the outputs of layers."""

    def note(_module: nn.Module, _inputs: Any, output: Any) -> None:
        output = output[0] if isinstance(output, tuple) else output
        if isinstance(output, Tensor):
            into.append(output.detach())

    hooks = [layer.register_forward_hook(note) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _accepted(model: nn.Module) -> set[str]:
    """Return the arguments that a model takes, or hands on to the model that it wraps."""
    named = inspect.signature(model.forward).parameters
    accepted = {
        name for name, x in named.items() if x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)
    }
    if any(x.kind is x.VAR_KEYWORD for x in named.values()):
        config = getattr(model, "config", None)
        below = [module for module in model.modules() if module is not model]
        inner = next((x for x in below if config and getattr(x, "config", None) is config), None)
        from_transformers = type(model).__module__.startswith("transformers.")
        if inner is not None and not from_transformers:
            accepted |= {*inspect.signature(inner.forward).parameters}
    return accepted
