"""Authoring of CF-World: groups from laws, questions, outcomes without names, rare pairs, and human review."""
