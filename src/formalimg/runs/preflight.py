"""Pre-flight checks that test each judge of a run on a known image before any spending.

Results are kept in `preflight.jsonl` in the run folder: a judge that passed is not tested again there, and the cost of
its questions counts towards the budget. The engine tests image models with the first image that is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from formalimg._util.strict_json import is_text
from formalimg.errors import FormalimgError
from formalimg.judges.preflight import PreflightResult, check_judge, needs_preflight
from formalimg.models.base import NotStartedError
from formalimg.models.pricing import advise_on_unknown_cost, open_meter
from formalimg.models.retry import few_attempts
from formalimg.models.secrets import redact
from formalimg.runs.database import cost_columns
from formalimg.runs.folder import PREFLIGHT, append_to_journal, create_run_folder, read_journal
from formalimg.runs.manifest import utc_now
from formalimg.runs.messages import error_text, one_line
from formalimg.runs.plan import judge_key
from formalimg.runs.progress import Progress
from formalimg.types import Judge

_MAX_BYTES = 1_000_000  # As much of the file is read: a run folder may come from anywhere
_NOTHING_BEGUN = "(nothing was begun; --no-preflight, in Python preflight=False, skips this check)"


class PreflightLog:
    """The log of the pre-flights in a run folder, with one line each."""

    def __init__(self, folder: Path) -> None:
        self.cost = 0.0  # of all of them, in US dollars, as far as it is known
        self._folder = folder
        self._unsaved: list[bytes] = []
        self._passed: set[str] = set()
        for record in read_journal(folder / PREFLIGHT, _MAX_BYTES):
            self._count(record)

    def has_passed(self, judge: Judge) -> bool:
        """Return whether the judge, with the same settings, has already passed a pre-flight here."""
        return judge_key(judge) in self._passed

    def add(self, judge: Judge, result: PreflightResult) -> None:
        """Record a pre-flight result, and save it if the run folder exists."""
        record = {
            "judge": judge.name,
            "key": judge_key(judge),
            "passed": not result.problem,
            "found": one_line(result.problem or result.warning),
            "cost": cost_columns(result.cost)[0],
            "at": utc_now(),
        }
        self._count(record)
        self._unsaved.append(f"{json.dumps(record)}\n".encode())
        if self._folder.is_dir():
            self.save()

    def save(self) -> None:
        """Write unsaved results to the run folder, creating it if necessary."""
        if self._unsaved:
            create_run_folder(self._folder)
            append_to_journal(self._folder / PREFLIGHT, b"".join(self._unsaved))
            self._unsaved.clear()

    def _count(self, record: Mapping[str, Any]) -> None:
        key, cost = record.get("key"), record.get("cost")
        if is_text(key):
            if isinstance(cost, int | float) and 0 <= cost < float("inf"):
                self.cost += cost
            if record.get("passed") is True:
                self._passed.add(key)


async def check_judges(
    judges: Iterable[Judge], suite: str, log: PreflightLog, progress: Progress, on_notice: Callable[[str], None]
) -> None:
    """Test judges that cost money or can fail on known images, unless they have already passed."""
    for judge in judges:
        if not progress.stopped and not log.has_passed(judge) and needs_preflight(judge, suite):
            await _check_judge(judge, suite, log, progress, on_notice)


async def _check_judge(
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
            result = PreflightResult(
                f"{judge.name} could not be asked about a drawing, {error_text(error)}: fix the cause"
            )
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
