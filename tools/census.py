"""Make every causal model of the installed transformers small and random, and check it.

    python tools/census.py attention_workbook/published/census.json

It needs an environment of its own, with transformers in the version that is to be counted. Names of
models after the file count only those; the other rows of the file stay. A model is made from its
default configuration with the sizes below; one that cannot be made so, or is still large, is listed
with the reason. A broken contract is not yet a bug: some models are not causal by design.
"""

import contextlib
import importlib
import json
import os
import resource
import sys
import time
import warnings
from datetime import date
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", USE_HUB_KERNELS="0")

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

import attention_contracts as contracts

for _name in ("generation", "masking_utils", "modeling_layers"):
    # Here, once, or each model's own process would import it.
    importlib.import_module(f"transformers.{_name}")

LARGEST = 30_000_000  # parameters of a model
SECONDS, MEMORY = 120, 8 << 30  # of one check; seconds of the processor
LAYERS, WIDTH, HEADS, VOCABULARY = 2, 32, 4, 128
SIZES = [
    (LAYERS, "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers"),
    (
        WIDTH,
        "hidden_size n_embd d_model dim n_embed embedding_size word_embed_proj_dim "
        "hidden_size_per_layer_input lru_width attention_hidden_size global_head_dim",
    ),
    (
        HEADS,
        "num_attention_heads n_head n_heads num_heads decoder_attention_heads "
        "encoder_attention_heads",
    ),
    (
        2,
        "num_key_value_heads num_kv_heads n_head_kv n_groups mamba_n_groups num_experts_per_tok "
        "moe_topk top_k num_mem_heads",
    ),
    (4, "num_experts num_local_experts n_routed_experts moe_num_experts"),
    (
        64,
        "intermediate_size ffn_dim n_inner d_ff decoder_ffn_dim encoder_ffn_dim ffn_hidden_size "
        "moe_intermediate_size shared_expert_intermediate_size mamba_d_inner mamba_d_ssm "
        "expert_ffn_hidden_size shared_intermediate_size ffn_config_hidden_size "
        "moe_shared_expert_intermediate_size",
    ),
    (VOCABULARY, "vocab_size vocab_size_per_layer_input encoder_hash_byte_group_vocab"),
    (
        8,
        "head_dim kv_channels v_head_dim qk_nope_head_dim attention_head_dim rotary_dim "
        "mamba_headdim mamba_d_head mamba_head_dim linear_key_head_dim linear_value_head_dim "
        "qk_rope_head_dim kv_lora_rank q_lora_rank",
    ),
    (512, "max_position_embeddings n_positions n_ctx max_target_positions"),
    (1, "n_group topk_group n_shared_experts num_shared_experts first_k_dense_replace"),
    (16, "chunk_size mamba_chunk_size attention_chunk_size block_size"),
    (16, "sliding_window local_attention"),
]

# Where one size follows from others, or nothing but the size of a model says what it holds. A model
# with an entry is made from it alone.
TEXT: dict[str, object] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS // 2,
    "intermediate_size": 64,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}
