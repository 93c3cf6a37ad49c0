"""A quiz as a form in a notebook, where ipywidgets stands beside a kernel."""

import html
from typing import Any

__all__ = ["VIEW", "form_of", "inline"]

VIEW = "application/vnd.jupyter.widget-view+json"


def form_of(questions: Any) -> Any:
    """Return a widget with an input for each question; None where no notebook could show it."""
    try:
        import ipywidgets
        from IPython import get_ipython
    except ImportError:
        return None
    if not hasattr(get_ipython(), "kernel"):
        return None
    layout = ipywidgets.Layout(width="auto")
    return ipywidgets.VBox(
        [_fields_of(ipywidgets, layout, *x) for x in enumerate(questions, start=1)]
    )


def _fields_of(ipywidgets: Any, layout: Any, number: int, question: Any) -> Any:
    """Return a question with its input and a place for its verdict."""
    text = ipywidgets.HTML(f"<b>{number}.</b> {inline(question.question)}", layout=layout)
    verdict = ipywidgets.HTML(layout=layout)
    options = getattr(question, "options", None)

    def judge(answer: Any) -> None:
        verdict.value = "" if answer in (None, "") else inline(repr(question(answer)))

    if options:
        labels = [(f"{option['key']}) {option['text']}", option["key"]) for option in options]
        field = ipywidgets.RadioButtons(options=labels, value=None, layout=layout)
        field.observe(lambda change: judge(change["new"]), names="value")
        return ipywidgets.VBox([text, field, verdict])
    field = ipywidgets.Text(placeholder="a number", continuous_update=False)
    button = ipywidgets.Button(description="Check")
    field.observe(lambda change: judge(change["new"]), names="value")
    button.on_click(lambda _: judge(field.value))
    return ipywidgets.VBox([text, ipywidgets.HBox([field, button]), verdict])


def inline(text: str) -> str:
    """Return text as HTML; what stands between backticks is code."""
    parts = html.escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
