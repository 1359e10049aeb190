"""Captions: count the categories of visual concepts that they mention, and which occur together (ConceptMix, 4.5)."""
