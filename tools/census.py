"""Make every causal model of the installed transformers small and random, and check it.

    python tools/census.py workbook/published/census.json

It needs an environment of its own, with transformers in the version that is to be counted. The
results of other versions that the file holds stay. A model is made from its default configuration
with the sizes below; one that cannot be made so, or is still large, is listed with the reason.
A broken contract is not yet a bug: some models are not causal by design.
"""

import contextlib
import json
import os
import resource
import signal
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

LARGEST = 30_000_000  # parameters of a model
SECONDS, MEMORY = 120, 8 << 30  # of one check
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
    (VOCABULARY, "vocab_size vocab_size_per_layer_input"),
    (
        8,
        "head_dim kv_channels v_head_dim qk_nope_head_dim attention_head_dim rotary_dim "
        "mamba_headdim mamba_d_head mamba_head_dim linear_key_head_dim linear_value_head_dim "
        "qk_rope_head_dim kv_lora_rank q_lora_rank qk_head_dim",
    ),
    (512, "max_position_embeddings n_positions n_ctx max_target_positions"),
    (1, "n_group topk_group n_shared_experts num_shared_experts first_k_dense_replace"),
    (16, "chunk_size mamba_chunk_size attention_chunk_size block_size"),
    (16, "sliding_window local_attention"),
]

# Where one size follows from others in a way of its own.
OWN: dict[str, dict[str, object]] = {
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

    begin = time.perf_counter()
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
        "seconds": round(time.perf_counter() - begin, 1),
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
        signal.alarm(SECONDS)  # ends the process
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
    rows = []
    for number, name in enumerate(wanted := chosen or sorted({*flat}), 1):
        for attention in ("eager", "sdpa"):
            rows.append(alone(name, attention))
            broken = rows[-1].get("not_made") or ", ".join(rows[-1]["broken"]) or "nothing broken"
            print(f"{number}/{len(wanted)} {name} {attention}: {broken}", file=sys.stderr)
            write(path, rows)


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write the rows of this release into the file, one model a line."""
    versions = json.loads(path.read_text("utf-8")) if path.exists() else {}
    versions[transformers.__version__] = {
        "torch": torch.__version__,
        "date": date.today().isoformat(),
        "models": rows,
    }
    parts = []
    for version, found in sorted(versions.items()):
        lines = ",\n".join(f"  {json.dumps(row, sort_keys=True)}" for row in found["models"])
        known = {name: found[name] for name in ("date", "torch") if name in found}
        head = json.dumps(known)[1:-1]
        parts.append(f'"{version}": {{{head}, "models": [\n{lines}\n ]}}')
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
