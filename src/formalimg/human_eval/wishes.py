"""What somebody wants of a study, and whether a study that is there already is that one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.manifest import StudyManifest
from formalimg.human_eval.steps import Protocol


@dataclass(frozen=True)
class StudyConfig:
    """Settings of a study, as in `make_study`; None, or no runs, for what may be as it is.

    Attributes:
        runs: the folders of the runs.
        levels: no levels at all for all of them.
    """

    runs: tuple[Path, ...] = ()
    protocol: Protocol | None = None
    raters: int | None = None
    per_image: int | None = None
    levels: tuple[int, ...] | None = None
    per_level: int | None = None
    checks: float | None = None
    seed: int | None = None


_SETTINGS = ("protocol", "raters", "per_image", "levels", "per_level", "checks", "seed")


def require_wanted(folder: Path, manifest: StudyManifest, wanted: StudyConfig) -> None:
    """Refuse to go on with a study of other settings.

    Args:
        folder: where the study lies.
        manifest: what was asked of it.
        wanted: what is asked now.

    Raises:
        FormalimgError: naming all that is different.
    """
    pairs = [(name, getattr(manifest, name), getattr(wanted, name)) for name in _SETTINGS]
    found = [
        f"{name.replace('_', ' ')}: was {_told(old)}, now {_told(new)}"
        for name, old, new in pairs
        if new is not None and new != old
    ]
    there = {str((folder / run.folder).resolve()) for run in manifest.runs}
    asked = {str(run.resolve()) for run in wanted.runs}
    if asked and asked != there:
        found.append(f"runs: was {_told(tuple(sorted(there)))}, now {_told(tuple(sorted(asked)))}")
    if found:
        raise FormalimgError(f"{folder} is a study of other settings ({'; '.join(found)}): choose another folder")


def _told(value: object) -> str:
    return ", ".join(map(str, value)) or "all" if isinstance(value, tuple) else str(value)
