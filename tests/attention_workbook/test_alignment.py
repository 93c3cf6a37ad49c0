"""The aligner: its dates, its network by plain arithmetic, its stored weights, its errors."""

import calendar
import datetime
import math
from collections import Counter

import pytest
import torch

import attention_contracts as contracts
from attention_lib import sinusoidal_positions
from attention_lib.scoring import AdditiveScore
from attention_workbook.alignment import (
    DIGITS,
    FORMATS,
    MAX_LEN,
    SCORES,
    Aligner,
    Alignment,
    Characters,
    Run,
    align,
    days,
    exact_match,
    examples,
    hide_each,
    load_aligner,
    maps,
    measured_runs,
    parse_date,
    save_aligner,
    split_dates,
    train_aligner,
    write_date,
)
from attention_workbook.alignment import __main__ as command
from attention_workbook.alignment.dates import WEEKDAYS
from attention_workbook.alignment.network import Projected
from attention_workbook.alignment.training import STORED, encode, file_of, read_digits
from tests.strategies import assert_close

# What people write, and what they mean.
MEANT = {
    "2010-11-12": "2010-11-12",
    "2010/11/12": "2010-11-12",
    "20101112": "2010-11-12",
    "12.11.2010": "2010-11-12",
    "1.2.2010": "2010-02-01",
    "12/11/2010": "2010-12-11",
    "2/1/2010": "2010-02-01",
    "12 November 2010": "2010-11-12",
    "November 12, 2010": "2010-11-12",
    "November 1st, 1999": "1999-11-01",
    "May 22nd, 1961": "1961-05-22",
    "July 13th, 2044": "2044-07-13",
    "Friday, 12 November 2010": "2010-11-12",
    "3 May 1961": "1961-05-03",
    "12-Nov-2010": "2010-11-12",
    "Nov 12, 2010": "2010-11-12",
    "3. März 2010": "2010-03-03",
    "Freitag, 12. November 2010": "2010-11-12",
    "1er août 1914": "1914-08-01",
    "vendredi 12 novembre 2010": "2010-11-12",
    "23 de septiembre de 2051": "2051-09-23",
    "12 XI 2010": "2010-11-12",
    "2010年2月1日": "2010-02-01",
}
FEW = examples(split_dates()[0][::97], torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def aligners():
    return {score: load_aligner(score) for score in SCORES}


@pytest.fixture(scope="module")
def held_out():
    return examples(split_dates()[1])


# The dates.


@pytest.mark.parametrize(("text", "meant"), MEANT.items())
def test_dates_are_parsed_as_people_mean_them(text, meant):
    assert str(parse_date(text)) == meant
    assert str(parse_date(f" {text.upper()} ")) == meant


def test_examples_of_meaning_use_every_format():
    written = {
        form
        for text in MEANT
        for form in FORMATS
        if write_date(parse_date(text), form).lower() == text.lower()
    }
    assert written == {*FORMATS}
    assert len(FORMATS) >= 12


@pytest.mark.parametrize("year", [1900, 1999, 2012])
def test_no_text_has_two_meanings_as_a_date(year):
    """Whatever is written in one format is, in every other, nothing or the same date."""
    meanings = {}
    for date in days():
        if date.year == year:
            for form in FORMATS:
                text = write_date(date, form).lower()
                assert meanings.setdefault(text, date) == date, text
                assert len(text) <= MAX_LEN
    assert all(parse_date(text) == date for text, date in [*meanings.items()][::13])


def test_the_days_are_those_of_the_calendar():
    per_year = Counter(date.year for date in days())
    assert per_year == {year: 365 + calendar.isleap(year) for year in range(1900, 2100)}
    assert per_year[1900] == 365 and per_year[2000] == 366


def test_weekdays_are_those_of_the_calendar():
    moon = datetime.date(1969, 7, 20)  # a Sunday
    assert write_date(moon, "{weekday} {wochentag} {jour}") == "Sunday Sonntag dimanche"


def test_no_date_is_in_both_splits():
    train, test = map(set, split_dates())
    assert not train & test and train | test == {*days()}
    assert 0.09 < len(test) / len(days()) < 0.11


def test_months_and_days_are_as_frequent_in_the_test_split_as_in_training():
    """Every month, day and weekday is tested on, and learned from, as often as chance has it."""
    train, test = split_dates()
    for part in ("month", "day"):
        seen, asked = (Counter(getattr(date, part) for date in dates) for dates in (train, test))
        assert seen.keys() == asked.keys()
        assert all(0.05 < asked[x] / (asked[x] + seen[x]) < 0.15 for x in seen)


def test_examples_go_through_the_formats_in_turn_or_at_random():
    dates = split_dates()[1]
    assert [str(parse_date(text)) for text, _ in examples(dates)[:500]] == [
        str(date) for date in dates[:500]
    ]
    drawn, again = (examples(dates[:99], torch.Generator().manual_seed(3)) for _ in range(2))
    assert drawn == again != examples(dates[:99])
    assert [digits for _, digits in drawn] == [date.strftime("%Y%m%d") for date in dates[:99]]


UNREAD = [
    ("31 February 2010", ["2010-02-31", "February 2010 has 28 days"]),
    ("29. Februar 1900", ["1900-02-29", "28 days"]),
    ("2010-13-01", ["months go from 1 to 12"]),
    ("00.01.2010", ["2010-01-00", "31 days"]),
    ("0000-01-01", ["years go from 1"]),
    ("Monday, 12 November 2010", ["contradicts itself", "Friday"]),
    ("November 1th, 2010", ["contradicts itself", "1st"]),
    ("12th of November", ["none of the 21 ways"]),
    ("12/11/10", ["none of the 21 ways"]),
    ("", ["none of the 21 ways"]),
]


@pytest.mark.parametrize(("text", "words"), UNREAD)
def test_text_that_is_no_date_is_refused_with_the_reason(text, words):
    with pytest.raises(ValueError) as caught:
        parse_date(text)
    assert all(word in str(caught.value) for word in words)


# The characters.


def test_every_format_uses_known_characters_only():
    characters = Characters()
    for date in days()[::61]:
        for form in FORMATS:
            text = write_date(date, form)
            ids = characters.encode(text)
            assert "".join(characters.known[i - 1] for i in ids) == text.lower()
            assert min(ids) > 0  # 0 is padding
    assert len(characters) == len(set(characters.known))


REFUSED = [
    (7, TypeError, ["text", "int"]),
    (None, TypeError, ["text", "NoneType"]),
    ("", ValueError, ["empty"]),
    ("   ", ValueError, ["empty"]),
    ("2" * (MAX_LEN + 1), ValueError, [f"{MAX_LEN + 1} characters", f"takes {MAX_LEN}"]),
    ("12~11~2010!", ValueError, ["“12~11~2010!”", "“~”, “!”"]),
    ("１２.11.2010", ValueError, ["“１”, “２”"]),
    ("12\n11", ValueError, ["never seen"]),
]


@pytest.mark.parametrize(("text", "error", "words"), REFUSED)
def test_text_the_aligner_cannot_read_is_refused(text, error, words):
    with pytest.raises(error) as caught:
        align(load_aligner(), text)
    assert all(word in str(caught.value) for word in words)


# The network.


def by_hand(aligner, text):
    """The forward pass in plain arithmetic, in float64: digits' scores and weights."""
    p = {name: tensor.double() for name, tensor in aligner.state_dict().items()}

    def normalised(x, number):
        x = x - x.mean(-1, keepdim=True)
        x = x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return x * p[f"add_norms.{number}.norm.weight"] + p[f"add_norms.{number}.norm.bias"]

    def through(x, name):
        x = (x @ p[f"{name}.0.weight"].T + p[f"{name}.0.bias"]).clamp(min=0)
        return x @ p[f"{name}.2.weight"].T + p[f"{name}.2.bias"]

    x = p["embedding.weight"][aligner.characters.encode(text)]
    x = x + sinusoidal_positions(len(text), x.shape[-1]).double()
    heads = []
    for own in torch.arange(x.shape[-1]).chunk(aligner.attention.num_heads):
        q, k, v = (x @ p[f"attention.W_{name}.weight"][own].T for name in "qkv")
        heads.append((q @ k.T / math.sqrt(len(own))).softmax(-1) @ v)
    x = normalised(x + torch.cat(heads, -1) @ p["attention.W_o.weight"].T, 0)
    x = normalised(x + through(x, "feed_forward"), 1)
    q, k = (y @ p[f"cross.score.W_{n}.weight"].T for n, y in (("q", p["queries"]), ("k", x)))
    if aligner.score == "additive":
        scores = (q[:, None] + k).tanh() @ p["cross.score.w_v.weight"][0]
    else:
        scores = q @ k.T / (math.sqrt(x.shape[-1]) if aligner.score == "scaled" else 1)
    weights = scores.softmax(-1)
    gathered = normalised(p["queries"] + weights @ (x @ p["W_v.weight"].T), 2)
    return through(gathered, "output"), weights


@pytest.mark.parametrize("score", SCORES)
def test_network_agrees_with_plain_arithmetic(aligners, score):
    for text in [*MEANT][::4]:
        digit_scores, weights = by_hand(aligners[score], text)
        alignment = align(aligners[score], text)
        assert_close(alignment.weights, weights.float())
        assert_close(alignment.probabilities, digit_scores.softmax(-1).amax(-1).float())


@pytest.mark.parametrize("score", SCORES)
def test_padding_of_any_content_reaches_no_answer(aligners, score):
    """What stands in the padding, NaN included, reaches no answer of the trained model."""
    aligner = aligners[score]
    ids, valid_lens, _ = encode(aligner.characters, FEW[:5])
    assert len({*valid_lens.tolist()}) > 1
    x = aligner.positions(aligner.embedding(ids)).detach()  # (batch, len, d_model)
    queries = aligner.queries.detach().expand(len(ids), -1, -1)

    def attend(queries, keys, values):
        return aligner.look(queries, aligner.encode(keys, valid_lens), valid_lens)

    contracts.assert_padding_invariant(attend, queries, x, x, valid_lens, poison=math.nan)
    contracts.assert_rows_sum_to_one(attend, queries, x, x)
    with pytest.raises(AssertionError, match="padding leaks"):
        contracts.assert_padding_invariant(
            lambda q, k, v: aligner.look(q, aligner.encode(k)), queries, x, x, valid_lens
        )


def test_text_is_read_alike_alone_and_in_a_batch(aligners):
    aligner = aligners["scaled"]
    ids, valid_lens, _ = encode(aligner.characters, [(text, "20100101") for text in MEANT])
    with torch.no_grad():
        _, weights = aligner(ids, valid_lens)
    for text, row, length in zip(MEANT, weights, valid_lens, strict=True):
        assert_close(row[:, :length], align(aligner, text).weights)
        assert (row[:, length:] == 0).all()


def test_the_three_scores_have_networks_of_one_size():
    counts = {s: sum(p.numel() for p in Aligner(s).parameters()) for s in SCORES}
    assert counts["dot"] == counts["scaled"] == counts["additive"] - 32
    assert isinstance(Aligner("additive").cross.score, AdditiveScore)
    queries, keys = torch.randn(3, 4), torch.randn(5, 4)
    dot, scaled = (SCORES[score](4) for score in ("dot", "scaled"))
    assert isinstance(dot, Projected)
    scaled.load_state_dict(dot.state_dict())
    assert_close(dot(queries, keys), 2 * scaled(queries, keys))


def test_hidden_characters_get_no_weight(aligners):
    aligner, text = aligners["dot"], "12 November 2010"
    whole, part = align(aligner, text), align(aligner, text, hide=[3, 4])
    left = whole.weights.clone()
    left[:, 3:5] = 0
    assert_close(part.weights, left / left.sum(-1, keepdim=True))


def test_maps_are_the_weights_of_the_three_aligners(aligners):
    drawn = maps("12.11.2010")
    assert drawn["queries"] == DIGITS and "".join(drawn["keys"]) == "12.11.2010"
    for weights, aligner in zip(drawn["weights"], aligners.values(), strict=True):
        assert (weights - align(aligner, "12.11.2010").weights).abs().max() <= 5.1e-4
    assert maps("12.11.2010", ["dot"])["weights"].shape == (1, 8, 10)


@pytest.mark.parametrize("text", ["12 November 2010", "1/2/2010"])
def test_hide_each_hides_every_character_in_turn(aligners, text):
    aligner = aligners["scaled"]
    hidden, whole = hide_each(aligner, text), align(aligner, text).digits
    for position in range(len(text)):
        digits = align(aligner, text, hide=[position]).digits
        changed = [a != b for a, b in zip(whole, digits, strict=True)]
        assert hidden[:, position].tolist() == changed
    assert hidden.any() and not hidden.all()


@pytest.mark.parametrize("position", [-1, 10, 1.5])
def test_hidden_position_outside_the_text_is_refused(aligners, position):
    with pytest.raises(ValueError, match="hide: expected positions 0 to 9"):
        align(aligners["dot"], "2010-11-12", hide=[position])


def test_unknown_score_is_refused():
    for call in (Aligner, train_aligner, load_aligner):
        with pytest.raises(ValueError, match="dot, scaled, additive"):
            call("cosine")


def test_alignment_prints_its_date_or_the_reason_why_there_is_none():
    sure, even = torch.full((8,), 0.5), torch.full((8, 10), 0.1)
    alignment = Alignment("12.11.2010", "20101112", sure, even)
    assert str(alignment) == "2010-11-12"
    assert alignment.date == datetime.date(2010, 11, 12)
    assert alignment.probability == 0.5**8
    assert str(Alignment("?", "20101312", sure, even)).endswith("months go from 1 to 12.")


# The stored weights.


@pytest.mark.parametrize("score", SCORES)
def test_stored_weights_read_held_out_dates_as_well_as_measured(aligners, held_out, score):
    """As well as was measured when they were made, which is what the chapter shows."""
    exact, runs = exact_match(aligners[score], held_out), measured_runs(score)
    assert [(run.score, run.rate, run.seed) for run in runs] == [
        (score, rate, seed) for rate in command.RATES for seed in range(3)
    ]
    assert min(run.exact for run in runs) >= (0.99 if score == "scaled" else 0.9)
    assert max(run.seconds for run in runs) < 120  # of one core; two have a minute
    assert exact == pytest.approx(runs[0].exact, abs=3e-4)  # stored in float16


@pytest.mark.parametrize(("text", "meant"), MEANT.items())
def test_stored_weights_read_dates_as_people_do(aligners, text, meant):
    assert str(align(aligners["scaled"], text)) == meant


def test_stored_weights_read_every_format(aligners, held_out):
    right = read_digits(aligners["scaled"], held_out).all(-1)
    for number, form in enumerate(FORMATS):
        assert right[number :: len(FORMATS)].double().mean() > 0.95, form


def test_untrained_aligner_reads_almost_no_date(held_out):
    assert exact_match(Aligner(), held_out[:500]) < 0.05


def test_stored_weights_take_at_most_120_kilobytes():
    sizes = [file_of(score).stat().st_size for score in SCORES]
    assert sum(sizes) <= 120_000
    stored = {path for path in STORED.iterdir() if path.suffix not in (".py", ".toml", "")}
    assert stored == {file_of(score) for score in SCORES}


IMPOSSIBLE = [(2010, 2, 30), (2011, 2, 31), (1900, 2, 29), (1999, 4, 31), (2044, 11, 31)]


@pytest.mark.parametrize("impossible", IMPOSSIBLE)
@pytest.mark.parametrize("form", [f for f in FORMATS if not any(name in f for name in WEEKDAYS)])
def test_impossible_date_is_read_and_refused_by_the_calendar(aligners, impossible, form):
    """The network reads what is written, though it never saw the like; the calendar refuses it."""
    year, month, day = impossible
    text = write_date(datetime.date(year, month, 17), form)
    text = text.replace("17th", f"17{'st' if day == 31 else 'th'}").replace("17", str(day))
    said = str(align(aligners["scaled"], text))
    assert said.startswith(f"There is no such date as {year}-{month:02}-{day}: ")


@pytest.mark.parametrize("score", SCORES)
def test_saved_aligner_is_loaded_unchanged(aligners, score, tmp_path):
    runs = [Run(score, 0, 1.5, 0.25)]
    save_aligner(aligners[score], tmp_path, runs)
    loaded = load_aligner(score, tmp_path)
    assert loaded.characters.known == aligners[score].characters.known
    for name, tensor in aligners[score].state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    assert measured_runs(score, tmp_path) == runs


def flipped(path):
    data = bytearray(file_of("dot").read_bytes())
    data[-1000] ^= 1
    path.write_bytes(data)


def of_another_score(path):
    path.write_bytes(file_of("additive").read_bytes())


def of_another_width(path):
    other = Aligner("dot")
    other.W_v = torch.nn.Linear(16, 32, bias=False)
    save_aligner(other, path.parent)


# What happened to the file, words that the error must hold.
DAMAGED = [
    (flipped, ["damaged", "checksum"]),
    (of_another_score, ["something else", "additive"]),
    (of_another_width, ["something else", "W_v.weight", "(32, 32)", "(32, 16)"]),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGED)
def test_a_damaged_or_foreign_file_is_refused(damage, words, tmp_path):
    damage(tmp_path / "dot.safetensors")
    with pytest.raises(ValueError) as caught:
        load_aligner("dot", tmp_path)
    assert all(word in str(caught.value) for word in [*words, "dot.safetensors"])


def test_a_folder_without_weights_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"dot\.safetensors"):
        load_aligner("dot", tmp_path)


