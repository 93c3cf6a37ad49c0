"""website/extensions/library_names.py: how a signature and a docstring are set on a page."""

from website.extensions.library_names import signature, text_of


def test_a_signature_breaks_where_arguments_end():
    def short(x: int, *, y: tuple[int, int] = (1, 2)) -> str: ...

    assert signature("short", short) == "short(x: int, *, y: tuple[int, int] = (1, 2)) -> str"
    long = "very_" * 12 + "long"
    assert signature(long, short).splitlines() == [
        f"{long}(",
        "    x: int,",
        "    *,",
        "    y: tuple[int, int] = (1, 2),",
        ") -> str",
    ]


def test_a_docstring_becomes_lists_and_its_references_code():
    said = text_of(
        """Do it, see :func:`~attention_lib.show`.

        Parameters
        ----------
        x : int
            What.

        Raises
        ------
        ValueError
            If not.

        Examples
        --------
        >>> 1
        1
        """
    )
    assert "``attention_lib.show``" in said
    for line in (
        ":Parameters: **x** (*int*) -- What.",
        ":Raises ValueError: If not.",
        "**Examples**",
    ):
        assert line in said
