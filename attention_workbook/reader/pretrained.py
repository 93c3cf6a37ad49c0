"""The weights of a pretrained model, to compare with those of the small trained reader."""

import importlib.util

import torch
from torch import Tensor

__all__ = ["pretrained_attentions"]


def pretrained_attentions(
    text: str, name: str = "distilbert-base-uncased"
) -> tuple[tuple[Tensor, ...], list[str]] | None:
    """Run a pretrained model on a text and return the weights of all its heads.

    Parameters
    ----------
    text : str
        The input of the model.
    name : str
        A model of the Hugging Face hub, downloaded on first use, or a folder with one.

    Returns
    -------
    tuple or None
        The attentions, a tuple with one tensor ``(1, num_heads, len, len)`` for each layer, and
        the list of tokens. Without the package ``transformers`` the function prints how to install
        it and returns ``None``.

    Raises
    ------
    TypeError, ValueError
        If ``text`` or ``name`` is not a string, or ``text`` is empty.
    """
    for argument, value in (("text", text), ("name", name)):
        if not isinstance(value, str):
            raise TypeError(f"{argument}: expected a string, got {type(value).__name__}")
    if not text.strip():
        raise ValueError(f"text: expected a few words, got {text!r}")
    if not importlib.util.find_spec("transformers"):
        print("For a real model: pip install transformers, then run this cell again.")
        return None
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(name)
    # The fused kernels never form the weights; "eager" does.
    model = AutoModel.from_pretrained(name, attn_implementation="eager").eval()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    return attentions, tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
