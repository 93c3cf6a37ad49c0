# The usual slips in a right solution were found when the page was made.

from attention_workbook.exercises.engine.edits import Edit


def slips(source):
    for spans, sentence in source.slips:
        yield Edit(tuple([tuple(span) for span in spans]), sentence)
