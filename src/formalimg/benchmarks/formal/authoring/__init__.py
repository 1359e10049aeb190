"""Authoring of FormalImg: prompt and formula are written together, and checked first by logic and then by a model."""
