"""Certificates of judges: drawn scenes of which one clause is made false, changes that must not matter, and drift."""
