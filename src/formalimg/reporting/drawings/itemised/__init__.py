"""Figures of what items are made of, one file for each kind of suite."""
