"""Whole models of this library's layers: trained, swapped for PyTorch's, compiled, saved, decoded.

Run with ``-s``, each test prints the largest difference that it found.
"""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_lib import (
    AddNorm,
    KeyValueCache,
    MultiHeadAttention,
    PositionalEncoding,
    causal_mask,
    rotate_by_position,
)
from attention_workbook import _safetensors

VOCABULARY, D_MODEL, HEADS, LAYERS, PERIOD = 12, 32, 4, 2, 3
TOLERANCE = 1e-5  # float32, logits of a few units


def feed_forward():
    return nn.Sequential(nn.Linear(D_MODEL, 64), nn.GELU(), nn.Linear(64, D_MODEL))


class Block(nn.Module):
    """Self-attention, attention to a memory where there is one, and a small network."""

    def __init__(self, cross=False, **options):
        super().__init__()
        self.own = MultiHeadAttention(D_MODEL, HEADS, **options)
        self.cross = MultiHeadAttention(D_MODEL, HEADS, bias=True) if cross else None
        self.network = feed_forward()
        self.add_norms = nn.ModuleList(AddNorm(D_MODEL) for _ in range(2 + cross))

    def forward(self, x, valid_lens=None, mask=None, cache=None, memory=None, memory_lens=None):
        options = {"mask": mask} if cache is None else {"cache": cache}
        gathered, _ = self.own(x, x, x, valid_lens, need_weights=False, **options)
        x = self.add_norms[0](x, gathered)
        if self.cross is not None:
            gathered, _ = self.cross(x, memory, memory, memory_lens, need_weights=False)
            x = self.add_norms[1](x, gathered)
        return self.add_norms[-1](x, self.network(x))


class Learned(nn.Embedding):
    """One learned vector for each position."""

    def forward(self, x, offset=0):
        return x + super().forward(torch.arange(offset, offset + x.shape[1], device=x.device))


class Decoder(nn.Module):
    """A GPT: token ids to logits; with ``cross`` the decoder of a translator."""

    def __init__(self, positions="sinusoidal", cross=False):
        super().__init__()
        rotary = {"rotary": rotate_by_position, "num_kv_heads": 2} if positions == "rotary" else {}
        self.embedding = nn.Embedding(VOCABULARY, D_MODEL)
        self.positions = None
        if positions == "sinusoidal":
            self.positions = PositionalEncoding(D_MODEL, max_len=64)
        elif positions == "learned":
            self.positions = Learned(64, D_MODEL)
        self.blocks = nn.ModuleList(Block(cross, bias=True, **rotary) for _ in range(LAYERS))
        self.logits = nn.Linear(D_MODEL, VOCABULARY)

    def forward(self, ids, caches=None, **memory):
        x = self.embedding(ids)
        if self.positions is not None:
            x = self.positions(x, offset=0 if caches is None else len(caches[0]))
        mask = causal_mask(ids.shape[1], device=ids.device) if caches is None else None
        for block, cache in zip(self.blocks, caches or [None] * LAYERS, strict=True):
            x = block(x, mask=mask, cache=cache, **memory)
        return self.logits(x)


