"""The pytest fixture ``attention_report``. PyTorch is imported when a test asks for it."""

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["attention_report"]


@pytest.fixture
def attention_report() -> Callable[..., Any]:
    """Return ``check``, or ``check_model`` where ``vocab_size`` is given; what is broken fails.

    ``attention_report(attend, causal=True)`` returns the report and fails the test if a contract
    is broken; ``attention_report(model, vocab_size=100)`` does so for a model on token ids.
    """
    from attention_contracts import check, check_model

    def report(subject: Any, *arguments: Any, **options: Any) -> Any:
        found = (check_model if "vocab_size" in options else check)(subject, *arguments, **options)
        found.raise_if_broken()
        return found

    return report
