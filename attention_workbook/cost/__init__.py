"""What attention costs: operations, bytes moved, bytes kept; and how to pay less of them.

- :func:`attention_cost`, :func:`layer_flops`, :func:`cache_bytes`, :func:`latent_cache_bytes`:
  formulas.
- :func:`measured_cost`, :func:`peak_bytes`, :func:`fitted_exponent`: measurements to hold against
  them; :func:`benchmark`: those that the book shows.
- :func:`read_block`, :func:`merge`, :func:`attend_in_blocks`: softmax in one pass, block by block.
- :func:`ring_attention`, :func:`run_ring`: the same across processes.
"""

from attention_workbook.cost.blocks import Tally, attend_in_blocks, merge, read_block
from attention_workbook.cost.counting import (
    Cost,
    attention_cost,
    cache_bytes,
    latent_cache_bytes,
    layer_flops,
)
from attention_workbook.cost.measuring import (
    Exponent,
    benchmark,
    fitted_exponent,
    measured_cost,
    peak_bytes,
)
from attention_workbook.cost.ring import ring_attention, run_ring

__all__ = [
    "Cost",
    "Exponent",
    "Tally",
    "attend_in_blocks",
    "attention_cost",
    "benchmark",
    "cache_bytes",
    "fitted_exponent",
    "latent_cache_bytes",
    "layer_flops",
    "measured_cost",
    "merge",
    "peak_bytes",
    "read_block",
    "ring_attention",
    "run_ring",
]
