"""Figures as SVG: the curve of a report page, and figures for papers of runs, items and studies."""
