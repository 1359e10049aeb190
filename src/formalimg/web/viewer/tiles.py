"""Gallery tiles: images of a run with their outcomes and what they fail to show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from formalimg.judges.failures import failure_sentences
from formalimg.reports.comparison_model import Section
from formalimg.reports.tables.format import level_name
from formalimg.runs.queries import ListedImage
from formalimg.runs.reader import Judged, StoredRun
from formalimg.scoring.user_inputs import GIVEN
from formalimg.types import Verdict
from formalimg.web.viewer.scored_images import image_file_name
from formalimg.web.viewer.urls import ViewState, build_url

PER_PAGE = 48

MAX_PROMPT_LENGTH = 400  # Characters of a prompt below a thumbnail: more than its lines hold
SIGNS = {"fail": "✗", "pass": "✓", "unscored": "?"}


class GalleryTile(NamedTuple):
    """An image in a gallery."""

    item: str  # what it was made for
    sample: int
    name: str  # what it is called
    outcome: str  # pass, fail or unscored
    result: str  # the outcome in a word, its score where images are scored, or why there is none
    sign: str  # a sign for the outcome
    prompt: str  # the prompt
    failed: list[str]  # what it does not show
    parts: list[str]  # the failed parts as they are stored
    url: str  # the page of the image
    thumbnail: str  # the URL of the image; empty if there is none


def outcome_name(passed: bool | None) -> str:
    """Return `pass`, `fail` or `unscored`."""
    return "unscored" if passed is None else "pass" if passed else "fail"


def list_tiles(run: StoredRun, found: Sequence[ListedImage], view: ViewState, section: Section) -> list[GalleryTile]:
    """Return the tiles of some images of a run."""
    opening = common_opening([image.prompt for image in found])
    judged = run.judged([(image.outcome.item, image.outcome.sample) for image in found])
    return [_tile(run, *both, view, section, opening) for both in zip(found, judged, strict=True)]


def _tile(
    run: StoredRun, image: ListedImage, judged: Judged, view: ViewState, section: Section, opening: str
) -> GalleryTile:
    outcome = image.outcome
    label = outcome_name(outcome.passed)
    verdict, suite = judged.verdict, section.suite
    parts = verdict.parts if isinstance(verdict, Verdict) else ()
    given = run.manifest.model.name == GIVEN
    return GalleryTile(
        outcome.item,
        outcome.sample,
        image_file_name(judged) if given else f"{level_name(suite, outcome.level)}, {outcome.item}",
        label,
        f"{outcome.score:.2f}" if given and outcome.score is not None else outcome.reason or label,
        SIGNS[label],
        image.prompt.removeprefix(opening)[:MAX_PROMPT_LENGTH],
        [one.text for one in failure_sentences(verdict, suite, _formula(run, judged))]
        if outcome.passed is False
        else [],
        [part.name for part in parts if part.score < 1] if suite.terms.is_code else [],
        view.url("/item", item=outcome.item, sample=outcome.sample),
        thumbnail_url(view.run, outcome.item, outcome.sample, image.sha256),
    )


def _formula(run: StoredRun, judged: Judged) -> str:
    item = run.item(judged.outcome.item)
    return item.formula if item else ""


def thumbnail_url(run: str, item: str, sample: int, sha256: str | None) -> str:
    """Return the thumbnail URL with a digest for permanent caching, or an empty string without an image."""
    return "" if sha256 is None else build_url("/thumbnail", run=run, item=item, sample=sample, sha256=sha256[:16])


def common_opening(prompts: Sequence[str]) -> str:
    """Return the opening sentences that all prompts share, which would hide their differences."""
    if len(prompts) < 2:
        return ""
    first, last = min(prompts), max(prompts)  # a prefix of these two is a prefix of all
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared[: shared.rfind(". ") + 2] if ". " in shared else ""
