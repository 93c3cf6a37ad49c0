"""The pytest fixture ``attention_report``."""

from collections.abc import Callable
from typing import Any

import pytest

from attention_contracts._check import check, is_model
from attention_contracts._check_model import check_model

__all__ = ["attention_report"]


@pytest.fixture
def attention_report() -> Callable[..., Any]:
    """Return ``check``, or ``check_model`` for a model on token ids; what is broken fails.

    ``attention_report(attend, causal=True)`` returns the report. The test fails if a contract is
    broken, or one that ``require=[…]`` names could not be tested; its message is one line of counts
    and what is wrong.
    """

    def report(subject: Any, *arguments: Any, **options: Any) -> Any:
        of_model = "vocab_size" in options or is_model(subject)
        report = (check_model if of_model else check)(subject, *arguments, **options)
        report.raise_if_broken()
        return report

    return report
