"""Whether code does nothing, told from its text."""


class _Step:
    def __init__(self, name):
        self.opname = name


def get_instructions(body):
    lines = [line.split("#")[0].strip() for line in body.split("\n")]
    idle = all([line in ("", "...", "pass", "return", "return None") for line in lines])
    return [_Step("NOP" if idle else "?")]
