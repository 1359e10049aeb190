"""Authoring of CF-World: groups for laws, questions, descriptions of outcomes, rare pairs, and human review."""
