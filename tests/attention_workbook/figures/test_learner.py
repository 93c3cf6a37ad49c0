"""The model that learns in the page: its loss and its gradients are torch's, tensor by tensor."""

import json

import pytest
import torch
from torch.nn import functional as F

from attention_lib import causal_mask, generator, rotate_by_position
from attention_workbook.figures.learner import STORED, Learner
from attention_workbook.parts import of_the_book
from tools.learner import learned

MODEL = "_training/transformer.js"
TRAINED = """(values, ids, targets, length, options) => {
    const p = createParameters(%d, %d, %d, () => 0.5);
    for (const name in p) p[name].values.set(values[name]);
    const loss = backward(p, forward(p, ids, length, options), targets);
    const gradients = Object.entries(p).map(([name, { gradient }]) => [name, [...gradient]]);
    return { loss, gradients: Object.fromEntries(gradients) };
}"""
LETTERS, WIDTH, HIDDEN, HEADS, BATCH, LENGTH = 20, 24, 44, 2, 4, 7
SHAPES = {
    "embedding": (LETTERS, WIDTH),
    **{f"W_{name}": (WIDTH, WIDTH) for name in "qkvo"},
    **{f"{kind}_{number}": (WIDTH,) for number in (1, 2) for kind in ("gain", "shift")},
    "W_1": (WIDTH, HIDDEN),
    "b_1": (HIDDEN,),
    "W_2": (HIDDEN, WIDTH),
    "b_2": (WIDTH,),
    "W_out": (WIDTH, LETTERS),
    "b_out": (LETTERS,),
}
BROKEN = [{}, {"isScaled": False}, {"isMasked": False}]


