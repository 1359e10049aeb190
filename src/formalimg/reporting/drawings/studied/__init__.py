"""Figures of studies, one file for each kind of study."""
