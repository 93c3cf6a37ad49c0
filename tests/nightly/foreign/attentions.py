"""Run the contracts on attentions of other packages, and print what was found as JSON.

    python tests/nightly/foreign/attentions.py

It runs in an environment of its own: ``requirements.txt`` beside it.
"""

import functools
import importlib
import importlib.util
import json
import os
import sys
import time
import types
import warnings
from functools import partial
from unittest import mock

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", USE_HUB_KERNELS="0")

import torch
import torch.nn.functional as F
from torch import nn

import attention_contracts as contracts


def from_transformers(module, attention, config, **sizes):
    """Make one layer of transformers, small, with weights that let changes be seen."""
    import transformers

    home = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
    shared = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2}
    shared |= {"num_hidden_layers": 2, "intermediate_size": 64, "vocab_size": 128}
    made = getattr(transformers, config)(**shared | sizes)
    made._attn_implementation = "eager"
    kind = getattr(home, attention)
    try:
        layer = kind(made, layer_idx=0)
    except TypeError:
        layer = kind(made)
    for name, weight in layer.named_parameters():
        if weight.dim() >= 2 or "sink" in name:
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)
    return layer


def from_package(module, name, *arguments, **options):
    """Make an attention of another package."""
    return getattr(importlib.import_module(module), name)(*arguments, **options)


def wrapped():
    """Wrap a layer of transformers, as PEFT does."""

    class Wrapper(nn.Module):
        def __init__(self):
            super().__init__()
            self.base_layer = from_transformers("llama", "LlamaAttention", "LlamaConfig")

        def forward(self, *args, **kwargs):
            return self.base_layer(*args, **kwargs)

    return Wrapper()


def flex(causal):
    """Return PyTorch's flex_attention, which has no gradients on a CPU."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def attend(queries, keys, values):
        len_q, len_k = queries.shape[-2], keys.shape[-2]
        mask = None
        if causal:
            sees = lambda b, h, i, j: i + len_k - len_q >= j  # noqa: E731
            mask = create_block_mask(sees, None, None, len_q, len_k, device=queries.device)
        return flex_attention(queries, keys, values, block_mask=mask)

    return attend


def open_clip(**options):
    """Make open_clip's attention from its own file; its package would import torchvision."""
    package, torchvision = types.ModuleType("open_clip"), mock.MagicMock()
    package.__path__ = importlib.util.find_spec("open_clip").submodule_search_locations
    names = ("torchvision", "torchvision.ops", "torchvision.ops.misc")
    stand_ins = {"open_clip": package} | dict.fromkeys(names, torchvision)
    with mock.patch.dict(sys.modules, stand_ins):
        return importlib.import_module("open_clip.transformer").Attention(32, 4, **options)


class Divided(nn.Module):
    """Divide by the root of a head's width, which the fused attention does, too."""

    def forward(self, queries):
        return queries / queries.shape[-1] ** 0.5


def scaled_twice():
    attention = open_clip()
    attention.ln_q = Divided()
    return attention


def deepseek(turned="both"):
    """Make the multi-head latent attention of DeepSeek V3, or one whose keys are not turned."""
    layer = from_transformers("deepseek_v3", "DeepseekV3Attention", "DeepseekV3Config", **DEEPSEEK)
    if turned == "both":
        return layer
    kind = type(layer)
    home = sys.modules[kind.__module__]
    turn = home.apply_rotary_pos_emb_interleave

    def turn_queries(queries, keys, cos, sin):
        return turn(queries, keys, cos, sin)[0], keys

    @functools.wraps(kind.forward)
    def forward(self, *args, **kwargs):
        with mock.patch.object(home, "apply_rotary_pos_emb_interleave", turn_queries):
            return kind.forward(self, *args, **kwargs)

    members = {"forward": forward, "__module__": kind.__module__}
    layer.__class__ = type("KeysNotTurned", (kind,), members)
    return layer