def scores_in_torch(p, ids, *, is_scaled, is_masked):
    """The same model in the chapters' words; ``ids`` is ``(batch, len)``."""
    x = p["embedding"][ids]  # (batch, len, d_model)

    def heads(name):
        return (x @ p[name]).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    queries, keys, values = (
        rotate_by_position(heads("W_q")),
        rotate_by_position(heads("W_k")),
        heads("W_v"),
    )
    scores = queries @ keys.mT / ((WIDTH // HEADS) ** 0.5 if is_scaled else 1)
    if is_masked:
        scores = scores.masked_fill(~causal_mask(LENGTH), -torch.inf)
    mixed = (scores.softmax(dim=-1) @ values).transpose(1, 2).flatten(-2)
    x = F.layer_norm(x + mixed @ p["W_o"], (WIDTH,), p["gain_1"], p["shift_1"])
    wide = (x @ p["W_1"] + p["b_1"]).relu()
    x = F.layer_norm(x + wide @ p["W_2"] + p["b_2"], (WIDTH,), p["gain_2"], p["shift_2"])
    return x @ p["W_out"] + p["b_out"]


@pytest.mark.parametrize("options", BROKEN, ids=["whole", "no root", "no mask"])
def test_each_gradient_is_torchs(node, options):
    numbers = generator(7)
    p = {
        name: torch.randn(shape, generator=numbers, dtype=torch.float64).requires_grad_()
        for name, shape in SHAPES.items()
    }
    ids, targets = torch.randint(LETTERS, (2, BATCH, LENGTH), generator=numbers)
    scores = scores_in_torch(
        p, ids, is_scaled=options.get("isScaled", True), is_masked=options.get("isMasked", True)
    )
    loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
    loss.backward()
    values = {name: x.detach().flatten().tolist() for name, x in p.items()}
    flat = [ids.flatten().tolist(), targets.flatten().tolist()]
    (ours,) = node(
        MODEL,
        TRAINED % (LETTERS, WIDTH, HIDDEN),
        [[values, *flat, LENGTH, {"heads": HEADS, **options}]],
        names=["backward", "createParameters", "forward"],
    )
    assert ours["loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert {*ours["gradients"]} == {*p}
    for name, x in p.items():
        mine = torch.tensor(ours["gradients"][name], dtype=torch.float64).view(x.shape)
        error = (mine - x.grad).abs().max() / x.grad.abs().max()
        assert error < 1e-10, f"{name}: {error:.1e}"


def test_our_rule_is_the_chapters_update(node):
    numbers = generator(5)
    start = torch.randn(7, generator=numbers, dtype=torch.float64)
    gradients = torch.randn(20, 7, generator=numbers, dtype=torch.float64)
    steps = """(start, gradients, rate) => {
        const [parameter, state] = [Float64Array.from(start), createState(start.length)];
        for (const gradient of gradients) uncorrected(parameter, gradient, state, 0, rate);
        return [...parameter];
    }"""
    data = [[start.tolist(), gradients.tolist(), 0.03]]
    (ours,) = node("_training/rules.js", steps, data, names=["createState", "uncorrected"])
    update = of_the_book("my_update")
    parameter, mean, square = start, torch.zeros_like(start), torch.zeros_like(start)
    for gradient in gradients:
        parameter, mean, square = update(parameter, gradient, mean, square, 0.03)
    assert ours == pytest.approx(parameter.tolist(), rel=1e-10)


def test_the_stored_run_is_one_of_this_trainer():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    again = learned(50, rule="adam", rate=0.004, seed=1)
    assert again["losses"] == [pytest.approx(pair, abs=0.02) for pair in stored["losses"][:5]]
    assert again["samples"][0] == stored["samples"][0]


FIRST_STEPS = {
    "sign": ({"hasMoved": True, "isUphill": True, "size": 1}, "uphill"),
    "rate squared": ({"hasMoved": True, "isUphill": False, "size": 0.004}, "250 times as small"),
    "a copy": ({"hasMoved": False, "isUphill": False, "size": 0}, "moves nothing"),
    "no state": (
        {"hasMoved": True, "isUphill": False, "size": 1, "remembers": False},
        "remembers nothing",
    ),
    "right": ({"hasMoved": True, "isUphill": False, "size": 1, "remembers": True}, ""),
}


def test_a_wrong_rule_is_known_by_its_first_step(node):
    found = node("learner.js", "remark", [[step] for step, _ in FIRST_STEPS.values()])
    for sentence, (_, words) in zip(found, FIRST_STEPS.values(), strict=True):
        assert words in sentence if words else sentence == ""


def test_a_first_step_is_measured_in_rates(node):
    before, gradients = [1.0, 2.0, 3.0], [0.5, -2.0, 0.0]
    steps = {
        "adam": [0.9, 2.1, 3.0],
        "uphill": [1.1, 1.9, 3.0],
        "none": before,
    }
    data = [[before, after, gradients, 0.1] for after in steps.values()]
    adam, uphill, none = node("_training/worker.js", "firstStep", data)
    assert adam == {"hasMoved": True, "isUphill": False, "size": pytest.approx(1)}
    assert uphill["isUphill"] and not none["hasMoved"]


def until(page, step):
    """Wait until a run has reported of this step, or of a later one."""
    page.get_by_role("button", name="Pause").wait_for()
    while page.figure().read("step") < step:
        page.wait_for_timeout(50)


@pytest.mark.browser
def test_a_press_of_train_fetches_learns_writes_and_pauses(show):
    page = show(Learner(rule="adam"))
    finding = page.locator(".attention-finding")
    assert "read nothing yet" in finding.inner_text()
    assert not page.get("prose")
    page.get_by_role("button", name="Train").press("Enter")
    until(page, 50)
    assert page.figure().read("loss") < 3.07
    assert "better than counting letters" in finding.inner_text()
    assert page.locator(".attention-written").last.text_content().startswith("The query ")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(400)
    before = page.figure().read("step")
    page.wait_for_timeout(600)
    assert page.figure().read("step") == before
    page.get_by_role("radio", name="plain descent").check()
    page.settle()
    page.get_by_role("button", name="Train anew").click()
    until(page, 10)
    assert page.locator(".attention-run-name").all_text_contents() == [
        "plain descent, rate 0.5",
        "Adam, rate 0.004",
        "a stored run: Adam, rate 0.004",
    ]
    page.get_by_role("button", name="Reset").click()
    page.settle()
    assert "read nothing yet" in finding.inner_text()
    assert page.errors == [] and page.refused == []


@pytest.mark.browser
def test_without_a_rule_of_the_readers_ours_runs_and_it_is_said(show):
    page = show(Learner())
    page.get_by_role("button", name="Train").click()
    until(page, 1)
    assert "Your my_update runs on the book" in page.locator(".attention-finding").inner_text()
    assert page.errors == []
