"""The reader: its sentences, its network by plain arithmetic, its stored weights, its errors."""

import hashlib
import json
import math

import pytest
import torch

from attention_lib import sinusoidal_positions
from attention_workbook import _safetensors
from attention_workbook.reader import (
    MAX_LEN,
    Reader,
    Vocabulary,
    accuracy,
    crossings,
    draw,
    load_reader,
    patch,
    read,
    save_reader,
    split,
    train_reader,
    value_norms,
    without_head,
    words_of,
)
from attention_workbook.reader.lexicon import lexicon
from attention_workbook.reader.sentences import pairs
from attention_workbook.reader.training import FOLLOWED, STORED, encode
from tests.strategies import assert_close

# What anyone would say: clear sentences, and such as either word may be meant in.
MEANT = {
    "the animal did not cross the street because it was too tired": "animal",
    "the animal did not cross the street because it was too wide": "street",
    "The dog didn't cross the road because it was too busy.": "road",
    "the trophy did not fit in the suitcase because it was too big": "trophy",
    "the trophy did not fit in the suitcase because it was too small": "suitcase",
    "the ball broke the table because it was too heavy": "ball",
    "the ball broke the table because it was fragile": "table",
    "the fox chased the goat because it was weak": "goat",
    "the cat drank the milk because it was thirsty": "cat",
    "The puppy didn't cross the street because it was exhausted": "puppy",
    "the river was near the dog and it was tired": "dog",
    "the dog was near the river and it was wide": "river",
    "the girl ate the pizza because it was delicious": "pizza",
    "the man could not lift the box because it was too heavy": "box",
    "the horse could not jump over the fence because it was too high": "fence",
    "the truck did not leave the garage because it had a flat tire": "truck",
}
UNSURE = [
    "the animal did not cross the street because it was too dangerous",
    "the animal did not cross the street because it was too hot",
    "the cat chased the dog because it was angry",
    "the dog watched the cat because it was young",
]
TIRED, WIDE = list(MEANT)[:2]
FEW = draw(300, seed=3, small=True)
HEADS = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]  # layer, head; all but the pointing one


@pytest.fixture(scope="module")
def reader():
    return load_reader()


@pytest.fixture(scope="module")
def held_out():
    return list(draw(1000, seed=1, held_out=True))


# The sentences.


def test_sentences_are_always_the_same():
    assert draw(50, seed=2) == tuple(draw(60, seed=2)[:50])
    digest = hashlib.sha256(json.dumps(draw(200, seed=2)).encode()).hexdigest()
    assert digest == "e5148ae2244ce2f75e738ef177bf73c3e4b45e1cbde5801f6583ec1bc05cc696"


def test_lexicon_has_the_words_that_people_try():
    vocabulary = Vocabulary()
    assert len(vocabulary) + len(lexicon().read_as) > 7500
    tried = "it slow old fast young strong small narrow busy dangerous hot happy wet"
    assert len(vocabulary.parse(tried)) == 14


def test_every_word_of_the_lexicon_has_a_meaning_that_the_sentences_use():
    known = lexicon()
    for frame in known.frames.values():
        assert {*frame["subjects"], *frame["objects"]} <= {*known.nouns}
        for groups in frame["of"].values():
            assert groups <= {*known.sayings}
    for word in known.group_of:
        fits = (known.fit(known.group_of[word], noun) for noun in known.kinds_of)
        assert any(fits) or known.group_of[word] == "weather"


def test_a_word_without_a_vector_is_read_as_one_that_has_one():
    vocabulary = Vocabulary()
    for word, base in lexicon().read_as.items():
        assert word not in vocabulary.words and base in vocabulary.words, (word, base)
    assert vocabulary.base("puppies") == "dog" and vocabulary.base("exhausted") == "tired"
    assert vocabulary.encode(vocabulary.parse("it was (nothing)")).count(0) == 1  # before "it"
    for word in ("qkvhouse", "houseqkv", "dogbecause", "doghe", "dog-it"):  # no compound
        assert vocabulary.base(word) is None


