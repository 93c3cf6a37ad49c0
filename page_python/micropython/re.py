"""Regular expressions as JavaScript has them: MicroPython's own know no look behind."""

import host


class Match:
    def __init__(self, text):
        self._text = text

    def __getitem__(self, group):
        return self._text


class Pattern:
    def __init__(self, pattern):
        self.pattern = pattern

    def findall(self, text):
        return [text[start:end] for start, end in host.matches(self.pattern, text)]

    def sub(self, new, text):
        parts, last = [], 0
        for start, end in host.matches(self.pattern, text):
            found = text[start:end]
            parts += [text[last:start], new if isinstance(new, str) else new(Match(found))]
            last = end
        return "".join(parts) + text[last:]


def compile(pattern):
    return Pattern(pattern)


def findall(pattern, text):
    return Pattern(pattern).findall(text)


def sub(pattern, new, text):
    return Pattern(pattern).sub(new, text)
