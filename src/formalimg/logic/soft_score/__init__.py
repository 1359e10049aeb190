"""Soft score: how far a scene is from satisfying a formula, exactly and for groups of scenes at once."""
