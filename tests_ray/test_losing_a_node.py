"""A machine that dies in the middle: what it had is made by others, and nothing is lost or different."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.models import small_items
from tests.support.run_contents import contents, order, until

from formalimg.runs.execution import execute
from formalimg.runs.ray.pool import open_worker_pool
from formalimg.runs.ray.worker import ResourceRequest
from tests_ray.models import Marked, open_judge

ITEMS, MIDDLE = 60, 20


def test_a_node_killed_in_the_middle_loses_nothing(cluster: Any, root: Path, tmp_path: Path) -> None:
    log, gate = tmp_path / "log", tmp_path / "gate"
    doomed = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    items = small_items(ITEMS)

    def at_work() -> list[str]:
        """The processes on the node that have something in hand."""
        asked = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [process for _, node, process in asked[MIDDLE:] if node == doomed.node_id]

    def kill() -> None:
        try:
            until(lambda: bool(at_work()), 120)
            cluster.remove_node(doomed, allow_graceful=False)
            until(lambda: not any(Path(f"/proc/{process}").exists() for process in at_work()), 60)
        finally:
            gate.touch()

    killing = threading.Thread(target=kill)
    opening = partial(Marked, str(log), gate=(MIDDLE, str(gate)))
    with open_worker_pool(opening, open_judge, workers=3, resources=ResourceRequest(), address=cluster.address) as pool:
        killing.start()
        done = execute(order(pool.model, items), tmp_path / "ray", pool.judge)
        assert "2 workers" in pool.rates_text() or "3 workers" in pool.rates_text()
    killing.join()
    execute(order(Marked(str(tmp_path / "other log")), items), tmp_path / "local", open_judge())
    assert (done.made, done.failed, done.judged, done.unscored) == (ITEMS, 0, ITEMS, 0)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    asked = [line.split()[0] for line in log.read_text().splitlines()]
    assert ITEMS < len(asked) <= ITEMS + 3, "what was with the node, and only that, was asked again"
