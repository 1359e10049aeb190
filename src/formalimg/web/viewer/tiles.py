"""Gallery tiles: images of a run with their outcomes and what they fail to show."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from pathlib import Path

from formalimg.judges.failures import failure_sentences
from formalimg.reports.comparison_model import Section
from formalimg.reports.tables.format import level_name
from formalimg.runs.queries import ListedImage
from formalimg.runs.reader import Judged, StoredRun
from formalimg.scoring.user_inputs import GIVEN
from formalimg.types import Verdict
from formalimg.web.viewer.summaries import image_path
from formalimg.web.viewer.urls import ViewState, build_url

PER_PAGE = 48
MAX_PROMPT_LENGTH = 400  # characters below a thumbnail: more than its lines hold
SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}


def outcome_name(passed: bool | None) -> str:
    """Return `pass`, `fail` or `unscored`."""
    return "unscored" if passed is None else "pass" if passed else "fail"


def list_tiles(
    run: StoredRun, images: Sequence[ListedImage], view: ViewState, section: Section
) -> list[dict[str, object]]:
    """Return the tiles of some images of a run."""
    opening = common_opening([image.prompt for image in images])
    judged = run.judged([(image.outcome.item, image.outcome.sample) for image in images])
    return [_tile(run, *pair, view, section, opening) for pair in zip(images, judged, strict=True)]


def _tile(
    run: StoredRun, image: ListedImage, judged: Judged, view: ViewState, section: Section, opening: str
) -> dict[str, object]:
    outcome, verdict, suite = image.outcome, judged.verdict, section.suite
    label = outcome_name(outcome.passed)
    is_supplied = run.manifest.model.name == GIVEN
    item = run.item(outcome.item)
    sentences = failure_sentences(verdict, suite, item.formula if item else "") if outcome.passed is False else []
    parts = verdict.parts if isinstance(verdict, Verdict) and suite.terms.is_code else ()
    return {
        "item": outcome.item,
        "sample": outcome.sample,
        "name": Path(image_path(judged)).name if is_supplied else f"{level_name(suite, outcome.level)}, {outcome.item}",
        "outcome": label,
        "result": f"{outcome.score:.2f}" if is_supplied and outcome.score is not None else outcome.reason or label,
        "sign": SIGNS[label],
        "prompt": image.prompt.removeprefix(opening)[:MAX_PROMPT_LENGTH],
        "failed": [sentence.text for sentence in sentences],
        "parts": [part.name for part in parts if part.score < 1],
        "url": view.url("/item", item=outcome.item, sample=outcome.sample),
        "thumbnail": thumbnail_url(view.run, outcome.item, outcome.sample, image.sha256),
    }


def thumbnail_url(run: str, item: str, sample: int, sha256: str | None) -> str:
    """Return the thumbnail URL with a digest for permanent caching, or an empty string without an image."""
    return "" if sha256 is None else build_url("/thumbnail", run=run, item=item, sample=sample, sha256=sha256[:16])


def common_opening(prompts: Sequence[str]) -> str:
    """Return the opening sentences that all prompts share, which would hide their differences."""
    shared = os.path.commonprefix(prompts) if len(prompts) > 1 else ""  # noqa: RUF071  # by character, as meant
    return shared[: shared.rfind(". ") + 2] if ". " in shared else ""
