"""Adaptive runs: look by look, resumable, on record, and bound to their design."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from formalimg.errors import FormalimgError
from formalimg.models.base import Failed, ImageRequest, ImageResult
from formalimg.runs.adaptive import plan_adaptive
from formalimg.runs.execution import execute
from formalimg.runs.folder import set_aside
from formalimg.runs.looks import read_looks, read_restarts
from formalimg.runs.parties import Safeguards
from formalimg.runs.plan import Selection
from formalimg.runs.progress import EarlierWork, Progress
from formalimg.runs.reader import open_run
from formalimg.types import Item
from tests.support.ladders import climb, ladder, ladder_judge, looks_in
from tests.support.models import NumberJudge, Speckles, small_items, speckled_for, speckled_for_a_dollar
from tests.support.run_contents import contents, outcomes
from tests.support.score_items import score_item
from tests.support.sizes import tries
from tests.support.values import not_none

CLEAR = {1: 100, 2: 100, 3: 0}
MIXED = {1: 90, 2: 72, 3: 50}


def test_it_climbs_and_makes_only_the_images_that_the_looks_need(tmp_path: Path) -> None:
    model = Speckles()
    progress = climb(ladder(model), tmp_path / "run", ladder_judge(CLEAR))
    design, *looks = looks_in(tmp_path / "run")
    assert design["images"] == {"1": 40, "2": 40, "3": 40}
    assert [(look["level"], look["decision"]) for look in looks] == [
        (1, "going on"),
        (1, "held"),
        (2, "going on"),
        (2, "held"),
        (3, "lost"),
    ]
    seen = [item for look in looks for outcome in ("passed", "failed", "unscored") for item in look[outcome]]
    assert len(seen) == len(set(seen)) == len(model.asked) == progress.made == progress.images == 50
    assert {outcome.item for outcome in outcomes(tmp_path / "run")} == set(seen)
    found = not_none(read_looks(tmp_path / "run"))
    assert found.test.result().generalizability == (0.7, 2, 2, 2)  # type: ignore[union-attr]
    assert open_run(tmp_path / "run").manifest.adaptive == str(found)


def test_items_are_shuffled_by_the_seed(tmp_path: Path) -> None:
    def first(seed: int, name: str) -> set[str]:
        climb(ladder(seed=seed), tmp_path / name, ladder_judge(CLEAR))
        return set(looks_in(tmp_path / name)[1]["passed"])

    assert first(1, "one") == first(1, "again") != first(2, "other")
    assert first(3, "first items") != {str(number) for number in range(10)}


def test_images_that_cannot_be_scored_neither_pass_nor_fail(tmp_path: Path) -> None:
    def is_odd(item: Item[object]) -> bool:
        return int(item.id) % 2 == 1

    def unfit(request: ImageRequest) -> ImageResult:
        return Failed("no such luck") if request.item in ("2", "4") else speckled_for(request)

    climb(ladder(Speckles(answer=unfit)), tmp_path / "run", ladder_judge({1: 100}, is_odd))
    looks = looks_in(tmp_path / "run")[1:]
    assert all(len(look["passed"]) == 10 for look in looks[:1])
    unscored = {item for look in looks for item in look["unscored"] if look["level"] == 1}
    assert unscored
    assert all(item in ("2", "4") or int(item) % 2 for item in unscored)
    # 18 of the 40 images of level 1 can be scored: a look at 10, and one at the 18 that there are.
    assert [(len(look["passed"]), look["exhausted"]) for look in looks if look["level"] == 1] == [
        (10, False),
        (8, True),
    ]
    assert looks[1]["decision"] in ("held", "undecided")


def test_a_level_without_any_verdict_is_undecided_and_g_open(tmp_path: Path) -> None:
    judge = ladder_judge({1: 100, 3: 0}, lambda item: item.level == 2)
    climb(ladder(), tmp_path / "run", judge)
    found = not_none(read_looks(tmp_path / "run"))
    assert found.test.result().generalizability == (0.7, None, 1, 2)  # type: ignore[union-attr]


@pytest.mark.parametrize("after", [3, 14, 23, 40][:: tries(2, 1)])
def test_a_stopped_run_resumes_to_the_same_decisions(tmp_path: Path, after: int) -> None:
    climb(ladder(), tmp_path / "alone", ladder_judge(MIXED))

    def stop(progress: Progress) -> None:
        progress.stopped |= progress.made >= after

    model = Speckles()
    earlier: list[EarlierWork] = []
    assert climb(ladder(model), tmp_path / "run", ladder_judge(MIXED), on_progress=stop).stopped
    assert len(looks_in(tmp_path / "run")) < len(looks_in(tmp_path / "alone"))
    progress = climb(ladder(model), tmp_path / "run", ladder_judge(MIXED), on_resume=earlier.append)
    assert not progress.stopped
    assert (earlier[0].made or 0) >= after
    assert looks_in(tmp_path / "run") == looks_in(tmp_path / "alone")
    assert contents(tmp_path / "run") == contents(tmp_path / "alone")
    assert len(model.asked) == len(set(model.asked))
    before = (tmp_path / "run" / "looks.jsonl").read_bytes()
    assert climb(ladder(model), tmp_path / "run", ladder_judge(MIXED)).images == 0  # the test has ended
    assert (tmp_path / "run" / "looks.jsonl").read_bytes() == before


def test_failures_in_a_row_are_counted_across_looks(tmp_path: Path) -> None:
    model = Speckles(answer=lambda request: Failed("out of order"), concurrency=1)
    progress = climb(ladder(model), tmp_path / "run", ladder_judge(CLEAR), safeguards=Safeguards(max_failures=15))
    assert progress.gave_up.startswith("test/speckles failed 15 times")
    assert len(looks_in(tmp_path / "run")) == 1  # an outage is no look


def test_the_budget_counts_across_looks(tmp_path: Path) -> None:
    model = Speckles(answer=speckled_for_a_dollar, concurrency=1)
    progress = climb(ladder(model, budget=25.0), tmp_path / "run", ladder_judge(MIXED))
    assert (progress.stopped, progress.cost) == (True, 25.0)
    assert len(looks_in(tmp_path / "run")) == 3  # two looks of ten


@pytest.mark.parametrize(
    ("changes", "judge", "message"),
    [
        ({"selection": Selection(per_level=20)}, None, "adaptive: was"),
        ({"seed": 2}, None, "seed"),
        ({}, NumberJudge(name="test/other"), "another judge"),
    ],
)
def test_another_design_or_judge_is_refused(
    tmp_path: Path, changes: dict[str, Any], judge: NumberJudge | None, message: str
) -> None:
    climb(ladder(), tmp_path / "run", ladder_judge(CLEAR))
    with pytest.raises(FormalimgError, match=message):
        climb(ladder(**changes), tmp_path / "run", judge or ladder_judge(CLEAR))


def test_adaptive_and_plain_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    climb(ladder(), tmp_path / "adaptive", ladder_judge(CLEAR))
    with pytest.raises(FormalimgError, match=r"adaptive: was G at 0\.7.*now no"):
        execute(ladder(), tmp_path / "adaptive", ladder_judge(CLEAR))
    execute(ladder(count=12), tmp_path / "plain", ladder_judge(CLEAR))
    with pytest.raises(FormalimgError, match=r"adaptive: was no, now G at 0\.7"):
        climb(ladder(count=12), tmp_path / "plain", ladder_judge(CLEAR))


def test_looks_that_were_changed_or_lost_are_refused(tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "run" / "looks.jsonl"
    climb(ladder(), folder, ladder_judge(CLEAR))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    second, last = json.loads(lines[1]), json.loads(lines[-1])
    moved = {**second, "passed": [], "failed": second["passed"]}
    swapped = {**second, "passed": ["0", *second["passed"][1:]]}
    for changed, message in (
        ([*lines[:-1], json.dumps({**last, "decision": "held"})], "does not follow"),
        ([lines[0], json.dumps(moved), *lines[2:]], "does not follow|not time|has ended"),
        ([lines[0], lines[2]], "not time|does not follow|other items"),  # a look is left out
        ([lines[0], lines[1], lines[1]], "twice"),
        ([lines[0], json.dumps(swapped)], "other items or another order"),
        (["[]\n"], "none of ours"),
        ([json.dumps({**json.loads(lines[0]), "images": {"1": 100_000}})], "at most 10,000 images per level"),
        ([json.dumps({**json.loads(lines[0]), "images": {"1": 10**9}})], "none of ours"),
        ([json.dumps({**json.loads(lines[0]), "every": 1})], "none of ours"),
        ([lines[0], '{"look": 1}\n'], "none of ours"),
        (["\udcff".encode("utf-8", "surrogatepass").decode("latin-1")], "none of ours"),
    ):
        file.write_text("\n".join(line.strip() for line in changed), encoding="utf-8")
        with pytest.raises(FormalimgError, match=message):
            climb(ladder(), folder, ladder_judge(CLEAR))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(FormalimgError, match="none of ours"):
        climb(ladder(), folder, ladder_judge(CLEAR))
    file.unlink()
    with pytest.raises(FormalimgError, match="has lost its looks"):
        climb(ladder(), folder, ladder_judge(CLEAR))
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FormalimgError, match="a symbolic link"):
        climb(ladder(), folder, ladder_judge(CLEAR))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 2}, "one image of each item"),
        ({"selection": Selection(levels=[2, 3])}, "climbs from level 1"),
        ({"selection": Selection(levels=[1, 3])}, "climbs from level 1"),
        ({"items": small_items(8, levels=1)}, "no levels"),
        ({"items": [score_item()]}, "gives scores"),
    ],
)
def test_runs_that_cannot_climb_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormalimgError, match=message):
        plan_adaptive(replace(ladder(), **changes), ladder_judge(CLEAR))  # type: ignore[arg-type]


# --- against another run


def test_a_better_model_is_found_to_be_better_on_the_same_items(tmp_path: Path) -> None:
    execute(ladder(), tmp_path / "other", ladder_judge({1: 30, 2: 20, 3: 10}))
    model = Speckles(name="test/new")
    judge = ladder_judge({1: 95, 2: 95, 3: 90})
    climb(ladder(model), tmp_path / "run", judge, tmp_path / "other")
    design, *looks = looks_in(tmp_path / "run")
    assert (design["items"], design["against"][:15]) == (120, "test/speckles, ")
    found = not_none(read_looks(tmp_path / "run"))
    result = found.test.result()
    assert result.decision == "better"  # type: ignore[union-attr]
    assert result.interval[0] > 0  # type: ignore[union-attr, index]
    assert len(model.asked) == len(found.items) < 60
    passed = {outcome.item: outcome.passed for outcome in outcomes(tmp_path / "other")}
    assert all(not passed[item] for item in looks[0]["won"])
    assert climb(ladder(model), tmp_path / "run", judge, tmp_path / "other").images == 0


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    execute(ladder(count=30), tmp_path / "other", NumberJudge(name="test/other"))
    with pytest.raises(FormalimgError, match="no verdicts of test/number"):
        climb(ladder(), tmp_path / "run", ladder_judge(CLEAR), tmp_path / "other")
    execute(ladder(count=30), tmp_path / "blind", ladder_judge({}, lambda item: True))
    with pytest.raises(FormalimgError, match="no scored item in common"):
        climb(ladder(), tmp_path / "run", ladder_judge(CLEAR), tmp_path / "blind")
    execute(ladder(count=30), tmp_path / "fine", ladder_judge(CLEAR))
    other = replace(ladder(), items=small_items(30, levels=3, color="blue"))
    with pytest.raises(FormalimgError, match="no scored item in common"):
        climb(other, tmp_path / "run", ladder_judge(CLEAR), tmp_path / "fine")


def test_a_restart_after_a_look_leaves_its_trace(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    climb(ladder(), folder, ladder_judge(CLEAR))
    looks = not_none(read_looks(folder))
    assert looks.restarts == ()
    first = len(looks.seen)
    assert set_aside(folder) is not None
    assert set_aside(folder) is None, "nothing has been made since"
    climb(ladder(), folder, ladder_judge(MIXED))
    looks = not_none(read_looks(folder))
    assert looks.restarts == (first,)
    old = not_none(set_aside(folder))
    climb(ladder(), folder, ladder_judge(CLEAR))
    assert read_restarts(folder) == (first, len(looks.seen))
    lines = [json.loads(line) for line in (folder / "restarts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["moved_to"] for line in lines][1] == old.name
    assert all(line["at"].endswith("Z") for line in lines)
    (folder / "restarts.jsonl").write_text('{"looks": 0}\n', encoding="utf-8")
    with pytest.raises(FormalimgError, match="damaged: restore it from the folder that `run --restart` moved aside"):
        read_looks(folder)


def test_a_restart_before_the_first_look_leaves_none(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    execute(ladder(), folder, ladder_judge(CLEAR))
    set_aside(folder)
    climb(ladder(), folder, ladder_judge(CLEAR))
    assert read_restarts(folder) == ()
