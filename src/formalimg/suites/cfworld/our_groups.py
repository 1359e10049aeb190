"""The groups that ship with the package."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from formalimg.suites.cfworld.group import FIELDS, Group


def our_groups() -> list[Group]:
    """All groups that ship, field by field, in the order of their files."""
    folder = files("formalimg.suites.cfworld") / "groups"
    found = []
    for name, field in FIELDS.items():
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
        for number, entry in enumerate(tomllib.loads(text)["group"], 1):
            own = {"id": f"{name}-{number:03}", "discipline": field.discipline, "branch": field.branch}
            found.append(Group.from_fields({**own, **entry}))
    return found
