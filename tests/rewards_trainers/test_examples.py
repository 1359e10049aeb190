"""The examples for trainers run as they are, in process and by a server, and give the same rewards."""

from __future__ import annotations

import math
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formalimg.drawing.icon_scene import draw
from formalimg.rewards.reward_functions import reward
from formalimg.rewards.scorer import Scorer
from formalimg.rewards.trainers import settings
from tests.rewards_server.servers import knolling, on_a_port

EXAMPLES = Path(__file__).parents[2] / "examples" / "trainers"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with on_a_port(Scorer(items={"knolling": knolling()[:40]}, suites=["knolling"])) as port:
        yield port


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("formalimg.load", lambda _: knolling())
    for name in (settings.URL, settings.TOKEN, settings.MISSING):
        monkeypatch.delenv(name, raising=False)
    return lambda name: runpy.run_path(str(EXAMPLES / name))["main"]


def expected() -> list[float | None]:
    item, other = knolling()[20:22]
    found = reward([draw(each.spec.witness, 256) for each in (item, other)], [item, item])
    assert found[0] == 1
    assert (found[1] or 0) < 1
    return found


def test_every_example_is_run() -> None:
    run = {"flow_factory.py", "flow_grpo_geneval.py", "trl_layouts.py", "unirl.py", "verl_omni.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == run


def test_flow_factory(example: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.URL, f"http://127.0.0.1:{port}")
    assert example("flow_factory.py")() == expected()


def test_unirl(example: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(settings.URL, f"http://127.0.0.1:{port}")
    first, second, third = example("unirl.py")()
    assert [first, second] == expected()
    assert isinstance(third, str)


def test_verl_omni_in_process_and_by_a_server(example: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    main = example("verl_omni.py")
    here = main()
    monkeypatch.setenv(settings.URL, f"http://127.0.0.1:{port}")
    for found in (here, main()):
        assert [each["score"] for each in found[:2]] == expected()
        assert [each["passed"] for each in found[:2]] == [1, 0]
        assert math.isnan(found[2]["score"])
        assert [each["unscored"] for each in found] == [0, 0, 1]


def test_trl_in_process_and_by_a_server(example: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    main = example("trl_layouts.py")
    item, other = knolling()[20:22]
    rewards = [*reward([item.spec.witness, other.spec.witness], [item, item]), 0.0]
    assert main() == rewards
    monkeypatch.setenv(settings.URL, f"http://127.0.0.1:{port}")
    assert main() == rewards


def test_flow_grpo_without_pickles_and_through_the_gateway(
    example: Any, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = example("flow_grpo_geneval.py")
    assert main() == (expected(), None)
    monkeypatch.setenv(settings.URL, f"http://127.0.0.1:{port}")
    scores, found = main()
    assert scores == found["scores"] == expected()
    assert found["rewards"] == found["strict_rewards"] == [1, 0]
    assert found["group_rewards"] == found["group_strict_rewards"] == {f"K={knolling()[20].level}": [1, 0]}


EXAMPLE = Path(__file__).parents[2] / "examples" / "flow_grpo_reward.py"


def test_the_example_gives_the_same_in_process_and_by_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("formalimg.load", lambda _: knolling())
    main = runpy.run_path(str(EXAMPLE))["main"]
    monkeypatch.delenv("FORMALIMG_URL", raising=False)
    here = main()
    with on_a_port(Scorer(items={"knolling": knolling()})) as port:
        monkeypatch.setenv("FORMALIMG_URL", f"http://127.0.0.1:{port}")
        there = main()
    np.testing.assert_array_equal(here, there)
    assert here[0] == 1
    assert here[1] < 1
    assert np.isnan(here[2])
