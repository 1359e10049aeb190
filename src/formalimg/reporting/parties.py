"""Models and judges in words."""

from __future__ import annotations

from collections.abc import Mapping

from formalimg.runs import Identity


def party_text(party: Identity | None) -> str:
    """The name with all settings, such as `icons (judging_rules=1)`; `none` for nobody."""
    if party is None:
        return "none"
    settings = settings_text(party.settings)
    return f"{party.name} ({settings})" if settings else party.name


def settings_text(settings: Mapping[str, object]) -> str:
    """Settings by name, such as `guidance=3.5, steps=20`."""
    return ", ".join(f"{key}={value}" for key, value in sorted(settings.items()))
