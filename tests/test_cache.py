"""Decoding with a cache, step by step, against one pass over the whole sequence."""

import copy
import gc
from functools import partial

import pytest
import torch

from attention_lib import (
    Attention,
    KeyValueCache,
    MultiHeadAttention,
    alibi_bias,
    causal_mask,
    rotary_scores,
    rotate_by_position,
    scaled_dot_scores,
    window_mask,
)
from tests.strategies import NAN, assert_blames, assert_close, numbers

BATCH, LENGTH, HEADS, D_MODEL = 2, 23, 4, 16


def alibi(queries, keys):
    bias = alibi_bias(HEADS, queries.shape[-2], keys.shape[-2]).to(queries)
    return scaled_dot_scores(queries, keys) + bias


KINDS = {
    "dot product": {},
    "rotary": {"rotary": rotate_by_position},
    "rotary in halves": {"rotary": partial(rotate_by_position, base=50.0, layout="halves")},
    "rotary scores": {"score": rotary_scores},
    "ALiBi": {"score": alibi},
}
CHUNKS = {"single": [1] * LENGTH, "prompt": [9] + [1] * 14, "chunks": [3, 7, 1, 12]}


def layer_of(kind="dot product", dtype=torch.float64, **options):
    torch.manual_seed(0)
    return MultiHeadAttention(D_MODEL, HEADS, bias=True, **KINDS[kind], **options).to(dtype)


def decoded(layer, cache, x, chunks, **options):
    """Run the layer on one chunk after the other, and join the outputs."""
    with torch.no_grad():
        outputs = [layer(c, c, c, cache=cache, **options)[0] for c in x.split(chunks, dim=1)]
    return torch.cat(outputs, dim=1)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("window", [None, 1, 5, 40])
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("kind", KINDS)
def test_decoding_equals_the_whole_pass(kind, chunks, window, need_weights):
    layer, x = layer_of(kind, num_kv_heads=2), numbers(BATCH, LENGTH, D_MODEL)
    mask = causal_mask(LENGTH) if window is None else window_mask(LENGTH, window=window)
    expected, _ = layer(x, x, x, mask=mask)
    cache = KeyValueCache(window)
    for _ in range(2):
        found = decoded(layer, cache, x, CHUNKS[chunks], need_weights=need_weights)
        assert_close(found, expected)
        assert len(cache) == LENGTH
        cache.reset()
        assert len(cache) == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_decoding_in_every_dtype(dtype):
    layer, x = layer_of("rotary", dtype), numbers(BATCH, LENGTH, D_MODEL, dtype=dtype)
    expected, _ = layer(x, x, x, mask=causal_mask(LENGTH))
    assert_close(decoded(layer, KeyValueCache(), x, CHUNKS["prompt"]), expected)


def test_weights_cover_the_keys_that_the_cache_holds():
    layer, x, cache = layer_of(), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache(window=5)
    _, expected = layer(x, x, x, mask=window_mask(LENGTH, window=5))
    decoded(layer, cache, x[:, :-1], [3, 19])
    last = x[:, -1:]
    with torch.no_grad():
        _, weights = layer(last, last, last, cache=cache)
    assert_close(weights, expected[:, :, -1:, -5:])


def test_a_window_keeps_memory_and_time_of_the_window():
    layer, x, cache = layer_of(), numbers(1, 500, D_MODEL), KeyValueCache(window=16)
    decoded(layer, cache, x, [400] + [1] * 100)
    assert len(cache) == 500
    assert all(buffer.shape[-2] <= 19 for buffer in cache._buffers)


def test_memory_is_allocated_a_few_times():
    layer, x, cache, rooms = layer_of(), numbers(1, 1000, D_MODEL), KeyValueCache(), set()
    for token in x.split(1, dim=1):
        decoded(layer, cache, token, 1)
        rooms.add(cache._buffers[0].shape[-2])
    assert len(rooms) <= 12 and max(rooms) <= 1.5 * 1000 + 16


