"""Numbers are worked out once for each state of a run, and rarely while it changes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from formalimg.web.viewer import site as remembering
from formalimg.web.viewer.site import Site, StampedCache


class _Work:
    def __init__(self, seconds: float = 0.0) -> None:
        self.times, self._seconds = 0, seconds

    def __call__(self) -> int:
        time.sleep(self._seconds)
        self.times += 1
        return self.times


def test_a_value_is_worked_out_again_when_its_source_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(remembering, "monotonic", lambda: next(clock))
    kept, work = StampedCache[int](8), _Work()
    assert [kept.get("run", state, work) for state in "aaab"] == [1, 1, 1, 1]  # took 1 s: it stands for 10
    assert [kept.get("run", "b", work) for _ in range(9)] == [1] * 6 + [2] * 3
    assert kept.get("other", "a", work) == 3


def test_many_who_ask_at_once_wait_for_one_answer() -> None:
    kept, work = StampedCache[int](8), _Work(0.05)
    threads = [threading.Thread(target=kept.get, args=("run", "a", work)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert work.times == 1


def test_only_so_many_values_are_kept() -> None:
    kept, work = StampedCache[int](2), _Work()
    for name in "abc":
        kept.get(name, "", work)
    assert kept.get("c", "", work) == 3
    assert kept.get("a", "", work) == 4


def test_what_could_not_be_worked_out_is_tried_again() -> None:
    kept, work = StampedCache[int](2), _Work()
    with pytest.raises(ZeroDivisionError):
        kept.get("run", "a", lambda: 1 // 0)
    assert kept.get("run", "a", work) == 1


def test_several_runs_together_are_worked_out_once_and_one_choice_at_a_time(runs: Path) -> None:
    site, at_once, most = Site(runs), 0, 0

    def work_out() -> int:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.02)
        at_once -= 1
        return most

    choices = [["first"], ["first", "upright"], ["upright"]] * 3
    threads = [threading.Thread(target=site.cached, args=(names, work_out)) for names in choices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert site.cached(["upright"], lambda: 2) == 1  # not worked out again
    assert site.cached(["upright", "first"], lambda: 2) == 2
