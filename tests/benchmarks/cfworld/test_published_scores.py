"""Files of scores as the published scorers leave them: a 0 that nobody gave is no score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from formalimg.benchmarks.cfworld.result_files import read_cf_scores
from formalimg.errors import FormalimgError

JUDGED = {
    "id": "1",
    "source_id": "12",
    "prompt_level": "l2",
    "question": "Is the apple above the branch?",
    "weight": 15,
    "score": 0.5,
    "reasoning": "It is beside it.",
    "image_score": 0.5,
}
GATED = " [System: Zeroed because L1 image score (0.42) < 0.5]"


def scores(folder: Path, *records: object, name: str = "Biology_gemini_scores.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(records))
    return path


def test_judged_questions_keep_their_scores(tmp_path: Path) -> None:
    zero = {**JUDGED, "score": 0.0, "reasoning": "It is below."}
    first, second = read_cf_scores(scores(tmp_path, JUDGED, zero))
    assert (first.item, first.level, first.weight, first.score) == ("biology-12-l2", 2, 15, 0.5)
    assert (second.score, second.unscored) == (0.0, "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"reasoning": "Image missing"}, "missing"),
        ({"reasoning": "Image missing" + GATED}, "missing"),
        ({"reasoning": "Skipped due to L1 score < 0.5"}, "not judged, because L1"),
        ({"reasoning": "API Failed"}, "no answer"),
        ({"reasoning": "FAILED" + GATED + GATED}, "no answer"),
        ({"reasoning": "It floats." + GATED + GATED}, "what the judge gave is lost"),
        ({"reasoning": "Parsed"}, "left the question out"),
        ({"score": 7, "reasoning": "Seven of ten."}, "no number from 0 to 1: 7"),
        ({"score": "high", "reasoning": "Good."}, "no number from 0 to 1: high"),
        ({"score": None, "reasoning": "Good."}, "no number from 0 to 1"),
        ({"score": 10**400, "reasoning": "Good."}, "no number from 0 to 1: 1000"),
    ],
)
def test_what_is_no_score_is_unscored_with_the_reason(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    (found,) = read_cf_scores(scores(tmp_path, {**JUDGED, "score": 0.0, **change}))
    assert found.score is None
    assert why in found.unscored
    assert found.item == "biology-12-l2"


def test_records_that_do_not_say_their_group_are_kept(tmp_path: Path) -> None:
    failed = {"id": "1", "prompt_level": "l1", "score": 0.0, "weight": 3, "reasoning": "FAILED"}
    (found,) = read_cf_scores(scores(tmp_path, failed))
    assert (found.item, found.score) == ("", None)


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("Classical Mechanics_gemini_qwen235b.json", "physics-classical-mechanics-12-l2"),
        ("Chemical_gemini_scores.json", "chemical-12-l2"),
        ("Old Music_eval_scores.json", "old-music-12-l2"),
    ],
)
def test_the_name_of_the_file_says_the_field(name: str, item: str, tmp_path: Path) -> None:
    assert read_cf_scores(scores(tmp_path, JUDGED, name=name))[0].item == item


@pytest.mark.parametrize("text", ["[{", "{}", '[{"filename": "TOTAL_AVERAGE", "l1": 0.8}]', '["text"]'])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "summary_stats.json"
    path.write_text(text)
    with pytest.raises(FormalimgError, match=str(path)):
        read_cf_scores(path)
