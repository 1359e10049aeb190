"""Laws from a user's file, and the hints that vary attempts."""

from __future__ import annotations

import csv
import io
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

from formalimg.benchmarks.authoring.writing_plan import VERSION
from formalimg.benchmarks.cfworld.authoring.choices import Law
from formalimg.benchmarks.cfworld.authoring.templates import unsafe_word
from formalimg.benchmarks.record import ItemsError
from formalimg.errors import FormalimgError

_FIELDS = Law._fields
_WORD = re.compile(r"[a-z][a-z -]{0,39}")


def read_laws(path: Path) -> tuple[Law, ...]:
    """Read laws from a file.

    A text file has one law per line, `law | discipline | branch`, with the last two as you like; empty lines and those
    that begin with # are skipped. A `.csv` file has these names in its first line, a `.toml` file has a list of
    `[[law]]` tables with them.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormalimgError(f"cannot read the laws in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormalimgError(f"cannot read the laws in {path}: save it in UTF-8") from error
    read = {".toml": _of_toml, ".csv": _of_csv}.get(path.suffix.lower(), _of_lines)
    found: dict[str, Law] = {}
    wrong: list[str] = []
    for place, entry in read(text, path):
        law = Law(*(" ".join(str(entry.get(name) or "").split()) for name in _FIELDS))
        problem = _problem(law, entry)
        if law.law.lower() in found:
            problem = "this law stands there twice"
        if problem:
            wrong.append(f"{path}, {place}: {problem}")
        found[law.law.lower()] = law
    if wrong:
        raise ItemsError(wrong[:20])
    if not found:
        raise FormalimgError(f"{path} holds no laws: write one per line, as in: Ice floats on water. | physics")
    return tuple(found.values())


def _of_lines(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            parts = [part.strip() for part in line.split("|")]
            names = (*_FIELDS, *(f"part {place}" for place in range(4, len(parts) + 1)))
            yield f"line {number}", dict(zip(names, parts, strict=False))


def _of_csv(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    rows = csv.DictReader(io.StringIO(text))
    if "law" not in (rows.fieldnames or ()):
        raise FormalimgError(f"{path}, line 1: the columns are law, discipline, branch; law is missing")
    for row in rows:
        yield f"line {rows.line_num}", {name or "one more column": value for name, value in row.items()}


def _of_toml(text: str, path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    try:
        tables = tomllib.loads(text).get("law")
    except tomllib.TOMLDecodeError as error:
        raise FormalimgError(f"{path} is no TOML: {error}") from error
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise FormalimgError(f'{path}: laws are tables, as in [[law]] law = "Ice floats on water."')
    yield from ((f"law {number}", table) for number, table in enumerate(tables, 1))


def _problem(law: Law, entry: Mapping[str, object]) -> str | None:
    unknown = [name for name in entry if name not in _FIELDS]
    if unknown:
        return f"unknown {unknown[0]}: a law has {', '.join(_FIELDS)}"
    if any(not isinstance(value, str | None) for value in entry.values()):
        return "law, discipline and branch must be texts"
    if not law.law or not law.law[0].isupper() or law.law[-1] not in ".!?" or not law.law.isprintable():
        return "a law is a sentence: begin it with a capital, and end it with a full stop"
    if any(word and not _WORD.fullmatch(word) for word in (law.discipline, law.branch)):
        return "discipline and branch are small letters, as in physics and optics"
    if law.branch and not law.discipline:
        return "a branch needs its discipline"
    unsafe = unsafe_word(law.law)
    return None if unsafe is None else f"the law {unsafe}"


def hints(names: Sequence[str], topic: str, seed: int, number: int) -> tuple[str, ...]:
    """Return one hint of each kind; all combinations are used before one repeats."""
    known = list(product(*(_kinds()[name] for name in names)))
    random.Random(f"hints {VERSION} {' '.join(names)} {seed} {topic}").shuffle(known)
    return known[number % len(known)]


@cache
def _kinds() -> Mapping[str, Sequence[str]]:
    text = (files("formalimg.benchmarks.cfworld.authoring") / "hints.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
