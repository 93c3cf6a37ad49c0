"""What is known of functions in the page, where they have no signatures: it comes with them."""

_ARGUMENTS = {}
_BODIES = {}


def know(function, arguments, body=""):
    """Note what a function's arguments are called, and the code of its body."""
    _ARGUMENTS[id(function)] = arguments
    _BODIES[id(function)] = body


class Parameter:
    POSITIONAL_ONLY = POSITIONAL_OR_KEYWORD = kind = 1

    def __init__(self, name):
        self.name = name


class Signature:
    def __init__(self, names):
        from collections import OrderedDict

        self.parameters = OrderedDict([(name, Parameter(name)) for name in names])


def signature(function):
    if id(function) not in _ARGUMENTS:
        raise TypeError("nothing is known of this function")
    return Signature(_ARGUMENTS[id(function)])


class _Described:
    def __init__(self, function):
        self.__code__ = _BODIES.get(id(function))
        self.__name__ = getattr(function, "__name__", "")


def unwrap(function):
    return _Described(function)
