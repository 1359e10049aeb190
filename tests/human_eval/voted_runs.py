"""Three small runs of ConceptMix to vote on, whose judge says what was planned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from formalimg.benchmarks.conceptmix.spec import ConceptSpec
from formalimg.human_eval.agreement.rating_files import read_votes
from formalimg.human_eval.agreement.vote_study import VoteStudy, study_votes
from formalimg.runs.reader import open_run
from formalimg.types import Item
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run

ITEMS = [
    concept_item("a1", ["object", "color"]),
    concept_item("a2", ["object", "color"]),
    concept_item("b1", ["object", "color", "spatial"]),
    concept_item("b2", ["object", "color", "spatial"]),
    concept_item("c1", ["object", "color", "spatial", "style"]),
    concept_item("c2", ["object", "color", "spatial", "style"]),
]
JUDGED = {
    "one": {"a1": "yy", "a2": "yn", "b1": "yyy", "b2": "ynn", "c1": "yynn", "c2": "nyyy"},
    "two": {"a1": "yy", "a2": "yn", "b1": "yyy", "b2": "yyy", "c1": "yynn", "c2": "nyyy"},
    "three": {"a1": "yy", "a2": "yn", "b1": "nyy", "b2": "yny", "c1": "yynn", "c2": "nyyy"},
}
"""What the judge says to each question, by run."""


def voted_run(folder: Path, name: str, items: Sequence[Item[ConceptSpec]] = ITEMS) -> Path:
    def said(item: Item[ConceptSpec]) -> Sequence[bool]:
        return [letter == "y" for letter in JUDGED[name][item.id]]

    return concept_run(folder, items, [PlannedJudge("test/judge", said)], model=f"test/{name}")


def voted_runs(home: Path) -> dict[str, Path]:
    return {name: voted_run(home / name, name) for name in JUDGED}


def studied(runs: dict[str, Path], votes: str, folder: Path, *names: str) -> VoteStudy:
    (folder / "votes.csv").write_text(votes, encoding="utf-8-sig", newline="")
    with ExitStack() as opened:
        chosen = [opened.enter_context(closing(open_run(runs[name]))) for name in names or runs]
        return study_votes(read_votes(folder / "votes.csv"), chosen)
