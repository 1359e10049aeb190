"""Votes of people, compared with each other and with the judge. Figures computed by hand."""

from __future__ import annotations

import csv
import json
from math import sqrt
from pathlib import Path

import pytest

from formalimg.human_eval.agreement.rater_agreement import Panel
from formalimg.human_eval.agreement.studies import agreement_text, tables_of_study
from formalimg.human_eval.agreement.vote_study import VoteStudy
from formalimg.reports.tables.format import cell_text
from formalimg.stats.agreement import Consistency
from formalimg.stats.correlation import pearson
from formalimg.stats.intervals import clopper_pearson
from formalimg.types import Table
from tests.human_eval.concept_runs import PlannedJudge, concept_run
from tests.human_eval.voted_runs import ITEMS, studied, voted_runs
from tests.support.values import not_none

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
"""What ann, bob and cy say to each image as a whole; one run is called by its model."""

QUESTIONS = {
    ("a1", 1): "111",
    ("a1", 2): "100",
    ("a2", 1): "111",
    ("a2", 2): "101",
    ("b1", 1): "111",
    ("b1", 2): "101",
    ("b1", 3): "10-",
}
"""What they say to single questions about images of the first run."""

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


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return voted_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def study(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> VoteStudy:
    return studied(runs, _votes(), tmp_path_factory.mktemp("votes"))


@pytest.fixture(scope="module")
def whole(study: VoteStudy) -> Panel:
    return not_none(study.whole)


def _counts(found: Consistency) -> tuple[int, int, int]:
    return found.equal, found.n, found.left_out


def test_majorities_make_the_score_of_people(study: VoteStudy, whole: Panel) -> None:
    assert {(it.run, it.level): (*it.human[:3], *it.judge[:2]) for it in whole.scores} == {
        ("one", 1): (2, 2, 2, 1, 2),
        ("one", 2): (1, 2, 2, 1, 2),
        ("one", 3): (0, 1, 2, 0, 2),  # the votes on c2 are a tie
        ("one", None): (3, 5, 6, 2, 6),
        ("three", 2): (1, 2, 2, 0, 2),
        ("three", None): (1, 2, 2, 0, 2),
        ("two", 2): (2, 2, 2, 2, 2),
        ("two", None): (2, 2, 2, 2, 2),
    }
    both = {(it.run, it.level): (it.human_of_both, it.judge_of_both) for it in whole.scores}
    assert [(it.passed, it.scored, it.expected) for it in both["one", None]] == [(3, 5, 6), (2, 5, 6)]  # without c2
    assert [(it.passed, it.scored) for it in both["one", 3]] == [(0, 1), (0, 1)]
    assert (whole.cases, whole.undecided, study.votes, study.raters) == (10, 1, 49, RATERS)


def test_majority_and_judge(study: VoteStudy, whole: Panel) -> None:
    assert _counts(whole.with_judge) == (7, 9, 1)
    assert whole.with_judge_by_run["one"].interval == clopper_pearson(4, 5)
    assert {level: _counts(it) for level, it in whole.with_judge_by_level.items()} == {
        1: (1, 2, 0),
        2: (5, 6, 0),
        3: (1, 1, 1),
    }
    assert {run: _counts(it) for run, it in whole.with_judge_by_run.items()} == {
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


def test_everyone_and_everyone(whole: Panel) -> None:
    matrix = whole.matrix
    assert list(matrix) == [*RATERS, "majority", "judge"]
    people = [_counts(matrix[one][other]) for one, other in (("ann", "bob"), ("ann", "cy"), ("bob", "cy"))]
    assert people == [(6, 10, 0), (6, 9, 1), (5, 9, 1)]
    assert _counts(matrix["ann"]["majority"]) == (8, 9, 1)
    assert _counts(matrix["ann"]["judge"]) == (8, 10, 0)
    assert matrix["majority"]["judge"] == whole.with_judge
    assert whole.human[:3] == pytest.approx(((6 / 10 + 6 / 9 + 5 / 9) / 3, 3, 0))
    assert not_none(whole.human.interval).low < 0.35  # six items


def test_how_far_people_can_be_relied_on(whole: Panel) -> None:
    """Of 29 votes 16 are yes. Five images have two against one, which adds 2 each, and c2 one against one: 12 in all.

    By chance it would be 2 · 16 · 13 / 28.
    """
    assert whole.alpha.value == pytest.approx(1 - 12 * 28 / (2 * 16 * 13))
    assert (whole.alpha.n, whole.alpha.left_out) == (10, 0)


def test_the_judge_measured_by_the_majority(whole: Panel) -> None:
    """The judge passes a1, b1 and both of the second run, but neither a2 nor the last b2, which people like."""
    found = whole.classified
    assert (found.confusion, found.n, found.left_out) == ((4, 0, 2, 3), 9, 1)
    assert found.recall[:3] == (4, 6, 4 / 6)
    assert not_none(found.recall.interval).low < clopper_pearson(4, 6).low  # the same items in several runs
    assert (found.precision.value, found.specificity.value, found.f1.value) == (1, 1, 0.8)
    assert found.balanced_accuracy.value == pytest.approx(5 / 6)
    assert found.accuracy.value == whole.with_judge.value


def test_runs_are_ranked_by_people_and_judge(whole: Panel) -> None:
    """At level 2 people give ½, ½ and 1, the judge ½, 0 and 1: ranks 1½, 1½, 3 and 2, 1, 3."""
    assert whole.ranks.by_level[2].value == pytest.approx(sqrt(3) / 2)
    assert whole.ranks.mean == pytest.approx(sqrt(3) / 2)
    assert (whole.ranks.levels, whole.ranks.left_out) == (1, 2)


def _texts(table: Table) -> list[tuple[str, ...]]:
    return [tuple(map(cell_text, row.cells, table.columns)) for row in table.rows]


def test_alpha_and_the_measured_judge_are_told(study: VoteStudy) -> None:
    people = json.loads(agreement_text([study], "json"))["people"][0]["whole"]
    assert people["alpha"]["value"] == pytest.approx(5 / 26)
    assert people["classified"]["f1"]["value"] == 0.8
    rows = list(csv.DictReader(agreement_text([study], "csv").splitlines()))
    whole = {(row["figure"], row["level"]): row for row in rows if row["of"] == "whole pictures"}
    assert float(whole["Krippendorff's alpha of people", ""]["value"]) == pytest.approx(5 / 26)
    recall, f1 = whole["recall (sensitivity)", ""], whole["F1", ""]
    assert float(recall["value"]) == pytest.approx(4 / 6)
    assert recall["n"] == "6"
    assert (f1["value"], f1["n"], f1["left_out"]) == ("0.8", "9", "1")
    assert float(f1["low"]) < 0.8 < float(f1["high"])
    assert float(whole["rank correlation of runs", "2"]["value"]) == pytest.approx(sqrt(3) / 2)
    assert whole["mean rank correlation of runs", ""]["n"] == "1"
    _, measured, relied, ranked, *_ = tables_of_study(study)
    (alpha,) = [row for row in _texts(relied) if row[0] == "Krippendorff's, whole images"]
    assert alpha[1].startswith("0.192 (")
    assert alpha[2:] == ("10", "0")
    assert _texts(ranked)[-1][:2] == ("mean", "0.866")
    cells = {row[0]: row[1] for row in _texts(measured)}
    assert cells["recall (sensitivity)"].startswith("66.7 (20.")
    assert cells["F1"].startswith("80.0 (")
    assert (cells["false negatives"], cells["left out, no majority"], cells["left out, no verdict"]) == ("2", "1", "0")


def test_unscored_verdicts_and_ties_are_told_apart(tmp_path: Path) -> None:
    """a1 and a2 have no verdict, b1 is a tie, and c1 is a tie without a verdict."""
    dark = ("a1", "a2", "c1")
    judge = PlannedJudge("test/dim", lambda item: None if item.id in dark else [True] * (item.level + 1))
    folder = concept_run(tmp_path / "one", ITEMS, [judge])
    said = {item.id: "10" if item.id in ("b1", "c1") else "11" for item in ITEMS}
    rows = [f"one,{item},{who},{vote}" for item, votes in said.items() for who, vote in zip("ab", votes, strict=True)]
    study = studied({"one": folder}, "\n".join(["model,item,rater,vote", *rows]), tmp_path)
    assert study.unscored == {"not understood": 3}
    first, measured, *_ = tables_of_study(study)
    cells = {row[0]: row[1] for row in _texts(measured)}
    assert (cells["left out, no majority"], cells["left out, no verdict"]) == ("2", "2")
    assert "Images without a verdict of the judge: 3 (not understood 3)." in first.notes[0]


def test_results_come_first_and_details_last(study: VoteStudy) -> None:
    tables = tables_of_study(study)
    titles = [table.title for table in tables]
    assert titles[:2] == ["Judge and raters: whole images", "Judge accuracy against the majority of raters"]
    places = [table.placement for table in tables]
    assert places == sorted(places, key=["result", "more", "detail"].index)
    assert titles.index("Inter-rater reliability") < titles.index("Agreement of raters and judge: whole images")
    assert len({table.title for table in tables}) == len(tables)
    (correlations,) = [table for table in tables if table.title == "Correlation of human and judge scores"]
    r = {row[1]: row[2] for row in _texts(correlations) if row[0] == "whole images"}
    assert r["within k, one"].startswith("0.71 (")
    assert r["across runs, k 2"] == "0.87"


def test_a_study_begins_with_what_a_reader_needs(study: VoteStudy) -> None:
    """How often they agree, in which direction the judge errs, and whether it sees more than the level."""
    rows = {row[0]: row[1] for row in _texts(tables_of_study(study)[0])}
    assert list(rows) == ["agreement", "direction", "within levels"]
    assert rows["agreement"].startswith("77.8 % (34.8–98.2) of 9 images")
    assert rows["direction"].startswith(
        "judge says yes to 44.4 %, majority of raters to 66.7 %; sensitivity 66.7 % (20."
    )
    assert "specificity 100.0 % (" in rows["direction"]
    assert rows["within levels"].startswith("r = ")


def test_both_correlations_are_named(study: VoteStudy, whole: Panel) -> None:
    """That over levels is near 1 for a judge that knows how hard an item is, and nothing of the image."""
    for form in ("terminal", "md"):
        text = agreement_text([study], form)
        assert "within k, one" in text
        assert "over k, one" in text
        assert "near 1 for such a judge" in " ".join(text.split())
    scores = [(it.human_of_both.value, it.judge_of_both.value) for it in whole.scores if it.run == "one"]
    assert whole.over_levels_by_run["one"] == pearson(scores[:3])
    assert whole.over_levels_by_run["three"].value is None  # of one level
    rows = list(csv.DictReader(agreement_text([study], "csv").splitlines()))
    (within,) = [it for it in rows if (it["figure"], it["of"], it["run"]) == ("r within levels", "whole pictures", "")]
    assert float(within["low"]) < float(within["value"]) < float(within["high"])
    (both,) = [it for it in rows if (it["of"], it["first"], it["second"]) == ("whole pictures", "ann", "bob")]
    assert float(both["kappa_low"]) < float(both["kappa"]) < float(both["kappa_high"])


def test_answers_that_go_together_within_levels(whole: Panel) -> None:
    """In run one, people pass both of k 1 and the judge one of them; of k 2 both pass the same one: ½ / √(½ · 1)."""
    assert whole.within_levels_by_run["one"].value == pytest.approx(sqrt(0.5))
    assert (whole.within_levels_by_run["one"].n, whole.within_levels.n) == (5, 9)
    assert whole.r_by_run[2].value == pytest.approx(sqrt(3) / 2)
    assert whole.r_by_run[1].value is None


def test_all_questions_together(study: VoteStudy) -> None:
    """By majority: a1 yes and no, a2 yes and yes, b1 yes, yes and a tie; the judge passes a1 and b1."""
    assert study.all_questions is not None
    scores = {(it.run, it.level): it.human for it in study.all_questions.scores}
    assert (scores["one", 1].passed, scores["one", 1].scored) == (1, 2)
    assert (scores["one", 2].value, scores["one", 2].scored, scores["one", 2].expected) == (None, 0, 1)
    assert _counts(study.all_questions.with_judge) == (0, 2, 1)


@pytest.mark.parametrize(("votes", "decided"), [("1-0", False), ("11-", None), ("111", True), ("--1", None)])
def test_one_no_decides_and_a_yes_needs_all_answers(
    runs: dict[str, Path], tmp_path: Path, votes: str, decided: bool | None
) -> None:
    rows = [f"one,b1,{number},ann,{vote}" for number, vote in enumerate(votes, 1) if vote != "-"]
    panel = not_none(studied(runs, "\n".join(["model,item,question,rater,vote", *rows]), tmp_path, "one").all_questions)
    rate = panel.scores[0].human
    assert (rate.value, rate.expected) == (None if decided is None else float(decided), 1)


def test_people_do_not_always_agree_with_themselves(study: VoteStudy) -> None:
    """Bob says yes to a1 and a2 but no to a question, cy to a1; cy says no to a2 but yes to all its questions."""
    assert study.divergence is not None
    assert _counts(study.divergence.agreement) == (4, 8, 21)
    assert (study.divergence.yes_then_no.happened, study.divergence.no_then_yes.happened) == (3, 1)
    assert study.divergence.yes_then_no.value == 3 / 8
    assert study.divergence_by_level[1].yes_then_no.value == 3 / 6
    assert study.divergence_by_level[2].yes_then_no.value == 0
    assert list(study.divergence_by_level) == [1, 2]


def test_runs_without_votes_are_named_and_the_order_of_votes_does_not_matter(
    runs: dict[str, Path], study: VoteStudy, tmp_path: Path
) -> None:
    head, *rows = "model,item,question,rater,vote\none,a1,,bob,1\none,a1,,ann,0\none,b1,2,ann,1".splitlines()
    some = studied(runs, "\n".join([head, *rows]), tmp_path)
    assert some.without_votes == ("two", "three")
    assert some.divergence is None
    assert study.without_votes == ()
    assert studied(runs, "\n".join([head, *rows[::-1]]), tmp_path) == some


def test_scores_go_together_over_the_images_that_both_decided(runs: dict[str, Path], tmp_path: Path) -> None:
    """The judge says no to c2, on which people are at odds; of the rest both say the same within each level."""
    rows = ["a1,ann,1", "a2,ann,0", "b1,ann,1", "b2,ann,0", "c1,ann,0", "c2,ann,1", "c2,bob,0"]
    panel = studied(runs, "\n".join(["item,rater,vote,model", *(f"{row},one" for row in rows)]), tmp_path).whole
    assert panel is not None
    for score in panel.scores:
        assert score.human_of_both == score.judge_of_both
        assert score.human_of_both.scored == score.human.scored
    assert panel.within_levels_by_run["one"].value == pytest.approx(1)
    assert [it.judge.scored - it.human.scored for it in panel.scores] == [0, 0, 1, 1]


def test_counts_and_names_are_told_with_care(runs: dict[str, Path], tmp_path: Path) -> None:
    head = "model,item,rater,vote\n"
    one = " ".join(agreement_text([studied(runs, f"{head}one,a1,ann,1\n", tmp_path)], "terminal").split())
    assert "1 rater, 1 vote; the judge is test/judge." in one
    assert "differ only in case" not in one
    assert "Scores on cases of both" not in one
    votes = f"{head}one,a1,ann,1\none,a1,Ann,0\none,a2,bob,1\n"
    two = " ".join(agreement_text([studied(runs, votes, tmp_path)], "terminal").split())
    assert "3 raters, 3 votes" in two
    assert "Names that differ only in case are taken for different raters: Ann and ann." in two
    assert "Scores on cases of both: whole images" in two  # a1 is a tie
