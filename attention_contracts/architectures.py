"""Models of transformers by their name: small, with random weights, without a network."""

import contextlib
import os
import tomllib
from pathlib import Path
from typing import Any

import torch
from torch import nn

LARGEST = 30_000_000  # parameters
LAYERS, HEADS = 2, 4
FILE = tomllib.loads(Path(__file__).with_name("architectures.toml").read_text(encoding="utf-8"))
SIZES: list[tuple[int, list[str]]] = [(row["size"], row["names"].split()) for row in FILE["sizes"]]


def names() -> list[str]:
    """Return the classes of all causal models of the installed transformers."""
    _import()
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    several = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    return sorted({y for x in several for y in (x if isinstance(x, tuple) else (x,))})


def model(name: str, attention: str = "eager") -> nn.Module:
    """Make a small model of an architecture, ``llama`` or ``LlamaForCausalLM``."""
    _import()
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    found: Any = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(name.replace("-", "_"), name)
    found = found[0] if isinstance(found, tuple) else found
    if found not in names():
        raise ValueError(f"name: expected a causal model of transformers, as llama, got {name!r}")
    try:
        made = _made(found, attention, HEADS // 2)
        with torch.no_grad():
            made.eval()(torch.full((1, 12), 5))
    except Exception:  # some can have no heads that share their keys
        made = _made(found, attention, HEADS)
    return made.train()


def _import() -> Any:
    """Import transformers, which must not look for anything elsewhere."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", USE_HUB_KERNELS="0")
    try:
        import transformers
    except ImportError as error:
        raise ValueError(
            "transformers: pip install 'attention-contracts[transformers]' brings it"
        ) from error
    return transformers


def _made(architecture: str, attention: str, shared: int) -> nn.Module:
    """Make a model, each weight of a size that lets changes be seen; ``shared`` heads of keys."""
    model_class = getattr(_import(), architecture)
    if architecture in FILE["own"]:
        config = model_class.config_class(**_with_groups(FILE["own"][architecture]))
    else:
        config = _small(model_class.config_class(), shared)
    config._attn_implementation = attention
    with torch.device("meta"):
        count = sum(x.numel() for x in model_class(config).parameters())
    if count > LARGEST:
        raise ValueError(f"{count / 1e6:.0f} million parameters with small sizes")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = model_class(config).float()
        if model.config._attn_implementation != attention:
            raise ValueError(f"has no {attention} attention")
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if weight.dim() >= 2:
                    wide = 1 if "embed" in name else weight[0].numel()
                    weight.normal_(std=wide**-0.5)
    made: nn.Module = model
    return made


def _with_groups(row: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes of a row of the file, those of the groups that it names before its own."""
    sizes: dict[str, Any] = {}
    for group in row.get("groups", []):
        sizes |= FILE["groups"][group]
    for name, value in row.items():
        if name != "groups":
            nested = isinstance(value, dict) and "groups" in value
            sizes[name] = _with_groups(value) if nested else value
    return sizes


def _small(config: Any, shared: int) -> Any:
    """Set the sizes that a configuration has, in its parts as well."""
    for size, sized in SIZES:
        for name in sized:
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
        if hasattr(getattr(config, part, None), "sub_configs"):
            _small(getattr(config, part), shared)
    return config