# The training. What the whole recipe reaches: python -m attention_workbook.alignment.


def test_training_repeats_itself_and_learns():
    losses = []
    first = train_aligner(
        "additive", 3, train=FEW, steps=8, progress=False, watch=lambda step, x: losses.append(x)
    )
    again = train_aligner("additive", 3, train=FEW, steps=8, progress=False)
    other = train_aligner("additive", 4, train=FEW, steps=8, progress=False)
    assert len(losses) == 8 and losses[-1] < losses[0]
    assert torch.equal(first.queries, again.queries)
    assert not torch.equal(first.queries, other.queries)
    assert not first.training


@pytest.mark.parametrize(("reached", "code"), [(0.991, 0), (0.989, 1)])
def test_training_command_fails_below_the_promised_accuracy(
    reached, code, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(command, "train_aligner", lambda score, seed, rate: Aligner(score))
    monkeypatch.setattr(command, "exact_match", lambda aligner, test: reached)
    monkeypatch.setattr(command, "STORED", tmp_path)
    monkeypatch.setattr("sys.argv", ["alignment", "--seeds", "2", "--scores", "scaled", "--store"])
    threads = torch.get_num_threads()
    try:
        assert command.main() == code
    finally:
        torch.set_num_threads(threads)
    assert f"{reached:.4f}" in capsys.readouterr().out
    assert [run.seed for run in measured_runs("scaled", tmp_path)] == [0, 1, 0, 1]
    assert len(DIGITS) == len(load_aligner("scaled", tmp_path).queries) == 8
