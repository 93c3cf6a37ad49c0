"""Published models: the sizes and the choices of their attention, as ``models.toml`` lists them."""

from attention_workbook.published.models import MODELS, Model, Table

__all__ = ["MODELS", "Model", "Table"]
