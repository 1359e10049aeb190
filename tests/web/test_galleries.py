"""Galleries: what the database finds, counts and orders is what one finds by looking at every image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from PIL import Image

import formalimg
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import draw
from formalimg.logic.parser import parse
from formalimg.runs.image_counts import FacetIndex
from formalimg.runs.queries import ImageFilter
from formalimg.runs.reader import Judged, StoredRun, open_run
from formalimg.scenes.objects import Box, SceneObject
from formalimg.scenes.scene import Scene
from formalimg.types import Item, Verdict
from tests.human_eval.counterfactual_runs import scored_item
from tests.human_eval.rated_runs import concept_items, rated_run
from tests.web.sites import CONCEPTS, HARM, visitor


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


@pytest.fixture(scope="module", params=["first", "knolling"])
def facets_run(runs: Path, request: pytest.FixtureRequest) -> Iterator[StoredRun]:
    with closing(open_run(runs / request.param)) as opened:
        yield opened


@pytest.fixture(scope="module")
def index(facets_run: StoredRun) -> FacetIndex:
    return facets_run.facets()


@given(wanted=WANTED, choice=some.data())
def test_each_choice_has_as_many_images_as_it_says(
    facets_run: StoredRun, index: FacetIndex, wanted: ImageFilter, choice: some.DataObject
) -> None:
    for name, counts in facets_run.count_facets(index, wanted)._asdict().items():
        if counts:
            value = choice.draw(some.sampled_from(sorted(counts)), label=name)
            assert facets_run.page(wanted._replace(**{name: value}), 0, 1).total == counts[value]


def test_what_is_no_choice_has_no_images(facets_run: StoredRun, index: FacetIndex) -> None:
    counts = facets_run.count_facets(index, ImageFilter())
    assert sum(counts.level.values()) == sum(counts.outcome.values()) == facets_run.page(ImageFilter(), 0, 1).total
    assert facets_run.count_facets(index, ImageFilter(outcome="pass", kind="number")).outcome.get("pass", 0) == 0
    assert facets_run.page(ImageFilter(about="nothing"), 0, 1).total == 0


def test_choices_are_links_that_keep_the_others_and_can_be_taken_back(runs: Path) -> None:
    guest = visitor(runs)
    page = guest.get("/gallery?run=first&outcome=fail&level=2").text
    links = {
        (unescape(label), unescape(link)): int(number.replace(",", ""))
        for link, label, number in re.findall(
            r'<a href="([^"]+)"[^>]*><span>([^<]+)</span> <small>([\d,]+)</small>', page
        )
    }
    assert links["fail", "/gallery?run=first&level=2"] == links["k 2", "/gallery?run=first&outcome=fail"]
    for (_, link), number in [*links.items()][:8]:
        if "outcome=fail" in link and "level=2" in link:
            assert re.search(rf">{number} images?<", guest.get(link).text.replace(", <a", "<a")), link


def test_cards_say_what_failed_with_the_formula_one_click_away(runs: Path) -> None:
    page = unescape(visitor(runs).get("/gallery?run=knolling&outcome=fail").text)
    cards = re.findall(r'(?s)<li class="tile fail">.*?</details>\s*</li>', page)
    assert cards
    for card in cards:
        said, details = card.split("<details")
        assert re.search(r"<li>(the|no|not|only|\d+) [^<?()]+</li>", said)
        assert "(Is ?" not in said
        assert re.search(r"<code>\([A-Za-z]+ ", details)


PROMPT = "There is a red cup and a fork."
CUP, FORK = SceneObject("cup", Box(100, 400, 300, 600), "red"), SceneObject("fork", Box(700, 400, 800, 700))


@pytest.fixture
def scored_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shown = {"1-none": [], "2-fork": [FORK], "3-both": [CUP, FORK]}
    for name, objects in shown.items():
        draw(Scene.of(objects)).save(f"{name}.png")
    Image.effect_noise((64, 64), 80).convert("RGB").save("4-photo.jpg")
    files = [*(f"{name}.png" for name in shown), "4-photo.jpg"]
    scores = formalimg.score(files, PROMPT, judge="builtin/icons", folder="runs/mine")
    assert [one.score for one in scores] == [0.0, pytest.approx(1 / 3), 1.0, None]
    formalimg.score(["3-both.png", "2-fork.png"], [PROMPT, "There is a cup."], judge="builtin/icons", folder="runs/two")
    return tmp_path / "runs"


def _tiles(page: str) -> list[str]:
    heads = re.findall(r'<span class="tile-head">(.*?)</span>\n', page)
    return [" ".join(re.sub(r"<[^>]+>", " ", head).split()) for head in heads]


def test_the_first_screen_has_prompt_mean_and_scores_the_best_first(scored_runs: Path) -> None:
    site = visitor(scored_runs)
    page = site.get("/run?run=mine").text
    assert f"<h1>{PROMPT}</h1>" in page
    assert "4 images: mean 0.44 of 3, 1 passed, 1 unscored, by builtin/icons" in page
    tiles = _tiles(page)
    assert tiles[:3] == ["✓ pass 1.00 3-both.png", "✗ fail 0.33 2-fork.png", "✗ fail 0.00 1-none.png"]
    assert tiles[3].endswith("4-photo.jpg")
    assert "<svg" not in page.partition("What fails")[0], "one level has no curve"
    assert page.index("3-both.png") < page.index("Rates")


def test_the_list_of_runs_has_prompts_and_means(scored_runs: Path) -> None:
    page = visitor(scored_runs).get("/").text
    assert f">{PROMPT}</a><small>mine" in page
    assert f">{PROMPT} (and 1 more prompt)</a>" in page
    assert re.search(r'"figure-cell">0\.44</span><small>mean score</small><small>†?33\.3 %', page)
    assert "by level" not in page
    assert "folder/given</a>" not in page
    found = visitor(scored_runs).get("/?text=red+cup").text
    assert "2 of 2 runs" in found


def test_images_follow_each_other_by_score(scored_runs: Path) -> None:
    site = visitor(scored_runs)
    gallery = site.get("/gallery?run=mine").text
    assert [tile.split()[-1] for tile in _tiles(gallery)] == ["3-both.png", "2-fork.png", "1-none.png", "4-photo.jpg"]
    assert '<span class="tile-prompt">' not in gallery, "all have the prompt that is the title"
    assert '<section class="facet" aria-label="level">' not in gallery
    page = site.get(re.findall(r'<a class="step" href="([^"]+)"', gallery)[0].replace("&amp;", "&")).text
    names = []
    while True:
        names.append(re.findall(r'aria-current="page">([^<]+)</span>', page)[0])
        following = re.search(r'href="([^"]+)" rel="next"', page)
        if following is None:
            break
        page = site.get(following[1].replace("&amp;", "&")).text
    assert names == ["3-both.png", "2-fork.png", "1-none.png", "4-photo.jpg"]
    back = re.search(r'href="([^"]+)" rel="prev"', page)
    assert back is not None
    assert "1-none.png" in site.get(back[1].replace("&amp;", "&")).text
    several = site.get("/gallery?run=two").text
    assert several.count('<span class="tile-prompt">') == 2
