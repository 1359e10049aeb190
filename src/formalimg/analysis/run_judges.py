"""What judges are called where several stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord, StoredRun, open_run

_OWN_TEXT = "the user's own"
"""How prompts are told in settings that are not ours."""


def judge_names(judges: Sequence[Identity]) -> list[str]:
    """The name of each judge; where judges of one name differ, with the settings in which they do.

    A model that judges in two personas is called `openai/q (strict)` and `openai/q (standard)`: which texts follow from
    a persona goes without saying, unless they are the user's own.
    """
    found = []
    for judge in judges:
        alike = [other for other in judges if other.name == judge.name]
        found.append(_told_apart(judge, alike))
    return found


def _told_apart(judge: Identity, alike: Sequence[Identity]) -> str:
    keys = sorted({key for other in alike for key in other.settings})
    differing = [key for key in keys if len({repr(other.settings.get(key)) for other in alike}) > 1]
    if not differing:
        return judge.name
    short = _without_our_texts(differing, alike) if "persona" in differing else differing
    names = {_with_settings(other, short) for other in alike}
    distinct = {_with_settings(other, differing) for other in alike}
    return _with_settings(judge, short if len(names) == len(distinct) else differing)


def _without_our_texts(keys: Iterable[str], judges: Sequence[Identity]) -> list[str]:
    return [
        key
        for key in keys
        if not key.startswith("prompt_") or any(_OWN_TEXT in str(judge.settings.get(key)) for judge in judges)
    ]


def _with_settings(judge: Identity, keys: Iterable[str]) -> str:
    """The name with these settings; a persona is known by its value alone, and comes first."""
    given = judge.settings
    told = [str(given["persona"])] if "persona" in given and "persona" in keys else []
    told += [f"{key}={given[key]}" for key in keys if key in given and key != "persona"]
    return f"{judge.name} ({', '.join(told) or 'without'})"


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """A run as two of its judges saw it; None for the last two.

    Raises:
        FormalimgError: if it is no run, or they are not two who have judged it.
    """
    with closing(open_run(folder)) as run:
        judges = list(run.judges())
        if first is None or second is None:
            first, second = last_two(run)
    for judge in (first, second):
        if judge not in judges:
            raise FormalimgError(f"{judge.name} has not judged {folder} with these settings: use StoredRun.judges()")
    if first == second:
        raise FormalimgError(f"{first.name} cannot be compared with itself: name two judges")
    with closing(open_run(folder, first)) as one, closing(open_run(folder, second)) as other:
        yield one, other


def judge_of(run: RunRecord) -> Identity:
    """Who judged a run.

    Raises:
        FormalimgError: if nobody has.
    """
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def last_two(run: StoredRun) -> tuple[Identity, Identity]:
    """The two who came last to judge a run.

    Raises:
        FormalimgError: if there are no two.
    """
    judges = run.judges()
    if len(judges) < 2:
        raise FormalimgError(
            f"{run.folder} was judged by {judges[0].name if judges else 'nobody'}"
            f"{' alone' if judges else ''}: let another judge look with `formalimg judge`, or give --votes of people"
        )
    return judges[-2], judges[-1]


def judge_named(run: StoredRun, name: str) -> Identity:
    """The judge of a run with this name, or with this number in the order in which they first judged.

    Raises:
        FormalimgError: if there is none, or more than one of the name.
    """
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
