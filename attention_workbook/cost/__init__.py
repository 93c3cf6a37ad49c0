"""What attention costs: operations, bytes moved, bytes kept.

- :func:`attention_cost`, :func:`layer_flops`, :func:`cache_bytes`, :func:`latent_cache_bytes`:
  formulas.
- :func:`measured_cost`, :func:`peak_bytes`, :func:`fitted_exponent`: measurements to hold against
  them.
"""

from attention_workbook.cost.counting import (
    Cost,
    attention_cost,
    cache_bytes,
    latent_cache_bytes,
    layer_flops,
)
from attention_workbook.cost.measuring import (
    Exponent,
    fitted_exponent,
    measured_cost,
    peak_bytes,
)

__all__ = [
    "Cost",
    "Exponent",
    "attention_cost",
    "cache_bytes",
    "fitted_exponent",
    "latent_cache_bytes",
    "layer_flops",
    "measured_cost",
    "peak_bytes",
]
