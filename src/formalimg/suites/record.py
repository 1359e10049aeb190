"""One item as somebody wrote it: a JSON object whose fields are checked one by one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from formalimg._util.strict_json import is_text, is_utf8, loads_strict
from formalimg.suites.findings import Findings

LONGEST_RECORD = 1_000_000
"""The most bytes one item may have."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Record:
    """The fields of one item, the place they stand at, and where to report what is wrong with them.

    What it is called may be changed: not every record is an item.
    """

    where: str
    fields: dict[str, Any]
    findings: Findings
    called: str = "an item"

    def wrong(self, message: str) -> None:
        """Report a problem of this record."""
        self.findings.add(self.where, message)

    def has_all(self, needed: Sequence[str], known: Collection[str] | None = None) -> bool:
        """Are the needed fields there, and no unknown ones if `known` is given? Reports what is not so."""
        missing = [name for name in needed if name not in self.fields]
        if missing:
            self.wrong(f"{', '.join(missing)} missing: {self.called} has {', '.join(needed)}")
        unknown = [name for name in self.fields if known is not None and name not in known]
        if unknown:
            self.wrong(f"unknown field {', '.join(unknown[:5])}: {self.called} has {', '.join(known or ())}")
        return not missing and not unknown

    def text(self, name: str, *, empty: bool = False) -> str | None:
        """A field that is text; None, and a finding, if it is not."""
        found = self.fields[name]
        if not isinstance(found, str) or not (found.strip() or empty):
            self.wrong(f"{name} must be text{'' if empty else ' and not empty'}")
            return None
        if not is_utf8(found):
            self.wrong(f"{name} holds half a character (a lone surrogate): write it anew")
            return None
        return found

    def name(self, name: str) -> str | None:
        """A field that is text and fit to be a file name."""
        found = self.fields[name]
        if isinstance(found, int) and not isinstance(found, bool):
            self.wrong(f'{name} must be text: write "{str(found)[:40]}", in quotes')
            return None
        found = self.text(name)
        if found is not None and not _NAME.fullmatch(found):
            self.wrong(
                f"{name} {found[:40]!r} must be letters, digits, . _ - (at most 100, the first a letter or digit)"
            )
            return None
        return found

    def number(self, name: str) -> int | None:
        """A field that is a whole number, 0 or more."""
        found = self.fields[name]
        if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 10**9:
            self.wrong(f"{name} must be a whole number")
            return None
        return found

    def words(self, name: str) -> tuple[str, ...] | None:
        """A field that is a list of words, none of them twice."""
        found = self.fields[name]
        if not isinstance(found, list) or not all(is_text(word) and word for word in found):
            self.wrong(f"{name} must be a list of words")
            return None
        if len(set(found)) < len(found):
            self.wrong(f"{name} lists {next(word for word in found if found.count(word) > 1)!r} twice")
            return None
        return tuple(found)


def decoded(data: bytes, where: str, findings: Findings) -> Record | None:
    """The record in some bytes, read strictly (UTF-8, no field twice, no NaN); None, and a finding, if it is none."""
    if len(data) > LONGEST_RECORD:
        findings.add(where, f"longer than {LONGEST_RECORD:,} bytes: this is no item")
        return None
    try:
        fields = loads_strict(data.decode("utf-8"))
    except UnicodeDecodeError:
        findings.add(where, "not UTF-8: save it with that encoding")
    except RecursionError:
        findings.add(where, "not valid JSON: nested too deep")
    except ValueError as error:
        findings.add(where, f"not valid JSON: {error}")
    else:
        if isinstance(fields, dict):
            return Record(where, fields, findings)
        findings.add(where, "an item is a JSON object: {…}")
    return None
