"""Compute how closely a scene satisfies a formula, exactly and for groups of scenes."""
