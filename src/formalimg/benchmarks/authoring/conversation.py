"""The conversation of one attempt with writer and checker, and the journal that keeps answers and outcomes."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from formalimg._util.databases import has_no_schema, open_untrusted, require_our_schema
from formalimg._util.strict_json import stored_json, stored_text
from formalimg._util.text import truncate
from formalimg.benchmarks.authoring.outcomes import (
    MAX_ANSWER,
    AttemptCost,
    AttemptOutcome,
    Rejection,
    decode_outcome,
    encode_outcome,
    validate_expense,
)
from formalimg.errors import FormalimgError
from formalimg.models.base import Answered, Message, Reply, Unanswered, Usage
from formalimg.models.pricing import Meter
from formalimg.types import ChatModel

AnswerType = TypeVar("AnswerType", bound=BaseModel)
Part: TypeAlias = Literal["writer", "checker"]


@dataclass(frozen=True)
class LimitedChatModel:
    """A chat model with a limit on concurrent requests."""

    chat: ChatModel
    door: AbstractAsyncContextManager[object]


class Conversation:
    """The questions and answers of one attempt; a journal keeps answers until the attempt is finished."""

    def __init__(
        self,
        slot: int,
        attempt: int,
        parts: Mapping[Part, LimitedChatModel],
        journal: AuthoringJournal | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.expense = AttemptCost()
        self._meter = meter
        self._key = (slot, attempt)
        self._parts = parts
        self._journal = journal

    def name_of(self, part: Part) -> str:
        """Return the name of the model in the given role."""
        return self._parts[part].chat.name

    async def ask(
        self, part: Part, text: str, answer_type: type[AnswerType], *, before: Sequence[Message] = ()
    ) -> AnswerType | Rejection:
        """Ask a question, and return its answer or a rejection; stored answers are reused after an interruption."""
        earlier = "".join(f"{message.role} {message.parts[0]} " for message in before)
        sent = f"{part} {answer_type.__name__} {earlier}{text}"
        question = hashlib.sha256(sent.encode("utf-8", "surrogatepass")).hexdigest()
        stored = self._journal.recall(*self._key, question) if self._journal else None
        if stored is not None:
            reply: Reply[AnswerType] = _decode_reply(stored, answer_type)
        else:
            model = self._parts[part]
            async with model.door:
                if self._meter is not None and not self._meter.may_begin_call():
                    return _reject_unanswered(Unanswered("failed", "the budget is used up"), part)
                reply = await model.chat.ask([*before, Message("user", (text,))], answer_type)
            if self._meter is not None:
                self._meter.settle(reply.cost or 0.0, int(reply.cost is None))
            if isinstance(reply, Answered) and self._journal:
                self._journal.remember(*self._key, question, _encode_reply(reply))
        self.expense = self.expense.with_reply(part, reply)
        return reply.value if isinstance(reply, Answered) else _reject_unanswered(reply, part)


def _reject_unanswered(reply: Unanswered, part: Part) -> Rejection:
    checking = part == "checker"
    if reply.kind == "failed":
        return Rejection("unanswered", f"{'check ' if checking else ''}{reply.reason}")
    if reply.kind == "refused":
        return Rejection("check refused" if checking else "refused", reply.reason)
    return Rejection("check unreadable" if checking else "unreadable", reply.reason)


# --- stored answers


def _encode_reply(reply: Answered[AnswerType]) -> str:
    fields = {
        "value": reply.value.model_dump(mode="json", by_alias=True),
        "raw": reply.raw,
        "usage": asdict(reply.usage),
        "cost": reply.cost,
        "served": dict(reply.served),
    }
    return json.dumps(fields)  # in ASCII: an answer may hold half a character, which no file takes


def _decode_reply(answer: str, answer_type: type[AnswerType]) -> Answered[AnswerType]:
    fields = _validate_answer(answer)
    try:
        value = answer_type.model_validate(fields.get("value"))
    except ValidationError as error:
        raise FormalimgError("a stored answer is unreadable: choose another folder") from error
    return Answered(value, fields["raw"], Usage(**fields["usage"]), fields["cost"], fields["served"], cached=True)


def _validate_answer(answer: object) -> dict[str, Any]:
    """Return the fields of a stored answer, after checking that it is valid."""
    fields: dict[str, Any] = stored_json(answer, "answer", dict)
    stored_text(fields.get("raw"), "raw", MAX_ANSWER)
    validate_expense(fields)
    return fields


def _without_cost(answer: str) -> str:
    """Return a stored answer without its cost, which has already been counted."""
    return json.dumps({**_validate_answer(answer), "usage": asdict(Usage()), "cost": 0.0})


JOURNAL_FILE = "writing.sqlite"

_TABLES = """
create table if not exists asked (name text primary key, value text not null);
create table if not exists outcomes (
    number integer primary key, slot integer not null, attempt integer not null, outcome text not null
);
create table if not exists heard (
    slot integer not null, attempt integer not null, question text not null, answer text not null,
    primary key (slot, attempt, question)
);
"""


class AuthoringJournal:
    """Journal of all outcomes in order, and of the answers of unfinished attempts; locked by one process at a time."""

    def __init__(self, folder: Path, suite: str, settings: Mapping[str, object]) -> None:
        self._path = folder / JOURNAL_FILE
        self._suite = suite
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open_untrusted(self._path, timeout=0.5)
        except (OSError, sqlite3.Error) as error:
            raise FormalimgError(f"cannot write to {folder}: {error}") from error
        try:
            # The lock is kept until the file is closed, and given back by the system if the process is killed.
            self._file.execute("pragma locking_mode = exclusive")
            self._file.execute("begin exclusive")
            if not has_no_schema(self._file):  # before the first write
                require_our_schema(self._file, self._path, _TABLES, "choose another folder")
            for statement in filter(str.strip, _TABLES.split(";")):
                self._file.execute(statement)
            self._require_same(settings)
            self._file.execute("commit")
        except sqlite3.Error as error:
            self._file.close()
            busy = "locked" in str(error)
            advice = "another process is writing there: wait until it is done" if busy else f"cannot be used: {error}"
            raise FormalimgError(f"{self._path}: {advice}") from error
        except FormalimgError:
            self._file.close()
            raise

    def outcomes(self) -> list[AttemptOutcome]:
        """Return all outcomes so far."""
        with self._reading():
            rows = self._file.execute("select slot, attempt, outcome from outcomes order by number").fetchall()
            return [decode_outcome(slot, attempt, text, self._suite) for slot, attempt, text in rows]

    def cost(self, outcomes: Iterable[AttemptOutcome]) -> float:
        """Return the known cost in US dollars of the given outcomes and the answers of unfinished attempts."""
        with self._reading():
            heard = self._file.execute("select answer from heard").fetchall()
            costs = [json.loads(answer)["cost"] for (answer,) in heard]
            return float(sum(cost or 0.0 for cost in (*(outcome.expense.cost for outcome in outcomes), *costs)))

    def keep(self, outcome: AttemptOutcome) -> None:
        """Store an outcome durably."""
        key = (outcome.slot, outcome.attempt)
        with self._writing():
            self._file.execute("begin")
            self._file.execute(
                "insert into outcomes (slot, attempt, outcome) values (?, ?, ?)", (*key, encode_outcome(outcome))
            )
            with self._reading():
                select = "select question, answer from heard where slot = ? and attempt = ?"
                heard = self._file.execute(select, key).fetchall()
                counted = [(_without_cost(answer), *key, question) for question, answer in heard]
            if outcome.is_final:
                self._file.execute("delete from heard where slot = ? and attempt = ?", key)
            else:  # it is made again with what was answered, which the outcome has already counted
                self._file.executemany(
                    "update heard set answer = ? where slot = ? and attempt = ? and question = ?", counted
                )
            self._file.execute("commit")

    def recall(self, slot: int, attempt: int, question: str) -> str | None:
        """Return the stored answer to a question of an unfinished attempt; None if there is none."""
        with self._reading():
            select = "select answer from heard where slot = ? and attempt = ? and question = ?"
            row = self._file.execute(select, (slot, attempt, question)).fetchone()
            if row is not None:
                _validate_answer(row[0])
        return None if row is None else str(row[0])

    def remember(self, slot: int, attempt: int, question: str, answer: str) -> None:
        """Store an answer durably until its attempt is finished."""
        with self._writing():
            self._file.execute("insert or replace into heard values (?, ?, ?, ?)", (slot, attempt, question, answer))

    def close(self) -> None:
        """Close the journal and release its lock."""
        self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise FormalimgError(f"cannot write {self._path}: {error}; rerun the same command to resume") from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError, sqlite3.Error) as error:
            reason = truncate(f"{type(error).__name__}: {error}", 200, 100)
            raise FormalimgError(f"{self._path} cannot be read: {reason}; choose another folder") from error

    def _require_same(self, settings: Mapping[str, object]) -> None:
        requested = {name: json.dumps(value, sort_keys=True) for name, value in settings.items()}
        stored: dict[str, str] = dict(self._file.execute("select name, value from asked").fetchall())
        if not stored:
            self._file.executemany("insert into asked values (?, ?)", list(requested.items()))
            return
        for name in {**requested, **stored}:
            if requested.get(name) != stored.get(name):
                before = truncate(f"{name} {stored.get(name)}", 200, 100)
                raise FormalimgError(
                    f"{self._path.parent} holds items written with {before}, not {requested.get(name)}: "
                    "give the same options to resume it, or another folder"
                )
