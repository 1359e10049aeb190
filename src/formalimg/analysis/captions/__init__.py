"""Captions: which categories of visual concepts they speak of, and how many at a time (ConceptMix, section 4.5)."""
