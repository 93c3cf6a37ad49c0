"""What a grader says of an answer."""

__all__ = ["UNWRITTEN", "Verdict"]

UNWRITTEN = "Write it, then run this cell."


class Verdict:
    """What a grader says: ``passed``, and a sentence for the reader.

    Parameters
    ----------
    passed : bool
        Whether the answer is right.
    message : str
        One or two sentences; shown as the cell's output.
    html : str, optional
        What a web page shows instead.

    Examples
    --------
    >>> Verdict(True, "every weight is right.")
    Correct: every weight is right.
    >>> bool(Verdict(False, "the rows do not sum to 1."))
    False
    >>> Verdict.unwritten()
    Write it, then run this cell.
    """

    def __init__(self, passed: bool, message: str, html: str | None = None) -> None:
        self.passed = passed
        self.message = message
        self.html = html

    @classmethod
    def unwritten(cls, html: str | None = None) -> "Verdict":
        """Return what is said of an answer that is still ``...``."""
        return cls(False, UNWRITTEN, html)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        if self.message == UNWRITTEN:
            return UNWRITTEN
        return f"{'Correct' if self.passed else 'Not yet'}: {self.message}"

    def _repr_html_(self) -> str | None:
        return self.html
