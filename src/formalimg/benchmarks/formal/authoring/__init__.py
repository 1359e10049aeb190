"""Authoring of FormalImg: prompt and formula are written together, and checked by logic before a checker is asked."""
