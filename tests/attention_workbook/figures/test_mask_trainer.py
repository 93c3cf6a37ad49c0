"""The figure MaskTrainer: it learns as PyTorch does, and its verdicts hold under other seeds."""

import json
from pathlib import Path

import pytest
import torch
import traitlets
from torch.nn import functional as F

from attention_lib import causal_mask, generator, masked_softmax
from attention_workbook.figures import MaskTrainer

CHEATER = "_training/cheater.js"
CAUSAL = causal_mask(9)[:8]
EVERYTHING = torch.ones(8, 9, dtype=torch.bool)
BEST = torch.special.entr(torch.tensor([0.75, 0.25])).sum().item()
CHAPTER = Path(__file__).parents[3] / "book" / "masking.ipynb"


def opened(*cells):
    """The causal mask with some cells more."""
    mask = CAUSAL.clone()
    for cell in cells:
        mask[cell] = True
    return mask


def flat(mask):
    return mask.int().flatten().tolist()


def rows(mask):
    return mask.int().tolist()


EMPTY_ROW = CAUSAL.clone()
EMPTY_ROW[3] = False


@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL, EMPTY_ROW], ids=["all", "causal", "empty"])
def test_loss_and_gradients_are_pytorchs(node, mask):
    numbers = generator(5)
    scores = torch.randn(8, 9, generator=numbers, dtype=torch.float64).requires_grad_()
    votes = torch.randn(26, 26, generator=numbers, dtype=torch.float64).requires_grad_()
    texts = torch.randint(26, (40, 9), generator=numbers)
    tally = masked_softmax(scores, mask=mask) @ votes[texts]  # (batch, len_q, 26)
    loss = F.cross_entropy(tally.mT, texts[:, 1:])
    loss.backward()
    call = """(scores, votes, mask, texts) => {
        const found = gradients({ scores, votes }, mask, texts);
        return { loss: found.loss, scores: [...found.scores], votes: [...found.votes] };
    }"""
    data = [
        scores.flatten().tolist(),
        votes.flatten().tolist(),
        flat(mask),
        texts.flatten().tolist(),
    ]
    call = call.replace("{ scores, votes }", "{ scores: Float64Array.from(scores), votes }")
    (ours,) = node(CHEATER, call, [data], names=["gradients"])
    assert ours["loss"] == pytest.approx(loss.item(), rel=1e-12)
    for name, tensor in (("scores", scores), ("votes", votes)):
        theirs = tensor.grad.flatten()
        error = (torch.tensor(ours[name], dtype=torch.float64) - theirs).abs().max()
        assert error < 1e-12 * theirs.abs().max(), name


LEARN = """(mask, batches) => {
    const model = createCheater(mask), losses = batches.map((texts) => model.learn(texts));
    return { losses, writes: [0, 16].map((letter) => spell(write(model, mask, letter))) };
}"""


