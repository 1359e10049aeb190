"""Runs of images that a user gave to be scored: titled by their prompt, and each image called by its file."""

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
    """What pages say of a run of given images."""

    title: str  # the prompt, or the first of several
    has_one_prompt: bool  # whether it is the prompt of all images
    mean: float | None  # the mean score; None if nothing is scored
    summary: str  # how many images, the mean, and how many pass


def scored_images(run: StoredRun) -> ScoredImages | None:
    """Return what pages say of a run of given images; None for runs of other models."""
    if run.manifest.model.name != GIVEN:
        return None
    prompts = Counter(item.prompt for item in run.items.values())
    title = truncate(next(iter(prompts), "no prompt"), _MAX_TITLE, _MAX_TITLE // 4)
    if len(prompts) > 1:
        title = f"{title} (and {len(prompts) - 1:,} more prompt{'s' * (len(prompts) > 2)})"
    summary = summarize_scores(run.outcomes())
    return ScoredImages(title, len(prompts) <= 1, summary.mean, str(summary))


def image_file_name(judged: Judged) -> str:
    """Return the name of the file that an image was given as; the id of its item if that is not known."""
    return Path(image_path(judged)).name


def image_path(judged: Judged) -> str:
    """Return the path that an image was given as; the id of its item if that is not known."""
    return str(judged.served.get("file", judged.outcome.item))
