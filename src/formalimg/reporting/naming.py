"""What runs are called where several stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from formalimg.analysis import judge_names
from formalimg.runs import RunManifest, RunRecord


def names_of(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The model of each run, with as much of what sets it apart as is needed to tell the runs from each other."""
    names = [_kind(run.manifest) for run in runs]
    for aspect in (_settings_that_differ, *_ASPECTS):
        for name in sorted(set(names)):
            alike = [number for number, other in enumerate(names) if other == name]
            if len(alike) > 1:
                found = aspect([runs[number] for number in alike])
                if len(set(found)) > 1:
                    for number, text in zip(alike, found, strict=True):
                        names[number] = ", ".join(filter(None, [name, text]))
    repeated = {name for name in names if names.count(name) > 1}
    return tuple(
        f"{name} ({names[: number + 1].count(name)})" if name in repeated else name for number, name in enumerate(names)
    )


def _kind(manifest: RunManifest) -> str:
    task = f"{manifest.task} task" if manifest.task != "image" else ""
    return ", ".join(filter(None, [manifest.model.name, task, manifest.condition]))


def _settings_that_differ(runs: Sequence[RunRecord]) -> list[str]:
    settings = [run.manifest.model.settings for run in runs]
    keys = sorted({key for one in settings for key in one})
    differing = [key for key in keys if len({repr(one.get(key)) for one in settings}) > 1]
    return [" ".join(f"{key}={one[key]}" for key in differing if key in one) for one in settings]


def _judges_that_differ(runs: Sequence[RunRecord]) -> list[str]:
    """Who judged; where judges of one name differ, in what."""
    names = iter(judge_names([run.manifest.judge for run in runs if run.manifest.judge]))
    return [f"by {next(names)}" if run.manifest.judge else "not judged" for run in runs]


def _aspect(tell: Callable[[RunManifest], str]) -> Callable[[Sequence[RunRecord]], list[str]]:
    return lambda runs: [tell(run.manifest) for run in runs]


_ASPECTS: tuple[Callable[[Sequence[RunRecord]], list[str]], ...] = (
    _aspect(lambda manifest: f"layouts by {manifest.layouts.partition(' sha256')[0]}" if manifest.layouts else ""),
    _aspect(lambda manifest: f"{manifest.style} style text" if manifest.style != "none" else "no style text"),
    _judges_that_differ,
    _aspect(lambda manifest: f"{manifest.size} px"),
    _aspect(lambda manifest: f"seed {manifest.seed}"),
    lambda runs: [run.folder.name for run in runs],
)
