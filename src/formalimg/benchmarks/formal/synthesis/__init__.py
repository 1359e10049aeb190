"""Synthesis: formulas drawn from a vocabulary, proven satisfiable, and put into English."""
