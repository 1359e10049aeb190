"""Solve formulas: find a witness scene or prove that none exists."""
