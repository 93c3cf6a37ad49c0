# Variants of a right solution in the page: where it can be edited was found when the page was made.
# At SHARED stand parts of the notebook's own module.

import re
import sys

import torch
from torch import Tensor

SHARED

_KNOWN = {}  # name: text, begin, result, end, arguments, slips


def know(solutions):
    for name in solutions:
        _KNOWN[name] = solutions[name]


class Source:
    def __init__(self, function):
        known = _KNOWN[function.__name__]
        self.name, self.text = function.__name__, known["text"]
        self.begin, self.result, self.end = known["begin"], known["result"], known["end"]
        self.arguments, self.slips = known["arguments"], known["slips"]
        self.world = dict(sys.modules[known["module"]].__dict__)
        self.world.update(HELPERS)

    def edit(self, replaced, sentence):
        spans = []
        for old in replaced:
            begin = self.text.find(old, self.begin, self.end)
            while begin >= 0:
                spans.append((begin, begin + len(old), replaced[old]))
                begin = self.text.find(old, begin + len(old), self.end)
        return Edit(tuple(spans), sentence)

    def after(self, suffix, sentence):
        last = "\n    return torch.as_tensor(_result)" + suffix
        named = self.result, self.result + len("return"), "_result ="
        return Edit((named, (self.end, self.end, last)), sentence)

    def function(self, edits):
        text = self.text
        spans = sorted([span for edit in edits for span in edit.spans], reverse=True)
        for start, end, new in spans:
            text = text[:start] + new + text[end:]
        firsts = "".join([edit.first + "\n    " for edit in edits if edit.first])
        text = text[: self.begin] + firsts + text[self.begin :]
        made = {}
        exec(compile(text, "edited.py", "exec"), self.world, made)
        return made[self.name]