@pytest.mark.parametrize("window", [None, 6])
@pytest.mark.parametrize("kind", ["dot product", "rotary", "ALiBi"])
def test_prompts_padded_on_the_left(kind, window):
    """A mask hides the padding, which may hold NaN; each prompt is decoded as if alone."""
    layer, x = layer_of(kind), numbers(BATCH, LENGTH, D_MODEL)
    start = torch.tensor([4, 0])  # the first sequence has four places of padding
    x[0, :4] = NAN
    cache, found = KeyValueCache(window), []
    visible = (torch.arange(LENGTH) >= start[:, None]).unsqueeze(1)  # (batch, 1, len)
    for chunk in x.split(CHUNKS["prompt"], dim=1):
        end = len(cache) + chunk.shape[1]
        found.append(decoded(layer, cache, chunk, LENGTH, mask=visible[..., :end]))
    found = torch.cat(found, dim=1)
    for row, first in enumerate(start):
        alone = x[row : row + 1, first:]
        expected = decoded(layer, KeyValueCache(window), alone, LENGTH)
        assert_close(found[row : row + 1, first:], expected)


def test_a_mask_for_each_head():
    layer, x = layer_of(), numbers(BATCH, LENGTH, D_MODEL)
    mask = torch.rand(1, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) < 0.7
    expected, _ = layer(x, x, x, mask=mask & causal_mask(LENGTH))
    cache, found = KeyValueCache(), []
    for token in x.split(1, dim=1):
        end = len(cache) + 1
        found.append(decoded(layer, cache, token, 1, mask=mask[..., end - 1 : end, :end]))
    assert_close(torch.cat(found, dim=1), expected)


POSITIONS = torch.arange(LENGTH)
DISTANCES = POSITIONS.unsqueeze(-1) - POSITIONS  # (len_q, len_k)
LATER_ONLY = {
    "strictly causal": DISTANCES > 0,
    "every third": (DISTANCES > 0) & (DISTANCES % 3 == 0),
}


@pytest.mark.parametrize("window", [None, 8])
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("name", LATER_ONLY)
def test_a_key_may_be_visible_to_later_chunks_only(name, chunks, window):
    """What no query of its own chunk may see is kept for the queries that may."""
    layer, x, cache = layer_of("rotary"), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache(window)
    near = causal_mask(LENGTH) if window is None else window_mask(LENGTH, window=window)
    expected, _ = layer(x, x, x, mask=LATER_ONLY[name] & near)
    outputs = []
    for chunk in x.split(CHUNKS[chunks], dim=1):
        start, end = len(cache), len(cache) + chunk.shape[1]
        outputs.append(decoded(layer, cache, chunk, LENGTH, mask=LATER_ONLY[name][start:end, :end]))
    assert_close(torch.cat(outputs, dim=1), expected)


def test_an_empty_chunk_with_a_mask_and_a_window_of_one():
    layer, x, cache = layer_of(), numbers(BATCH, 4, D_MODEL), KeyValueCache(window=1)
    decoded(layer, cache, x[:, :3], 3)
    output = decoded(layer, cache, x[:, :0], 1, mask=torch.ones(3) > 0)
    assert output.shape == (BATCH, 0, D_MODEL) and len(cache) == 3


def test_a_copy_goes_its_own_way():
    """As in beam search: the copy serves the layer and a copy of the layer."""
    layer, x, cache = layer_of(), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache()
    decoded(layer, cache, x[:, :9], 9)
    fork = copy.deepcopy(cache)
    decoded(layer, cache, -x[:, 9:], 1)
    found = decoded(copy.deepcopy(layer), fork, x[:, 9:], 1)
    expected, _ = layer(x, x, x, mask=causal_mask(LENGTH))
    assert_close(found, expected[:, 9:])


@pytest.mark.parametrize("window", [None, 5])
def test_a_cropped_cache_goes_on_from_an_earlier_position(window):
    """As after a draft of which only some tokens were accepted."""
    layer, x, cache = layer_of("rotary"), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache(window)
    expected = decoded(layer, KeyValueCache(window), x, LENGTH)
    decoded(layer, cache, torch.cat([x[:, :9], -x[:, 9:11]], dim=1), [9, 2])
    cache.crop(9)
    assert len(cache) == 9
    assert_close(decoded(layer, cache, x[:, 9:], 1), expected[:, 9:])
    cache.crop(0)
    assert_close(decoded(layer, cache, x, [4] + [1] * 19), expected)


def test_a_window_refuses_to_go_back_to_what_it_has_forgotten():
    layer, x, cache = layer_of(), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache(window=5)
    decoded(layer, cache, x, 1)
    with pytest.raises(ValueError, match="length: expected a position whose window of 5 keys"):
        cache.crop(9)
    assert len(cache) == LENGTH


