"""The bug museum: attentions that are wrong in one line each, and a repaired one beside each.

All have one form, ``attend(queries, keys, values, real, causal)``: ``real`` is a boolean
``(batch, len_k)``, True = no padding, or ``None``; with ``causal`` a query sees no later key. They
return output and weights. The label of an exhibit says what is wrong, what is seen, the repair,
and who met it. The contracts of :mod:`attention_contracts` run on all of them.

>>> exhibit = EXHIBITS["filled_with_zero"]
>>> exhibit.wrong
'Scores of masked keys become 0.'
>>> "assert_padding_invariant" in exhibit.caught_by()
True
>>> [name for name, complaint in verdicts(right_attention).items() if complaint]
['assert_window', 'assert_looks_around']

The last two are no promises of a plain attention: it has no window, and no projections.
"""

from attention_workbook.museum.exhibits import EXHIBITS, Exhibit
from attention_workbook.museum.judging import CONTRACTS, verdicts
from attention_workbook.museum.right import right_attention
from attention_workbook.museum.tables import Gallery, Matrix

__all__ = ["CONTRACTS", "EXHIBITS", "Exhibit", "Gallery", "Matrix", "right_attention", "verdicts"]
