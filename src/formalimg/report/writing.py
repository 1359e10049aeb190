"""Reports as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.report.comparing import compare
from formalimg.report.exhibits import exhibits_of
from formalimg.report.html import html_page
from formalimg.runs import RunRecord
from formalimg.stats import Missing


def write_html(
    runs: Sequence[RunRecord],
    path: str | Path,
    *,
    missing: Missing = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    gallery: int = 24,
) -> None:
    """Write one self-contained page about these runs: curves, table, failures, and a gallery of pictures.

    Args:
        runs: the runs; those of one suite share a section.
        path: the file. It appears whole or not at all.
        missing: as for `compare`.
        epsilon: as for `compare`.
        references: as for `compare`.
        gallery: how many pictures of each run are shown.
    """
    comparison = compare(runs, missing=missing, epsilon=epsilon, references=references)
    pictures = {
        section.suite.name: {
            number: exhibits_of(run, gallery)
            for number, run in enumerate(run for run in runs if run.card.suite == section.suite.name)
        }
        for section in comparison.sections
    }
    write_text(html_page(comparison, pictures), Path(path))


def write_text(text: str, path: Path) -> None:
    """Write a file so that it appears whole or not at all.

    Raises:
        FormalimgError: if it cannot be written there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise FormalimgError(f"cannot write {path}: {error.strerror}") from error