EXPERTS: dict[str, object] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
}
SCAN: dict[str, object] = {  # a state-space layer: eight heads of eight, twice the width
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_n_groups": 2,
    "mamba_d_state": 8,
    "mamba_chunk_size": 16,
}
WINDOW: dict[str, object] = {
    "head_dim": 8,
    "sliding_window": 16,
    "layer_types": ["sliding_attention", "full_attention"],
}
LATENT: dict[str, object] = {  # low-rank keys and values
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
}
ROTARY: dict[str, object] = {"rope_type": "default", "rope_theta": 10_000.0}
GEMMA4: dict[str, object] = TEXT | WINDOW | {"global_head_dim": 16}
INPUTS_PER_LAYER: dict[str, object] = {
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
}
MUSIC: dict[str, object] = TEXT | {"ffn_dim": 64, "num_codebooks": 1}
OWN: dict[str, dict[str, object]] = {
    "BambaForCausalLM": TEXT | SCAN | {"attn_layer_indices": [1]},
    "CohereCompassForCausalLM": TEXT
    | WINDOW
    | {"rope_parameters": {"sliding_attention": ROTARY, "full_attention": ROTARY}},
    "DbrxForCausalLM": {
        "vocab_size": VOCABULARY,
        "d_model": WIDTH,
        "n_layers": LAYERS,
        "n_heads": HEADS,
        "max_seq_len": 512,
        "attn_config": {"kv_n_heads": HEADS // 2, "clip_qkv": 8, "rope_theta": 10_000.0},
        "ffn_config": {
            "hidden_size": WIDTH,
            "ffn_hidden_size": 64,
            "moe_num_experts": 4,
            "moe_top_k": 2,
        },
    },
    "DeepseekV2ForCausalLM": TEXT
    | LATENT
    | EXPERTS
    | {"num_key_value_heads": HEADS, "n_routed_experts": 4, "first_k_dense_replace": 1},
    "Dots1ForCausalLM": TEXT
    | EXPERTS
    | WINDOW
    | {"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1},
    "Dots3NoteForCausalLM": TEXT
    | LATENT
    | EXPERTS
    | WINDOW
    | {
        "num_key_value_heads": HEADS,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "shared_experts_intermediate_size": 64,
        "index_topk": 16,
        "index_head_dim": 8,
        "index_n_heads": 2,
        "swa_num_attention_heads": HEADS,
        "swa_num_key_value_heads": HEADS,
        "swa_q_lora_rank": 8,
        "swa_kv_lora_rank": 8,
        "swa_head_dim": 16,
        "swa_qk_nope_head_dim": 8,
        "swa_v_head_dim": 8,
        "head_dim": 16,
    },
    "FalconH1ForCausalLM": TEXT | SCAN | {"mamba_d_ssm": 2 * WIDTH},
    "Gemma3nForCausalLM": TEXT
    | WINDOW
    | INPUTS_PER_LAYER
    | {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
        "laurel_rank": 8,
    },
    "Gemma4ForCausalLM": GEMMA4 | INPUTS_PER_LAYER,
    "Gemma4ForConditionalGeneration": {"text_config": GEMMA4 | INPUTS_PER_LAYER},
    "Gemma4UnifiedForCausalLM": GEMMA4,
    "Gemma4UnifiedForConditionalGeneration": {"text_config": GEMMA4},
    "GraniteMoeHybridForCausalLM": TEXT
    | SCAN
    | EXPERTS
    | {"shared_intermediate_size": 64, "layer_types": ["mamba", "attention"]},
    "HrmTextForCausalLM": TEXT | {"head_dim": 8},
    "HunYuanDenseV1ForCausalLM": TEXT | {"head_dim": 8},
    "HunYuanMoEV1ForCausalLM": TEXT | {"head_dim": 8, "num_experts": 4, "moe_topk": 2},
    "JambaForCausalLM": TEXT
    | EXPERTS
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8},
    "Lfm2MoeForCausalLM": TEXT
    | EXPERTS
    | {"num_dense_layers": 1, "layer_types": ["conv", "full_attention"]},
    "Mamba2ForCausalLM": {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_heads": 8,
        "head_dim": 8,
        "state_size": 8,
        "n_groups": 2,
        "chunk_size": 16,
    },
    "MinistralForCausalLM": TEXT | {"head_dim": 8, "sliding_window": 16},
    "MusicgenForCausalLM": MUSIC,
    "MusicgenMelodyForCausalLM": MUSIC,
    "Qwen4ExpForCausalLM": TEXT
    | EXPERTS
    | {
        "head_dim": 8,
        "shared_expert_intermediate_size": 64,
        "layer_types": ["linear_attention", "indexed_attention"],
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "hc_count": 2,
        "hc_lowrank": 8,
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 8,
        "indexer_budget": 16,
        "indexer_compress_ratio": 4,
    },
    "RecurrentGemmaForCausalLM": TEXT
    | {"attention_window_size": 16, "block_types": ["recurrent", "attention"]},
    "ReformerModelWithLMHead": {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_attention_heads": HEADS,
        "attention_head_size": 8,
        "feed_forward_size": 64,
        "attn_layers": ["local", "lsh"],
        "axial_pos_embds": False,
        "max_position_embeddings": 512,
        "is_decoder": True,
        "local_attn_chunk_length": 16,
        "lsh_attn_chunk_length": 16,
        "num_buckets": 4,
        "hash_seed": 0,
    },
    "XmodForCausalLM": TEXT | {"is_decoder": True, "default_language": "en_XX"},
    "Zamba2ForCausalLM": {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "num_hidden_layers": 4,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"],
        "hybrid_layer_ids": [1, 3],
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "intermediate_size": 64,
        "mamba_d_state": 8,
        "mamba_headdim": 8,
        "n_mamba_heads": 8,
        "mamba_ngroups": 2,
        "num_mem_blocks": 1,
        "adapter_rank": 8,
        "chunk_size": 16,
    },
    "ZambaForCausalLM": TEXT
    | {
        "num_hidden_layers": 5,  # two of them hybrid, with the same weights
        "num_key_value_heads": HEADS,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "mamba_d_state": 8,
    },
    "xLSTMForCausalLM": {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,  # half of it, the width of all queries, is rounded up to 64
        "num_hidden_layers": LAYERS,
        "num_heads": HEADS,
        "chunk_size": 16,
    },
}


def small(config: transformers.PretrainedConfig, shared: int) -> transformers.PretrainedConfig:
    """Set the sizes that a configuration has, in its parts as well; ``shared`` heads of keys."""
    for size, names in SIZES:
        for name in names.split():
            if isinstance(getattr(config, name, None), int):
                with contextlib.suppress(AttributeError, NotImplementedError):
                    setattr(config, name, size)
    if hasattr(config, "num_key_value_heads"):
        config.num_key_value_heads = shared
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id"):
        if getattr(config, name, None) is not None:
            setattr(config, name, 0 if name == "pad_token_id" else 1)
    if hasattr(config, "qk_nope_head_dim"):
        with contextlib.suppress(AttributeError):  # it is computed from the two
            config.qk_head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim
    kinds = getattr(config, "layer_types", None)
    if isinstance(kinds, list) and kinds:  # one layer of each kind, two at least
        with contextlib.suppress(AttributeError):  # it is computed from the others
            config.layer_types = list(dict.fromkeys(kinds)) * (1 if len({*kinds}) > 1 else LAYERS)
            config.num_hidden_layers = len(config.layer_types)
    if hasattr(config, "is_decoder"):
        config.is_decoder = True
    for part in getattr(config, "sub_configs", {}):
        if isinstance(getattr(config, part, None), transformers.PretrainedConfig):
            small(getattr(config, part), shared)
    return config


def made(architecture: str, attention: str, shared: int) -> torch.nn.Module:
    """Make a small model with random weights, each of a size that lets changes be seen."""
    model_class = getattr(transformers, architecture)
    if architecture in OWN:
        config = model_class.config_class(**OWN[architecture])
    else:
        config = small(model_class.config_class(), shared)
    config._attn_implementation = attention
    with torch.device("meta"):
        count = sum(x.numel() for x in model_class(config).parameters())
    if count > LARGEST:
        raise ValueError(f"{count / 1e6:.0f} million parameters with small sizes")
    torch.manual_seed(0)
    model = model_class(config).float()
    if model.config._attn_implementation != attention:
        raise ValueError(f"has no {attention} attention")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() >= 2:
                wide = 1 if "embed" in name else weight[0].numel()
                weight.normal_(std=wide**-0.5)
    return model


def row(architecture: str, attention: str) -> dict[str, object]:
    """Check one model; say why not if it cannot be made."""
    begin = time.process_time()
    try:
        try:
            report = contracts.check_model(made(architecture, attention, HEADS // 2))
        except Exception:  # some can have no heads that share their keys
            report = contracts.check_model(made(architecture, attention, HEADS))
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        return {"model": architecture, "attention": attention, "not_made": reason[:200]}
    return {
        "model": architecture,
        "attention": attention,
        "seconds": round(time.process_time() - begin, 1),
        "kept": [finding.name for finding in report.kept],
        "broken": {finding.name: finding.says for finding in report.broken},
        "not_tested": {finding.name: finding.says[:200] for finding in report.not_tested},
        "bound": report.subject.partition("up to ")[2],
    }


def alone(architecture: str, attention: str) -> dict[str, object]:
    """Check one model in a process of its own, which may not grow or last too long."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # ends the process
        result = json.dumps(row(architecture, attention)).encode()
        os.write(writing, result)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read()
    os.waitpid(child, 0)
    if result:
        return json.loads(result)
    reason = f"took over {SECONDS} s, or over {MEMORY >> 30} GiB"
    return {"model": architecture, "attention": attention, "not_made": reason}


def main(path: Path, chosen: list[str]) -> None:
    """Check all models, or those chosen, and write the table down after each."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    names = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    flat = [name for some in names for name in (some if isinstance(some, tuple) else (some,))]
    for number, name in enumerate(wanted := chosen or sorted({*flat}), 1):
        rows = [alone(name, attention) for attention in ("eager", "sdpa")]
        write(path, name, rows)
        for row in rows:
            broken = row.get("not_made") or ", ".join(row["broken"]) or "nothing broken"
            print(f"{number}/{len(wanted)} {name} {row['attention']}: {broken}", file=sys.stderr)


def write(path: Path, model: str, rows: list[dict[str, object]]) -> None:
    """Put the rows of one model of this release into the file, one a line."""
    releases = json.loads(path.read_text("utf-8")) if path.exists() else {}
    release = releases.setdefault(transformers.__version__, {"models": []})
    release |= {"torch": torch.__version__, "date": date.today().isoformat()}
    others = [row for row in release["models"] if row["model"] != model]
    release["models"] = sorted(others + rows, key=lambda row: (row["model"], row["attention"]))
    parts = []
    for version, found in sorted(releases.items()):
        lines = ",\n".join(f"  {json.dumps(row, sort_keys=True)}" for row in found["models"])
        known = {name: found[name] for name in ("date", "torch") if name in found}
        head = json.dumps(known)[1:-1]
        parts.append(f'"{version}": {{{head}, "models": [\n{lines}\n ]}}')
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
