"""The reader: its sentences, its network by plain arithmetic, its stored weights, its errors."""

import hashlib
import json
import math
import warnings
from collections import Counter
from itertools import product

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from attention_lib import sinusoidal_positions
from tests.strategies import assert_close
from workbook._training import fit
from workbook.reader import (
    MAX_LEN,
    NOTHING,
    Reader,
    Vocabulary,
    accuracy,
    exchange,
    load_reader,
    read,
    save_reader,
    sentences,
    split,
    train_reader,
    value_norms,
    without_head,
    words_like,
)
from workbook.reader import __main__ as command
from workbook.reader.sentences import ADJECTIVES_OF, NOUNS_OF
from workbook.reader.training import STORED

# What the grammar says, in sentences that anyone can check.
MEANT = {
    "the animal did not cross the street because it was too tired": "animal",
    "the animal did not cross the street because it was too wide": "street",
    "the animal did not cross the street because it was too dark": NOTHING,
    "because it was too wide the animal did not cross the street": "street",
    "yesterday the trophy did not fit in the suitcase because it was too big": "trophy",
    "the trophy did not fit in the suitcase because it was too small": "suitcase",
    "the ball broke the table because it was too heavy": "ball",
    "the ball broke the table because it was too weak": "table",
    "the table broke under the ball because it was too weak": "table",
    "the fox chased the goat because it was weak": "goat",
    "the fox feared the goat because it was weak": "fox",
    "today the fox chased the goat until it was dark": NOTHING,
    "the river was near the dog and it was tired": "dog",
    "the river was near the dog and it was wide": "river",
    "the dog was near the river and it was wide": "river",
    "the fox was faster than the goat so it won": "fox",
    "the fox was slower than the goat so it won": "goat",
    "the sand ran from the jug into the bowl until it was full": "bowl",
    "the sand ran into the jug from the bowl until it was full": "jug",
}
TIRED, WIDE = list(MEANT)[:2]
FEW = sentences()[::50]
HEADS = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]  # layer, head; all but the pointing one


@pytest.fixture(scope="module")
def reader():
    return load_reader()


@pytest.fixture(scope="module")
def held_out():
    return split()[1]


# The sentences.


def test_sentences_are_always_the_same():
    digest = hashlib.sha256(json.dumps(sentences()).encode()).hexdigest()
    assert digest == "521250576975fe6c48456b2f9f4eaac890202fca03af0b38dd57bc35e216704e"
    assert len({str(sentence) for sentence in sentences()}) == len(sentences())


def test_grammar_gives_sentences_the_meaning_that_people_give_them():
    by_text = {str(sentence): sentence for sentence in sentences()}
    for text, meant in MEANT.items():
        assert by_text[text].words[by_text[text].meant] == meant, text


def test_grammar_has_over_5000_sentences_of_11_frames():
    assert len(sentences()) > 5000
    assert len(Vocabulary()) >= 60
    assert len({sentence.frame for sentence in sentences()}) == 11
    assert max(len(sentence.words) for sentence in sentences()) <= MAX_LEN
    assert all(sentence.words.count("it") == 1 for sentence in sentences())


def pairs_of(sentences):
    """Noun-adjective pairs, found without the help of the module that made the split."""
    nouns = {word for words in NOUNS_OF.values() for word in words}
    adjectives = {word for words in ADJECTIVES_OF.values() for word in words}
    return {
        pair
        for sentence in sentences
        for pair in product(nouns & {*sentence.words}, adjectives & {*sentence.words})
    }


def test_no_pair_of_the_test_occurs_in_training():
    train, test = split()
    assert pairs_of(train).isdisjoint(pairs_of(test))
    assert pairs_of(train) and pairs_of(test)


def test_training_has_every_word_and_the_test_split_every_frame():
    train, test = split()
    assert {word for sentence in train for word in sentence.words} == {*Vocabulary().words}
    assert {sentence.frame for sentence in test} == {sentence.frame for sentence in train}
    assert min(Counter(sentence.frame for sentence in test).values()) >= 50


@pytest.mark.parametrize("choose", [min, max], ids=["first noun", "last noun"])
def test_always_choosing_the_first_or_last_noun_fails(held_out, choose):
    right = 0
    for sentence in held_out:
        nouns = [i for i, word in enumerate(sentence.words) if word in words_like("animal")]
        right += sentence.meant == choose(nouns)
    assert right / len(held_out) < 0.6


