"""What the chapters need besides the library. In reading order:

- :mod:`~attention_workbook.exercises`: graders for the exercises, one module a chapter.
- :mod:`~attention_workbook.parts`: what the reader has written, handed to later chapters.
- :mod:`~attention_workbook.grading`: the same graders, for a class.
- :mod:`~attention_workbook.reader`: a small trained model that says which word *it* means.
- :mod:`~attention_workbook.copying`: a small trained model that continues a repeated text.
- :mod:`~attention_workbook.writer`: a small language model that has read this book.
- :mod:`~attention_workbook.museum`: attentions with one defect each, for the contracts to catch.
- :mod:`~attention_workbook.published`: the sizes and choices of published models.
- :mod:`~attention_workbook.cost`: operations and bytes counted.
- :mod:`~attention_workbook.pictures`: still pictures that single chapters show.
- :mod:`~attention_workbook.figures`: figures that answer to sliders (stand still without
  anywidget).
"""