@pytest.mark.parametrize("rows", [[1, 0], [1, 1, 0], [1]])
def test_a_reordered_cache_serves_other_sequences(rows):
    """In another order, repeated, left out: as beam search wants them after each step."""
    layer, x, cache = layer_of("rotary"), numbers(BATCH, LENGTH, D_MODEL), KeyValueCache()
    expected, _ = layer(x, x, x, causal=True)
    decoded(layer, cache, x[:, :9], 9)
    cache.reorder(torch.tensor(rows))
    assert_close(decoded(layer, cache, x[rows, 9:], [1, 13]), expected[rows, 9:])


def test_steps_in_inference_mode_and_out_of_it():
    layer, x, cache = layer_of(), numbers(1, 8, D_MODEL), KeyValueCache()
    with torch.inference_mode():
        decoded(layer, cache, x[:, :3], 3)
    found = decoded(layer, cache, x[:, 3:], 1)
    assert_close(found, layer(x, x, x, mask=causal_mask(8))[0][:, 3:])


def test_an_own_attention_can_use_the_cache():
    x = numbers(1, 2, 6, 4)
    whole, _ = Attention(rotary_scores)(x, x, x, mask=causal_mask(6))
    cache = KeyValueCache()
    for i in range(6):
        token = x[:, :, i : i + 1]
        keys, values = cache.extend(token, token)
        output, _ = Attention(rotary_scores)(token, keys, values)
        assert_close(output, whole[:, :, i : i + 1])


def filled(window=None):
    cache = KeyValueCache(window)
    decoded(LAYER, cache, X, 3)
    return cache


def call(layer=None, x=None, keys=None, valid_lens=None, cache=None, **options):
    x = X if x is None else x
    keys = x if keys is None else keys
    with torch.no_grad():
        return (layer or LAYER)(x, keys, keys, valid_lens, cache=cache or filled(), **options)


LAYER, X = layer_of(), numbers(BATCH, 3, D_MODEL)
# call, exception, argument that it names (more in the table of wrong calls)
REFUSED = [
    (lambda: LAYER(X, X, X, cache=KeyValueCache()), ValueError, "cache"),
    (lambda: call(layer_of()), ValueError, "cache"),
    (lambda: call(x=X[:1]), ValueError, "keys"),
    (lambda: call(keys=X[:, :2]), ValueError, "keys"),
    (lambda: call(valid_lens=torch.tensor([1, 2])), ValueError, "valid_lens"),
    (lambda: call(mask=causal_mask(3)), ValueError, "mask"),
    (lambda: call(mask=torch.ones(3, 6)), TypeError, "mask"),
    (lambda: filled().extend(X[:, None], X[:, None]), ValueError, "keys"),
    (lambda: filled().extend(*[numbers(2, 4, 1, 5)] * 2), ValueError, "keys"),
    (lambda: filled().extend(*[numbers(2, 4, 1, 4).float()] * 2), TypeError, "keys"),
    (lambda: filled().extend(numbers(2, 4, 2, 4), numbers(2, 4, 1, 4)), ValueError, "values"),
]


@pytest.mark.parametrize(("call", "exception", "argument"), REFUSED)
def test_a_call_that_does_not_fit_the_cache_is_refused(call, exception, argument):
    assert_blames(call, exception, argument)


def test_a_cache_that_outlives_its_layer_still_refuses_another():
    layer, cache = layer_of(), KeyValueCache()
    decoded(layer, cache, X, 3)
    del layer
    gc.collect()
    with pytest.raises(ValueError, match="cache: expected one cache for each layer"):
        call(layer_of(), cache=cache)


def test_a_refused_first_call_leaves_the_cache_to_any_layer():
    cache = KeyValueCache()
    with pytest.raises(ValueError, match="cache: expected a call without gradients"):
        LAYER(X, X, X, cache=cache)
    assert decoded(layer_of(), cache, X, 3).shape == X.shape


def test_a_refused_call_leaves_the_cache_as_it_was():
    cache = filled()
    for refused in (partial(call, x=X[:1]), partial(call, mask=torch.ones(7) > 0)):
        with pytest.raises(ValueError):
            refused(cache=cache)
    assert len(cache) == 3
    y = numbers(BATCH, 2, D_MODEL, seed=7)
    found, whole = decoded(LAYER, cache, y, 1), torch.cat([X, y], dim=1)
    assert_close(found, LAYER(whole, whole, whole, mask=causal_mask(5))[0][:, 3:])
