# An answer is watched in the page: the door notes what is made, torch what is called.
# At SHARED stand parts of the notebook's own module.

import host
import torch
from torch import Tensor

from attention_workbook.exercises.engine.running import Failure, copied, run

SHARED


def _watched(answer, trace):
    def counted(function):
        def call(*given, **named):
            trace.argument_calls += 1
            return function(*given, **named)

        return call

    def note(name):
        if name.startswith("left."):
            trace.exits.add(name[5:])
        else:
            trace.called.add(name)

    def watched(*given):
        given = tuple(
            [counted(x) if callable(x) and not isinstance(x, Tensor) else x for x in given]
        )
        torch.watch[0] = note
        host.watch(True)
        try:
            return answer(*given)
        finally:
            torch.watch[0] = None
            for made in host.watch(False):
                trace.tensors.append((made.name, tuple(made.shape), made.stored))

    return watched


class Counter(dict):
    """Counts of names, 0 where there is none."""

    def add(self, name):
        self[name] = self.get(name, 0) + 1

    def __getitem__(self, name):
        return self.get(name, 0)


def resolve_name(function):
    """In the notebook this makes tables; here there are none."""
