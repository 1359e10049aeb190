"""Figures as SVG: the curve of a report page, and publication figures of runs, items and studies."""