def test_every_word_of_every_sentence_is_known():
    vocabulary = Vocabulary()
    for sentence in (*draw(2000, seed=4), *FEW):
        assert len(vocabulary.encode(sentence.words)) == len(sentence.words) <= MAX_LEN
        assert sentence.words.count("it") == 1
        assert sum(share for _, share in sentence.answers) == pytest.approx(1)


def test_no_pair_of_the_test_occurs_in_training():
    for train, test in (split(small=True), (draw(5000, held_out=False), draw(300, held_out=True))):
        tested = {pair for sentence in test for pair in pairs(sentence)}
        learned = {pair for sentence in train for pair in pairs(sentence)}
        assert tested and learned and tested.isdisjoint(learned)


@pytest.mark.parametrize("place", [0, -1], ids=["first noun", "last noun"])
def test_always_choosing_the_first_or_last_noun_fails(held_out, place):
    nouns = lexicon().kinds_of
    clear = [sentence for sentence in held_out if sentence.clear and sentence.meant]
    right = sum(
        one.meant == [i for i, word in enumerate(one.words) if word in nouns][place]
        for one in clear
    )
    assert right / len(clear) < 0.7


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's dark; the dog can’t see!", "it is dark the dog can not see"),
        ("The Dog DIDN'T cross...", "the dog did not cross"),
        ("the dog's bowl won't hold it", "the dog bowl will not hold it"),
        ("Dont! Cant it? Its too vacant, wasnt", "do not can not it it is too vacant was not"),
    ],
)
def test_capitals_punctuation_and_contractions(text, words):
    assert words_of(text) == words.split()


@pytest.mark.parametrize(
    ("form", "base"),
    [
        ("crossed", "cross"),
        ("bigger", "big"),
        ("swam", "swim"),
        ("carries", "carry"),
        ("dogs", "dog"),
        ("quickly", "fast"),
        ("three-wheel", "wheel"),
        ("doghouse", "house"),
    ],
)
def test_forms_of_a_word_share_its_number(form, base):
    vocabulary = Vocabulary()
    assert vocabulary.encode([form]) == vocabulary.encode([base])


# The network.


def by_hand(reader, words):
    """The forward pass in plain arithmetic, in float64: what a page does in JavaScript."""
    p = {name: tensor.double() for name, tensor in reader.state_dict().items()}
    x = p["embedding.weight"][reader.vocabulary.encode(words)]
    x = x + sinusoidal_positions(len(words), x.shape[-1]).double()
    start, maps = x, []
    for layer, heads in enumerate(reader.num_heads):
        q, k, v = (x @ p[f"attentions.{layer}.W_{name}.weight"].T for name in "qkv")
        d_k = x.shape[-1] // heads
        gathered, weights = [], []
        for head in range(heads):
            own = slice(head * d_k, (head + 1) * d_k)
            scores = (q[:, own] @ k[:, own].T / math.sqrt(d_k)).exp()
            weights.append(scores / scores.sum(-1, keepdim=True))
            gathered.append(weights[-1] @ v[:, own])
        x = x + torch.cat(gathered, -1) @ p[f"attentions.{layer}.W_o.weight"].T
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        x = x * p[f"add_norms.{layer}.norm.weight"] + p[f"add_norms.{layer}.norm.bias"]
        maps.append(torch.stack(weights))
    scores = (x @ p["W_q.weight"].T) @ (start @ p["W_k.weight"].T).T / math.sqrt(x.shape[-1])
    return [*maps, scores.softmax(-1).unsqueeze(0)]


@pytest.mark.parametrize("text", MEANT)
def test_network_agrees_with_plain_arithmetic(reader, text):
    reading = read(reader, text)
    for ours, plain in zip(reading.weights, by_hand(reader, reading.words), strict=True):
        assert_close(ours, plain.float())


