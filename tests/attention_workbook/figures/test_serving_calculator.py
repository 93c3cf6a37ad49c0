"""The figure ServingCalculator: bytes and users are those of the chapter and its table."""

import itertools

import pytest
import traitlets

from attention_workbook import cost
from attention_workbook.figures import ServingCalculator
from attention_workbook.published import MODELS

SCRIPT = ServingCalculator.script()


def measured(node, **traits):
    (seen,) = node(SCRIPT, "measure", [[ServingCalculator(**traits).state()]])
    return seen


@pytest.mark.parametrize("name", [model.name for model in MODELS])
@pytest.mark.parametrize("context", [512, 65_536])
def test_a_published_models_cache_is_that_of_the_table(node, name, context):
    (model,) = (one for one in MODELS if one.name == name)
    seen = measured(node, model=name, context=context, memory=10_000, weights=0)
    assert seen["now"]["one"] == pytest.approx(model.cache_bytes(context))
    assert seen["now"]["users"] == int(10_000e9 // model.cache_bytes(context))


def test_the_numbers_of_the_chapter_come_out(node):
    llama = cost.cache_bytes(32, 8, 128)
    seen = measured(node)
    assert (seen["plain"]["token"], seen["plain"]["users"]) == (llama, 59)
    eight_bits, windows, latent = seen["alone"]
    assert eight_bits["token"] == llama / 2
    assert windows["token"] == pytest.approx(llama / 4 * (1 + 3 * 1024 / 8192))
    assert latent["token"] == cost.latent_cache_bytes(32, 512, 64)


def test_ones_own_numbers_and_all_changes_together(node):
    own = {"model": "my own numbers", "layers": 40, "kv_heads": 4, "width": 64}
    seen = measured(node, **own, windows=True, latent=True, eight_bits=True)
    assert seen["plain"]["token"] == cost.cache_bytes(40, 4, 64)
    assert seen["now"]["one"] == pytest.approx(576 * (10 * 8192 + 30 * 1024))
    assert measured(node, memory=16, weights=16)["now"]["users"] == 0


def test_an_unknown_model_is_refused():
    with pytest.raises(traitlets.TraitError, match="model must be one of 'my own numbers'"):
        ServingCalculator(model="Lama")


def test_two_pairs_of_changes_make_room_for_five_hundred_users(node):
    """The task has an answer, and the sentence says so for it alone."""
    changes = ["eight_bits", "windows", "latent"]
    done = []
    for chosen in itertools.chain(*(itertools.combinations(changes, n) for n in range(4))):
        state = ServingCalculator(**dict.fromkeys(chosen, True)).state()
        says = "(state) => words(state, measure(state))"
        (said,) = node("serving_calculator.js", says, [[state]], ["words", "measure"])
        done += [chosen] * said.startswith("Done")
    assert done == [("windows", "latent")]


@pytest.mark.browser
def test_rows_are_pressed_and_the_address_carries_the_numbers(show):
    page = show(ServingCalculator())
    page.get_by_role("switch", name="8 bits a number").press("Enter")
    page.settle()
    assert page.figure().read("users") == 119
    page.get_by_role("switch", name="windows of 1024 in 3 layers of 4").click()
    page.settle()
    assert page.figure().read("users") > 300
    page.locator("[data-trait=model] select").select_option("Gemma 3 27B")
    page.settle()
    assert "23 without the changes" in page.locator(".attention-finding").inner_text()
    page = show(
        ServingCalculator(),
        address="#ServingCalculator.layers=16&ServingCalculator.model=my own numbers",
    )
    assert page.figure().read("token") == cost.cache_bytes(16, 8, 128)
    assert page.errors == []
