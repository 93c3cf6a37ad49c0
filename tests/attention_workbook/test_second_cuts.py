"""Second cuts bring answers back, as often as the chapter on two looks says."""

import pytest

from attention_workbook.reader import load_reader, read_without


@pytest.mark.parametrize(
    "last, cuts, right",
    [
        ("tired", [(1, "tired", "street")], 0),
        ("tired", [(1, "tired", "street"), (1, "tired", "animal")], 71),
        ("wide", [(1, "wide", "street"), (1, "wide", "animal")], 72),
        ("wide", [(1, "it", "street"), (1, "it", "animal")], 71),
    ],
)
def test_second_cuts_bring_answers_back_as_the_chapter_on_two_looks_counts(last, cuts, right):
    reader, count = load_reader(), 0
    for animal in ["animal", "dog", "horse", "wolf", "fox", "goat", "bear", "cow", "cat"]:
        for place in ["street", "road", "river", "highway", "lake", "path", "sea", "valley"]:
            names = {"animal": animal, "street": place}
            text = f"the {animal} did not cross the {place} because it was too {last}"
            own = [(layer, names.get(by, by), names.get(of, of)) for layer, by, of in cuts]
            found = read_without(reader, text, own)
            count += found.words[found.meant] == (animal if last == "tired" else place)
    assert count == right
