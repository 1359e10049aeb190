"""Authoring of FormalImg: prompt and formula together, proven before a checker is asked."""
