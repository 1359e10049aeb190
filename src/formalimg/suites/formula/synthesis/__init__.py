"""Synthesis: formulas drawn from a vocabulary, proven satisfiable, and put into English."""

from formalimg.suites.formula.synthesis.generator import Recipe, SynthesisError, SynthesisResult, make_items

__all__ = ["Recipe", "SynthesisError", "SynthesisResult", "make_items"]
