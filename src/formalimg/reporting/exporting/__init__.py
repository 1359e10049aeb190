"""Runs in the form in which the authors of a benchmark keep theirs."""

from formalimg.reporting.exporting.conceptmix import Exported, export_concepts

__all__ = ["Exported", "export_concepts"]