def test_padding_reaches_no_weight_and_no_score(reader):
    texts = [TIRED, "the fox chased the goat because it was weak"]
    rows = [torch.tensor(reader.vocabulary.encode(reader.vocabulary.parse(t))) for t in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    with torch.no_grad():
        scores, weights, _ = reader(ids, lengths)
    short = lengths[1]
    for batched, alone in zip(weights, read(reader, texts[1]).weights, strict=True):
        assert_close(batched[1, :, :short, :short], alone)
        assert (batched[1, :, :short, short:] == 0).all()
    assert (scores[1, :, short:] == -math.inf).all()


def test_reader_has_at_most_60_000_numbers_in_65_kilobytes(reader):
    assert sum(parameter.numel() for parameter in reader.parameters()) <= 60_000
    assert STORED.stat().st_size <= 65_000


# The stored weights.


def test_stored_weights_read_held_out_sentences(reader, held_out):
    assert accuracy(reader, held_out) >= 0.98


@pytest.mark.parametrize(("text", "meant"), MEANT.items())
def test_stored_weights_read_sentences_as_people_do(reader, text, meant):
    reading = read(reader, text)
    assert reading.words[reading.meant] == meant
    assert reading.probability >= 0.75
    assert str(reading) == f"it = {meant} ({reading.probability:.3f})"
    assert reading.probabilities.sum().item() == pytest.approx(1)


@pytest.mark.parametrize("text", UNSURE)
def test_stored_weights_are_unsure_where_people_are(reader, text):
    assert read(reader, text).probability < 0.75


def test_answers_given_with_confidence_are_right(reader, held_out):
    """At least 97 % of those given with .9 or more."""
    ids, valid_lens, it, meant = encode(reader.vocabulary, held_out)
    with torch.no_grad():
        shares = reader(ids, valid_lens).scores[torch.arange(len(ids)), it].softmax(-1)
    sure = shares.amax(-1) >= 0.9
    assert (shares.argmax(-1) == meant)[sure].double().mean() >= 0.97 and sure.double().mean() > 0.5


def test_untrained_reader_fails_on_held_out_sentences(held_out):
    assert accuracy(Reader(), held_out) < 0.6


def test_saved_reader_is_loaded_unchanged(reader, held_out, tmp_path):
    save_reader(reader, tmp_path / "mine.safetensors")
    loaded = load_reader(tmp_path / "mine.safetensors")
    assert loaded.vocabulary.words == reader.vocabulary.words
    for name, tensor in reader.state_dict().items():
        assert torch.allclose(loaded.state_dict()[name], tensor, rtol=1e-5), name


def test_saved_numbers_are_off_by_half_a_step_at_most(tmp_path):
    reader = Reader(Vocabulary(["(nothing)", "it", "was"]))
    save_reader(reader, tmp_path / "mine.safetensors")
    for name, tensor in load_reader(tmp_path / "mine.safetensors").state_dict().items():
        mine = reader.state_dict()[name]
        assert (tensor - mine).abs().max() <= mine.abs().max() / 127 * 0.5001, name


def truncated(path):
    path.write_bytes(STORED.read_bytes()[:-100])


def garbled(path):
    path.write_bytes(b"no weights" * 100)


def flipped(path):
    data = bytearray(STORED.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)


def without_checksum(path):
    tensors, _ = _safetensors.read(STORED)
    _safetensors.write(tensors, path, {})


def other_word(path):
    tensors, metadata = _safetensors.read(STORED)
    _safetensors.write(tensors, path, metadata | {"words": metadata["words"] + "0"})


def without_embedding(path):
    other = Reader()
    del other.embedding
    save_reader(other, path)


def of_another_network(path):
    other = Reader(Vocabulary(["(nothing)", "it"]))
    other.attentions[0] = torch.nn.Linear(3, 3)
    save_reader(other, path)


def of_another_width(path):
    other = Reader()
    other.W_q = torch.nn.Linear(16, 40, bias=False)
    save_reader(other, path)


# What happened to the file, words that the error must hold.
DAMAGED = [
    (truncated, ["no whole safetensors file"]),
    (garbled, ["no whole safetensors file"]),
    (flipped, ["damaged", "checksum"]),
    (without_checksum, ["not written by save_reader", "num_heads, sha256, words"]),
    (other_word, ["damaged", "checksum"]),
    (without_embedding, ["something else", "no embedding.weight"]),
    (of_another_network, ["something else", "attentions.0"]),
    (of_another_width, ["something else", "W_q.weight", "(40, 40)", "(40, 16)"]),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGED)
def test_a_damaged_or_foreign_file_is_refused(damage, words, tmp_path):
    path = tmp_path / "bad.safetensors"
    damage(path)
    with pytest.raises(ValueError) as caught:
        load_reader(path)
    assert all(word in str(caught.value) for word in [*words, "bad.safetensors"])


# Bad sentences: text, error, words that it must hold.
REFUSED = [
    ("", ValueError, ["empty"]),
    (" .,! ", ValueError, ["empty"]),
    ("the anmial was tired because it was", ValueError, ["“anmial”", "“animal”"]),
    ("it was qkvxzonic", ValueError, ["“qkvxzonic”", "No word that it knows looks like it"]),
    ("the dog was tired", ValueError, ["exactly one “it”", "none"]),
    ("it was it", ValueError, ["exactly one “it”", "2"]),
    ("it was" + " too" * 18, ValueError, ["20 words", "19"]),
    (7, TypeError, ["text", "int"]),
    (["it"], TypeError, ["text", "list"]),
]


@pytest.mark.parametrize(("text", "error", "words"), REFUSED)
def test_sentence_the_reader_cannot_read_is_refused(reader, text, error, words):
    with pytest.raises(error) as caught:
        read(reader, text)
    assert all(word in str(caught.value) for word in words)


def test_capitals_punctuation_and_contractions_are_ignored(reader):
    same = read(reader, "The animal didn't cross the street, because it was too tired!")
    assert same.words == read(reader, TIRED).words
    assert len(read(reader, "it was" + " too" * 17).words) == MAX_LEN


# What the heads do.


def test_ablated_head_still_looks_but_adds_nothing(reader, held_out):
    less = without_head(reader, 0, 3)
    whole, part = read(reader, TIRED), read(less, TIRED)
    assert_close(part.weights[0], whole.weights[0])  # it still looks
    assert not torch.allclose(part.weights[1], whole.weights[1], atol=1e-3)
    changed = [
        n for n, t in reader.state_dict().items() if not torch.equal(t, less.state_dict()[n])
    ]
    assert changed == ["attentions.0.W_o.weight"]


def test_head_ablated_by_the_mean_brings_its_mean_output_to_every_word(reader, held_out):
    """Over one sentence, by hand: the mean of weights times values over all words."""
    sentence = next(one for one in held_out if {*lexicon().better}.isdisjoint(one.words))
    reading = read(reader, str(sentence))
    attention, d_k = reader.attentions[0], reader.embedding.embedding_dim // reader.num_heads[0]
    own = slice(d_k, 2 * d_k)
    brought = reading.weights[0][1] @ reading.states[0] @ attention.W_v.weight[own].T
    less = without_head(reader, 0, 1, mean_over=[sentence])
    assert_close(less.attentions[0].W_o.bias, attention.W_o.weight[:, own] @ brought.mean(dim=0))
    zero = without_head(reader, 0, 1)
    assert torch.equal(less.attentions[0].W_o.weight, zero.attentions[0].W_o.weight)


@pytest.mark.parametrize(("place", "at_most", "at_least"), [((1, 0), 0.7, 0), ((1, 1), 1, 0.97)])
def test_one_head_is_needed_and_another_is_not(reader, held_out, place, at_most, at_least):
    assert at_least <= accuracy(without_head(reader, *place), held_out) <= at_most


def test_reader_knows_that_a_street_is_not_tired(reader):
    """A street is not tired, whatever it does: no frame has these words in these places."""
    reading = read(reader, "the street did not cross the animal because it was too tired")
    assert reading.words[reading.meant] == "animal"


def test_patching_a_sentence_with_itself_changes_nothing(reader):
    for layer, head in HEADS:
        assert_close(
            patch(reader, TIRED, TIRED, layer, head, "animal").probabilities,
            read(reader, TIRED).probabilities,
        )


def test_patching_one_word_of_layer_1_changes_that_word_alone_in_layer_2(reader):
    before = read(reader, TIRED)
    after = patch(reader, TIRED, WIDE, 0, 3, "animal")
    moved = (after.states[1] - before.states[1]).abs().amax(-1) > 1e-6
    assert [before.words[i] for i in moved.nonzero().flatten()] == ["animal"]
    assert torch.equal(after.weights[0], before.weights[0])


def test_patching_replaces_the_output_of_one_head_at_one_word(reader):
    attention = reader.attentions[1]
    gathered = []
    for text in (TIRED, WIDE):
        reading = read(reader, text)
        values = reading.states[1] @ attention.W_v.weight.T  # (len, d_model)
        heads = [w @ values[:, 20 * h : 20 * (h + 1)] for h, w in enumerate(reading.weights[1])]
        gathered.append([head[reading.it] for head in heads])
    (own, _), (_, lent) = gathered
    reading = read(reader, TIRED)
    brought = torch.cat([own, lent]) @ attention.W_o.weight.T
    expected = reader.add_norms[1](reading.states[1][reading.it], brought)
    after = patch(reader, TIRED, WIDE, 1, 1, "it")
    assert_close(after.states[2][reading.it], expected.detach())


def test_one_head_at_it_decides_and_others_as_bright_do_not(reader):
    """Head 2.1 turns each answer, both ways. Heads that look at nouns or at *too* turn none."""
    bright = {(0, FOLLOWED[0]): [2, 7], (0, 2): [11], (1, 1): [7]}  # animal and place, too, place
    for text, other in (pair[::way] for pair in crossings("wide")[::10] for way in (1, -1)):
        reading, wanted = read(reader, text), read(reader, other).meant
        assert reading.weights[1][FOLLOWED[1], reading.it, -1] > 0.9
        assert patch(reader, text, other, 1, FOLLOWED[1], "it").meant == wanted != reading.meant
        for (layer, head), places in bright.items():
            assert reading.weights[layer][head, reading.it, places].sum() > 0.4, (text, layer, head)
            assert patch(reader, text, other, layer, head, "it").meant == reading.meant


def test_patching_all_heads_and_several_words_at_once(reader):
    reading = read(reader, WIDE)
    words = [word for word in reading.words if reading.words.count(word) == 1]
    everywhere = patch(reader, TIRED, WIDE, 1, None, [w for w in words if w != "wide"])
    assert everywhere.words[everywhere.meant] == "street"
    with pytest.raises(ValueError, match="word"):
        patch(reader, TIRED, WIDE, 1, None, [])


def test_value_norm_is_the_norm_of_the_output_of_one_head_for_one_word(reader):
    """One head alone, and all weight on one word: the norm of the output is the value norm."""
    reading = read(reader, WIDE)
    for layer, norms in enumerate(value_norms(reader, reading)):
        attention = reader.attentions[layer]
        for head, d_k in enumerate([40 // len(norms)] * len(norms)):
            own = slice(head * d_k, (head + 1) * d_k)
            values = reading.states[layer] @ attention.W_v.weight[own].T
            arrives = values @ attention.W_o.weight[:, own].T
            assert_close(norms[head], arrives.norm(dim=-1).detach())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: without_head(r, 2, 0), ["layer", "0 to 1", "2"]),
        (lambda r: without_head(r, 0, 4), ["head", "0 to 3", "4"]),
        (lambda r: without_head(r, 0, -1), ["head", "0 to 3", "-1"]),
        (lambda r: patch(r, TIRED, WIDE, 5, 0, "it"), ["layer", "5"]),
        (lambda r: patch(r, TIRED, WIDE, 0, 0, "tired"), ["word", "wide", "“tired”"]),
        (lambda r: patch(r, TIRED, "it was xqz", 0, 0, "it"), ["“xqz”"]),
    ],
)
def test_unknown_layer_head_or_word_is_refused(reader, call, words):
    with pytest.raises(ValueError) as caught:
        call(reader)
    assert all(word in str(caught.value) for word in words)


# The training. What the whole recipe reaches: python -m attention_workbook.reader.


def test_training_repeats_itself_and_learns():
    losses = []
    first = train_reader(
        3, train=FEW, steps=6, progress=False, watch=lambda step, loss: losses.append(loss)
    )
    again = train_reader(3, train=FEW, steps=6, progress=False)
    other = train_reader(4, train=FEW, steps=6, progress=False)
    assert len(losses) == 6 and losses[-1] < losses[0]
    assert torch.equal(first.W_q.weight, again.W_q.weight)
    assert not torch.equal(first.W_q.weight, other.W_q.weight)
