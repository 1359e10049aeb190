"""Studies whose human labels correct the rates of a run: those given, and those beside the folder of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.labels import human_labels
from formalimg.human_eval.manifest import is_study, read_study_manifest
from formalimg.runs.reader import StoredRun

USUAL_FOLDER = "studies"
"""Where `formalimg annotate` puts studies by default, beside the folder of the runs."""

_STUDY_FILES = ("study.toml", "ratings.sqlite", "ratings.sqlite-wal")


def require_studies(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders.

    Raises:
        FormalimgError: if one of them is no study.
    """
    wrong = next((folder for folder in folders if not is_study(folder)), None)
    if wrong is not None:
        raise FormalimgError(f"{wrong} is not a study: name the folder of a study that `formalimg annotate` made")
    return tuple(folders)


def study_of_run(run: Path, given: Sequence[Path]) -> Path | None:
    """Return the study that labels a run: a given one, or else one beside the runs that was drawn for correction."""
    place = run.resolve()
    for folder in given:
        if _labels(folder, place, any_kind=True):
            return folder
    return next((folder for folder in _beside(place) if _labels(folder, place, any_kind=False)), None)


def study_files(study: Path | None) -> Iterator[Path]:
    """Yield the files of a study that change with its answers."""
    if study is not None:
        yield from (study / name for name in _STUDY_FILES)


def labels_of_run(run: StoredRun, study: Path | None) -> dict[Path, RunLabels]:
    """Return the labels of a run; none without a study. Why a study has no labels yet is said with the numbers."""
    if study is None:
        return {}
    try:
        return human_labels(study, [run])
    except FormalimgError as error:
        return {run.folder.resolve(): RunLabels(str(study), refused=str(error))}


def _beside(run: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder for folder in (run.parent.parent / USUAL_FOLDER).iterdir() if is_study(folder))
    except OSError:
        return  # there is none, or it cannot be read


def _labels(study: Path, run: Path, *, any_kind: bool) -> bool:
    try:
        manifest = read_study_manifest(study)
    except FormalimgError:
        return False
    folders = {(study / rated.folder).resolve() for rated in manifest.runs}
    return run in folders and (any_kind or manifest.correction is not None)
