"""The exhibits as a list of labels, and as a matrix of contracts."""

import html
from collections.abc import Sequence
from string import ascii_lowercase

from attention_workbook.museum.exhibits import EXHIBITS, Exhibit
from attention_workbook.museum.judging import CONTRACTS


def _chosen(names: Sequence[str] | None) -> list[Exhibit]:
    """Return the exhibits of some names, all of them without any."""
    return [EXHIBITS[name] for name in (EXHIBITS if names is None else names)]


class Gallery:
    """The exhibits as a list: what is wrong, what is seen, what catches it, the repair, a thread.

    Parameters
    ----------
    names : sequence of str, optional
        Which exhibits; all by default.

    Examples
    --------
    >>> Gallery(["unscaled"])
    unscaled: The scores are not divided at all. Seen: one weight near 1, gradients near 0. \
Caught by: assert_scaled. Repair: divide by √d. Thread: none
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.exhibits = _chosen(names)

    def __repr__(self) -> str:
        return "\n".join(
            f"{x.name}: {x.wrong} Seen: {x.symptom}. Caught by: {x.contract}. "
            f"Repair: {x.repair}. Thread: {x.thread}"
            for x in self.exhibits
        )

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(map(_item, self.exhibits))}</ul>"


def _breakable(name: str) -> str:
    """Let a line break after each part of a name, as HTML."""
    return html.escape(name).replace("_", "_<wbr>")


def _item(exhibit: Exhibit) -> str:
    wrong, symptom, repair = map(html.escape, (exhibit.wrong, exhibit.symptom, exhibit.repair))
    if exhibit.thread.startswith("https://"):
        repair += f' (<a href="{exhibit.thread}">thread</a>)'
    contract = exhibit.contract.removeprefix("assert_")
    return (
        f"<li><strong>{wrong}</strong> <code>{_breakable(exhibit.name)}</code><br>"
        f"<em>Seen:</em> {symptom}. <em>Caught by:</em> <code>{_breakable(contract)}</code>. "
        f"<em>Repair:</em> {repair}.</li>"
    )


class Matrix:
    """Every contract on every exhibit, as a table: a row for each exhibit, contracts by letters.

    X means caught, a dot kept; a blank, that the repaired form does not keep the contract either,
    so that it was never promised.

    Parameters
    ----------
    names : sequence of str, optional
        Which exhibits; all by default.

    Examples
    --------
    >>> matrix = Matrix(["unscaled", "window_with_one_more"])
    >>> matrix
                         a b c d e f g h i j k l m n o p q r s t u v w
    unscaled             . .   . . . . . . . X . .   .   . . . . . . .
    window_with_one_more . . X . . .   . . . . . .       . . . . . . .
    >>> matrix.letters["c"], matrix.letters["k"]
    ('assert_window', 'assert_scaled')
    """

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.letters = dict(zip(ascii_lowercase, CONTRACTS, strict=False))
        self.marks = {exhibit.name: self._row(exhibit) for exhibit in _chosen(names)}

    @staticmethod
    def _row(exhibit: Exhibit) -> str:
        caught, promised = exhibit.caught_by(), exhibit.promised()
        return "".join("X" if c in caught else "." if c in promised else " " for c in CONTRACTS)

    def __repr__(self) -> str:
        wide = max(map(len, self.marks))
        rows = {"": "".join(self.letters)} | self.marks
        return "\n".join(
            f"{name:{wide}} {' '.join(marks)}".rstrip() for name, marks in rows.items()
        )

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" title="{name}">{letter}</th>' for letter, name in self.letters.items()
        )
        rows = "".join(
            f'<tr><th scope="row">{_breakable(name)}</th><td>{"</td><td>".join(marks)}</td></tr>'
            for name, marks in self.marks.items()
        )
        return f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"
