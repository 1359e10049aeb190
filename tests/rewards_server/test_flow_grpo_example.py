"""The example for trainers works in process and by a server, with the same scores."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from formalimg.rewards.scorer import Scorer
from tests.rewards_server.servers import knolling, on_a_port

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
