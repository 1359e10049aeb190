"""The judges of a run: select two of them, or one by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs.manifest import Identity
from formalimg.runs.reader import StoredRun, open_run
from formalimg.types import RunRecord


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """Open a run twice, with two of its judges; None for the last two."""
    with closing(open_run(folder)) as run:
        judges = list(run.judges())
        if first is None or second is None:
            first, second = _last_two(run)
    for judge in (first, second):
        if judge not in judges:
            raise FormalimgError(f"{judge.name} has not judged {folder} with these settings: use StoredRun.judges()")
    if first == second:
        raise FormalimgError(f"{first.name} cannot be compared with itself: name two judges")
    with closing(open_run(folder, first)) as one, closing(open_run(folder, second)) as other:
        yield one, other


def _last_two(run: StoredRun) -> tuple[Identity, Identity]:
    judges = run.judges()
    if len(judges) < 2:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name if judges else 'nobody'}"
            f"{' alone' if judges else ''}: give human --ratings of its images (`formalimg annotate` collects them) "
            "or --votes, or let another judge look with `formalimg judge`"
        )
    return judges[-2], judges[-1]


def judge_of(run: RunRecord) -> Identity:
    """Return the judge of a run."""
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def find_judge(run: StoredRun, name: str) -> Identity:
    """Return the judge of a run with this name, or with this number in the order in which they first judged."""
    judges = run.judges()
    known = ", ".join(f"{number} {judge.name}" for number, judge in enumerate(judges, 1)) or "nobody"
    if name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(judges):
        return judges[int(name) - 1]
    found = [judge for judge in judges if judge.name == name]
    if len(found) > 1:
        raise FormalimgError(f"several judges of {run.folder} are called {name}: name them by number; it has {known}")
    if not found:
        raise FormalimgError(f"no judge of {run.folder} is called {name}: it has {known}")
    return found[0]
