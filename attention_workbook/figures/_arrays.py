"""Arrays out of anything that a reader may hand to a figure."""

from typing import Any


def plain(value: Any) -> Any:
    """Return a torch tensor, or those in a list, as numpy arrays; leave all else."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if not hasattr(value, "detach"):
        return value
    value = value.detach().cpu()  # numpy knows no gradient, no other device, and no bfloat16
    return (value.double() if value.is_floating_point() else value).numpy()
