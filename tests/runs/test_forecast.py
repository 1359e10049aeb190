"""What a run would do is what it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from formalimg.judges import Picture, Unscored, Verdict
from formalimg.models import Setting
from formalimg.runs import carry_out, foresee
from formalimg.suites import Item
from tests.support.models import NumberJudge, Speckles, small_items
from tests.support.run_contents import order


class Asking:
    """A judge that asks a chat model as many questions as the item has levels."""

    name = "openai/gpt-4o"
    settings: Mapping[str, Setting] = {}
    concurrency = 1

    def questions(self, item: Item[object]) -> int:
        return item.level

    async def judge(self, item: Item[object], picture: Picture) -> Verdict | Unscored:
        raise AssertionError("nobody is asked")


def test_everything_is_foreseen_and_then_nothing(tmp_path: Path) -> None:
    asked = order(Speckles(), small_items(8))
    folder = tmp_path / "run"
    before = foresee(asked, folder, NumberJudge())
    assert (before.pictures, before.verdicts, before.questions) == (8, 8, 0)
    assert before.first == asked.items[0].prompt
    assert not folder.exists()
    carry_out(asked, folder, NumberJudge())
    after = foresee(asked, folder, NumberJudge())
    assert (after.pictures, after.verdicts) == (0, 0)


def test_a_judge_that_asks_nobody_costs_nothing(tmp_path: Path) -> None:
    assert foresee(order(), tmp_path / "run", NumberJudge()).judge_cost == 0
    assert foresee(order(), tmp_path / "run", None).judge_cost == 0


def test_pictures_without_a_verdict_are_only_judged(tmp_path: Path) -> None:
    asked = order(Speckles(), small_items(8))
    carry_out(asked, tmp_path / "run")
    seen = foresee(asked, tmp_path / "run", NumberJudge())
    assert (seen.pictures, seen.verdicts) == (0, 8)


def test_questions_are_counted_and_priced(tmp_path: Path) -> None:
    seen = foresee(order(Speckles(), small_items(8)), tmp_path / "run", Asking())
    assert seen.questions == 2 * (1 + 2 + 3 + 4)
    assert seen.picture_cost is None
    assert seen.judge_cost is not None
    assert 0.05 < seen.judge_cost < 1


def test_a_judge_whose_price_nobody_knows_has_no_cost(tmp_path: Path) -> None:
    judge = Asking()
    judge.name = "test/unheard-of"
    seen = foresee(order(), tmp_path / "run", judge)
    assert (seen.questions, seen.judge_cost) == (20, None)
