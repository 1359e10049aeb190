"""Studies whose human labels correct the rates of a run: those passed in, and those next to the runs' folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.human_eval.agreement.image_labels import RunLabels
from formalimg.human_eval.manifest import is_study, read_study_manifest
from formalimg.human_eval.ratings import human_labels
from formalimg.runs.reader import StoredRun

USUAL_FOLDER = "studies"  # Where `formalimg annotate` puts studies by default, beside the folder of the runs
_STUDY_FILES = ("study.toml", "ratings.sqlite", "ratings.sqlite-wal")


def require_studies(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders, or raise an error if one of them is not a study."""
    wrong = next((folder for folder in folders if not is_study(folder)), None)
    if wrong is not None:
        raise FormalimgError(f"{wrong} is not a study: name the folder of a study that `formalimg annotate` made")
    return tuple(folders)


def studies_of_runs(runs: Sequence[Path], named: Sequence[Path]) -> dict[Path, Path]:
    """Return the study that labels each run: a named one, or a correction study next to the runs.

    Of several, the study with the most of these runs counts: only runs labelled together are compared by people.
    """
    compared = {run.resolve() for run in runs}
    covered = {study: _labelled_runs(study) & compared for study in named}
    for study in dict.fromkeys(study for run in compared for study in _studies_beside(run)):
        if study not in covered and _is_for_correction(study):
            covered[study] = _labelled_runs(study) & compared
    order = sorted(covered, key=lambda study: (study not in named, -len(covered[study])))
    return {run: study for study in reversed(order) for run in covered[study]}


def study_files(studies: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of studies that change when answers are added."""
    yield from (study / name for study in studies for name in _STUDY_FILES)


def labels_of_runs(runs: Sequence[StoredRun], studies: Mapping[Path, Path]) -> dict[Path, RunLabels]:
    """Return the human labels of runs, or the reason why a study has none yet."""
    labels: dict[Path, RunLabels] = {}
    for study in dict.fromkeys(studies.values()):
        labelled = [run for run in runs if studies.get(run.folder.resolve()) == study]
        try:
            labels |= human_labels(study, labelled)
        except FormalimgError as error:
            labels |= {run.folder.resolve(): RunLabels(str(study), refused=str(error)) for run in labelled}
    return labels


def _studies_beside(run: Path) -> Iterator[Path]:
    try:
        yield from sorted(folder for folder in (run.parent.parent / USUAL_FOLDER).iterdir() if is_study(folder))
    except OSError:
        return  # there is none, or it cannot be read


def _labelled_runs(study: Path) -> set[Path]:
    try:
        return {(study / run.folder).resolve() for run in read_study_manifest(study).runs}
    except FormalimgError:
        return set()


def _is_for_correction(study: Path) -> bool:
    try:
        return read_study_manifest(study).correction is not None
    except FormalimgError:
        return False
