"""By what models and judges are known: whoever has the same name and settings is taken to be the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

Setting: TypeAlias = str | int | float | bool | None
"""A value of a setting: it is written to files and takes part in keys, so it is plain."""


class Named(Protocol):
    """Somebody with a name and settings."""

    @property
    def name(self) -> str:
        """How users write it, `provider/model`."""
        ...

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Everything besides its input that shapes its answers, with the versions of rules and texts.

        No secrets: settings are stored and shown.
        """
        ...


class Engaged(Named, Protocol):
    """Somebody who can be given several objects to do at the same time."""

    @property
    def concurrency(self) -> int:
        """How many calls may run at the same time."""
        ...
