"""What makes the textbook's lines fast and safe; nothing here is public.

- ``visibility``: lengths and masks joined into one mask; keys that no query sees are cut off.
- ``nonfinite``: NaN, infinity and overflow stay in the row of the query that may see them.
- ``kernel``: PyTorch's fused kernel, called in the form in which it is fastest.
- ``compute``: chooses the kernel or the textbook's lines, and hands those a masked softmax.
- ``derivatives``: first derivatives in less time or memory than PyTorch's own would take.
"""
