"""Suites as others can use and cite them: items with a data sheet, Croissant metadata and a note on their licence."""

from formalimg.suites.exporting.exporting import ExportedSuite, export_suite
from formalimg.suites.exporting.imprint import Imprint

__all__ = ["ExportedSuite", "Imprint", "export_suite"]
