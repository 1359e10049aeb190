"""Votes of people: read without mercy, and compared with each other and with the judge. Figures computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formalimg.errors import FormalimgError
from formalimg.runs import open_run
from formalimg.stats import Consistency, clopper_pearson
from formalimg.studies import PeopleStudied, VotesError, read_votes, study_votes
from formalimg.suites import ConceptSpec, Item
from tests.studies.concept_runs import PlannedJudge, concept_item, concept_run

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

WHOLE = {
    ("one", "a1"): "111",
    ("one", "a2"): "110",
    ("one", "b1"): "101",
    ("one", "b2"): "000",
    ("one", "c1"): "010",
    ("one", "c2"): "10-",
    ("test/two", "b1"): "111",
    ("test/two", "b2"): "110",
    ("three", "b1"): "000",
    ("three", "b2"): "011",
}
"""What ann, bob and cy say to each picture as a whole; one run is called by its model."""

QUESTIONS = {
    ("a1", 1): "111",
    ("a1", 2): "100",
    ("a2", 1): "111",
    ("a2", 2): "101",
    ("b1", 1): "111",
    ("b1", 2): "101",
    ("b1", 3): "10-",
}
"""What they say to single questions about pictures of the first run."""

RATERS = ("ann", "bob", "cy")


def _votes() -> str:
    lines = ["model,item,sample,question,rater,vote,remark"]
    words = {"1": "Yes", "0": "no"}
    for (model, item), votes in WHOLE.items():
        lines += [f"{model},{item},,all,{who},{words[it]}," for who, it in zip(RATERS, votes, strict=True) if it != "-"]
    for (item, number), votes in QUESTIONS.items():
        lines += [
            f'one,{item},0,{number},{who},{it},"odd, but\nfine"'
            for who, it in zip(RATERS, votes, strict=True)
            if it != "-"
        ]
    return "\r\n".join(lines)


def _says(answers: dict[str, str]) -> PlannedJudge:
    def said(item: Item[ConceptSpec]) -> Sequence[bool]:
        return [letter == "y" for letter in answers[item.id]]

    return PlannedJudge("test/judge", said)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    home = tmp_path_factory.mktemp("runs")
    return {
        name: concept_run(home / name, ITEMS, [_says(answers)], model=f"test/{name}")
        for name, answers in JUDGED.items()
    }


def _studied(runs: dict[str, Path], votes: str, folder: Path, *names: str) -> PeopleStudied:
    (folder / "votes.csv").write_text(votes, encoding="utf-8-sig", newline="")
    with ExitStack() as opened:
        chosen = [opened.enter_context(closing(open_run(runs[name]))) for name in names or runs]
        return study_votes(read_votes(folder / "votes.csv"), chosen)


@pytest.fixture(scope="module")
def study(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> PeopleStudied:
    return _studied(runs, _votes(), tmp_path_factory.mktemp("votes"))


def _counts(found: Consistency) -> tuple[int, int, int]:
    return found.equal, found.n, found.left_out


def test_majorities_make_the_score_of_people(study: PeopleStudied) -> None:
    assert study.whole is not None
    people = {(it.run, it.level): (it.people.passed, it.people.scored, it.people.expected) for it in study.whole.scores}
    judge = {(it.run, it.level): (it.judge.passed, it.judge.scored) for it in study.whole.scores}
    assert people == {
        ("one", 1): (2, 2, 2),
        ("one", 2): (1, 2, 2),
        ("one", 3): (0, 1, 2),  # the votes on c2 are a tie
        ("one", None): (3, 5, 6),
        ("three", 2): (1, 2, 2),
        ("three", None): (1, 2, 2),
        ("two", 2): (2, 2, 2),
        ("two", None): (2, 2, 2),
    }
    assert judge["one", 1] == (1, 2)
    assert judge["one", 2] == (1, 2)
    assert judge["one", 3] == (0, 2)
    assert judge["two", 2] == (2, 2)
    assert judge["three", 2] == (0, 2)
    assert (study.whole.cases, study.whole.undecided) == (10, 1)
    assert study.votes == 49
    assert study.raters == RATERS


def test_majority_and_judge(study: PeopleStudied) -> None:
    assert study.whole is not None
    assert _counts(study.whole.with_judge) == (7, 9, 1)
    assert study.whole.with_judge.interval == clopper_pearson(7, 9)
    assert {level: _counts(it) for level, it in study.whole.with_judge_by_level.items()} == {
        1: (1, 2, 0),
        2: (5, 6, 0),
        3: (1, 1, 1),
    }
    assert {run: _counts(it) for run, it in study.whole.with_judge_by_run.items()} == {
        "one": (4, 5, 1),
        "three": (1, 2, 0),
        "two": (2, 2, 0),
    }
    assert study.questions is not None
    assert {kind: _counts(it) for kind, it in study.questions.with_judge_by_kind.items()} == {
        "object": (3, 3, 0),
        "color": (1, 3, 0),
        "spatial": (0, 0, 1),
    }
    assert _counts(study.questions.with_judge_by_level[1]) == (2, 4, 0)
    assert _counts(study.questions.with_judge_by_level[2]) == (2, 2, 1)


def test_everyone_and_everyone(study: PeopleStudied) -> None:
    assert study.whole is not None
    matrix = study.whole.matrix
    assert list(matrix) == [*RATERS, "majority", "judge"]
    assert _counts(matrix["ann"]["bob"]) == (6, 10, 0)
    assert _counts(matrix["ann"]["cy"]) == (6, 9, 1)
    assert _counts(matrix["bob"]["cy"]) == (5, 9, 1)
    assert _counts(matrix["ann"]["majority"]) == (8, 9, 1)
    assert _counts(matrix["ann"]["judge"]) == (8, 10, 0)
    assert matrix["majority"]["judge"] == study.whole.with_judge
    assert study.whole.people == pytest.approx(((6 / 10 + 6 / 9 + 5 / 9) / 3, 3, 0))


def test_scores_that_go_together(study: PeopleStudied) -> None:
    """From level to level: people 1, ½, 0 and the judge ½, ½, 0. From run to run: ½, ½, 1 and ½, 0, 1."""
    assert study.whole is not None
    assert study.whole.r_by_level["one"].value == pytest.approx(sqrt(3) / 2)
    assert study.whole.r_by_level["one"].n == 3
    assert study.whole.r_by_level["two"].value is None
    assert study.whole.r_by_run[2].value == pytest.approx(sqrt(3) / 2)
    assert study.whole.r_by_run[1].value is None


def test_all_questions_together(study: PeopleStudied) -> None:
    """By majority: a1 yes and no, a2 yes and yes, b1 yes, yes and a tie; the judge passes a1 and b1."""
    assert study.all_questions is not None
    scores = {(it.run, it.level): it.people for it in study.all_questions.scores}
    assert (scores["one", 1].passed, scores["one", 1].scored) == (1, 2)
    assert (scores["one", 2].value, scores["one", 2].scored, scores["one", 2].expected) == (None, 0, 1)
    assert _counts(study.all_questions.with_judge) == (0, 2, 1)


@pytest.mark.parametrize(("votes", "decided"), [("1-0", False), ("11-", None), ("111", True), ("--1", None)])
def test_one_no_decides_and_a_yes_needs_all_answers(
    runs: dict[str, Path], tmp_path: Path, votes: str, decided: bool | None
) -> None:
    rows = [f"one,b1,{number},ann,{vote}" for number, vote in enumerate(votes, 1) if vote != "-"]
    panel = _studied(runs, "\n".join(["model,item,question,rater,vote", *rows]), tmp_path, "one").all_questions
    assert panel is not None
    rate = panel.scores[0].people
    assert (rate.value, rate.expected) == (None if decided is None else float(decided), 1)


def test_people_do_not_always_agree_with_themselves(study: PeopleStudied) -> None:
    """Bob says yes to a1 and a2 but no to a question, cy to a1; cy says no to a2 but yes to all its questions."""
    assert study.divergence is not None
    assert _counts(study.divergence.agreement) == (4, 8, 21)
    assert (study.divergence.yes_then_no.happened, study.divergence.no_then_yes.happened) == (3, 1)
    assert study.divergence.yes_then_no.value == 3 / 8
    assert study.divergence_by_level[1].yes_then_no.value == 3 / 6
    assert study.divergence_by_level[2].yes_then_no.value == 0
    assert list(study.divergence_by_level) == [1, 2]


def test_runs_without_votes_are_named_and_the_order_of_votes_does_not_matter(
    runs: dict[str, Path], study: PeopleStudied, tmp_path: Path
) -> None:
    head, *rows = "model,item,question,rater,vote\none,a1,,bob,1\none,a1,,ann,0\none,b1,2,ann,1".splitlines()
    some = _studied(runs, "\n".join([head, *rows]), tmp_path)
    assert some.without_votes == ("two", "three")
    assert some.divergence is None
    assert study.without_votes == ()
    assert _studied(runs, "\n".join([head, *rows[::-1]]), tmp_path) == some


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
    for told in ("'maybe': write 1 or 0", "item is empty", "the question is 'zero'", "'-1'", "5 cells for 6 columns"):
        assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there are no votes"),
        ("model,item,rater,vote\n", "no votes below"),
        ("model;item;rater;vote\none;a1;ann;1\n", "no column model"),
        ("model,item,rater\none,a1,ann\n", "no column vote"),
        ("model,item,rater,vote,Questions\none,a1,ann,1,2\n", "did you mean question?"),
        ("model,item,vote,rater,vote\none,a1,1,ann,1\n", "several columns vote"),
        ('model,item,rater,vote\none,a1,ann,"1\n', "no CSV"),
    ],
)
def test_what_is_no_table_of_votes_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "votes.csv").write_text(text)
    with pytest.raises(VotesError, match=told.replace("?", r"\?")):
        read_votes(tmp_path / "votes.csv")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_bytes("model,item,rater,vote\none,ä,ann,1".encode("utf-16"))
    for name, told in (("votes.csv", "UTF-8"), ("none.csv", "cannot read")):
        with pytest.raises(FormalimgError, match=told):
            read_votes(tmp_path / name)


def test_votes_on_what_is_not_there_are_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    votes = (
        "model,item,sample,question,rater,vote\n"
        "four,a1,,,ann,1\nfour,a2,,,ann,1\none,z9,,,ann,1\none,a1,1,,ann,1\none,a1,,3,ann,1\n"
        "one,a1,,,ann,1\ntest/one,a1,0,all,ann,0\none,a1,,,judge,1\n"
    )
    with pytest.raises(VotesError) as caught:
        _studied(runs, votes, tmp_path)
    for finding, told in zip(
        caught.value.findings,
        [
            "line 2 (and 1 more lines): no run is called four",
            "line 4: one has no item z9",
            "line 5: one has no sample 1",
            "line 6: there is no question 3: item a1 of one has 2 questions",
            "line 8: ann votes twice on the whole picture of item a1",
            "line 9: the rater is called judge",
        ],
        strict=True,
    ):
        assert finding.startswith(told)


def test_a_model_with_two_runs_is_called_by_folder(runs: dict[str, Path], tmp_path: Path) -> None:
    again = concept_run(tmp_path / "again", ITEMS[:1], [_says(JUDGED["one"])], model="test/one")
    votes = "model,item,rater,vote\ntest/one,a1,ann,1\n"
    with pytest.raises(VotesError, match="one of one, again"):
        _studied({**runs, "again": again}, votes, tmp_path)
    assert _studied({**runs, "again": again}, votes.replace("test/one", "again"), tmp_path).votes == 1


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
