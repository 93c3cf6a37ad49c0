"""What makes the textbook's lines fast and safe; nothing here is public.

- ``visibility``: lengths and masks joined into one mask; keys that no query sees are cut off.
- ``nonfinite``: NaN, infinity and overflow stay in the row of the query that may see them.
- ``compute``: calls the fused kernel, or hands the textbook's lines a masked softmax.
"""