def chapters_training():
    """The functions with which the chapter trains the model in PyTorch."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    sources = ("".join(cell["source"]) for cell in cells)
    (source,) = (source for source in sources if "def train(" in source)
    names = {"torch": torch, "F": F, "generator": generator}
    exec(source, names)
    return names


@pytest.mark.parametrize("is_causal", [False, True], ids=["all", "causal"])
def test_the_chapters_training_agrees_on_the_same_texts(node, is_causal):
    def weigh(scores):
        count = len(scores)
        seen = causal_mask(count) if is_causal else torch.ones(count, count, dtype=torch.bool)
        return masked_softmax(scores, mask=seen)

    chapter = chapters_training()
    draw, batches = chapter["walks"], []

    def walks(count, random):
        batches.append(draw(count, random))
        return batches[-1]

    chapter["walks"] = walks
    model, loss = chapter["train"](weigh)
    data = [flat(CAUSAL if is_causal else EVERYTHING), [flat(texts) for texts in batches]]
    (ours,) = node(CHEATER, LEARN, [data], names=["createCheater", "spell", "write"])
    assert len(batches) == 100 and loss == pytest.approx(ours["losses"][-1], abs=1e-3)
    for letter, written in zip("aq", ours["writes"], strict=True):
        assert chapter["write"](weigh, model, letter) == written


RUN = """(mask, seed) => {
    const run = createRun(mask, seed);
    while (!run.verdict) run.next();
    return { ...run.verdict, says: words(run.verdict) };
}"""


@pytest.fixture(scope="module")
def verdict(node):
    """Return a function that trains under a mask with some seeds."""

    def train(mask, seeds):
        data = [[rows(mask), 1000 * seed] for seed in seeds]
        return node("mask_trainer.js", RUN, data, names=["createRun", "words"])

    return train


def test_verdicts_hold_under_other_seeds(verdict):
    for found in verdict(EVERYTHING, range(5)):
        assert found["loss"] < 0.01 and found["writes"] == "a" * 9 and found["at_next"] == 8
        assert "it cheats" in found["says"]
    for found in verdict(CAUSAL, range(5)):
        assert BEST < found["loss"] < BEST + 0.02
        assert found["writes"] == "abcdefghi" and found["at_itself"] == 8
        assert ": honest" in found["says"]


def test_one_cell_of_the_future_can_go_unseen_and_half_of_it_cannot(verdict):
    for found in verdict(opened((2, 3)), range(3)):
        assert found["loss"] > BEST and found["leaks"] == 1
        assert found["says"].startswith("Done.")
    for found in verdict(opened(*((i, i + 1) for i in range(5))), range(3)):
        assert found["loss"] < BEST - 0.05 and "it cheats" in found["says"]


def test_a_model_that_sees_too_little_is_not_called_honest(verdict):
    for found in verdict(EMPTY_ROW, [1]):
        assert "sees too little" in found["says"]
        assert found["writes"] == "abcd"  # then nothing is left to look at


def test_texts_of_the_verdict_favour_nobody(node):
    call = "(count) => [...fairWalks(count, Math.random)]"
    (texts,) = node(CHEATER, call, [[500]], names=["fairWalks"])
    steps = torch.tensor(texts).view(500, 9).diff(dim=1) % 26
    assert (steps == 2).sum() == 1000 and (steps == 1).sum() == 3000


@pytest.mark.parametrize("mask", [[[1.0] * 9] * 9, [[2.0] * 9] * 8, "causal"])
def test_wrong_masks_are_refused(mask):
    with pytest.raises(traitlets.TraitError, match=r"mask must be 8 × 9 numbers from 0 to 1"):
        MaskTrainer(mask=mask)


def train(page):
    page.get_by_role("button", name="Train", exact=True).click()
    page.locator(".attention-finding", has_text="fresh texts").wait_for()
    page.settle()
    return page.locator(".attention-finding").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_one_trains_hides_trains_again_and_leaks(show, motion):
    page = show(MaskTrainer(), reduced_motion=motion)
    task, written = page.locator(".attention-task"), page.locator(".attention-writing")
    assert "stop at the line" in task.inner_text() and written.text_content() == "a········"
    assert "it cheats" in train(page)
    assert written.text_content() == "a" * 9
    page.get_by_role("button", name="Hide what comes later").click()
    page.settle()
    assert "Not trained yet" in page.locator(".attention-finding").inner_text()
    assert ": honest" in train(page) and written.text_content() == "abcdefghi"
    assert task.inner_text().startswith("Now leak")
    page.get_by_role("checkbox", name="place 3 may look at place 4").click()
    page.settle()
    assert train(page).startswith("Done.")
    assert page.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("is_touch", [False, True], ids=["mouse", "touch"])
def test_cells_are_hidden_by_hand_and_by_keys(show, is_touch):
    page = show(MaskTrainer(), width=390, has_touch=is_touch, is_mobile=is_touch)
    cells = page.get_by_role("checkbox")
    assert cells.count() == 72

    def hidden():
        mask = page.get("mask")
        return [(i, j) for i, row in enumerate(mask) for j, open in enumerate(row) if not open]

    box = cells.nth(0).bounding_box()
    assert min(box["width"], box["height"]) >= 24
    (cells.nth(11).tap if is_touch else cells.nth(11).click)()
    page.settle()
    assert hidden() == [(1, 2)] and cells.nth(11).get_attribute("aria-checked") == "false"
    cells.nth(11).press(" ")
    page.settle()
    assert hidden() == []
    cells.nth(11).press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.settle()
    assert hidden() == [(2, 3)]
    (reached,) = page.locator("[role=checkbox][tabindex='0']").all()
    assert reached.get_attribute("aria-label") == "place 3 may look at place 4"


@pytest.mark.browser
def test_what_python_sets_is_trained(show):
    page = show(MaskTrainer(mask=CAUSAL, seed=7), more=True)
    assert ": honest" in train(page)
    readouts = page.figure().readouts()
    assert BEST < readouts["loss"] < BEST + 0.02 and readouts["best"] == pytest.approx(BEST)
    assert (readouts["leaks"], readouts["at_next"], readouts["at_itself"]) == (0, 0, 8)
