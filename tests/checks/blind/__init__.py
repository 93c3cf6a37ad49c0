"""Answers to the chapters' exercises by someone who had not read the graders, a module a chapter.

`RIGHT` and `WRONG` map the name of a grader to its answers, and each answer to its style or
mistake. Not yet run: what the graders say of them is not yet held by any test.
"""
