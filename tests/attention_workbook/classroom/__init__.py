"""The class: copies of chapters, assignments and what collects them."""

from website.changed import among
from website.notebooks import chapters

CHANGED = among(chapters())
# Two, one with a trained model, and those that were changed. tests/nightly tries all.
SOME = [path for path in chapters() if path.stem in ("masking", "one-head") or path in CHANGED]
