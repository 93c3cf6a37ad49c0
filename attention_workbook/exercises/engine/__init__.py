"""What all graders are made of; a chapter imports it from `attention_workbook.exercises`.

`exercise` runs an answer on every case (`running`, `cases`), compares (`compare`) and, where it is
wrong, has the mistake explained (`explain`): by edits of the right solution that give the same
results (`edits`, `slips`, `changes`), or by what holds of the result (`facts`). `rules` watch how
an answer works, `mine` keeps a right one, and `questions` judge numbers and choices.
"""
