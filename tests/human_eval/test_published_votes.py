"""Votes on published items, by the numbers of their published questions: each is about the question it was given to."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from formalimg import load
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, ConceptSpec
from formalimg.human_eval.agreement.rating_files import Vote
from formalimg.human_eval.agreement.vote_study import study_votes
from formalimg.runs.reader import open_run
from formalimg.types import Item
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.support.published import published_concepts

_ERRORS: dict[str, float] = {category: number / 16 for number, category in enumerate(CATEGORIES)}
"""How often the judge errs, by category."""


def _chance(*words: object) -> float:
    return hashlib.sha256(repr(words).encode()).digest()[0] / 256


def _truth(item: str, question: str) -> bool:
    """Return what an image of an item shows, by the words of the question."""
    return _chance("truth", item, question.strip()) < 0.5


def test_agreement_by_category_is_the_truth(tmp_path: Path) -> None:
    """Items that ask for two equal concepts, whose questions pairing could exchange, and nothing odd besides."""
    path = published_concepts() / "sentence_collection" / "300_sentences_k=7.json"
    items = [item for item in load("conceptmix", path) if not item.tags and max(Counter(item.spec.drawn).values()) > 1]
    assert len(items) > 50
    records = {f"k7-{record['index']:03}": record for record in json.loads(path.read_text(encoding="utf-8"))}

    def errs(item: str, question: str, category: str) -> bool:
        return _chance("error", item, question.strip()) < _ERRORS[category]

    def answers(item: Item[ConceptSpec]) -> Sequence[bool]:
        return [
            _truth(item.id, one.question) != errs(item.id, one.question, one.category) for one in item.spec.concepts
        ]

    votes, right, asked = [], Counter[str](), Counter[str]()
    for item in items:
        lines = [line for line in records[item.id]["question"] if line.strip()]
        for number, (line, category) in enumerate(zip(lines, records[item.id]["categories"], strict=True), 1):
            votes.append(Vote("run", item.id, 0, number, "ann", _truth(item.id, line), 0))
            right[category] += not errs(item.id, line, category)
            asked[category] += 1
    with closing(open_run(concept_run(tmp_path / "run", items, [PlannedJudge("test/judge", answers)]))) as run:
        study = study_votes(votes, [run])
    assert study.questions is not None
    found = {kind: (it.equal, it.n) for kind, it in study.questions.with_judge_by_kind.items()}
    assert found == {category: (right[category], asked[category]) for category in asked}
    assert set(found) == set(CATEGORIES)
    assert right["object"] == asked["object"]
