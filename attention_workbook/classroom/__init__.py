"""A chapter for a class: copies for student and teacher, and assignments that tools grade.

``copies`` finds a chapter's exercises and makes the two copies; ``grading`` holds the two functions
that travel inside a graded notebook; ``assignments`` writes the exercises as otter-grader and
nbgrader want them and calls these tools. ``make class`` (`website/classroom.py`) runs it all.
``exam`` makes exams of templates.
"""
