"""Runs of images supplied by a user, shown with their prompt as the title and with file names."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from formalimg._util.text import truncate
from formalimg.runs.reader import Judged, StoredRun
from formalimg.scoring.scores import summarize_scores
from formalimg.scoring.user_inputs import GIVEN

_MAX_TITLE = 300


class ScoredImages(NamedTuple):
    """The title and labels that pages show for a run of supplied images."""

    title: str  # the prompt, or the first of several
    has_one_prompt: bool  # whether it is the prompt of all images
    mean: float | None  # the mean score; None if nothing is scored
    summary: str  # how many images, the mean, and how many pass


def scored_images(run: StoredRun) -> ScoredImages | None:
    """Return the title and labels for a run of supplied images, or None for other runs."""
    if run.manifest.model.name != GIVEN:
        return None
    prompts = Counter(item.prompt for item in run.items.values())
    title = truncate(next(iter(prompts), "no prompt"), _MAX_TITLE, _MAX_TITLE // 4)
    if len(prompts) > 1:
        title = f"{title} (and {len(prompts) - 1:,} more prompt{'s' * (len(prompts) > 2)})"
    summary = summarize_scores(run.outcomes())
    return ScoredImages(title, len(prompts) <= 1, summary.mean, str(summary))


def image_file_name(judged: Judged) -> str:
    """Return the file name of a supplied image, or the ID of its item if that name is unknown."""
    return Path(image_path(judged)).name


def image_path(judged: Judged) -> str:
    """Return the path of a supplied image, or the ID of its item if that path is unknown."""
    return str(judged.served.get("file", judged.outcome.item))
