"""What the database finds, counts and orders is what one finds by looking at every image."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.logic.parser import parse
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.types import Item, Verdict
from tests.human_eval.counterfactual_runs import scored_item
from tests.human_eval.rated_runs import concept_items, rated_run
from tests.web.sites import CONCEPTS, HARM


@pytest.fixture(scope="module")
def run(runs: Path) -> Iterator[StoredRun]:
    with closing(open_run(runs / "first")) as opened:
        yield opened


WANTED = some.builds(
    ImageFilter,
    some.none() | some.integers(0, 5),
    some.sampled_from([None, "pass", "fail", "unscored"]),
    some.sampled_from(["", "nothing", *(kind for kind, _ in CONCEPTS)]),
    some.sampled_from(["", "nothing", *(word for _, word in CONCEPTS)]),
    some.sampled_from(["", "1", "ITEM-1", "100%", "%", "_", "0%_1", "\\", "left", HARM]),
    some.sampled_from(["", "cup", "nothing", HARM]),
)


@given(wanted=WANTED, start=some.integers(0, 120), count=some.integers(1, 60), place=some.integers(0, 109))
def test_pages_and_neighbours_are_those_of_a_look_at_every_image(
    run: StoredRun, wanted: ImageFilter, start: int, count: int, place: int
) -> None:
    every = list(run.judged())
    expected = [_name(one) for one in every if _is_wanted(one, run.items[one.outcome.item].prompt, wanted)]
    page = run.page(wanted, start, count)
    assert page.total == len(expected)
    assert [(image.outcome.item, image.outcome.sample) for image in page.images] == expected[start : start + count]
    order = [_name(one) for one in every]
    assert run.count_before(wanted, *order[place]) == sum(name in expected for name in order[:place])
    before, after = run.neighbours(wanted, *order[place])
    assert _listed(before) == next((name for name in reversed(order[:place]) if name in expected), None)
    assert _listed(after) == next((name for name in order[place + 1 :] if name in expected), None)


def test_a_listed_image_fared_as_its_run_says(run: StoredRun) -> None:
    page = run.page(ImageFilter(), 0, 1000)
    assert [image.outcome for image in page.images] == run.outcomes()
    assert [image.prompt for image in page.images] == [item.prompt for item in run.items.values()]


@pytest.mark.parametrize(
    ("text", "found"), [("r%w", 0), ("r_1", 0), ("100%_7 ", 1), ("NUMBER 7 w", 1), ("item-109", 1)]
)
def test_no_character_of_a_text_stands_for_others(run: StoredRun, text: str, found: int) -> None:
    assert run.page(ImageFilter(text=text), 0, 200).total == found


def test_items_are_found_by_what_they_speak_of(runs: Path, tmp_path: Path) -> None:
    with closing(open_run(runs / "knolling")) as run:
        specs = {item.id: item.spec for item in run.suite_items()}
        for word in {word for spec in specs.values() if isinstance(spec, FormulaSpec) for word in spec.object_classes}:
            said = [
                name for name, spec in specs.items() if isinstance(spec, FormulaSpec) and word in spec.object_classes
            ]
            assert _items(run, word) == said
    formulas = ["(exists ?x (and (Is ?x 'cup') (Has ?x 'orange')))", "(exists ?x (Is ?x 'orange'))"]
    asked = [Item("natural", str(n), 1, "", FormulaSpec.of(parse(text))) for n, text in enumerate(formulas)]
    fields = [scored_item("one-l1"), replace(scored_item("two-l1"), tags=("biology",))]
    for name, items, word, found in (
        ("natural", asked, "orange", ["1"]),
        ("fields", fields, "biology", ["two-l1"]),
        ("objects", concept_items(7), "boat", ["001"]),
    ):
        with closing(open_run(rated_run(tmp_path / name, items))) as run:
            assert _items(run, word) == found


def _items(run: StoredRun, about: str) -> list[str]:
    return [one.outcome.item for one in run.page(ImageFilter(about=about), 0, 1000).images]


def _name(judged: Judged) -> tuple[str, int]:
    return judged.outcome.item, judged.outcome.sample


def _listed(image: Any) -> tuple[str, int] | None:
    return None if image is None else (image.outcome.item, image.outcome.sample)


def _is_wanted(judged: Judged, prompt: str, wanted: ImageFilter) -> bool:
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
        and not wanted.about  # no item here has objects
        and any(wanted.text.lower() in text.lower() for text in (prompt, judged.outcome.item))
    )
