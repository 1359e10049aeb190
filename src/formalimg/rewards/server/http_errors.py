"""HTTP errors: a status, one line that says what to fix and where, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import JSONResponse

from formalimg._util.text import truncate
from formalimg.logic.errors import Problem

_HEAD, _TAIL = 400, 100
"""Characters kept from the beginning and the end of a message: it may quote the request."""

_MAX_PROBLEMS = 100
"""Number of problems of a formula that are listed."""


class RequestError(Exception):
    """A request that is refused, and why."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        where: str | None = None,
        problems: Sequence[Problem] = (),
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        """Create the error."""
        super().__init__(message)
        self.status, self.where, self.problems = status, where, tuple(problems)
        self.retry_after, self.closes = retry_after, closes

    def response(self) -> JSONResponse:
        """Return the error as JSON: `error`, and `where` and `problems` where there are any."""
        message = f"{self.where}: {self}" if self.where else str(self)
        body: dict[str, object] = {"error": truncate(message, _HEAD, _TAIL)}
        if self.where:
            body["where"] = self.where
        if self.problems:
            body["problems"] = [problem.to_json() for problem in self.problems[:_MAX_PROBLEMS]]
        headers: Mapping[str, str] = {
            **({"Retry-After": str(self.retry_after)} if self.retry_after is not None else {}),
            **({"Connection": "close"} if self.closes else {}),
            **({"WWW-Authenticate": "Bearer"} if self.status == 401 else {}),
        }
        return JSONResponse(body, self.status, headers)