@pytest.mark.parametrize("word", Vocabulary().words)
def test_every_word_is_among_the_words_like_it(word):
    assert word in words_like(word)
    assert {*words_like(word)} <= {*Vocabulary().words}


# The network.


def by_hand(reader, words):
    """The forward pass in plain arithmetic, in float64: what a page does in JavaScript."""
    p = {name: tensor.double() for name, tensor in reader.state_dict().items()}
    x = p["embedding.weight"][[reader.vocabulary.words.index(word) for word in words]]
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


def test_reader_has_14_528_parameters_in_at_most_120_kilobytes(reader):
    assert sum(parameter.numel() for parameter in reader.parameters()) == 14_528
    assert STORED.stat().st_size <= 120_000


# The stored weights.


def test_stored_weights_read_held_out_sentences(reader, held_out):
    assert accuracy(reader, held_out) >= 0.99


@pytest.mark.parametrize(("text", "meant"), MEANT.items())
def test_stored_weights_read_sentences_as_people_do(reader, text, meant):
    reading = read(reader, text)
    assert reading.words[reading.meant] == meant
    assert reading.probability > 0.9
    assert str(reading) == f"it = {meant} ({reading.probability:.3f})"
    assert reading.probabilities.sum().item() == pytest.approx(1)


def test_untrained_reader_fails_on_held_out_sentences(held_out):
    assert accuracy(Reader(), held_out) < 0.6


def test_saved_reader_is_loaded_unchanged(reader, held_out, tmp_path):
    save_reader(reader, tmp_path / "mine.safetensors")
    loaded = load_reader(tmp_path / "mine.safetensors")
    assert loaded.vocabulary.words == reader.vocabulary.words
    for name, tensor in reader.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name


