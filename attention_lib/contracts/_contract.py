"""How a contract is declared: what is tested, when it can be, and what a break means.

A contract is a function of a :class:`~attention_lib.contracts._call.Call`. It changes inputs and
says which outputs must stay, and it changes others and sees that something moves::

    @asserting
    @contract("name", needs=[needs_causal])
    def assert_something(call: Call, *, tolerance: float | None = None) -> None: ...

:func:`contract` gives it to ``check``, and :func:`asserting` makes it a public function
``assert_something(attend, queries, keys, values, …)``. What a report says about it stands in
``labels.toml``.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from torch import Tensor

from attention_lib.contracts._call import Attend, Call
from attention_lib.contracts._report import Contract, NotTested, labelled
from attention_lib.contracts._subject import Subject

P = ParamSpec("P")
Test = TypeVar("Test", bound=Callable[..., None])
CONTRACTS: list[Contract[Subject]] = []

SHARED = {  # what arguments of all contracts are; those of one alone are in its docstring
    "attend": """callable
    ``attend(queries, keys, values)``, with its masks bound, returns the output, alone or first in
    a tuple, then the weights. What else follows here goes to it, too, cut to the sample.""",
    "queries, keys, values": """torch.Tensor
    Shapes ``(..., len_q, d_k)``, ``(..., len_k, d_k)``, ``(..., len_k, d_v)``.""",
    "valid_lens": """torch.Tensor
    Integers of shape ``(batch,)``: keys from there on are padding.""",
    "poison": """float, optional
    What replaces the inputs; ``None`` means other random numbers. ``float("nan")`` is the sharper
    test: a kernel that multiplies what is hidden by 0 fails it.""",
    "tolerance": """float, optional
    Largest difference, absolute and relative, that is no movement; ``None`` means
    ``torch.testing``'s for the dtype.""",
}
RAISES = """Raises
------
AssertionError
    If the contract is broken.
NotTested
    If nothing moves that should, so that staying the same would mean nothing.
TypeError, ValueError
    If an argument is of another kind or shape."""
EXAMPLES = {  # by an argument of the contract
    "valid_lens": """>>> from attention_lib.attention import scaled_dot_product_attention
>>> x, lens = torch.ones(2, 3, 4), torch.tensor([0, 2])
>>> attend = partial(scaled_dot_product_attention, valid_lens=lens)
>>> {}(attend, x, x, x, lens)
""",
    "for_each": """>>> from attention_lib.attention import scaled_dot_product_attention
>>> x, valid_lens = torch.ones(2, 3, 4), torch.tensor([1, 3])
>>> {}(scaled_dot_product_attention, x, x, x, valid_lens)
""",
}
EXAMPLE = """>>> from attention_lib.attention import scaled_dot_product_attention
>>> x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
>>> {}(scaled_dot_product_attention, x, x, x)
"""


def once(core: Callable[..., None], subject: Subject) -> None:
    """Test an attention as it is called without padding."""
    core(subject.call())


def itself(core: Callable[..., None], subject: Subject) -> None:
    """Let the contract make its calls itself."""
    core(subject)


def with_and_without_padding(core: Callable[..., None], subject: Subject) -> None:
    """Test it again with a padding mask, if it takes one: a mask may replace another."""
    core(subject.call())
    if subject.takes_padding:
        with suppress(NotTested):
            core(subject.call(subject.lens))


def contract(
    name: str,
    *,
    needs: Sequence[Callable[[Subject], None]] = (),
    test: Callable[[Callable[..., None], Subject], None] = once,
    strict: bool = False,
) -> Callable[[Test], Test]:
    """Give a function of a call to ``check``.

    ``needs`` raise :class:`NotTested` where something is missing, ``test`` makes the calls. With
    ``strict`` a break counts only if the user asks for it, as right attentions do not promise it.
    """

    def declare(core: Test) -> Test:
        def tried(subject: Subject) -> None:
            for need in needs:
                need(subject)
            try:
                test(core, subject)
            except AssertionError as error:
                if subject.strict or not strict:
                    raise
                raise NotTested(
                    f"seen, but not every attention promises it (strict=True counts it): {error}"
                ) from error

        CONTRACTS.extend(labelled("attention", {name: tried}))
        return core

    return declare


def asserting(
    core: Callable[Concatenate[Call, P], None],
) -> Callable[Concatenate[Attend, Tensor, Tensor, Tensor, P], None]:
    """Return a contract as a function of an attention and its inputs, its docstring completed."""
    _, *own = inspect.signature(core).parameters.values()
    names = ("attend", "queries", "keys", "values")
    inputs = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]

    @wraps(core)
    def assert_kept(
        attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, *args: Any, **options: Any
    ) -> None:
        call = Call(attend, queries, keys, values, tolerance=options.get("tolerance"))
        core(call, *args, **options)

    assert_kept.__signature__ = inspect.Signature([*inputs, *own])  # type: ignore[attr-defined]
    text, _, example = inspect.cleandoc(core.__doc__ or "").partition("\nExamples\n--------\n")
    text, _, particular = text.partition("\nParameters\n----------\n")
    shared = ["attend", "queries, keys, values", *(x.name for x in own)]
    described = "\n".join(
        f"{x} : {SHARED[x]}" for x in shared if x in SHARED and f"{x} :" not in particular
    )
    parameters = f"Parameters\n----------\n{described}\n{particular}".strip()
    common = next((EXAMPLES[x.name] for x in own if x.name in EXAMPLES), EXAMPLE)
    examples = f"Examples\n--------\n{example or common.format(core.__name__)}"
    assert_kept.__doc__ = "\n\n".join([text.strip(), parameters, RAISES, examples])
    return assert_kept  # type: ignore[return-value]
