"""What goes wrong with one image stays with it; what every image would share ends the run, in words."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.models import small_items
from tests.support.run_contents import order, outcomes, rows

from formalimg.errors import FormalimgError
from formalimg.runs.execution import execute
from formalimg.runs.progress import Progress
from formalimg.runs.ray import worker
from formalimg.runs.ray.pool import open_worker_pool
from formalimg.runs.ray.worker import ResourceRequest
from tests_ray.models import Marked, of_this_process, open_judge


def run(
    cluster: Any, folder: Path, opening: Any, count: int = 12, judge: Any = None, workers: int = 2, **changes: Any
) -> Progress:
    resources = changes.pop("resources", ResourceRequest())
    with open_worker_pool(opening, judge, workers=workers, resources=resources, address=cluster.address) as pool:
        return execute(order(pool.model, small_items(count), **changes), folder, pool.judge)


def reasons(folder: Path) -> dict[str, str]:
    return {outcome.item: outcome.detail for outcome in outcomes(folder) if outcome.reason == "generation failed"}


def asked(log: Path) -> Counter[str]:
    return Counter(line.split()[0] for line in log.read_text().splitlines())


def test_one_request_that_raises_fails_alone(cluster: Any, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    opening = partial(Marked, str(log), raises=("5",), odd=("9",), exits=("11",), batch=4)
    done = run(cluster, tmp_path / "run", opening)
    assert (done.made, done.failed) == (9, 3)
    found = reasons(tmp_path / "run")
    assert found["11"] == "SystemExit: no more", "which would leave whoever asked without an answer"
    assert found["5"] == "ValueError: item 5 cannot be painted"
    assert found["9"].startswith("TypeError: cannot pickle"), "without a traceback and where that was"
    assert asked(log)["5"] == 3, "in its batch of four, in a half, and alone"
    assert min(asked(log).values()) == 1, "a batch without trouble is not asked again"


def test_one_request_that_kills_its_worker_fails_alone(cluster: Any, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run(cluster, tmp_path / "run", partial(Marked, str(log), seconds=0.1, dies=("3",)), judge=open_judge)
    assert (done.made, done.failed, done.judged) == (11, 1, 11)
    assert "3 workers in a row crashed" in reasons(tmp_path / "run")["3"]
    assert 1 <= asked(log)["3"] <= 3


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(cluster: Any, root: Path, tmp_path: Path) -> None:
    opening = partial(Marked, str(tmp_path / "log"), seconds=0.05, dollars=1.0, concurrency=1)
    first = run(cluster, tmp_path / "run", opening, 30, workers=8, budget=5.0)
    assert first.stopped
    # What was with the workers when the budget was used up is still kept: there is room for two of them, which have two
    # calls each, and one of these four calls was the one that used it up. What waited for the others is not begun.
    assert 5 <= first.made <= 5 + 3
    second = run(cluster, tmp_path / "run", opening, 30, budget=100.0)
    assert first.made + second.made == 30
    assert set(asked(tmp_path / "log").values()) == {1}


def test_what_was_made_before_the_end_is_kept(cluster: Any, root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    opening = partial(Marked, str(log), ends=("5",), batch=4, concurrency=1, dollars=1.0)
    with pytest.raises(FormalimgError, match="no credit left"):
        run(cluster, tmp_path / "run", opening, workers=1)
    order_asked = [line.split()[0] for line in log.read_text().splitlines()]
    place = order_asked.index("5")
    assert place % 4, "else nothing was made before it in its batch"
    kept = {item for (item,) in rows(tmp_path / "run", "SELECT item FROM pictures WHERE status = 'made'")}
    assert {*order_asked[:place]} <= kept
    assert "5" not in kept


def test_a_model_that_is_another_one_on_a_worker_ends_the_run(cluster: Any, root: Path, tmp_path: Path) -> None:
    with pytest.raises(FormalimgError, match=r"cannot begin: .* \(process differ\): use the same versions"):
        run(cluster, tmp_path / "run", of_this_process)


def test_no_room_is_said_in_words(cluster: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormalimgError, match="no machine of the cluster can hold a worker that takes 1 CPU and 2 GPUs"):
        run(cluster, tmp_path / "run", partial(Marked, ""), resources=ResourceRequest(gpus=2))
    # And if the machine goes away after the run has begun:
    monkeypatch.setattr(worker, "NO_MACHINE_TIMEOUT", 2.0)
    monkeypatch.setattr(worker, "POLL_SECONDS", 1.0)
    doomed = cluster.add_node(num_cpus=4)
    cluster.wait_for_nodes()
    opening = partial(Marked, str(tmp_path / "log"))
    with open_worker_pool(opening, workers=1, resources=ResourceRequest(cpus=4), address=cluster.address) as pool:
        cluster.remove_node(doomed, allow_graceful=False)
        with pytest.raises(FormalimgError, match="can hold a worker that takes 4 CPUs and 0 GPUs: start one that can"):
            execute(order(pool.model, small_items(4)), tmp_path / "run2", None)


def test_a_cluster_that_is_not_there_is_said_in_words(cluster: Any) -> None:
    with (
        pytest.raises(FormalimgError, match=r"cannot join the Ray cluster at 127\.0\.0\.1:1: `ray start` it"),
        open_worker_pool(judge=open_judge, address="127.0.0.1:1"),
    ):
        pass


def test_what_keeps_all_workers_from_starting_ends_the_run(
    cluster: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is nothing of single images, which would all be put down as failed."""

    def start_worker(*_: Any) -> Any:
        raise ValueError("Ray does not like this")

    monkeypatch.setattr("formalimg.runs.ray.pool.start_worker", start_worker)
    with pytest.raises(FormalimgError, match="no worker can be started: ValueError: Ray does not like this"):
        run(cluster, tmp_path / "run", partial(Marked, str(tmp_path / "log")))
