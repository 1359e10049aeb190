"""Attention checks tell raters who answer at random from careful ones: by the binomial, and through real answers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from formalimg.benchmarks.questions.spec import QuestionSpec, whole_question
from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.study_tables import RaterSummary
from formalimg.human_eval.attention_checks import (
    StudyRules,
    find_excluded,
    is_unrelated,
    max_misses,
    min_checks,
    ready_made_check,
    usual_checks,
)
from formalimg.human_eval.manifest import read_study_manifest
from formalimg.human_eval.protocol import AnswerValue, RatingProtocol, RatingStep
from formalimg.human_eval.records import read_study, summarize_raters
from formalimg.human_eval.study import RatingTask, open_study
from formalimg.human_eval.study_builder import create_study
from formalimg.runs.reader import StoredRun
from formalimg.types import Item
from tests.human_eval.compared_runs import images_by_token
from tests.human_eval.rated_runs import concept_items, opened, rated_run, take
from tests.support.sizes import tries
from tests.support.values import not_none

ITEMS = concept_items(22)


def _kept(checks: int, allowed: int, passes: float) -> float:
    shares = 0.0
    for outcome in product((True, False), repeat=checks):
        if outcome.count(False) <= allowed:
            chance = 1.0
            for passed in outcome:
                chance *= passes if passed else 1 - passes
            shares += chance
    return shares


@pytest.mark.parametrize(
    ("protocol", "passes", "checks", "allowed"),
    [("likert", 0.4, 6, 1), ("questions", 0.5, 11, 2), ("scores", 0.5, 11, 2), ("ab", 0.5, 11, 2)],
)
def test_the_fewest_checks_that_tell_clickers_from_careful_raters(
    protocol: RatingProtocol, passes: float, checks: int, allowed: int
) -> None:
    assert (min_checks(protocol), max_misses(checks)) == (checks, allowed)
    rules = StudyRules().settled(protocol, checks)
    assert (rules.checks, rules.allowed) == (checks, allowed)
    assert rules.clickers_kept == pytest.approx(_kept(checks, allowed, passes))
    assert rules.careful_kept == pytest.approx(_kept(checks, allowed, 0.95))
    assert rules.clickers_kept <= 0.05
    assert rules.careful_kept >= 0.95
    for fewer in range(1, checks):
        enough = [miss for miss in range(fewer + 1) if _kept(fewer, miss, 0.95) >= 0.95]
        assert all(_kept(fewer, miss, passes) > 0.05 for miss in enough)
    for images in range(2 * checks, 2000, 37):
        settled = StudyRules().settled(protocol, usual_checks(images, protocol))
        assert settled.checks >= 0.05 * images
        assert settled.clickers_kept <= 0.05
        assert settled.careful_kept >= 0.95


def test_short_studies_have_fewer_checks() -> None:
    assert [usual_checks(images, "likert") for images in (1, 4, 12, 100, 400)] == [1, 2, 6, 6, 22]
    assert [usual_checks(images, "questions") for images in (4, 12, 22, 400)] == [2, 6, 11, 22]


def test_who_has_not_finished_is_measured_by_all_checks() -> None:
    rules = StudyRules().settled("likert", 6)

    def is_excluded(done: int, passed: int) -> bool:
        return bool(find_excluded([RaterSummary("r", 9, 20, done, passed, 9, 9.0)], rules))

    assert not is_excluded(1, 0)
    assert is_excluded(2, 0)
    assert not is_excluded(6, 5)
    assert is_excluded(6, 4)


def test_a_stated_share_stays() -> None:
    rules = StudyRules(0.34).settled("likert", 6)
    assert (rules.max_missed, rules.allowed) == (0.34, 2)
    assert rules.clickers_kept == pytest.approx(_kept(6, 2, 0.4))
    for wrong in ({"checks": -1}, {"guess_chance": 1.5}):
        with pytest.raises(FormalimgError):
            StudyRules(**wrong)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoredRun]]:
    home = tmp_path_factory.mktemp("runs")
    with opened(rated_run(home / "alpha", ITEMS), rated_run(home / "beta", ITEMS)) as found:
        yield found


def _clicker(step: RatingStep, chance: random.Random) -> AnswerValue:
    if step.kind == "likert":
        return chance.randint(1, 5)
    return chance.choice(["left", "right"]) if step.kind == "preference" else chance.random() < 0.5


def _careful(task: RatingTask, step: RatingStep, prompts: Mapping[str, str], chance: random.Random) -> AnswerValue:
    """Notice a prompt of another image in 19 of 20 cases; prompts are those of the images."""
    is_own = prompts[task.image] == task.words
    if chance.random() < 0.05:
        is_own = not is_own
    if step.kind == "preference":
        return "left" if is_own else "right"
    return (5 if is_own else 1) if step.kind == "likert" else is_own


def _require_clickers_go(
    runs: list[StoredRun], tmp_path: Path, protocol: RatingProtocol, items: Sequence[Item[object]]
) -> None:
    raters = tries(20, 400)
    of_study = runs if protocol == "ab" else runs[:1]
    made = create_study(
        tmp_path / "study", of_study, protocol, raters=raters, per_image=raters, checks=None, rules=StudyRules()
    )
    rules = not_none(read_study_manifest(made.folder).rules)
    assert rules.checks == made.checks == min_checks(protocol)
    chance = random.Random(protocol)
    asked = {item.id: item.prompt for item in items}
    prompts = {token: asked[item] for token, (_, item) in images_by_token(made.folder).items()}
    with open_study(made.folder) as study:
        for number, rater in enumerate(made.links):
            if number % 2:
                take(study, rater, lambda task, step: _clicker(step, chance))
            else:
                take(study, rater, lambda task, step: _careful(task, step, prompts, chance))
    summaries = summarize_raters(read_study(made.folder))
    clickers, careful = ([not rater.excluded for rater in summaries[start::2]] for start in (1, 0))
    half = raters / 2
    assert sum(clickers) <= 0.05 * half + 2 * (0.05 * 0.95 * half) ** 0.5
    assert sum(careful) >= 0.95 * half - 2 * (0.95 * 0.05 * half) ** 0.5
    text = (made.folder / "study.toml").read_text(encoding="utf-8")
    assert f"# {rules.in_words()}" in text
    assert f"of those who answer at random {100 * rules.clickers_kept:.1f} % stay" in text


@pytest.mark.parametrize("protocol", ["likert", "questions", "ab"])
def test_clickers_go_and_careful_raters_stay(runs: list[StoredRun], tmp_path: Path, protocol: RatingProtocol) -> None:
    _require_clickers_go(runs, tmp_path, protocol, ITEMS)


THINGS = ["cat", "boat", "lamp", "tree", "chair", "piano", "clock", "bridge"]
THINGS += ["kettle", "violin", "ladder", "whale", "tractor", "candle", "mirror", "rocket"]


def _worded_items(count: int) -> list[Item[QuestionSpec]]:
    prompts = (f"a {thing}, {chr(ord('a') + n) * 4}" for n, thing in enumerate(THINGS[:count]))
    return [
        Item("free-prompts", f"{n:03}", 1, prompt, QuestionSpec(whole_question(prompt)))
        for n, prompt in enumerate(prompts)
    ]


@pytest.mark.parametrize(("protocol", "prompts", "samples"), [("likert", 16, 2), ("likert", 1, 16), ("ab", 16, 2)])
def test_clickers_go_where_prompts_are_only_words(
    tmp_path: Path, protocol: RatingProtocol, prompts: int, samples: int
) -> None:
    items = _worded_items(prompts)
    folders = [rated_run(tmp_path / name, items, samples=samples) for name in ("alpha", "beta")]
    with opened(*folders) as runs:
        _require_clickers_go(runs, tmp_path, protocol, items)


def test_one_prompt_alone_has_no_checks_in_pairs(tmp_path: Path) -> None:
    folders = [rated_run(tmp_path / name, _worded_items(1), samples=16) for name in ("alpha", "beta")]
    with opened(*folders) as runs:
        made = create_study(tmp_path / "study", runs, "ab", raters=2, per_image=2, checks=None, rules=StudyRules())
    assert made.checks == 0


def test_prompts_of_checks_ask_for_what_no_other_prompt_names() -> None:
    chance = random.Random(1)
    zebra = replace(_worded_items(1)[0], prompt="Zebras on a piano, with a train and an UMBRELLA")
    drawn = {item.prompt for _ in range(400) if (item := ready_made_check(zebra, (), chance)) is not None}
    assert len(drawn) >= 19
    assert not any(word in prompt for prompt in drawn for word in ("zebra", "piano", "locomotive", "parasol"))
    used: set[str] = set()
    for _ in range(len(drawn)):
        item = not_none(ready_made_check(zebra, used, chance))
        assert item.id not in used
        used.add(item.id)
    everything = replace(zebra, prompt=" ".join(item.prompt for item in _all_check_items()))
    assert ready_made_check(everything, (), chance) is None


def _all_check_items() -> list[Item[object]]:
    plain, chance = _worded_items(1)[0], random.Random(2)
    found = {item.id: item for _ in range(1_000) if (item := ready_made_check(plain, (), chance)) is not None}
    return [*found.values()]


@pytest.mark.parametrize(
    ("first", "second", "unrelated"),
    [
        ("a photo of two dogs", "A photo of the red car", True),
        ("a photo of two dogs", "a dog in the rain", False),
        ("a photo of two dogs", "a photo", False),
        ("一只猫", "一辆红色的汽车", False),
    ],
)
def test_pairs_of_images_are_told_apart_by_words(first: str, second: str, unrelated: bool) -> None:
    plain = _worded_items(1)[0]
    shown, asked = replace(plain, prompt=first), replace(plain, prompt=second)
    assert is_unrelated(shown, asked, "ab") == unrelated
    assert not is_unrelated(shown, asked, "likert")
