"""Graders for the exercises: one module a chapter, one function an exercise.

A grader takes the reader's function or number and returns a verdict, which says whether it is
right and names the known mistake it recognises.
"""
