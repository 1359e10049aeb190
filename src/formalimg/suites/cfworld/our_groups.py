"""The groups that ship with the package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from formalimg.suites.cfworld.group import Group


class Field(NamedTuple):
    """A field of knowledge that groups are about."""

    discipline: str
    branch: str


FIELDS: Mapping[str, Field] = {
    "mechanics": Field("physics", "mechanics"),
    "optics": Field("physics", "optics"),
    "thermodynamics": Field("physics", "thermodynamics"),
    "electromagnetism": Field("physics", "electromagnetism"),
    "astronomy": Field("physics", "astronomy"),
    "biology": Field("biology", ""),
    "chemistry": Field("chemistry", ""),
    "geography": Field("geography", ""),
    "sociology": Field("sociology", ""),
}
"""The fields, by the names of their files in `groups/`."""


def our_groups() -> list[Group]:
    """All groups that ship, field by field, in the order of their files."""
    folder = files("formalimg.suites.cfworld") / "groups"
    found = []
    for name, field in FIELDS.items():
        path = folder / f"{name}.toml"
        if not path.is_file():
            continue
        for number, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["group"], 1):
            own = {"id": f"{name}-{number:03}", "discipline": field.discipline, "branch": field.branch}
            found.append(Group.from_fields({**own, **entry}))
    return found
