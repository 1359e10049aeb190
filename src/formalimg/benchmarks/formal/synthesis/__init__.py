"""Synthesis: formulas sampled from a vocabulary, proven satisfiable, and translated into English."""
