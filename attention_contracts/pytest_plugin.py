"""The pytest fixture ``attention_report``. PyTorch is imported when a test asks for it."""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["attention_report"]


@pytest.fixture
def attention_report() -> Callable[..., Any]:
    """Return ``check``, or ``check_model`` for a model on token ids; what is broken fails.

    ``attention_report(attend, causal=True)`` returns the report. The test fails if a contract is
    broken, or one that ``require=[…]`` names could not be tested; its message is one line of counts
    and what is wrong.
    """
    from attention_contracts import check, check_model
    from attention_contracts._check import is_model

    def report(subject: Any, *arguments: Any, **options: Any) -> Any:
        of_model = "vocab_size" in options or is_model(subject)
        found = (check_model if of_model else check)(subject, *arguments, **options)
        found.raise_if_broken()
        return found

    return report
