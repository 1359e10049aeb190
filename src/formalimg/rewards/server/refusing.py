"""Refusals: a status, one line that says what to mend and where, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import JSONResponse

from formalimg._util.text import truncate
from formalimg.logic import Problem

_HEAD, _TAIL = 400, 100
"""So many characters are told from the beginning and the end of a message: it may quote what was sent."""


class RefusedError(Exception):
    """A request that is not answered, and why."""

    def __init__(
        self,
        status: int,
        words: str,
        *,
        where: str | None = None,
        problems: Sequence[Problem] = (),
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        """A refusal.

        Args:
            status: the status of HTTP.
            words: what to do, in one line.
            where: the place in what was sent, as in `items[3].formula`.
            problems: what is wrong with a formula.
            retry_after: in how many seconds it may be tried again.
            closes: whether the connection ends with it, because the rest of the request is not read.
        """
        super().__init__(words)
        self.status, self.where, self.problems = status, where, tuple(problems)
        self.retry_after, self.closes = retry_after, closes

    def answer(self) -> JSONResponse:
        """The refusal as JSON: `error`, and `where` and `problems` where there are any."""
        words = f"{self.where}: {self}" if self.where else str(self)
        told: dict[str, object] = {"error": truncate(words, _HEAD, _TAIL)}
        if self.where:
            told["where"] = self.where
        if self.problems:
            told["problems"] = [problem.to_json() for problem in self.problems]
        headers: Mapping[str, str] = {
            **({"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}),
            **({"Connection": "close"} if self.closes else {}),
            **({"WWW-Authenticate": "Bearer"} if self.status == 401 else {}),
        }
        return JSONResponse(told, self.status, headers)
