"""Solver: turn formulas into witness scenes, or prove that none exists."""
