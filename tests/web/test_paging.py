"""What the database finds, counts and orders is what one finds by looking at every picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from formalimg.judges import Verdict
from formalimg.runs import Judged, StoredRun, WantedPictures, open_run
from tests.web.sites import CONCEPTS, HARM


@pytest.fixture(scope="module")
def run(runs: Path) -> Iterator[StoredRun]:
    with closing(open_run(runs / "first")) as opened:
        yield opened


WANTED = some.builds(
    WantedPictures,
    some.none() | some.integers(0, 5),
    some.sampled_from([None, "pass", "fail", "unscored"]),
    some.sampled_from(["", "nothing", *(kind for kind, _ in CONCEPTS)]),
    some.sampled_from(["", "nothing", *(word for _, word in CONCEPTS)]),
    some.sampled_from(["", "1", "ITEM-1", "100%", "%", "_", "0%_1", "\\", "left", HARM]),
)


@given(wanted=WANTED, start=some.integers(0, 120), count=some.integers(1, 60), place=some.integers(0, 109))
def test_pages_and_neighbours_are_those_of_a_look_at_every_picture(
    run: StoredRun, wanted: WantedPictures, start: int, count: int, place: int
) -> None:
    every = list(run.judged())
    expected = [_name(one) for one in every if _is_wanted(one, run.items[one.outcome.item].prompt, wanted)]
    page = run.page(wanted, start, count)
    assert page.total == len(expected)
    assert [(picture.outcome.item, picture.outcome.sample) for picture in page.pictures] == expected[
        start : start + count
    ]
    order = [_name(one) for one in every]
    before, after = run.neighbours(wanted, *order[place])
    assert _listed(before) == next((name for name in reversed(order[:place]) if name in expected), None)
    assert _listed(after) == next((name for name in order[place + 1 :] if name in expected), None)


def test_a_listed_picture_fared_as_its_run_says(run: StoredRun) -> None:
    page = run.page(WantedPictures(), 0, 1000)
    assert [picture.outcome for picture in page.pictures] == run.outcomes()
    assert [picture.prompt for picture in page.pictures] == [item.prompt for item in run.items.values()]


@pytest.mark.parametrize(
    ("text", "found"), [("r%w", 0), ("r_1", 0), ("100%_7 ", 1), ("NUMBER 7 w", 1), ("item-109", 1)]
)
def test_no_character_of_a_text_stands_for_others(run: StoredRun, text: str, found: int) -> None:
    assert run.page(WantedPictures(text=text), 0, 200).total == found


def _name(judged: Judged) -> tuple[str, int]:
    return judged.outcome.item, judged.outcome.sample


def _listed(picture: Any) -> tuple[str, int] | None:
    return None if picture is None else (picture.outcome.item, picture.outcome.sample)


def _is_wanted(judged: Judged, prompt: str, wanted: WantedPictures) -> bool:
    sort = {None: "unscored", True: "pass", False: "fail"}[judged.outcome.passed]
    parts = judged.verdict.parts if isinstance(judged.verdict, Verdict) else ()
    failed = [
        part
        for part in parts
        if part.score < 1 and wanted.kind in ("", part.kind) and (not wanted.word or wanted.word in part.about)
    ]
    return (
        wanted.level in (None, judged.outcome.level)
        and wanted.outcome in (None, sort)
        and (bool(failed) or not (wanted.kind or wanted.word))
        and any(wanted.text.lower() in text.lower() for text in (prompt, judged.outcome.item))
    )
