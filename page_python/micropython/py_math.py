"""Python's math, which takes tensors of one number, too."""

import math

import torch


def prod(numbers, start=1):
    for number in numbers:
        start = start * number
    return start


def comb(n, k):
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


def __getattr__(name):
    found = getattr(math, name)
    if not callable(found):
        return found
    return lambda *given: found(*[x.item() if isinstance(x, torch.Tensor) else x for x in given])
