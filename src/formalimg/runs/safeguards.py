"""Safeguards of a run: whether parties are tried before it begins, and after how many failures in a row it stops."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from formalimg.errors import FormalimgError
from formalimg.judges import DECLINED, Judge
from formalimg.models import ImageModel, PremadeImageModel
from formalimg.runs.database import VerdictRow

MAX_FAILURES = 20
"""After so many failures of one party in a row a run stops, unless another number is given."""

_BUILTIN = "builtin/"
_PREFLIGHT_VARIABLE = "FORMALIMG_PREFLIGHT"
_FILES = ("made", "unreadable", "too large")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Safeguards:
    """What keeps a run from spending in vain.

    Attributes:
        preflight: whether judges and image model are tried before all else.
        max_failures: the run stops after so many failures of one party in a row; 0 for never.
        judges: judges that come after the judge of the run, and are tried together with it.
        on_notice: called with each line that a user should see.
    """

    preflight: bool = False
    max_failures: int = 0
    judges: Sequence[Judge] = ()
    on_notice: Callable[[str], None] = _log.warning

    def __post_init__(self) -> None:
        if not isinstance(self.max_failures, int) or self.max_failures < 0:
            raise FormalimgError(
                f"a run cannot stop after {self.max_failures} failures: give 1 or more, or 0 for never"
            )


UNGUARDED = Safeguards()
"""No safeguards: what is asked for is tried to the end."""


def preflight_by_default() -> bool:
    """Return whether runs begin with a pre-flight where nothing else is said: unless FORMALIMG_PREFLIGHT is `no`."""
    return os.environ.get(_PREFLIGHT_VARIABLE, "").strip().lower() not in ("0", "no", "off", "false")


def can_fail(model: ImageModel) -> bool:
    """Return whether a model may cost or fail: not if it is built in, or serves images that exist."""
    return not model.name.startswith(_BUILTIN) and not isinstance(model, PremadeImageModel)


class CircuitBreaker:
    """Counts the failures of one party in a row, in the order in which its results are recorded.

    Attributes:
        failures: how many there are in a row by now.
        reason: why the last one failed.
    """

    def __init__(self, party: str, limit: int) -> None:
        self.failures = 0
        self.reason = ""
        self._party = party
        self._limit = limit

    def count(self, failed: bool | None, reason: str = "") -> None:
        """Count a result: failed, or not; None for a result that says nothing about the party."""
        if failed:
            self.failures, self.reason = self.failures + 1, reason
        elif failed is not None:
            self.failures = 0

    @property
    def is_open(self) -> bool:
        """Whether it is time to stop."""
        return 0 < self._limit <= self.failures

    @property
    def message(self) -> str:
        """Why the run stops."""
        return f"{self._party} failed {self.failures} times in a row, the last time: {self.reason}"


def model_advice(name: str, reason: str) -> str:
    """Return why a run ends whose first images all failed, and what to do."""
    advice = "mend that"
    if reason.startswith("unavailable: the connection"):
        advice = "start the server, or correct -M base_url"
    elif reason.startswith("unavailable"):
        advice = "look into the log of the server, or try again later"
    elif reason.startswith("busy"):
        advice = "wait, or lower -M concurrency"
    elif reason.startswith("rejected"):
        advice = "correct the options of the model (-M) or --size"
    return (
        f"asked for the first image, {name} made none ({reason}): {advice}, then the same command goes on "
        "(--no-preflight, in Python preflight=False, goes on without this check)"
    )


def image_failed(status: str) -> bool | None:
    """Return whether an image model failed, by the status of a stored answer; None if that is no file of an image."""
    return None if status not in _FILES else status != "made"


def judge_failed(judge: Judge, row: VerdictRow) -> bool | None:
    """Return whether a judge failed: no answer, or one of no use; None if it was not asked, or its model refused.

    Built-in judges answer always; what they cannot read is not their failure.
    """
    if row.passed is not None:
        return False
    if row.reason == "judge failed":
        return None if DECLINED in row.detail else True
    asked = row.evidence != "{}"  # items that nobody can judge have none
    return True if row.reason == "not understood" and asked and not judge.name.startswith(_BUILTIN) else None
