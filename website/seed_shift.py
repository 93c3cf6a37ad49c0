"""Run by a kernel as it starts (PYTHONSTARTUP): adds ATTENTION_SEED_SHIFT to every seed.

Claims about random numbers must hold for other seeds, too. The function that readers import knows
nothing of this.
"""


def _shift_seeds():
    import os

    import attention_lib

    shift, generator = int(os.environ["ATTENTION_SEED_SHIFT"]), attention_lib.generator
    shifted = lambda seed: generator(seed + shift)  # noqa: E731
    attention_lib.generator = attention_lib.notebook.generator = shifted


_shift_seeds()
del _shift_seeds
