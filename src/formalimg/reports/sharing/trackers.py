"""Experiment trackers: log a run to W&B, MLflow or TensorBoard through their own libraries."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from formalimg._util.installing import install_line
from formalimg._util.io import read_plain_bytes
from formalimg._util.processes import temporary_environment
from formalimg._util.text import truncate, visible
from formalimg.errors import FormalimgError
from formalimg.models.secrets import redact
from formalimg.reports.results.result import Failure, Failures, find_failures
from formalimg.reports.tables.format import level_word
from formalimg.runs.manifest import Identity, RunManifest
from formalimg.runs.reader import open_run
from formalimg.stats.observations import Profile

PROJECT = "formalimg"
_SUFFIX = ".formalimg"
_MAX_PIXELS = 512
_MAX_FOLDER_NAME = 200
_COLUMNS = ("item", "level", "sample", "prompt", "what failed", "score")


class Tracker(NamedTuple):
    """A tracker and the location of its logs, as in `tensorboard:logs`."""

    name: str  # wandb, mlflow or tensorboard
    # the project of wandb, the tracking URI of mlflow, the folder of tensorboard; empty for the default
    place: str = ""


def read_tracker(text: str) -> Tracker:
    """Parse a tracker name with an optional location after a colon, and check that its library is installed."""
    name, _, location = text.partition(":")
    if name not in _LIBRARIES:
        raise FormalimgError(f"there is no tracker {name[:40]!r}: name one of {', '.join(_LIBRARIES)}")
    library = _LIBRARIES[name]
    if find_spec(library) is None:
        raise FormalimgError(f"logging to {name} needs the library {library}: {install_line(name)}")
    return Tracker(name, location)


def log_run(run: TrackedRun, tracker: Tracker) -> str:
    """Log a run to a tracker, replacing earlier logs of the same run, and return the location."""
    try:
        return _WRITERS[tracker.name](run, tracker.place)
    except FormalimgError:
        raise
    except Exception as error:  # libraries raise anything, and the run itself is done and kept
        reason = truncate(redact(" ".join(str(error).split())) or type(error).__name__, 300, 100)
        raise FormalimgError(f"cannot log to {tracker.name}: {reason}") from error


def _log_tensorboard(run: TrackedRun, location: str) -> str:
    from numpy import asarray

    name = re.sub(r"[/\\]", "-", visible(run.name, one_line=True))
    is_long = len(name.encode()) > _MAX_FOLDER_NAME
    folder = Path(location or "tensorboard") / (f"{name[:40]}-{run.key[:8]}" if is_long else name)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"events.out.tfevents.*{_SUFFIX}"):
        old.unlink()  # the same run again: two curves of one name would lie over each other
    library = import_module("tensorboardX")
    with library.SummaryWriter(str(folder), filename_suffix=_SUFFIX) as writer:
        for level, numbers in run.levels.items():
            for name, value in numbers.items():
                writer.add_scalar(f"by_{run.level_word}/{name}", value, level)
        for name, value in run.numbers.items():
            writer.add_scalar(f"overall/{name}", value, 0)
        writer.add_text("settings", _markdown_table(("setting", "value"), run.settings.items()), 0)
        rows = [_failure_cells(failure) for failure in run.failures]
        writer.add_text("failures", _markdown_table(_COLUMNS, rows), 0)
        for number, failure in enumerate(run.failures):
            image = _load_small_image(failure)
            if image is not None:
                writer.add_image(f"failures/{failure.item}", asarray(image), number, dataformats="HWC")
    return f"{folder} (tensorboard --logdir {folder.parent})"


def _log_mlflow(run: TrackedRun, location: str) -> str:
    entities = import_module("mlflow.entities")
    uri = location or os.environ.get("MLFLOW_TRACKING_URI") or "mlruns"
    allowed = os.environ.get("MLFLOW_ALLOW_FILE_STORE", "true")
    with temporary_environment({"MLFLOW_ALLOW_FILE_STORE": allowed}):
        client = import_module("mlflow").MlflowClient(tracking_uri=uri)
        existing = client.get_experiment_by_name(PROJECT)
        if existing:
            _require_inside(uri, existing.artifact_location)
        experiment = existing.experiment_id if existing else client.create_experiment(PROJECT)
        for old in client.search_runs([experiment], f"tags.`formalimg.key` = '{run.key}'"):
            client.delete_run(old.info.run_id)
        tags = {"formalimg.key": run.key, "mlflow.runName": run.name}
        logged = client.create_run(experiment, tags=tags).info.run_id
        metrics = [entities.Metric(name, value, 0, 0) for name, value in run.numbers.items()]
        for level, numbers in run.levels.items():
            metrics += [entities.Metric(f"by_level/{name}", value, 0, level) for name, value in numbers.items()]
        params = [entities.Param(name, str(value)[:500]) for name, value in run.settings.items()]
        client.log_batch(logged, metrics, params)
        rows = []
        for number, failure in enumerate(run.failures):
            image, path = _load_small_image(failure), f"failures/{number:03}.png"
            if image is not None:
                client.log_image(logged, image, path)
            rows.append([*_failure_cells(failure), path if image is not None else None])
        table = {"columns": [*_COLUMNS, "image"], "data": rows}
        client.log_dict(logged, table, "failures.json")
        client.set_tag(logged, "mlflow.loggedArtifacts", '[{"path": "failures.json", "type": "table"}]')
        client.set_terminated(logged)
    return f"run {logged} of the experiment {PROJECT} in {redact(uri)}"


def _require_inside(uri: str, artifacts: str) -> None:
    """Raise an error for an untrusted MLflow folder that would send artifacts elsewhere."""
    if "://" in uri:
        return
    scheme, _, path = artifacts.rpartition("://")
    if scheme not in ("", "file") or not Path(unquote(path)).resolve().is_relative_to(Path(uri).resolve()):
        raise FormalimgError(
            f"the experiment {PROJECT} in {redact(uri)} sends artifacts to {truncate(redact(artifacts), 100, 40)}: "
            "name the tracking server yourself, with MLFLOW_TRACKING_URI or --to mlflow:URI, or another folder"
        )


def _require_no_local_address() -> None:
    """Raise an error if W&B settings in the current folder decide where the API key is sent."""
    if os.environ.get("WANDB_BASE_URL"):
        return
    for path in (Path("wandb/settings"), Path(".wandb/settings")):
        with suppress(OSError):
            if b"base_url" in read_plain_bytes(path, 1_000_000):
                raise FormalimgError(
                    f"{path} in this folder decides where W&B sends your key: remove base_url from it, or set "
                    "WANDB_BASE_URL yourself"
                )


def _log_wandb(run: TrackedRun, location: str) -> str:
    _require_no_local_address()
    wandb = import_module("wandb")
    offline = os.environ.get("WANDB_MODE", "online") != "online"
    if not offline and not wandb.api.api_key:
        raise FormalimgError(
            "wandb has no key: run `wandb login`, or set WANDB_MODE=offline and upload with `wandb sync` later"
        )
    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
    logged = wandb.init(
        project=location or PROJECT,
        id=run.key,
        name=run.name,
        resume=None if offline else "allow",
        config=dict(run.settings),
        settings=settings,
    )
    try:
        logged.define_metric("level")
        logged.define_metric("by_level/*", step_metric="level")
        for level, numbers in run.levels.items():
            logged.log({"level": level, **{f"by_level/{name}": value for name, value in numbers.items()}})
        logged.summary.update(dict(run.numbers))
        table = wandb.Table(columns=[*_COLUMNS, "image"])
        images = []
        for failure in run.failures:
            image = _load_small_image(failure)
            table.add_data(*_failure_cells(failure), None if image is None else wandb.Image(image))
            images += [] if image is None else [wandb.Image(image, caption=f"{failure.item}: {failure.prompt}")]
        logged.log({"failures": table, **({"failed_images": images} if images else {})})
        return str(logged.dir if offline else logged.url)
    finally:
        logged.finish()


def _failure_cells(failure: Failure) -> list[Any]:
    failed = "; ".join(failure.what_failed)
    return [failure.item, failure.level, failure.sample, failure.prompt, failed, failure.score]


def _load_small_image(failure: Failure) -> Any:
    """Return a thumbnail of a failed image, or None if it cannot be read."""
    try:
        image = failure.image.copy()
    except FormalimgError:
        return None
    image.thumbnail((_MAX_PIXELS, _MAX_PIXELS))
    return image


def _markdown_table(head: Sequence[str], rows: Any) -> str:
    from formalimg.reports.tables.markup import markdown_escape

    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(markdown_escape(str(cell)) for cell in line)} |" for line in lines)


_LIBRARIES = {"wandb": "wandb", "mlflow": "mlflow", "tensorboard": "tensorboardX"}
_WRITERS: Mapping[str, Callable[[TrackedRun, str], str]] = {
    "wandb": _log_wandb,
    "mlflow": _log_mlflow,
    "tensorboard": _log_tensorboard,
}


MAX_FAILURES = 24  # The most failures that are logged, spread over the levels


@dataclass(frozen=True)
class TrackedRun:
    """The data of a run to be logged."""

    name: str  # its name: that of its folder, with the judge where the run has several
    key: str  # a text of 32 hexadecimal digits by which the same run and judge are found again
    settings: Mapping[str, str | int | float | bool]  # what the run was asked to do, and by which version
    numbers: Mapping[str, float]  # the numbers of the whole run, by name
    levels: Mapping[int, Mapping[str, float]]  # the numbers of each level, by name
    level_word: str  # what a level is called, such as `K`
    failures: Failures = field(repr=False)  # images that failed


def read_tracked_run(
    folder: str | Path,
    judge: Identity | None = None,
    *,
    max_failures: int = MAX_FAILURES,
    profile: Profile | None = None,
) -> TrackedRun:
    """Read the data of a run to be logged."""
    from formalimg.reports.comparison import compare  # here, so that a tracker is checked without it

    path = Path(folder)
    with closing(open_run(path, judge)) as run:
        section = compare([run], profile=profile).sections[0]
        several = len(run.judges()) > 1
        failures = find_failures(run, None, max_failures)
    row = section.rows[0]
    manifest, summary = row.manifest, row.summary
    measure = "score" if section.suite.has_scores else "pass_rate"
    numbers = {
        **_rate_numbers(measure, summary.overall.value, summary.overall.interval),
        "coverage": summary.overall.coverage,
        "images": float(summary.overall.expected),
        "scored": float(summary.overall.scored),
        "cost_dollars": row.spent.dollars,
        "unpriced_calls": float(row.spent.unpriced),
    }
    general = summary.generalizability
    if general is not None and general.value is not None:
        numbers["generalizability"] = float(general.value)
    for name, band in summary.bands.items():
        if band.value is not None:
            numbers[f"band/{name}"] = band.value
    identity = (manifest.created, manifest.images_id, manifest.items_digest, manifest.suite, manifest.model)
    key = hashlib.sha256(repr((*identity, manifest.judge)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    levels = {
        level: {**_rate_numbers(measure, rate.value, rate.interval), "coverage": rate.coverage}
        for level, rate in summary.levels.items()
    }
    name = f"{path.resolve().name}{f', {manifest.judge.name}' if several and manifest.judge else ''}"
    word = level_word(section.suite) or "level"
    return TrackedRun(name, key, _run_settings(manifest), numbers, levels, word, failures)


def _rate_numbers(name: str, value: float | None, interval: tuple[float, float] | None) -> dict[str, float]:
    if value is None:
        return {}
    ends = {} if interval is None else {f"{name}_low": interval[0], f"{name}_high": interval[1]}
    return {name: value, **ends}


def _run_settings(manifest: RunManifest) -> dict[str, str | int | float | bool]:
    settings: dict[str, str | int | float | bool] = {
        "suite": manifest.suite,
        "suite_version": manifest.suite_version,
        "items_digest": manifest.items_digest,
        "model": manifest.model.name,
        "judge": manifest.judge.name if manifest.judge else "none",
        "samples": manifest.samples,
        "seed": manifest.seed,
        "size": manifest.size,
        "task": manifest.task,
        "condition": manifest.condition or "plain",
        "style": manifest.style,
        "created": manifest.created,
        "made_with": manifest.made_with,
    }
    for role, party in (("model", manifest.model), ("judge", manifest.judge)):
        for name, value in (party.settings if party else {}).items():
            settings[f"{role}.{name}"] = "none" if value is None else value
    return settings
