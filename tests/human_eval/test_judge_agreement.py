"""Two judges of a run, compared by answers."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest
import typer
from typer.testing import CliRunner, Result

from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category, ConceptSpec
from formalimg.cli.agree import agree_command
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement, compare_judges, compare_records
from formalimg.human_eval.agreement.rated_images import find_judge
from formalimg.runs.config import RunConfig
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Interval
from formalimg.types import Item
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.sizes import tries

ITEMS = [
    concept_item("a", ["object", "color"]),
    concept_item("b", ["object", "color"]),
    concept_item("c", ["object", "style", "style"]),
    concept_item("d", ["object", "style", "style"]),
    concept_item("e", ["object", "color"]),
]
FIRST = {"a": "yy", "b": "yn", "c": "yyn", "d": "nnn", "e": "yy"}
SECOND = {"a": "yn", "b": "yn", "c": "yny", "d": None, "e": "yy"}


def _judge(name: str, answers: dict[str, str | None], version: int = 1) -> PlannedJudge:
    def said(item: Item[ConceptSpec]) -> Sequence[bool] | None:
        letters = answers[item.id]
        return None if letters is None else [letter == "y" for letter in letters]

    return PlannedJudge(name, said, {"version": version})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    judges = [_judge("test/early", {**FIRST}), _judge("test/one", {**FIRST}), _judge("test/two", {**SECOND})]
    return concept_run(tmp_path_factory.mktemp("runs") / "run", ITEMS, judges, refused=frozenset("e"))


def _agree(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(agree_command)
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_the_last_two_judges_by_hand(folder: Path) -> None:
    found = compare_judges(folder)
    assert (found.first.judge.name, found.second.judge.name) == ("test/one", "test/two")
    assert found.images == (3, 1, 0, 1)
    assert (found.passed.equal, found.passed.n, found.passed.left_out) == (2, 3, 2)
    assert {level: (it.equal, it.n, it.left_out) for level, it in found.passed_by_level.items()} == {
        1: (1, 2, 1),
        2: (1, 1, 1),
    }
    assert {kind: (it.equal, it.n, it.left_out) for kind, it in found.questions_by_kind.items()} == {
        "object": (3, 3, 1),
        "color": (1, 2, 0),
        "style": (0, 2, 2),
    }
    assert list(found.questions_by_kind) == ["color", "object", "style"]
    assert (found.questions.equal, found.questions.n, found.questions.left_out) == (4, 7, 3)
    assert (found.first.full_mark.passed, found.first.full_mark.scored, found.first.full_mark.expected) == (1, 4, 5)
    assert found.first.fraction.value == pytest.approx((1 + 1 / 2 + 2 / 3 + 0) / 4)
    assert (found.second.fraction.n, found.second.fraction.left_out) == (3, 2)
    higher = found.second.fraction_by_level[2]
    assert higher.value == pytest.approx(2 / 3)
    assert (higher.interval, higher.n, higher.left_out) == (None, 1, 1)
    assert [(it.item, it.question, it.first, it.second) for it in found.disagreements] == [
        ("a", "", True, False),
        ("a", "Is it color number 2?", True, False),
        ("c", "Is it style number 2?", True, False),
        ("c", "Is it style number 3?", False, True),
    ]


def test_two_judges_begin_with_what_a_reader_needs(folder: Path) -> None:
    """Of three images the first passes one and the second none; so nothing can be told apart within levels."""
    shown = " ".join(_agree(folder).output.split())
    first = shown[: shown.index("scores by each judge")]
    assert "agreement 66.7 % (9.4–99.2) of 3 images" in first
    assert "1 says yes to 33.3 %, 2 to 0.0 %; sensitivity –, specificity 66.7 % (9.4–99.2)" in first
    assert "within levels –: nothing to tell apart within any level" in first
    turned = compare_judges(folder, *(find_judge(open_run(folder), name) for name in ("test/two", "test/one")))
    assert (turned.direction.sensitivity[:2], turned.direction.specificity[:2]) == ((0, 1), (2, 2))


def test_intervals_of_fractions_stay_between_0_and_1(tmp_path: Path) -> None:
    """The mean of 1 and ½ is ¾, and 1.96 standard errors on either side are 0.49."""
    judges = [_judge("test/one", {"a": "yy", "b": "yn"}), _judge("test/two", {"a": "nn", "b": "yn"})]
    found = compare_judges(concept_run(tmp_path / "run", ITEMS[:2], judges))
    high, low = found.first.fraction.interval, found.second.fraction.interval
    assert high == pytest.approx((0.26, 1), abs=0.001)
    assert low == pytest.approx((0, 0.74), abs=0.001)


def test_the_order_of_judges_changes_nothing_but_their_places(folder: Path) -> None:
    run = open_run(folder)
    found, turned = (compare_judges(folder, *(find_judge(run, name) for name in names)) for names in ("23", "32"))
    assert (turned.images, turned.passed) == ((3, 0, 1, 1), found.passed)
    assert (turned.questions_by_kind, turned.first) == (found.questions_by_kind, found.second)
    assert [it._replace(first=it.second, second=it.first) for it in turned.disagreements] == list(found.disagreements)


def test_questions_of_the_same_words_are_told_apart(tmp_path: Path) -> None:
    (item,) = ITEMS[2:3]
    twice = replace(item, spec=ConceptSpec((*item.spec.concepts[:2], item.spec.concepts[1])))
    folder = concept_run(
        tmp_path / "run", [twice], [_judge("test/one", {"c": "yyn"}), _judge("test/two", {"c": "yyy"})]
    )
    found = compare_judges(folder)
    assert (found.questions.equal, found.questions.n) == (2, 3)


def test_judges_are_called_by_name_or_number(folder: Path) -> None:
    run = open_run(folder)
    assert find_judge(run, "test/two") == find_judge(run, "3") == Identity("test/two", {"version": 1})
    for name in ("test/three", "4", "0"):
        with pytest.raises(FormalimgError, match="1 test/early, 2 test/one, 3 test/two"):
            find_judge(run, name)
    same = compare_judges(folder, find_judge(run, "1"), find_judge(run, "2"))
    assert (same.questions.value, same.disagreements) == (1.0, ())


def test_judges_that_cannot_be_compared(folder: Path, tmp_path: Path) -> None:
    alone = concept_run(tmp_path / "alone", ITEMS, [_judge("test/one", {**FIRST})])
    with pytest.raises(FormalimgError, match="by test/one alone"):
        compare_judges(alone)
    one = Identity("test/one", {"version": 1})
    with pytest.raises(FormalimgError, match="with itself"):
        compare_judges(folder, one, one)
    with pytest.raises(FormalimgError, match="has not judged"):
        compare_judges(folder, one, Identity("test/two", {"version": 2}))
    with pytest.raises(FormalimgError, match="different images"):
        compare_records(open_run(folder), open_run(alone))


def test_one_judge_with_two_settings(tmp_path: Path) -> None:
    judges = [_judge("test/one", {**FIRST}), _judge("test/one", {**SECOND}, version=2)]
    folder = concept_run(tmp_path / "run", ITEMS, judges)
    shown = _agree(folder).stdout
    assert "1 is test/one (version=1), 2 is test/one (version=2)" in " ".join(shown.split())
    with pytest.raises(FormalimgError, match="by number"):
        find_judge(open_run(folder), "test/one")


def test_suites_of_formulas_are_compared_clause_by_clause(tmp_path: Path) -> None:
    execute(RunConfig(small_items(8), Speckles(), size=64), tmp_path / "run", NumberJudge())
    judge_run(tmp_path / "run", NumberJudge(settings={"version": 2}))
    found = compare_judges(tmp_path / "run")
    assert found.passed.value == found.questions.value == 1.0
    assert list(found.questions_by_kind) == ["object"]


def test_every_format_tells_the_same(folder: Path, tmp_path: Path) -> None:
    data = json.loads(_agree(folder, "--format", "json").stdout)
    (found,) = data["judges"]
    assert data["people"] == []
    assert (found["questions_by_kind"]["color"]["value"], len(found["disagreements"])) == (0.5, 4)
    lines = list(csv.DictReader(io.StringIO(_agree(folder, "--format", "csv").stdout)))
    (color,) = (line for line in lines if line["kind"] == "color")
    assert (color["value"], color["n"], color["left_out"]) == ("0.5", "2", "0")
    assert "| color | 50.0 (" in _agree(folder, "--format", "md").stdout
    assert "color" in _agree(folder).stdout
    done = _agree(folder, "--judges", "test/early", "2", "--out", tmp_path / "same.json")
    assert done.stdout.strip() == str(tmp_path / "same.json")
    (same,) = json.loads((tmp_path / "same.json").read_text(encoding="utf-8"))["judges"]
    assert same["questions"]["value"] == 1.0
    for name in ("page.html", "page.pdf", "page.tex"):
        refused = _agree(folder, "--out", tmp_path / name).exception
        assert isinstance(refused, FormalimgError)
        assert str(refused).endswith("end the name in .md, .csv, .json or .txt, or give --format")


def test_what_the_judge_left_unscored_is_no_answer_to_votes(folder: Path, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("model,item,question,rater,vote\nrun,d,1,ann,0\nrun,d,,ann,0\nrun,e,2,ann,1\n")
    (people,) = json.loads(_agree(folder, "--votes", votes, "--format", "json").stdout)["people"]
    for cases, left_out in (("whole", 1), ("questions", 2)):
        assert (people[cases]["with_judge"]["n"], people[cases]["with_judge"]["left_out"]) == (0, left_out)
        assert people[cases]["with_judge"]["value"] is None


def test_votes_are_compared_with_the_last_judge_one_or_both(folder: Path, tmp_path: Path) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text("model,item,rater,vote\nrun,a,ann,1\nrun,b,ann,0\nrun,d,ann,0\nrun,a,bob,1\n")
    data = json.loads(_agree(folder, "--votes", votes, "--format", "json").stdout)
    assert data["judges"] == []
    (people,) = data["people"]
    assert people["judges"]["run"]["name"] == "test/two"
    assert (people["whole"]["with_judge"]["equal"], people["whole"]["with_judge"]["n"]) == (1, 2)
    data = json.loads(_agree(folder, "--votes", votes, "--judges", "2", "3", "--format", "json").stdout)
    assert [it["whole"]["with_judge"]["equal"] for it in data["people"]] == [3, 1]
    assert len(data["judges"]) == 1
    for name in ("2", "test/one"):
        data = json.loads(_agree(folder, "--votes", votes, "--judge", name, "--format", "json").stdout)
        (people,) = data["people"]
        assert (data["judges"], people["judges"]["run"]["name"]) == ([], "test/one")
        assert people["whole"]["with_judge"]["equal"] == 3
    for wrong in (["--judge", "2"], ["--votes", votes, "--judge", "2", "--judges", "2", "3"]):
        assert "--judge compares one judge with raters" in str(_agree(folder, *wrong).exception)
    assert "no judge of" in str(_agree(folder, "--votes", votes, "--judge", "test/nobody").exception)
    for form in ("terminal", "md", "csv"):
        shown = _agree(folder, "--votes", votes, "--format", form)
        assert shown.exit_code == 0
        assert "majority" in shown.stdout


PER_LEVEL = tries(100, 300)
SHOWN: Mapping[Category, float] = dict(zip(CATEGORIES, (0.95, 0.85, 0.6, 0.5, 0.7, 0.75, 0.55, 0.8), strict=True))
"""How often images show what is asked for."""


class Rates(NamedTuple):
    sensitivity: float
    specificity: float


CAREFUL = {category: Rates(0.97 - 0.01 * n, 0.94 - 0.02 * n) for n, category in enumerate(CATEGORIES)}
HASTY = {category: Rates(0.93 - 0.02 * n, 0.70 + 0.02 * n) for n, category in enumerate(CATEGORIES)}

REFUSED = frozenset(f"{level}-{number}" for level in range(1, 8) for number in range(99, PER_LEVEL, 100))
TOO_DARK = frozenset(f"{level}-{number}" for level in range(1, 8) for number in range(7, PER_LEVEL, 50))


@cache
def _items() -> tuple[Item[ConceptSpec], ...]:
    dice = random.Random(3)
    return tuple(
        concept_item(f"{level}-{number}", ["object", *dice.choices(CATEGORIES, k=level)])
        for level in range(1, 8)
        for number in range(PER_LEVEL)
    )


def _kinds(item: Item[ConceptSpec]) -> list[Category]:
    return [concept.category for concept in item.spec.concepts]


def _simulated_judge(name: str, rates: Mapping[Category, Rates], dark: frozenset[str] = frozenset()) -> PlannedJudge:
    def answers(item: Item[ConceptSpec]) -> list[bool] | None:
        truth, dice = random.Random(f"truth {item.id}"), random.Random(f"{name} {item.id}")
        said = []
        for kind in _kinds(item):
            shown = truth.random() < SHOWN[kind]
            right = dice.random() < (rates[kind].sensitivity if shown else rates[kind].specificity)
            said.append(shown == right)
        return None if item.id in dark else said

    return PlannedJudge(name, answers)


def _yes(kind: Category, *judges: Mapping[Category, Rates]) -> float:
    there = SHOWN[kind] * prod(rates[kind].sensitivity for rates in judges)
    return there + (1 - SHOWN[kind]) * prod(1 - rates[kind].specificity for rates in judges)


def _same(kind: Category) -> float:
    return 1 - _yes(kind, CAREFUL) - _yes(kind, HASTY) + 2 * _yes(kind, CAREFUL, HASTY)


def _same_on_all(item: Item[ConceptSpec]) -> float:
    one, other, both = (
        prod(_yes(kind, *judges) for kind in _kinds(item)) for judges in ([CAREFUL], [HASTY], [CAREFUL, HASTY])
    )
    return 1 - one - other + 2 * both


def _at(level: int, without: frozenset[str]) -> list[Item[ConceptSpec]]:
    return [item for item in _items() if item.level == level and item.id not in without]


def _within(interval: Interval | None, expected: float) -> bool:
    assert interval is not None
    return interval.low <= expected <= interval.high


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> JudgeAgreement:
    folder: Path = tmp_path_factory.mktemp("runs") / "simulated"
    judges = [_simulated_judge("test/careful", CAREFUL), _simulated_judge("test/hasty", HASTY, TOO_DARK)]
    concept_run(folder, _items(), judges, refused=REFUSED)
    return compare_judges(folder, confidence=0.999)


def test_nothing_is_dropped(compared: JudgeAgreement) -> None:
    made, dark, refused = 7 * PER_LEVEL, len(TOO_DARK), len(REFUSED)
    scored = made - dark - refused
    assert compared.images == (scored, dark, 0, refused)
    assert (compared.passed.n, compared.passed.left_out) == (scored, dark + refused)
    asked = sum(len(_kinds(item)) for item in _items() if item.id not in REFUSED)
    assert compared.questions.n + compared.questions.left_out == asked
    assert sum(it.n for it in compared.questions_by_kind.values()) == compared.questions.n
    assert (compared.second.full_mark.scored, compared.second.full_mark.expected) == (scored, made)
    assert (compared.first.judge.name, compared.second.judge.name) == ("test/careful", "test/hasty")
    wrong = [it for it in compared.disagreements if it.question]
    assert len(wrong) == compared.questions.n - compared.questions.equal
    whole = [it for it in compared.disagreements if not it.question]
    assert len(whole) == compared.passed.n - compared.passed.equal


def test_scores_lie_where_the_error_rates_put_them(compared: JudgeAgreement) -> None:
    for scores, rates, without in ((compared.first, CAREFUL, REFUSED), (compared.second, HASTY, REFUSED | TOO_DARK)):
        assert list(scores.full_mark_by_level) == list(range(1, 8))
        for level, full_mark in scores.full_mark_by_level.items():
            items = _at(level, without)
            assert full_mark.scored == len(items)
            assert _within(full_mark.interval, fmean(prod(_yes(it, rates) for it in _kinds(item)) for item in items))
            fraction = scores.fraction_by_level[level]
            assert _within(fraction.interval, fmean(fmean(_yes(it, rates) for it in _kinds(item)) for item in items))


def test_agreement_lies_where_the_error_rates_put_it(compared: JudgeAgreement) -> None:
    for level, passed in compared.passed_by_level.items():
        items = _at(level, REFUSED | TOO_DARK)
        assert passed.n == len(items)
        assert _within(passed.interval, fmean(map(_same_on_all, items)))
        kinds = [kind for item in items for kind in _kinds(item)]
        assert _within(compared.questions_by_level[level].interval, fmean(map(_same, kinds)))
    assert set(compared.questions_by_kind) == set(CATEGORIES)
    for kind in CATEGORIES:
        assert _within(compared.questions_by_kind[kind].interval, _same(kind))


def test_the_intervals_are_narrow_enough_to_tell_judges_apart(compared: JudgeAgreement) -> None:
    def fraction(rates: Mapping[Category, Rates], items: Iterable[Item[ConceptSpec]]) -> float:
        return fmean(fmean(_yes(kind, rates) for kind in _kinds(item)) for item in items)

    assert not _within(compared.first.fraction.interval, fraction(HASTY, _items()))
    assert not _within(compared.second.fraction.interval, fraction(CAREFUL, _items()))
    spatial, object_ = (_same(kind) for kind in ("spatial", "object"))
    assert not _within(compared.questions_by_kind["object"].interval, spatial)
    assert not _within(compared.questions_by_kind["spatial"].interval, object_)
