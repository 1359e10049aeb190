"""Export of suites for others to use and cite: items with a data sheet, Croissant metadata and a licence note."""

from formalimg.suites.export.bundle import ExportedSuite, export_suite
from formalimg.suites.export.prompts import PromptFormat, PromptRow, format_prompts, prompt_rows
from formalimg.suites.export.provenance import PublisherInfo
from formalimg.suites.export.splits import SplitBy, TrainTestSplit, split_features, split_items
from formalimg.suites.export.trainer_files import Trainer, can_be_scored, task_metadata, trainer_files

__all__ = [
    "ExportedSuite",
    "PromptFormat",
    "PromptRow",
    "PublisherInfo",
    "SplitBy",
    "TrainTestSplit",
    "Trainer",
    "can_be_scored",
    "export_suite",
    "format_prompts",
    "prompt_rows",
    "split_features",
    "split_items",
    "task_metadata",
    "trainer_files",
]
