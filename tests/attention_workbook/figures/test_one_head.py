"""The figure OneHead: its numbers are attention_lib's, and each entry can be taken hold of."""

import pytest
import torch

from attention_lib import generator, scaled_dot_product_attention
from attention_workbook.figures import OneHead


def drawn(seed):
    """Matrices and vectors, drawn at random."""
    numbers = generator(seed)
    sizes = {"W_q": (2, 2), "W_k": (2, 2), "W_v": (2, 2), "vectors": (3, 2)}
    return {
        name: (torch.rand(size, generator=numbers, dtype=torch.float64) * 6 - 3).tolist()
        for name, size in sizes.items()
    }


def truth(setting):
    """What the library says: the output and the weights."""
    X, W_q, W_k, W_v = (
        torch.tensor(setting[name], dtype=torch.float64)
        for name in ("vectors", "W_q", "W_k", "W_v")
    )
    output, weights = scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v)
    return output.tolist(), weights.tolist()


def test_its_numbers_are_the_librarys(node):
    settings = [drawn(seed) for seed in range(20)]
    found = node("one_head.js", "measure", [[setting] for setting in settings])
    for setting, measured in zip(settings, found, strict=True):
        output, weights = truth(setting)
        for ours, theirs in ((measured["output"], output), (measured["weights"], weights)):
            assert torch.tensor(ours).sub(torch.tensor(theirs)).abs().max() < 1e-6


@pytest.mark.browser
def test_readouts_follow_what_python_sets(show):
    page = show(OneHead())
    setting = drawn(3)
    page.set({name: setting[name] for name in ("W_q", "W_k", "W_v")})
    output, weights = truth(setting | {"vectors": OneHead().vectors})
    expected = {f"weight_{i}_{j}": weights[i][j] for i in range(3) for j in range(3)}
    expected |= {f"output_{i}_{j}": output[i][j] for i in range(3) for j in range(2)}
    assert page.figure().readouts() == pytest.approx(expected, abs=1e-6)


@pytest.mark.browser
def test_exchanged_columns_let_the_words_find_each_other(show):
    page = show(OneHead())
    finding = page.locator(".attention-finding")
    assert "Done" not in finding.inner_text()
    page.get_by_role("button", name="Swap the columns of W_q").press("Enter")
    page.settle()
    assert finding.inner_text().startswith("Done")
    assert page.get("W_q") == [[0, 3], [3, 0]]
    assert page.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("is_touch", [False, True], ids=["mouse", "touch"])
def test_every_entry_is_set_by_hand_and_by_keys(show, is_touch):
    page = show(OneHead(), width=390, has_touch=is_touch, is_mobile=is_touch)
    entries = page.get_by_role("spinbutton")
    assert entries.count() == 12
    for number, entry in enumerate(entries.all()):
        name = ("W_q", "W_k", "W_v")[number // 4]
        row, column = divmod(number % 4, 2)
        before = getattr(OneHead(), name)[row][column]

        def value(name=name, row=row, column=column):
            return page.get(name)[row][column]

        box = entry.bounding_box()
        assert min(box["width"], box["height"] / 2) >= 24
        press = entry.tap if is_touch else entry.click
        press(position={"x": box["width"] / 2, "y": 8})
        assert value() == before + 0.5
        press(position={"x": box["width"] / 2, "y": box["height"] - 8})
        assert value() == before
        entry.press("ArrowDown")
        assert value() == before - 0.5
        entry.press("End")
        page.settle()
        assert value() == 5 and entry.get_attribute("aria-valuenow") == "5"
