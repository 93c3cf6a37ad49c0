"""The network: letters in, and for each place the scores of the letter that comes next."""

from collections.abc import Sequence

from torch import Tensor, nn

from attention_lib.arguments import require_a, require_count, require_each
from attention_lib.cache import KeyValueCache
from attention_lib.masking import window_mask
from attention_lib.multihead import AddNorm, MultiHeadAttention
from attention_lib.positions import rotate_by_position
from attention_workbook._training import require_ids

__all__ = ["WINDOW", "LanguageModel"]

WINDOW = 128  # letters that one head sees, the newest included


class LanguageModel(nn.Module):
    """Layers of causal attention and of a feed-forward part, and at the end a score a letter.

    The letters are embedded. In each layer every place attends to itself and to the places before
    it, in several heads with rotary positions; what it gathers is added and normalised. Then two
    linear maps with a ReLU between them work on each place alone, and their output is added and
    normalised as well.

    Parameters
    ----------
    letters : str
        The letters that it knows, each once; the id of a letter is its place.
    d_model, num_heads, num_layers : int
        Width of all vectors, heads of each layer, and how many layers.

    Examples
    --------
    >>> model = LanguageModel("abc", d_model=8, num_heads=2, num_layers=1)
    >>> model.decode(model.encode("cab"))
    'cab'
    """

    def __init__(
        self, letters: str, d_model: int = 96, num_heads: int = 4, num_layers: int = 3
    ) -> None:
        super().__init__()
        require_a("letters", letters, str)
        if len({*letters}) < len(letters):
            raise ValueError(f"letters: expected each once, got {letters!r}")
        require_count("num_layers", num_layers)
        self.letters, self.d_model, self.num_heads = letters, d_model, num_heads
        self.embedding = nn.Embedding(len(letters), d_model)
        layers = range(num_layers)
        self.attentions = nn.ModuleList(
            MultiHeadAttention(d_model, num_heads, rotary=rotate_by_position) for _ in layers
        )
        wide = 4 * d_model
        self.feed_forwards = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, wide), nn.ReLU(), nn.Linear(wide, d_model))
            for _ in layers
        )
        self.add_norms = nn.ModuleList(AddNorm(d_model) for _ in range(2 * num_layers))
        self.W_out = nn.Linear(d_model, len(letters))

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's letters; refuse those that the model has never seen."""
        require_a("text", text, str)
        if unknown := dict.fromkeys(letter for letter in text if letter not in self.letters):
            named = ", ".join(f"“{letter}”" for letter in unknown)
            raise ValueError(f"text: expected letters that the model has seen, got {named}")
        return [self.letters.index(letter) for letter in text]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of these ids."""
        return "".join(self.letters[number] for number in ids)

    def new_caches(self) -> list[KeyValueCache]:
        """Return an empty cache for each layer."""
        return [KeyValueCache(WINDOW) for _ in self.attentions]

    def forward(
        self, ids: Tensor, caches: Sequence[KeyValueCache] | None = None, need_weights: bool = False
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predict the next letter at each place.

        Parameters
        ----------
        ids : Tensor
            Numbers of letters, ``(batch, len)``; with ``caches``, those that come next.
        caches : sequence of KeyValueCache, optional
            One for each layer, from :meth:`new_caches`.
        need_weights : bool
            Whether the weights of the heads are returned, too.

        Returns
        -------
        logits : Tensor
            Shape ``(batch, len, letters)``: at each place the scores of the next letter.
        weights : tuple of Tensor
            One for each layer, ``(batch, num_heads, len, len_k)``, or none at all.
        """
        require_ids("ids", ids, self.embedding.weight, 4096)
        if caches is not None:
            require_each("caches", caches, KeyValueCache)
        mask = None if caches else window_mask(ids.shape[1], window=WINDOW, device=ids.device)
        x, weights = self.embedding(ids), []  # (batch, len, d_model)
        for layer, attention in enumerate(self.attentions):
            cache = caches[layer] if caches else None
            gathered, seen = attention(x, x, x, mask=mask, cache=cache, need_weights=need_weights)
            x = self.add_norms[2 * layer](x, gathered)
            x = self.add_norms[2 * layer + 1](x, self.feed_forwards[layer](x))
            weights.append(seen)
        return self.W_out(x), tuple(weights) if need_weights else ()
