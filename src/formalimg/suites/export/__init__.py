"""Export of suites for others to use and cite: items with a data sheet, Croissant metadata and a licence note."""

from formalimg.suites.export.bundle import ExportedSuite, export_suite
from formalimg.suites.export.prompts import PromptFormat, PromptRow, format_prompts, prompt_rows
from formalimg.suites.export.provenance import PublisherInfo

__all__ = [
    "ExportedSuite",
    "PromptFormat",
    "PromptRow",
    "PublisherInfo",
    "export_suite",
    "format_prompts",
    "prompt_rows",
]
