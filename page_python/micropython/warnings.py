"""Nothing warns in the page."""


class catch_warnings:
    def __init__(self, *given, **named):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def warn(*given, **named):
    pass
