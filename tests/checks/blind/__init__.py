"""Answers to the chapters' exercises by someone who had not read the graders, a module a chapter.

`RIGHT` and `WRONG` map the name of a grader to its answers, and each answer to its style or
mistake. Nine that were first written as wrong are right by the words of their exercises, and
stand among the right ones.
"""
