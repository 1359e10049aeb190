"""The most telling failures: one for each item, what did not fail yet first, then the lowest level."""

from __future__ import annotations

from dataclasses import replace

from formalimg.reports.examples import MAX_TELLING, telling_failures
from formalimg.types import Part, Verdict
from tests.reports.drawn_runs import DrawnRun, plain_run


def _failing(name: str, words: dict[str, str]) -> DrawnRun:
    """A run whose images all fail, each by one word; the items are named by level and number."""
    levels: dict[int, list[bool]] = {}
    for item in words:
        levels.setdefault(int(item.partition("-")[0]), []).append(False)
    run = plain_run(name, levels)
    images = (
        replace(image, verdict=Verdict(False, (Part("p", "kind", 0, about=(words[image.outcome.item],)),)))
        for image in run.images
    )
    return replace(run, images=tuple(images))


def test_each_new_word_comes_before_a_word_that_failed_already() -> None:
    run = _failing("a", {"1-0": "Is", "1-1": "Is", "2-0": "Above", "9-0": "Has"})
    chosen = [failure.judged.outcome.item for failure in telling_failures({0: run}, 3)]
    assert chosen == ["1-0", "2-0", "9-0"]
    assert [failure.judged.outcome.item for failure in telling_failures({0: run}, 9)] == ["1-0", "1-1", "2-0", "9-0"]


def test_runs_take_turns_and_an_item_is_there_once() -> None:
    words = {f"{level}-0": f"word {level}" for level in range(1, 9)}
    chosen = telling_failures({0: _failing("a", words), 2: _failing("b", words)})
    assert len(chosen) == MAX_TELLING
    assert [failure.run for failure in chosen] == [0, 0, 0, 2, 2, 2]
    assert len({failure.judged.outcome.item for failure in chosen}) == MAX_TELLING


def test_a_run_without_failures_has_none() -> None:
    assert telling_failures({0: plain_run("a", {1: [True, "refused"]})}) == []
