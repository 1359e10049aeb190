"""A run of ConceptMix in the form of the authors' own scripts, and read back from it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formalimg import FormalimgError
from formalimg.benchmarks.conceptmix.export import export_conceptmix
from formalimg.benchmarks.conceptmix.published import read_scores
from formalimg.benchmarks.conceptmix.spec import NO_CATEGORY, ConceptSpec, RequestedConcept
from formalimg.models.base import Failed, ImageRequest, ImageResult
from formalimg.models.folder.folder_model import open_folder
from formalimg.models.python_function import CallableModel
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import Item
from tests.reports.concept_runs import Answers, PlannedJudge, concept_item, concept_run
from tests.support.models import NumberJudge, Speckles, speckled_for
from tests.support.published import published_concept_items
from tests.support.sizes import tries

ITEMS = [
    concept_item("a", ("object", "cat"), ("color", "red"), prompt="A cat, and it is red: “scarlet”!"),
    concept_item("b", ("object", "dog"), ("size", "tiny"), prompt="A tiny dog."),
    concept_item("c", ("object", "fork"), ("style", "ink"), prompt="A fork in ink."),
    concept_item("d", ("object", "lion"), ("color", "pink"), ("number", "2"), prompt="Two pink lions."),
]
ANSWERS: dict[str, Answers] = {"a": [True, True], "b": [True, False], "c": "not understood", "d": [False, True, True]}


def _shade(prompt: str) -> Image.Image:
    """Another image for each prompt; two halves, because of a flat one no judge is asked."""
    number = [item.prompt for item in ITEMS].index(prompt)
    image = Image.new("RGB", (64, 64), (50 * number, 10, 200))
    image.paste((255, 255, 255), (32, 0, 64, 64))
    return image


def _run(folder: Path, *, missing: str = "", samples: int = 1) -> StoredRun:
    def paint(prompt: str) -> Image.Image:
        if prompt == missing:
            raise RuntimeError("no image today")
        return _shade(prompt)

    order = RunConfig(ITEMS, CallableModel(paint, name="test/painter"), size=64, samples=samples, made_with="formalimg")
    execute(order, folder, PlannedJudge(ANSWERS, {}))
    return open_run(folder)


def test_scores_read_back_as_they_were_judged(tmp_path: Path) -> None:
    done = export_conceptmix(_run(tmp_path / "run"), tmp_path / "out", "painter")
    assert (done.images, done.scored) == (4, 3)
    scores = tmp_path / "out" / "all_ind_scores"
    first = read_scores(scores / "k_results_3" / "painter_k=1_score.json")
    assert [(image.scores, image.passed, image.fraction) for image in first] == [
        ((1, 1), True, 1.0),
        ((1, 0), False, 0.5),
    ]
    assert first[0].questions == ("Is the object cat?", "Is the color red?")
    assert all(Path(image.image_path).is_file() for image in first)
    (second,) = read_scores(scores / "k_results_1" / "painter_k=2_score.json")
    assert second.scores == (0, 1, 1)
    totals = json.loads((scores / "k_results_3" / "painter_k=1_score.json").read_text("utf-8"))[-1]
    assert totals == {"proportion_all_correct": 0.5, "average_score_per_image": 0.75}


def test_images_without_scores_are_named_and_never_zero(tmp_path: Path) -> None:
    done = export_conceptmix(_run(tmp_path / "run", missing="A tiny dog."), tmp_path / "out", "painter")
    assert (done.images, done.scored) == (3, 2)
    assert sum(done.without.values()) == 2
    unscored = json.loads((tmp_path / "out" / "all_ind_scores" / "painter_unscored.json").read_text("utf-8"))
    assert {(entry["item"], entry["prompt"], entry["score"]) for entry in unscored} == {
        ("b", "A tiny dog.", None),
        ("c", "A fork in ink.", None),
    }
    (only,) = read_scores(tmp_path / "out" / "all_ind_scores" / "k_results_3" / "painter_k=1_score.json")
    assert only.passed


def test_verdicts_that_do_not_go_into_concepts_are_never_taken_for_zeros(tmp_path: Path) -> None:
    answers: dict[str, Answers] = {"a": [True, True], "b": [True, False], "c": [True, True], "d": [True, True, False]}
    run = concept_run(tmp_path / "run", "m", ITEMS, answers, silent=["a", "b"], flat=["c"])
    done = export_conceptmix(run, tmp_path / "out", "m")
    assert (done.images, done.scored) == (4, 3)
    assert done.without == {"the verdict does not say which concepts are shown": 1}
    scores = tmp_path / "out" / "all_ind_scores"
    # The first passes, so it shows all; the second fails, and nobody knows by what; the third is of one colour.
    assert [one.scores for one in read_scores(scores / "k_results_3" / "m_k=1_score.json")] == [(1, 1), (0, 0)]
    (unscored,) = json.loads((scores / "m_unscored.json").read_text("utf-8"))
    assert (unscored["item"], unscored["passed"]) == ("b", False)
    assert unscored["reason"] == "the verdict does not say which concepts are shown"


@pytest.mark.parametrize("samples", [1, 2])
def test_the_images_are_found_again_in_the_authors_layout(samples: int, tmp_path: Path) -> None:
    export_conceptmix(_run(tmp_path / "run", samples=samples), tmp_path / "out", "painter")
    results = json.loads((tmp_path / "out" / "painter" / "2" / "result.json").read_text("utf-8"))
    assert [record["num_skills"] for record in results] == [2] * samples
    assert results[0]["categories"] == ["object", "color", "number"]
    assert results[0]["skill"] == ["lion", "pink", "2"]
    again = open_folder(str(tmp_path / "out" / "painter"), {"layout": "conceptmix"})
    order = RunConfig(ITEMS, again, size=64, samples=samples, made_with="formalimg")
    execute(order, tmp_path / "again", PlannedJudge(ANSWERS, {}))
    found = [(judged.outcome, judged.image) for judged in open_run(tmp_path / "again").judged()]
    prompts = {item.id: item.prompt for item in ITEMS}
    assert len(found) == 4 * samples
    for outcome, image in found:
        assert image is not None, outcome
        with Image.open(io.BytesIO(image.read_bytes())) as opened:
            assert opened.getpixel((9, 9)) == _shade(prompts[outcome.item]).getpixel((9, 9))


def test_a_model_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    run = _run(tmp_path / "run")
    export_conceptmix(run, tmp_path / "out", "painter")
    before = sorted(tmp_path.joinpath("out").rglob("*"))
    with pytest.raises(FormalimgError, match="is not empty"):
        export_conceptmix(run, tmp_path / "out", "painter")
    with pytest.raises(FormalimgError, match="cannot be a folder"):
        export_conceptmix(run, tmp_path / "out", "../painter")
    export_conceptmix(run, tmp_path / "out", "other")
    assert set(before) < set(tmp_path.joinpath("out").rglob("*"))


def _written(run: StoredRun) -> dict[tuple[str, int], bytes]:
    return {
        (judged.outcome.item, judged.outcome.sample): judged.image.read_bytes()
        for judged in run.judged()
        if judged.image is not None
    }


def _there_and_back(items: Sequence[Item[Any]], folder: Path, samples: int) -> None:
    """Run, export, and run over the export: the same items have the same images, with and without result.json."""
    lost = {("k1-070", 0), ("k2-002", 0)}

    def paint(request: ImageRequest) -> ImageResult:
        return Failed("no image today") if (request.item, request.sample) in lost else speckled_for(request)

    order = RunConfig(items, Speckles(answer=paint), size=16, samples=samples, made_with="formalimg")
    execute(order, folder / "run", NumberJudge())
    first = open_run(folder / "run")
    export_conceptmix(first, folder / "out", "speckles")
    results = list((folder / "out").rglob("result.json"))
    assert sum(len(json.loads(path.read_text("utf-8"))) for path in results) == len(_written(first))
    for name in ("again", "by name"):
        model = open_folder(str(folder / "out" / "speckles"), {})
        again = RunConfig(items, model, size=16, samples=samples, made_with="formalimg")
        execute(again, folder / name, NumberJudge())
        assert _written(open_run(folder / name)) == _written(first), name
        for path in results:
            path.unlink(missing_ok=True)


def test_all_published_items_come_back_from_the_authors_layout(tmp_path: Path) -> None:
    _there_and_back(published_concept_items()[:: tries(40, 1)], tmp_path, 1)


def test_a_part_of_the_items_comes_back_under_the_published_indexes(tmp_path: Path) -> None:
    twins = [
        Item("conceptmix", name, level, "2 cats, and the same prompt twice.", item.spec)
        for name, level, item in (("k1-070", 1, ITEMS[0]), ("k1-210", 1, ITEMS[0]), ("k2-002", 2, ITEMS[3]))
    ]
    _there_and_back(twins, tmp_path, 2)
    names = sorted(path.name for path in (tmp_path / "out" / "speckles" / "1").iterdir())
    assert names[0].startswith("2102_cats")
    assert [name.endswith("_1.png") for name in names] == [False, True, True]


def test_concepts_without_a_question_are_in_the_results_where_they_were_drawn(tmp_path: Path) -> None:
    (cat, red) = ITEMS[0].spec.concepts
    stray = RequestedConcept(NO_CATEGORY, "", "", "Is the sky blue?")
    tags = ("concept-without-question", "question-without-concept")
    spec = ConceptSpec((cat, stray), unasked=(red.concept,), order=(cat.concept, red.concept))
    item = Item("conceptmix", "k1-009", 1, "A cat.", spec, tags)
    run = concept_run(tmp_path / "run", "m", [item], {"k1-009": [True, False]})
    export_conceptmix(run, tmp_path / "out", "m")
    (record,) = json.loads((tmp_path / "out" / "m" / "1" / "result.json").read_text("utf-8"))
    assert (record["categories"], record["skill"]) == (["object", "color"], ["cat", "red"])
    assert record["question"] == ["Is the object cat?", "Is the sky blue?"]
    assert Path(record["image_path"]).name == "9A_cat.png"
    (scored,) = read_scores(tmp_path / "out" / "all_ind_scores" / "k_results_1" / "m_k=1_score.json")
    assert scored.scores == (1, 0)


def test_two_questions_of_the_same_words_keep_their_own_scores(tmp_path: Path) -> None:
    item = concept_item("twice", ("object", "cat"), ("color", "red"), ("color", "red"))
    run = concept_run(tmp_path / "run", "m", [item], {"twice": [True, True, False]})
    export_conceptmix(run, tmp_path / "out", "m")
    (scored,) = read_scores(tmp_path / "out" / "all_ind_scores" / "k_results_1" / "m_k=2_score.json")
    assert scored.scores == (1, 1, 0)