def booleans(valid_lens, length):
    return {"mask": torch.arange(length) < valid_lens[:, None]}


def hidden(name, valid_lens, length):
    return {name: torch.arange(length) >= valid_lens[:, None]}


def hidden_for_each_head(valid_lens, length):
    padded = torch.arange(length) >= valid_lens[:, None]
    return {"attn_mask": padded[:, None, None].expand(-1, 4, length, length)}


def torchscale():
    from types import SimpleNamespace

    settings = {"multiway": False, "flash_attention": False, "xpos_rel_pos": False}
    module = importlib.import_module("torchscale.component.multihead_attention")
    args = SimpleNamespace(**settings, layernorm_eps=1e-5)
    return module.MultiheadAttention(args, 32, 4, self_attention=True, subln=False)


T5 = {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 64}
DEEPSEEK = {"num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16}
DEEPSEEK |= {"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
LUCID = {"dim": 32, "heads": 4, "dim_head": 8}
XT = partial(from_package, "x_transformers.x_transformers", "Attention", **LUCID)
ENCODER = partial(nn.TransformerEncoderLayer, 32, 4, 64, batch_first=True)
HF = from_transformers
CASES = {  # name -> what makes it, and how it is checked
    "torch: scaled_dot_product_attention": (
        lambda: F.scaled_dot_product_attention,
        {"causal": True},
    ),
    "torch: MultiheadAttention": (partial(nn.MultiheadAttention, 16, 4), {"causal": True}),
    "torch: MultiheadAttention, a zero key": (
        partial(nn.MultiheadAttention, 16, 4, add_zero_attn=True, batch_first=True),
        {},
    ),
    "torch: MultiheadAttention, three widths": (
        partial(nn.MultiheadAttention, 16, 4, kdim=12, vdim=10, batch_first=True),
        {},
    ),
    "torch: flex_attention": (partial(flex, False), {"num_heads": 2}),
    "torch: flex_attention, causal": (partial(flex, True), {"num_heads": 2, "causal": True}),
    "torch: TransformerEncoderLayer": (
        ENCODER,
        {"padding": partial(hidden, "src_key_padding_mask")},
    ),
    "transformers: Llama": (
        partial(HF, "llama", "LlamaAttention", "LlamaConfig"),
        {"causal": True},
    ),
    "transformers: Llama, wrapped": (wrapped, {"causal": True}),
    "transformers: Qwen3": (
        partial(HF, "qwen3", "Qwen3Attention", "Qwen3Config", head_dim=8),
        {"causal": True},
    ),
    "transformers: Gemma2": (
        partial(HF, "gemma2", "Gemma2Attention", "Gemma2Config", head_dim=8),
        {"causal": True},
    ),
    "transformers: Gemma3": (
        partial(HF, "gemma3", "Gemma3Attention", "Gemma3TextConfig", head_dim=8),
        {"causal": True},
    ),
    "transformers: Mistral, a window of 3": (
        partial(HF, "mistral", "MistralAttention", "MistralConfig", sliding_window=3, head_dim=8),
        {"causal": True, "window": 3},
    ),
    "transformers: GPT2": (partial(HF, "gpt2", "GPT2Attention", "GPT2Config"), {"causal": True}),
    "transformers: Bert": (partial(HF, "bert", "BertSelfAttention", "BertConfig"), {}),
    "transformers: GPTNeoX": (
        partial(HF, "gpt_neox", "GPTNeoXAttention", "GPTNeoXConfig"),
        {"causal": True},
    ),
    "transformers: T5": (partial(HF, "t5", "T5Attention", "T5Config", **T5), {}),
    "transformers: T5, decoder": (
        partial(HF, "t5", "T5Attention", "T5Config", **T5, is_decoder=True),
        {"causal": True},
    ),
    "transformers: GPT-OSS": (
        partial(HF, "gpt_oss", "GptOssAttention", "GptOssConfig", head_dim=8, num_local_experts=4),
        {"causal": True},
    ),
    "transformers: DeepSeek V3": (
        deepseek,
        {"causal": True},
    ),
    "transformers: DeepSeek V2": (
        partial(HF, "deepseek_v2", "DeepseekV2Attention", "DeepseekV2Config", **DEEPSEEK),
        {"causal": True},
    ),
    "transformers: ViT": (partial(HF, "vit", "ViTAttention", "ViTConfig"), {}),
    "transformers: Phi": (partial(HF, "phi", "PhiAttention", "PhiConfig"), {"causal": True}),
    "transformers: OPT": (
        partial(HF, "opt", "OPTAttention", "OPTConfig", ffn_dim=64, word_embed_proj_dim=32),
        {"causal": True},
    ),
    "x-transformers": (XT, {"padding": booleans}),
    "x-transformers, causal": (partial(XT, causal=True), {"causal": True, "padding": booleans}),
    "x-transformers, normalised": (partial(XT, causal=True, qk_norm=True), {"causal": True}),
    "x-transformers, grouped": (partial(XT, causal=True, kv_heads=2), {"causal": True}),
    "local-attention": (
        partial(
            from_package,
            "local_attention",
            "LocalAttention",
            dim=8,
            window_size=4,
            causal=True,
            autopad=True,
        ),
        {"causal": True, "d_k": 8},
    ),
    "linear-attention-transformer": (
        partial(
            from_package,
            "linear_attention_transformer.linear_attention_transformer",
            "SelfAttention",
            32,
            4,
        ),
        {},
    ),
    "linformer": (
        partial(from_package, "linformer", "LinformerSelfAttention", 32, 7, heads=4, k=4),
        {},
    ),
    "memory-efficient-attention-pytorch": (
        partial(from_package, "memory_efficient_attention_pytorch", "Attention", **LUCID),
        {"padding": booleans},
    ),
    "ring-attention-pytorch": (
        partial(
            from_package,
            "ring_attention_pytorch",
            "RingAttention",
            **LUCID,
            causal=True,
            auto_shard_seq=False,
            ring_attn=False,
            force_regular_attn=True,
        ),
        {"causal": True},
    ),
    "torchscale": (torchscale, {"padding": partial(hidden, "key_padding_mask")}),
    "diffusers": (
        partial(
            from_package,
            "diffusers.models.attention_processor",
            "Attention",
            query_dim=32,
            heads=4,
            dim_head=8,
        ),
        {},
    ),
    "open_clip": (open_clip, {"padding": hidden_for_each_head}),
    "open_clip, normalised": (
        partial(open_clip, qk_norm=True),
        {"padding": hidden_for_each_head},
    ),
    "open_clip, heads scaled": (
        partial(open_clip, scale_heads=True, inner_norm=True),
        {"padding": hidden_for_each_head},
    ),
}
BROKEN = {  # by their authors, or by us
    "open_clip, scaled twice": (scaled_twice, {"padding": hidden_for_each_head}),
    "transformers: DeepSeek V3, keys not turned": (
        partial(deepseek, turned="queries"),
        {"causal": True},
    ),
    "performer-pytorch": (
        partial(from_package, "performer_pytorch", "SelfAttention", **LUCID, nb_features=64),
        {"padding": booleans},
    ),
}


def outcome(make, options):
    """Return what a check found, or how it failed."""
    begin = time.process_time()
    torch.manual_seed(0)
    try:
        report = contracts.check(make(), **options)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    return {
        "counts": report.counts,
        "kept": [finding.name for finding in report.kept],
        "broken": {finding.name: finding.says for finding in report.broken},
        "not_tested": {finding.name: finding.says for finding in report.not_tested},
        "seconds": round(time.process_time() - begin, 1),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(json.dumps({name: outcome(*case) for name, case in (CASES | BROKEN).items()}))
