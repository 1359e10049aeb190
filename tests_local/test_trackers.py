"""MLflow and W&B with their real libraries, without a network: what was logged is read back with the same libraries."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import formalimg
from formalimg.reports.sharing.trackers import TrackedRun, log_run, read_tracked_run, read_tracker


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> TrackedRun:
    folder = tmp_path_factory.mktemp("tracked") / "reader"
    items = [item for item in formalimg.load("knolling") if item.level in (1, 4, 8)][::50]
    formalimg.run("knolling", "builtin/reader", "builtin/icons", items=items, size=256, folder=folder, progress=False)
    return read_tracked_run(folder)


def test_mlflow_keeps_metrics_settings_and_failures(tracked: TrackedRun, tmp_path: Path) -> None:
    mlflow: Any = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    store = tmp_path / "store"
    tracker = read_tracker(f"mlflow:{store}")
    log_run(tracked, tracker)
    place = log_run(tracked, tracker)  # the same run again replaces the first
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    try:
        client = mlflow.MlflowClient(tracking_uri=str(store))
        experiment = client.get_experiment_by_name("formalimg")
        (run,) = client.search_runs([experiment.experiment_id])
        assert run.info.run_id in place
        assert run.data.metrics["pass_rate"] == pytest.approx(tracked.numbers["pass_rate"])
        by_level = {one.step: one.value for one in client.get_metric_history(run.info.run_id, "by_level/pass_rate")}
        assert by_level == pytest.approx({level: one["pass_rate"] for level, one in tracked.levels.items()})
        assert run.data.params["model"] == "builtin/reader"
        artifacts = {one.path for one in client.list_artifacts(run.info.run_id)}
        assert artifacts == {"failures", "failures.json"}
        local = Path(client.download_artifacts(run.info.run_id, "failures.json", str(tmp_path)))
        table = json.loads(local.read_text(encoding="utf-8"))
        assert len(table["data"]) == len(tracked.failures)
        images = client.list_artifacts(run.info.run_id, "failures")
        assert len(images) == len(tracked.failures)
    finally:
        del os.environ["MLFLOW_ALLOW_FILE_STORE"]


def test_wandb_offline_keeps_history_summary_and_images(
    tracked: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb: Any = pytest.importorskip("wandb", reason="the extra wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("WANDB_DIR", "WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    log_run(tracked, read_tracker("wandb:lab"))
    wandb.teardown()  # its service writes the last records when the process ends
    (stored,) = tmp_path.rglob("*.wandb")
    history, summary = _records(stored)
    assert history
    by_level = {row["level"]: row["by_level/pass_rate"] for row in history if "level" in row}
    assert by_level == pytest.approx({level: one["pass_rate"] for level, one in tracked.levels.items()})
    assert summary["pass_rate"] == pytest.approx(tracked.numbers["pass_rate"])
    assert summary["failures/nrows"] == len(tracked.failures)
    assert len(list(stored.parent.rglob("*.png"))) == len(tracked.failures)


def _records(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of the history, and the summary of an offline run."""
    from wandb.proto.wandb_internal_pb2 import Record

    history: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    for data in _logged(path.read_bytes()):
        record = Record()
        record.ParseFromString(data)
        match record.WhichOneof("record_type"):
            case "history":
                history.append({_key(item): json.loads(item.value_json) for item in record.history.item})
            case "summary":
                summary |= {_key(item): json.loads(item.value_json) for item in record.summary.update}
    return history, summary


def _logged(data: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's format: blocks of 32 KiB, with records whole or in pieces, after a header."""
    place, pieces = 7, b""
    while place < len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        pieces += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield pieces
            pieces = b""


def _key(item: Any) -> str:
    return item.key or "/".join(item.nested_key)


def test_wandb_without_a_key_is_one_line(tracked: TrackedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="the extra wandb is not installed")
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    with pytest.raises(formalimg.FormalimgError, match="wandb login"):
        log_run(tracked, read_tracker("wandb"))
