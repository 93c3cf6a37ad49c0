"""The engine that makes the textbook's lines fast and safe; nothing here is public.

- ``visibility``: joins lengths and masks into one mask, and cuts off keys that no query sees.
- ``nonfinite``: keeps NaN, infinity and overflow in the rows of the queries that may see them.
- ``compute``: calls the fused kernel, or gives the textbook's lines a masked softmax.
"""