class Translator(nn.Module):
    """An encoder of padded sources, and a decoder that attends to what it returns."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, D_MODEL)
        self.positions = PositionalEncoding(D_MODEL, max_len=64)
        self.encoder = nn.ModuleList(Block(bias=True) for _ in range(LAYERS))
        self.decoder = Decoder(cross=True)

    def encode(self, source, lens):
        x = self.positions(self.embedding(source))
        for block in self.encoder:
            x = block(x, valid_lens=lens)
        return {"memory": x, "memory_lens": lens}

    def forward(self, source, lens, target):
        return self.decoder(target, **self.encode(source, lens))


class Theirs(nn.Module):
    """PyTorch's layer behind this library's call: lengths and masks are turned into its own."""

    def __init__(self, ours):
        super().__init__()
        self.layer = ours.to_torch()

    def forward(self, queries, keys, values, valid_lens=None, *, mask=None, need_weights=False):
        padding = None
        if valid_lens is not None:
            padding = torch.arange(keys.shape[1]) >= valid_lens.unsqueeze(1)
        hidden = None if mask is None else ~mask
        options = {"key_padding_mask": padding, "attn_mask": hidden, "need_weights": need_weights}
        return self.layer(queries, keys, values, **options)


def swapped(model, convert):
    """Replace each attention layer of a copy of the model."""
    changed = copy.deepcopy(model)
    for module in list(changed.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, MultiHeadAttention):
                setattr(module, name, convert(child))
    return changed


# --- two toy tasks -------------------------------------------------------------------------------


def periodic(generator, batch=32, length=24):
    """Sequences that repeat themselves after a few tokens, as input and as target."""
    start = torch.randint(VOCABULARY, (batch, PERIOD), generator=generator)
    ids = start.repeat(1, length // PERIOD + 1)[:, : length + 1]
    return (ids[:, :-1],), ids[:, 1:], torch.arange(length).expand(batch, -1) >= PERIOD - 1


def mirrored(generator, batch=32, longest=8):
    """Padded sources; the targets are the sources backwards, after a token that says "begin"."""
    lens = torch.randint(2, longest + 1, (batch,), generator=generator)
    source = torch.randint(1, VOCABULARY, (batch, longest), generator=generator)
    inside = torch.arange(longest) < lens.unsqueeze(1)
    source = source * inside
    target = source.gather(1, (lens.unsqueeze(1) - 1 - torch.arange(longest)).clamp(min=0)) * inside
    begun = F.pad(target, (1, 0))[:, :-1]
    return (source, lens, begun), target, inside


def trained(model, task, steps):
    """Train for a few seconds; return the share of right answers on fresh examples."""
    generator = torch.Generator().manual_seed(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        inputs, target, counts = task(generator)
        loss = F.cross_entropy(model(*inputs)[counts], target[counts])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    inputs, target, counts = task(generator)
    with torch.no_grad():
        right = model.eval()(*inputs).argmax(-1) == target
    return right[counts].float().mean().item()


MODELS = {
    "GPT, rotary": (lambda: Decoder("rotary"), periodic, 150),
    "GPT, learned": (lambda: Decoder("learned"), periodic, 250),
    "GPT, sinusoidal": (lambda: Decoder("sinusoidal"), periodic, 250),
    "translator": (Translator, mirrored, 500),
}
SAME_IN_PYTORCH = [name for name in MODELS if "rotary" not in name]


@pytest.fixture(scope="module")
def models():
    """Each model, trained once, and one batch of its task."""
    made = {}
    for name, (make, task, steps) in MODELS.items():
        torch.manual_seed(0)
        model = make()
        share = trained(model, task, steps)
        print(f"{name}: {share:.3f} of fresh answers right")
        assert share > 0.9, name
        made[name] = model, task(torch.Generator().manual_seed(1))[0]
    return made


def difference(name, what, found, expected):
    largest = (found - expected).abs().max().item()
    print(f"{name}, {what}: {largest:.1e}")
    return largest


def gradients(model, inputs):
    """Return the gradient of each parameter outside the attention layers, by name."""
    model.zero_grad()
    model(*inputs).square().mean().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", SAME_IN_PYTORCH)
def test_pytorchs_layers_swapped_in_give_the_same(name, models):
    model, inputs = models[name]
    expected = model(*inputs)
    theirs = swapped(model, Theirs)
    assert not any(isinstance(module, MultiHeadAttention) for module in theirs.modules())
    assert difference(name, "PyTorch's layers", theirs(*inputs), expected) < TOLERANCE
    found, wanted = gradients(theirs, inputs), gradients(model, inputs)
    shared = found.keys() & wanted.keys()
    assert len(shared) > 10
    largest = max((found[key] - wanted[key]).abs().max().item() for key in shared)
    print(f"{name}, gradients: {largest:.1e}")
    assert largest < TOLERANCE
    back = swapped(model, lambda ours: MultiHeadAttention.from_torch(ours.to_torch()))
    assert torch.equal(back(*inputs), expected)


@pytest.mark.parametrize("name", MODELS)
def test_compiled_models_give_the_same(name, models):
    model, inputs = models[name]
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert difference(name, "compiled", compiled(*inputs), model(*inputs)) < TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_saved_models_come_back(name, models, tmp_path):
    model, inputs = models[name]
    _safetensors.write(model.state_dict(), tmp_path / "model.safetensors", {})
    state, _ = _safetensors.read(tmp_path / "model.safetensors")
    fresh = MODELS[name][0]().eval()
    fresh.load_state_dict(state)
    assert difference(name, "loaded", fresh(*inputs), model(*inputs)) == 0


@torch.no_grad()
@pytest.mark.parametrize("chunks", [[1], [5, 1]], ids=["tokens", "prompt"])
@pytest.mark.parametrize("name", MODELS)
def test_decoding_with_caches_equals_the_whole_pass(name, chunks, models):
    model, inputs = models[name]
    expected, ids, memory, decoder = model(*inputs), inputs[-1], {}, model
    if name == "translator":
        decoder, memory = model.decoder, model.encode(*inputs[:2])
    caches = [KeyValueCache() for _ in range(LAYERS)]
    sizes = chunks + [1] * (ids.shape[1] - sum(chunks))
    found = torch.cat([decoder(part, caches, **memory) for part in ids.split(sizes, 1)], dim=1)
    assert difference(name, f"decoded, {chunks[0]} first", found, expected) < TOLERANCE
