"""Graders for the exercises of the chapter on cost."""

from attention_workbook.exercises import questions

__all__ = ["additive_bytes", "cache_of_a_context", "quiz", "ridge"]

additive_bytes, cache_of_a_context, ridge, quiz = questions("cost")
