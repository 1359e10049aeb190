"""The judges of a run: select two of them or one by name, and label them where several stand side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.runs import Identity, RunRecord, StoredRun, open_run

_OWN_PROMPT = "the user's own"
"""Marks prompts in judge settings that replace the built-in ones."""


@contextmanager
def two_judges(
    folder: str | Path, first: Identity | None = None, second: Identity | None = None
) -> Iterator[tuple[StoredRun, StoredRun]]:
    """Open a run twice, with two of its judges; None for the last two.

    Raises:
        FormalimgError: if the folder is not a run, or these are not two of its judges.
    """
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
            f"{' alone' if judges else ''}: let another judge look with `formalimg judge`, or give --votes of raters"
        )
    return judges[-2], judges[-1]


def judge_of(run: RunRecord) -> Identity:
    """Return the judge of a run.

    Raises:
        FormalimgError: if it has none.
    """
    if run.manifest.judge is None:
        raise FormalimgError(f"nobody has judged {run.folder} yet: use `formalimg judge`")
    return run.manifest.judge


def find_judge(run: StoredRun, name: str) -> Identity:
    """Return the judge of a run with this name, or with this number in the order in which they first judged.

    Raises:
        FormalimgError: if there is none, or several have the name.
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


def judge_names(judges: Sequence[Identity]) -> list[str]:
    """Return a label for each judge: its name and, where judges share a name, the settings in which they differ.

    A model that judges in two personas is called `openai/q (strict)` and `openai/q (standard)`: the prompts that
    follow from a persona are not listed, unless they are the user's own.
    """
    return [_distinct_name(judge, [other for other in judges if other.name == judge.name]) for judge in judges]


def _distinct_name(judge: Identity, namesakes: Sequence[Identity]) -> str:
    keys = sorted({key for other in namesakes for key in other.settings})
    differing = [key for key in keys if len({repr(other.settings.get(key)) for other in namesakes}) > 1]
    if not differing:
        return judge.name
    short = _without_builtin_prompts(differing, namesakes) if "persona" in differing else differing
    names = {_with_settings(other, short) for other in namesakes}
    distinct = {_with_settings(other, differing) for other in namesakes}
    return _with_settings(judge, short if len(names) == len(distinct) else differing)


def _without_builtin_prompts(keys: Iterable[str], judges: Sequence[Identity]) -> list[str]:
    return [
        key
        for key in keys
        if not key.startswith("prompt_") or any(_OWN_PROMPT in str(judge.settings.get(key)) for judge in judges)
    ]


def _with_settings(judge: Identity, keys: Iterable[str]) -> str:
    """Return the name with these settings; a persona comes first, as its value alone."""
    settings = judge.settings
    shown = [str(settings["persona"])] if "persona" in settings and "persona" in keys else []
    shown += [f"{key}={settings[key]}" for key in keys if key in settings and key != "persona"]
    return f"{judge.name} ({', '.join(shown) or 'without'})"
