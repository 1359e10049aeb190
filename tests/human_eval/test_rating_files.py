"""Rating files, and votes as published."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg import load
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, ConceptSpec
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.rating_files import Vote, VotesError, read_votes
from formalimg.human_eval.agreement.vote_study import study_votes
from formalimg.runs.reader import open_run
from formalimg.types import Item
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.voted_runs import ITEMS, studied, voted_run, voted_runs
from tests.support.published import published_concepts
from tests.support.values import not_none


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return voted_runs(tmp_path_factory.mktemp("runs"))


def test_all_bad_rows_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text(
        "item,model,question,rater,vote,sample\n"
        "a1,one,,ann,1,0\n"
        "a1,one,,ann,maybe,0\n"
        ",one,,ann,1,0\n"
        "\n"
        "a1,one,zero,ann,1,0\n"
        "a1,one,0,ann,1,0\n"
        'a1,"one\n",1,ann,1,-1\n'
        "a1,one,1,ann,1\n"
    )
    with pytest.raises(VotesError) as caught:
        read_votes(tmp_path / "votes.csv")
    lines = [finding.split(":")[1] for finding in caught.value.findings]
    assert lines == ["3", "4", "6", "7", "8", "10"]
    assert str(caught.value).splitlines() == list(caught.value.findings)
    for text in ("'maybe': write 1 or 0", "item is empty", "the question is 'zero'", "'-1'", "5 cells for 6 columns"):
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "there are no votes"),
        ("model,item,rater,vote\n", "no votes below"),
        ("model;item;rater;vote\none;a1;ann;1\n", "semicolons between the columns: save the table with commas"),
        ("model\titem\trater\tvote\none\ta1\tann\t1\n", "tabs between the columns"),
        ("model,item,rater\none,a1,ann\n", "no column vote"),
        ("model,item,rater,vote,Questions\none,a1,ann,1,2\n", "did you mean question?"),
        ("model,item,vote,rater,vote\none,a1,1,ann,1\n", "several columns vote"),
        ('model,item,rater,vote\none,a1,ann,"1\n', "not CSV"),
    ],
)
def test_what_is_no_table_of_votes_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "votes.csv").write_text(text)
    with pytest.raises(VotesError, match=expected.replace("?", r"\?")):
        read_votes(tmp_path / "votes.csv")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes("model,item,rater,vote\none,ä,ann,1".encode("utf-16"))
    for name, expected in (("votes.csv", "UTF-8"), ("none.csv", "cannot read")):
        with pytest.raises(FormalimgError, match=expected):
            read_votes(tmp_path / name)


def test_votes_on_what_is_not_there_are_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    votes = (
        "model,item,sample,question,rater,vote\n"
        "four,a1,,,ann,1\nfour,a2,,,ann,1\none,z9,,,ann,1\none,a1,1,,ann,1\none,a1,,3,ann,1\n"
        "one,a1,,,ann,1\ntest/one,a1,0,all,ann,0\none,a1,,,judge,1\n"
    )
    with pytest.raises(VotesError) as caught:
        studied(runs, votes, tmp_path)
    for finding, expected in zip(
        caught.value.findings,
        [
            "line 2 (and 1 more line): no run is called four",
            "line 4: one has no item z9",
            "line 5: one has no sample 1",
            "line 6: there is no question 3: item a1 of one has 2 questions",
            "line 8: ann votes twice on the whole image of item a1",
            "line 9: the rater is called judge",
        ],
        strict=True,
    ):
        assert finding.startswith(expected)


def test_all_mistakes_of_a_file_are_named_at_once_with_file_and_line(runs: dict[str, Path], tmp_path: Path) -> None:
    """What makes no sense by itself, and what makes none beside the runs; the same mistake once."""
    votes = tmp_path / "votes.csv"
    votes.write_text(
        "model,item,sample,question,rater,vote\n"
        "one,a1,,,ann,1\none,z9,,,ann,1\none,a1,,,bob,perhaps\none,a1,,,ann,0\none,a2,,9,ann,1\none,a2,,,bob,perhaps\n"
    )
    with closing(open_run(runs["one"])) as run, pytest.raises(VotesError) as caught:
        study_votes(votes, [run])
    assert [finding.split(": ")[:2] for finding in caught.value.findings] == [
        [f"{votes}:3", "one has no item z9"],
        [f"{votes}:4 (and 1 more line)", "the vote is 'perhaps'"],
        [f"{votes}:5", "ann votes twice on the whole image of item a1, sample 0, of one"],
        [f"{votes}:6", "there is no question 9"],
    ]


def test_a_model_with_two_runs_is_called_by_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    again = voted_run(tmp_path / "again", "one", ITEMS[:1])
    votes = "model,item,rater,vote\ntest/one,a1,ann,1\n"
    with pytest.raises(VotesError, match="one of one, again"):
        studied({**runs, "again": again}, votes, tmp_path)
    assert studied({**runs, "again": again}, votes.replace("test/one", "again"), tmp_path).votes == 1


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        path.write_text(f"model,item,rater,vote\n{text}", encoding="utf-8", errors="replace", newline="")
        try:
            assert read_votes(path)
        except FormalimgError as error:
            assert str(error).isprintable() or "\n" in str(error)


_ERRORS: dict[str, float] = {category: number / 16 for number, category in enumerate(CATEGORIES)}
"""How often the judge errs, by category."""


def _chance(*words: object) -> float:
    return hashlib.sha256(repr(words).encode()).digest()[0] / 256


def _truth(item: str, question: str) -> bool:
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
    found = {kind: (it.equal, it.n) for kind, it in not_none(study.questions).with_judge_by_kind.items()}
    assert found == {category: (right[category], asked[category]) for category in asked}
    assert set(found) == set(CATEGORIES)
    assert right["object"] == asked["object"]
