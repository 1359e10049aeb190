"""Pre-flight of the judges of a run: each is asked about a known drawing before anything else is paid for.

What was found is kept in `preflight.jsonl` of the run folder: a judge that passed is not asked again there, and what
its questions cost counts in the budget. Image models are tried by the engine, with the first image that is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from formalimg._util.io import open_plain
from formalimg._util.strict_json import is_text, loads_strict
from formalimg.errors import FormalimgError
from formalimg.judges.preflight import PreflightResult, check_judge, needs_preflight
from formalimg.models.base import NotStartedError
from formalimg.models.retry import few_attempts
from formalimg.models.secrets import redact
from formalimg.models.spending import advise_on_unknown_cost, open_meter
from formalimg.runs.database import cost_columns
from formalimg.runs.folder import PREFLIGHT, create_run_folder
from formalimg.runs.manifest import utc_now
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.plan import judge_key
from formalimg.runs.progress import Progress
from formalimg.types import Judge

_MAX_BYTES = 1_000_000
"""As much of the file is read: a run folder may come from anywhere."""

_NOTHING_BEGUN = "(nothing was begun; --no-preflight, in Python preflight=False, skips this check)"


class PreflightLog:
    """The pre-flights of a run folder, one line each.

    Attributes:
        cost: what they cost in all, in US dollars, as far as it is known.
    """

    def __init__(self, folder: Path) -> None:
        self.cost = 0.0
        self._folder = folder
        self._path = folder / PREFLIGHT
        self._unsaved: list[bytes] = []
        self._passed: set[str] = set()
        try:
            with open(self._path, "rb", opener=open_plain) as file:
                for line in file.read(_MAX_BYTES).splitlines():
                    self._read(line)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise FormalimgError(f"cannot read {self._path}: {error.strerror}") from error

    def has_passed(self, judge: Judge) -> bool:
        """Return whether a judge of this name and these settings has passed here before."""
        return judge_key(judge) in self._passed

    def add(self, judge: Judge, result: PreflightResult) -> None:
        """Keep what was found; if there is no run folder yet, until it is saved."""
        found = {
            "judge": judge.name,
            "key": judge_key(judge),
            "passed": not result.problem,
            "found": one_line(result.problem or result.warning),
            "cost": cost_columns(result.cost)[0],
            "at": utc_now(),
        }
        line = f"{json.dumps(found)}\n".encode()
        self._read(line)
        self._unsaved.append(line)
        if self._folder.is_dir():
            self.save()

    def save(self) -> None:
        """Write what is not in the run folder yet, which is created if it is missing."""
        if not self._unsaved:
            return
        create_run_folder(self._folder)
        try:
            with open(self._path, "ab", opener=open_plain) as file:
                file.write(b"".join(self._unsaved))
            self._unsaved.clear()
        except OSError as error:
            raise FormalimgError(f"cannot write {self._path}: {error.strerror}; make room, and run it again") from error

    def _read(self, line: bytes) -> None:
        """Take a line; one that is none of ours, such as a torn one, says nothing."""
        try:
            kept = loads_strict(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(kept, dict) or not is_text(kept.get("key")):
            return
        cost = kept.get("cost")
        if isinstance(cost, int | float) and 0 <= cost < float("inf"):
            self.cost += cost
        if kept.get("passed") is True:
            self._passed.add(kept["key"])


async def check_judges(
    judges: Iterable[Judge], suite: str, log: PreflightLog, progress: Progress, on_notice: Callable[[str], None]
) -> None:
    """Ask those judges about known drawings that cost or can fail, and have not passed yet."""
    for judge in judges:
        if not progress.stopped and not log.has_passed(judge) and needs_preflight(judge, suite):
            await _check(judge, suite, log, progress, on_notice)


async def _check(
    judge: Judge, suite: str, log: PreflightLog, progress: Progress, on_notice: Callable[[str], None]
) -> None:
    with progress.counting_calls(), open_meter(progress) as meter, few_attempts():
        try:
            result = await check_judge(judge, suite)
        except NotStartedError:
            return
        except FormalimgError:
            log.add(judge, PreflightResult("no call can succeed", cost=None if meter.unpriced else meter.cost))
            raise
        except Exception as error:  # of a judge, or of a library behind it
            result = PreflightResult(f"{judge.name} could not be asked about a drawing, {error_text(error)}: mend that")
        blocked = meter.blocked
        cost, unpriced = meter.settle(*cost_columns(result.cost))
    if not blocked or cost:
        log.add(judge, result)
    if unpriced and progress.budget is not None:
        raise FormalimgError(advise_on_unknown_cost(judge, per_image=False))
    if blocked:  # the budget is used up: what was not asked says nothing about the judge
        return
    if result.problem:
        raise FormalimgError(f"{redact(result.problem)} {_NOTHING_BEGUN}")
    spent = "at an unknown price" if unpriced else f"${cost:.4f}" if cost else "free"
    drawings = "1 drawing" if result.drawings == 1 else f"{result.drawings} drawings"
    on_notice(f"pre-flight: {judge.name} looked at {drawings}, {spent}")
    if result.warning:
        on_notice(f"pre-flight: {one_line(result.warning)}")
