"""The published form of ConceptMix's scores: `<model>_k=<k>_score.json`.

A list of records with `image_path`, `questions` and `scores`, and a last one with `proportion_all_correct` and
`average_score_per_image`. The published code leaves a question out that it got no answer to, and then counts the
image as wholly correct; so its totals are not believed here, but worked out from the records, and such images are
unscored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from formalimg.errors import FormalimgError


class ScoredImage(NamedTuple):
    """What was found in one image.

    Attributes:
        image_path: the file, as the scorer called it.
        questions: what was asked.
        scores: 1 for yes, 0 for no, one for each question; fewer where there was no answer.
    """

    image_path: str
    questions: tuple[str, ...]
    scores: tuple[int, ...]

    @property
    def passed(self) -> bool | None:
        """Is everything there? None if a question has no score, or none was asked."""
        return all(self.scores) if self.questions and len(self.scores) == len(self.questions) else None

    @property
    def fraction(self) -> float | None:
        """The share of questions answered with yes; None if a question has no score, or none was asked."""
        return None if self.passed is None else sum(self.scores) / len(self.scores)


def read_scores(path: str | Path) -> list[ScoredImage]:
    """The images in a file of scores; blank lines that the published code keeps among the questions are passed over.

    Raises:
        FormalimgError: if it is no such file.
    """
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} is not valid JSON, perhaps because its scorer did not end: {error}") from error
    if not isinstance(records, list):
        raise FormalimgError(f"{path} is no file of scores: it must be a list of records")
    images = [record for record in records if not (isinstance(record, dict) and "proportion_all_correct" in record)]
    return [_image(record, f"{path}, record {number}") for number, record in enumerate(images, 1)]


def scores_text(images: Iterable[ScoredImage]) -> str:
    """Images that have all their scores as the text of such a file, with the totals that follow from them.

    Raises:
        FormalimgError: if there is none, or one lacks a score.
    """
    listed = list(images)
    passed = [image.passed for image in listed]
    fractions = [image.fraction for image in listed]
    known = [fraction for fraction in fractions if fraction is not None]
    if not listed or len(known) < len(listed):
        raise FormalimgError(
            "only pictures that have all their scores can be written: this form has no place for others"
        )
    totals = {
        "proportion_all_correct": sum(map(bool, passed)) / len(listed),
        "average_score_per_image": sum(known) / len(known),
    }
    records = [
        {"image_path": image.image_path, "questions": list(image.questions), "scores": list(image.scores)}
        for image in listed
    ]
    return json.dumps([*records, totals], indent=4)


def _image(record: Any, where: str) -> ScoredImage:
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    path, questions, scores = (fields.get(name) for name in ("image_path", "questions", "scores"))
    if not (
        isinstance(path, str)
        and isinstance(questions, list)
        and all(isinstance(question, str) for question in questions)
        and isinstance(scores, list)
        and all(score in (0, 1) for score in scores)
    ):
        raise FormalimgError(f"{where}: must have image_path, questions, and scores of 0 or 1")
    asked = tuple(question.strip() for question in questions if question.strip())
    if len(scores) > len(asked):
        raise FormalimgError(f"{where}: has more scores than questions")
    return ScoredImage(path, asked, tuple(map(int, scores)))
