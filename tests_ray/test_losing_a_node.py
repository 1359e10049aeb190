"""A machine that dies in the middle: what it had is made by others, and nothing is lost or different."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.models import small_items
from tests.support.run_contents import contents, order

from formalimg.runs import Progress, carry_out
from formalimg.workers import Demand, open_crew
from tests_ray.models import Marked, open_judge

ITEMS = 60


def test_a_node_killed_in_the_middle_loses_nothing(cluster: Any, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    doomed = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    items = small_items(ITEMS)
    killing: list[threading.Thread] = []

    def told(progress: Progress) -> None:
        """Kill the node once it is at work, and while there is a lot to do."""
        asked = [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []
        if not killing and asked.count(doomed.node_id) >= 4:
            assert progress.made < ITEMS / 2
            killing.append(threading.Thread(target=lambda: cluster.remove_node(doomed, allow_graceful=False)))
            killing[0].start()

    opening = partial(Marked, str(log), seconds=0.4)
    with open_crew(opening, open_judge, workers=3, demand=Demand(), address=cluster.address) as crew:
        done = carry_out(order(crew.model, items), tmp_path / "ray", crew.judge, told=told)
        assert "2 workers" in crew.told() or "3 workers" in crew.told()
    killing[0].join()
    carry_out(order(Marked(str(tmp_path / "other log")), items), tmp_path / "local", open_judge())
    assert (done.made, done.failed, done.judged, done.unscored) == (ITEMS, 0, ITEMS, 0)
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    asked = [line.split()[0] for line in log.read_text().splitlines()]
    assert ITEMS < len(asked) <= ITEMS + 3, "what was with the node, and only that, was asked again"
