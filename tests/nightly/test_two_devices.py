"""Chapters that compute on device() leave no tensor behind on the CPU; shown without a GPU."""

import ast
import json
import re

import IPython.display
import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch

import attention_lib
from attention_lib import notebook
from attention_workbook import _training
from tests.two_devices import SECOND, TwoDevices, WrongDeviceError
from website import ROOT

USES_DEVICE = re.compile(r"[^`\w]device\(\)")


def code_cells(path):
    """Return the code that runs to its end: a cell may show an error that a reader would meet."""
    return [
        "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
        and "raises-exception" not in cell["metadata"].get("tags", [])
    ]


CHAPTERS = [
    path
    for path in sorted((ROOT / "book").glob("*.ipynb"))
    if any(USES_DEVICE.search(code) for code in code_cells(path))
]


@pytest.fixture
def second_device(monkeypatch):
    """Let device() be the second one, and every training end after a few steps."""
    for module in (attention_lib, notebook):
        monkeypatch.setattr(module, "device", lambda: SECOND)
    fit = _training.fit
    monkeypatch.setattr(_training, "fit", lambda *args, **more: fit(*args[:2], 25, **more))
    for name in ("reader", "copying", "writer"):
        training = __import__(f"attention_workbook.{name}.training", fromlist=["fit"])
        if hasattr(training, "fit"):
            monkeypatch.setattr(training, "fit", _training.fit)
    bar = IPython.display.ProgressBar
    monkeypatch.setattr(IPython.display, "ProgressBar", lambda total: bar(min(total, 50)))
    with matplotlib.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


class Unasserted(ast.NodeTransformer):
    """Compute what is asserted, whatever comes out: a shorter training gives other numbers."""

    def visit_Assert(self, node):
        return ast.copy_location(ast.Expr(node.test), node)


def run(codes):
    """Run cells; a figure may refuse the few numbers of a shorter training."""
    names = {"__name__": "__main__"}
    for code in codes:
        code = re.sub(r"(for step in train\(.*, )\d+\)", r"\g<1>25)", code)
        try:
            exec(compile(Unasserted().visit(ast.parse(code)), "<cell>", "exec"), names)
        except ValueError as error:
            if not re.match(r"curves\[.*expected shape", str(error)):
                raise


def test_the_readme_names_the_chapters_that_compute_on_a_gpu():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [named] = re.findall(r"train or measure \(([^)]*)\)", readme)
    assert set(re.findall(r"`([\w-]+)`", named)) == {path.stem for path in CHAPTERS}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_leaves_no_tensor_on_the_cpu(path, second_device):
    with TwoDevices():
        run(code_cells(path))


LEFT_BEHIND = {
    "a table": "torch.ones(2, 2, device=device()) @ torch.ones(2, 2)",
    "a mask": "torch.ones(2, 2, device=device()).masked_fill(torch.ones(2, 2) > 0, 0.0)",
    "positions": "torch.ones(3, device=device()) + torch.arange(3)",
    "numbers for numpy": "torch.ones(2, device=device()).numpy()",
    "a generator": "torch.rand(2, generator=generator(0), device=device())",
    "an index into the CPU": "torch.ones(2)[torch.tensor([1], device=device())]",
    "a gradient": "x = torch.ones(2, 2, requires_grad=True); "
    "torch.nn.Linear(2, 2).to(device())(x).sum().backward()",
}


@pytest.mark.parametrize("code", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_what_a_gpu_would_refuse_is_refused(code, second_device):
    with TwoDevices(), pytest.raises(WrongDeviceError):
        run([f"import torch; from attention_lib import device, generator\n{code}"])


def test_what_a_gpu_allows_is_allowed(second_device):
    with TwoDevices():
        x = torch.rand(3, 2).to(SECOND).requires_grad_()
        layer = torch.nn.Linear(2, 2).to(SECOND)
        optimizer = torch.optim.AdamW(layer.parameters())
        layer(x).mul(2).sum().backward()
        optimizer.step()
        assert x.grad.device == layer.weight.device == x[torch.tensor([1])].device == SECOND
        assert x.new_zeros(2).device == torch.zeros(2, device=x.device).device == SECOND
        x.detach().cpu().numpy()
        assert x.cpu().device == x.to("cpu").device == torch.ones(2).device
        assert float(x.detach().sum()) == x.sum().item()
    assert torch.ones(2, device=SECOND).device.index is None  # and nothing is left of it
