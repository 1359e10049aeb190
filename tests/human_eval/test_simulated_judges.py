"""Judges whose error rates are known: what they score and how often they agree is found where theory puts it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache
from math import prod
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest

from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category, ConceptSpec
from formalimg.human_eval.agreement.judge_agreement import JudgeAgreement, JudgeScores, compare_judges
from formalimg.stats.observations import Interval
from formalimg.types import Item
from tests.human_eval.concept_runs import PlannedJudge, concept_item, concept_run
from tests.support.sizes import tries

PER_LEVEL = tries(100, 300)
SHOWN: Mapping[Category, float] = dict(zip(CATEGORIES, (0.95, 0.85, 0.6, 0.5, 0.7, 0.75, 0.55, 0.8), strict=True))
"""How often images show what is asked for."""


class Rates(NamedTuple):
    """How often a judge says yes to what is there, and no to what is not."""

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


def _judge(name: str, rates: Mapping[Category, Rates], dark: frozenset[str] = frozenset()) -> PlannedJudge:
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
    """The chance that all these judges say yes to a question of this kind."""
    there = SHOWN[kind] * prod(rates[kind].sensitivity for rates in judges)
    return there + (1 - SHOWN[kind]) * prod(1 - rates[kind].specificity for rates in judges)


def _same(kind: Category) -> float:
    """The chance that both judges say the same."""
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
    judges = [_judge("test/careful", CAREFUL), _judge("test/hasty", HASTY, TOO_DARK)]
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
    for scores, rates, without in (
        (compared.first, CAREFUL, REFUSED),
        (compared.second, HASTY, REFUSED | TOO_DARK),
    ):
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

    def overall(scores: JudgeScores) -> Interval | None:
        return scores.fraction.interval

    assert not _within(overall(compared.first), fraction(HASTY, _items()))
    assert not _within(overall(compared.second), fraction(CAREFUL, _items()))
    spatial, object_ = (_same(kind) for kind in ("spatial", "object"))
    assert not _within(compared.questions_by_kind["object"].interval, spatial)
    assert not _within(compared.questions_by_kind["spatial"].interval, object_)
