"""Files of very many answers: memory that follows the runs they make and not the file, and limits that end early."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from formalimg._util import record_files
from formalimg.benchmarks.loader import load
from formalimg.errors import FormalimgError
from formalimg.human_eval.importing import rating_studies
from formalimg.human_eval.importing.answers import ImportedRuns, import_answers, read_answers
from formalimg.human_eval.importing.rating_studies import read_ratings
from formalimg.types import Item

_HEADS = "model,item,sample,question_id,question,answer\n"
_QUESTIONS = range(1, 9)


@pytest.fixture
def items(tmp_path: Path) -> list[Item[object]]:
    rows = [
        f"item_{item},{'Some things' * (number == 1)},Is there a thing {number} of {item}?,{number}\n"
        for item in range(50)
        for number in _QUESTIONS
    ]
    (tmp_path / "items.csv").write_text("item,prompt,question,question_id\n" + "".join(rows))
    return list(load("questions", tmp_path / "items.csv"))


def import_rows(place: Path, rows: Iterable[str], items: list[Item[object]]) -> ImportedRuns:
    (place / "answers.csv").write_text(_HEADS + "".join(rows))
    return import_answers(read_answers(place / "answers.csv"), items, place / "runs")


def test_memory_does_not_grow_with_the_rows(tmp_path: Path, items: list[Item[object]]) -> None:
    """What is kept is one answer to each question; all rows at once took twenty times the size of the file."""
    rows = [
        f"lab/a,item_{item},0,{number},Is there a thing {number} of {item}?,yes\n"
        for item in range(50)
        for number in _QUESTIONS
    ]
    import_rows(tmp_path, rows, items)  # what is imported and cached once does not count
    tracemalloc.start()
    try:
        found = import_rows(tmp_path, (row for _ in range(40) for row in rows), items)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(run.images, run.scored) for run in found.runs] == [(50, 50)]
    assert peak < 3 * (tmp_path / "answers.csv").stat().st_size


def test_too_many_models_are_refused_before_anything_is_written(tmp_path: Path, items: list[Item[object]]) -> None:
    rows = (f"model-{number},item_1,0,1,,yes\n" for number in range(201))
    with pytest.raises(FormalimgError, match=r"names more than 200 image models: split it$"):
        import_rows(tmp_path, rows, items)
    assert not (tmp_path / "runs").exists()
    few = import_rows(tmp_path, (f"model-{number % 3},item_1,0,1,,yes\n" for number in range(300)), items)
    assert len(few.runs) == 3


def test_too_many_images_are_refused_before_anything_is_written(tmp_path: Path, items: list[Item[object]]) -> None:
    """Every sample that a file names has an image of every item."""
    rows = (f"model-{number % 2},item_1,{number // 2},1,,yes\n" for number in range(10_500))
    with pytest.raises(FormalimgError, match="about more than 500,000 images: import some items at a time"):
        import_rows(tmp_path, rows, items)
    assert not (tmp_path / "runs").exists()


def test_too_many_ratings_and_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rating_studies, "_MAX_RATINGS", 10)
    records = [{"item": "a", "rater": f"{number}", "rating": 3} for number in range(11)]
    (tmp_path / "ratings.jsonl").write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(FormalimgError, match="has more than 10 ratings: split it"):
        read_ratings(tmp_path / "ratings.jsonl")
    monkeypatch.setattr(record_files, "_MAX_VALUES", 20)
    (tmp_path / "ratings.json").write_text(json.dumps(records))
    with pytest.raises(FormalimgError, match="has more than 20 values, save it as JSON Lines"):
        read_ratings(tmp_path / "ratings.json")
