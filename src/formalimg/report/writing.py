"""Reports as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from formalimg.report.comparing import compare
from formalimg.report.exhibits import exhibits_of
from formalimg.report.html import html_page
from formalimg.runs import RunRecord, write_atomically
from formalimg.stats import Missing
from formalimg.suites import Profile


def write_html(
    runs: Sequence[RunRecord],
    path: str | Path,
    *,
    missing: Missing = "exclude",
    epsilon: float | None = None,
    references: bool = False,
    gallery: int = 24,
    profile: Profile = "paper",
    threshold: float = 0.5,
) -> None:
    """Write one self-contained page about these runs: curves, tables, failures, and a gallery of pictures.

    Args:
        runs: the runs; those of one suite share a section.
        path: the file. It appears whole or not at all.
        missing: as for `compare`.
        epsilon: as for `compare`.
        references: as for `compare`.
        gallery: how many pictures of each run are shown.
        profile: as for `compare`.
        threshold: as for `compare`.
    """
    comparison = compare(
        runs, missing=missing, epsilon=epsilon, references=references, profile=profile, threshold=threshold
    )
    pictures = {
        section.suite.name: {
            number: exhibits_of(run, gallery)
            for number, run in enumerate(run for run in runs if run.card.suite == section.suite.name)
        }
        for section in comparison.sections
    }
    write_atomically(Path(path), [html_page(comparison, pictures).encode()])
