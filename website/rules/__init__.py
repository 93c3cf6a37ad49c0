"""The rules of the house for chapters: each a function from a notebook to a list of complaints.

A complaint names the notebook and the cell and says what to do. ``tests/website/test_rules.py``
holds every chapter against every rule, and every rule against a chapter that breaks it.
"""

# ruff: noqa: F403
from website.rules.anatomy import *
from website.rules.code import *
from website.rules.outputs import *
from website.rules.prose import *
from website.rules.reading import *