def parts():
    with safe_open(STORED, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, dict(file.metadata())


def truncated(path):
    path.write_bytes(STORED.read_bytes()[:-100])


def garbled(path):
    path.write_bytes(b"no weights" * 100)


def flipped(path):
    data = bytearray(STORED.read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)


def without_checksum(path):
    save_file(parts()[0], path)


def other_word(path):
    tensors, metadata = parts()
    save_file(tensors, path, metadata | {"words": metadata["words"].replace("wide", "vast")})


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
    other.W_q = torch.nn.Linear(16, 32, bias=False)
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
    (of_another_width, ["something else", "W_q.weight", "(32, 32)", "(32, 16)"]),
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
    ("it was xylophonic", ValueError, ["“xylophonic”", "No word that it knows looks like it"]),
    ("it was (nothing)", ValueError, ["“nothing”"]),
    ("the dog was tired", ValueError, ["exactly one “it”", "none"]),
    ("it was it", ValueError, ["exactly one “it”", "2"]),
    ("it was" + " too" * 14, ValueError, ["16 words", "15"]),
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
    assert len(read(reader, "it was" + " too" * 13).words) == MAX_LEN


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
    sentence = held_out[0]
    reading = read(reader, str(sentence))
    attention, d_k = reader.attentions[0], reader.embedding.embedding_dim // reader.num_heads[0]
    own = slice(d_k, 2 * d_k)
    brought = reading.weights[0][1] @ reading.states[0] @ attention.W_v.weight[own].T
    less = without_head(reader, 0, 1, mean_over=[sentence])
    assert_close(less.attentions[0].W_o.bias, attention.W_o.weight[:, own] @ brought.mean(dim=0))
    zero = without_head(reader, 0, 1)
    assert torch.equal(less.attentions[0].W_o.weight, zero.attentions[0].W_o.weight)


@pytest.mark.parametrize(("place", "at_most", "at_least"), [((1, 1), 0.8, 0), ((0, 0), 1, 0.95)])
def test_ablating_one_head_costs_accuracy_and_ablating_another_does_not(
    reader, held_out, place, at_most, at_least
):
    assert at_least <= accuracy(without_head(reader, *place), held_out) <= at_most


def test_reader_knows_that_a_street_is_not_tired(reader):
    """A street is not tired, whatever it does: no frame has these words in these places."""
    reading = read(reader, "the street did not cross the animal because it was too tired")
    assert reading.words[reading.meant] == "animal"


def test_patching_a_sentence_with_itself_changes_nothing(reader):
    for layer, head in HEADS:
        assert_close(
            exchange(reader, TIRED, TIRED, layer, head, "animal").probabilities,
            read(reader, TIRED).probabilities,
        )


def test_patching_one_word_of_layer_1_changes_that_word_alone_in_layer_2(reader):
    before = read(reader, TIRED)
    after = exchange(reader, TIRED, WIDE, 0, 3, "animal")
    moved = (after.states[1] - before.states[1]).abs().amax(-1) > 1e-6
    assert [before.words[i] for i in moved.nonzero().flatten()] == ["animal"]
    assert torch.equal(after.weights[0], before.weights[0])


def test_patching_replaces_the_output_of_one_head_at_one_word(reader):
    attention = reader.attentions[1]
    gathered = []
    for text in (TIRED, WIDE):
        reading = read(reader, text)
        values = reading.states[1] @ attention.W_v.weight.T  # (len, d_model)
        heads = [w @ values[:, 16 * h : 16 * (h + 1)] for h, w in enumerate(reading.weights[1])]
        gathered.append([head[reading.it] for head in heads])
    (own, _), (_, lent) = gathered
    reading = read(reader, TIRED)
    brought = torch.cat([own, lent]) @ attention.W_o.weight.T
    expected = reader.add_norms[1](reading.states[1][reading.it], brought)
    after = exchange(reader, TIRED, WIDE, 1, 1, "it")
    assert_close(after.states[2][reading.it], expected.detach())


def test_patching_it_in_layer_2_turns_the_conclusion_and_no_other_word_does(reader):
    """The mechanism: what a head of layer 2 brings to *it* turns the conclusion, elsewhere not."""
    turned = exchange(reader, WIDE, TIRED, 1, 1, "it")
    assert turned.words[turned.meant] == "animal"
    for word in ("animal", "street", NOTHING):
        kept = exchange(reader, WIDE, TIRED, 1, 1, word)
        assert kept.words[kept.meant] == "street"


def test_value_norm_is_the_norm_of_the_output_of_one_head_for_one_word(reader):
    """One head alone, and all weight on one word: the norm of the output is the value norm."""
    reading = read(reader, WIDE)
    for layer, norms in enumerate(value_norms(reader, reading)):
        attention = reader.attentions[layer]
        for head, d_k in enumerate([32 // len(norms)] * len(norms)):
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
        (lambda r: exchange(r, TIRED, WIDE, 5, 0, "it"), ["layer", "5"]),
        (lambda r: exchange(r, TIRED, WIDE, 0, 0, "tired"), ["word", "wide", "“tired”"]),
        (lambda r: exchange(r, TIRED, "it was odd", 0, 0, "it"), ["“odd”"]),
    ],
)
def test_unknown_layer_head_or_word_is_refused(reader, call, words):
    with pytest.raises(ValueError) as caught:
        call(reader)
    assert all(word in str(caught.value) for word in words)


# The training. What the whole recipe reaches: python -m workbook.reader.


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


def test_training_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    train_reader(0, train=FEW, steps=1, progress=False)
    assert torch.equal(torch.rand(1), expected)


def test_training_uses_one_thread_and_restores_the_number_afterwards():
    """On two busy cores a second thread took twenty times the processor, and no less time."""
    before, seen = torch.get_num_threads(), []

    def watch(step, loss):
        seen.append(torch.get_num_threads())
        if step == 12:
            raise KeyboardInterrupt  # as a reader does

    model = torch.nn.Linear(1, 1)
    rest = {"weight_decay": 0.0, "desc": "", "progress": False, "watch": watch}
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(model, lambda: model.weight.square().sum(), 20, **rest)
        assert torch.get_num_threads() == 2
        assert seen == [1] * 12
    finally:
        torch.set_num_threads(before)


def test_training_shows_how_far_it_is(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm's notebook bar may miss ipywidgets
        train_reader(0, train=FEW, steps=2, progress=True)
        assert "2/2" in capsys.readouterr().err
        train_reader(0, train=FEW, steps=2, progress=False)
    assert capsys.readouterr().err == ""


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ValueError, match="train"):
        train_reader(train=[])


@pytest.mark.parametrize(("reached", "code"), [(0.991, 0), (0.989, 1)])
def test_training_command_fails_below_the_promised_accuracy(
    reached, code, monkeypatch, capsys, tmp_path
):
    path = tmp_path / "weights.safetensors"
    monkeypatch.setattr(command, "train_reader", lambda seed: Reader())
    monkeypatch.setattr(command, "accuracy", lambda reader, test: reached)
    monkeypatch.setattr(command, "STORED", path)
    monkeypatch.setattr("sys.argv", ["reader", "--seeds", "2", "--store"])
    assert command.main() == code
    assert f"{reached:.4f}" in capsys.readouterr().out
    assert load_reader(path).num_heads == (4, 2)
