"""What the chapters need besides the library. In reading order:

- :mod:`~workbook.exercises`: graders for the exercises, one module a chapter.
- :mod:`~workbook.reader`: a small trained model that says which word *it* means.
- :mod:`~workbook.alignment`: small trained models that read dates.
- :mod:`~workbook.copying`: a small trained model that continues a repeated text.
- :mod:`~workbook.writer`: a small language model that has read this book.
- :mod:`~workbook.museum`: attentions with one defect each, for the contracts to catch.
- :mod:`~workbook.published`: what others have printed, computed anew.
- :mod:`~workbook.cost`: operations and bytes counted; softmax in blocks, across processes.
- :mod:`~workbook.figures`: figures that answer to sliders (stand still without anywidget).
"""
