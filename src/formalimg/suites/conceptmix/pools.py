"""The pools that concepts are drawn from: ours, the user's, or only the easy or the hard ones."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.pool import Difficulty, Pool, Pools, Profile
from formalimg.suites.conceptmix.pool_files import pool_of, pools_in
from formalimg.suites.conceptmix.spec import CATEGORIES

__all__ = ["Difficulty", "Pool", "Pools", "Profile", "load_pools"]


def load_pools(
    folder: str | Path | None = None, *, profile: Profile = "paper", difficulty: Difficulty | None = None
) -> Pools:
    """The pools that concepts are drawn from.

    Args:
        folder: the user's own concepts: `<category>.toml` in the form of ours, or `<category>.json` as published;
            categories that are not in it stay ours.
        profile: `official-code` adds the objects that only the published code has.
        difficulty: only the values that are known to be easy or hard, in the categories that have such values; the
            other categories stay whole.

    Raises:
        FormalimgError: if the folder or a file in it makes no sense, or no category has values of the difficulty.
    """
    if profile not in get_args(Profile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(Profile))}")
    pools = dict(_ours(profile))
    if folder is not None:
        pools.update(pools_in(Path(folder), pools, profile))
    if difficulty is None:
        return pools
    if not any(pool.difficulty(value) == difficulty for pool in pools.values() for value in pool.values):
        raise FormalimgError(
            f"none of these concepts is known to be {difficulty}: list some as {difficulty} = [...] in a file of "
            f"{folder}, or leave out the difficulty"
        )
    return {category: _only(pool, difficulty) for category, pool in pools.items()}


@cache
def _ours(profile: Profile) -> Pools:
    tables = tomllib.loads((files("formalimg.suites.conceptmix") / "concepts.toml").read_text(encoding="utf-8"))
    return {category: pool_of(category, tables[category], profile) for category in CATEGORIES}


def _only(pool: Pool, difficulty: Difficulty) -> Pool:
    kept = tuple(value for value in pool.values if pool.difficulty(value) == difficulty)
    return replace(pool, values=kept) if kept else pool
