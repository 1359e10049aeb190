"""The pools that concepts are drawn from: ours, the user's, or only the easy or the hard ones."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.spec import CATEGORIES, Category

Profile: TypeAlias = Literal["paper", "official-code"]
"""Whose rules hold where the paper and its published code differ."""

Difficulty: TypeAlias = Literal["easy", "hard"]


@dataclass(frozen=True)
class Pool:
    """The concepts of one category.

    Attributes:
        category: what sort of concepts they are.
        values: the concepts, sorted.
        statement: the sentence that a concept becomes, with places for names.
        sentences: the sentences of single values that have one of their own.
        easy, hard: values that are known to be easier or harder.
    """

    category: Category
    values: tuple[str, ...]
    statement: str
    sentences: Mapping[str, str] = field(default_factory=dict)
    easy: frozenset[str] = frozenset()
    hard: frozenset[str] = frozenset()

    def sentence(self, value: str) -> str:
        """The sentence of a value."""
        return self.sentences.get(value, self.statement)

    def difficulty(self, value: str) -> Difficulty | None:
        """Whether a value is known to be easy or hard; None for most."""
        return "easy" if value in self.easy else "hard" if value in self.hard else None


Pools: TypeAlias = Mapping[Category, Pool]
"""All concepts, by category; every category is there."""


def load_pools(
    folder: str | Path | None = None, *, profile: Profile = "paper", difficulty: Difficulty | None = None
) -> Pools:
    """The pools that concepts are drawn from.

    Args:
        folder: the user's own concepts: `<category>.toml` in the form of ours, or `<category>.json` as published;
            categories that are not in it stay ours.
        profile: `official-code` adds the objects that only the published code has.
        difficulty: only the values that are known to be easy or hard, in the categories that have such values.

    Raises:
        FormalimgError: if the folder or a file in it makes no sense, or a difficulty has no values.
    """
    if profile not in get_args(Profile):
        raise FormalimgError(f"unknown profile {profile!r}: known are {', '.join(get_args(Profile))}")
    pools = dict(_ours(profile))
    if folder is not None:
        pools.update(_of_the_user(Path(folder)))
    if difficulty is not None:
        pools = {category: _only(pool, difficulty) for category, pool in pools.items()}
    return pools


@cache
def _ours(profile: Profile) -> Pools:
    tables = tomllib.loads((files("formalimg.suites.conceptmix") / "concepts.toml").read_text(encoding="utf-8"))
    return {category: _pool(category, tables[category], profile) for category in CATEGORIES}


def _of_the_user(folder: Path) -> dict[Category, Pool]:
    if not folder.is_dir():
        raise FormalimgError(f"there is no folder {folder}: name one with concepts, such as color.toml")
    found: dict[Category, Pool] = {}
    for category in CATEGORIES:
        there = [path for path in (folder / f"{category}.toml", folder / f"{category}.json") if path.is_file()]
        if len(there) > 1:
            raise FormalimgError(f"{folder} has {category}.toml and {category}.json: keep the one you mean")
        if there:
            found[category] = _read(there[0], category)
    if not found:
        raise FormalimgError(f"{folder} has no concepts: give files such as color.toml or color.json in it")
    return found


def _read(path: Path, category: Category) -> Pool:
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else _published(json.loads(text))
        return _pool(category, table, "paper")
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormalimgError(f"{path} cannot be read as concepts: {error}") from error


def _published(data: Any) -> dict[str, Any]:
    """A published configuration in our form: `{skill}` is called `{value}`, and articles are put before objects."""
    sentences = {value: _our_sentence(text) for value, text in data["skill"].items() if text}
    return {"values": list(data["skill"]), "statement": _our_sentence(data["description"]), "sentences": sentences}


def _our_sentence(text: str) -> str:
    for theirs, ours in (
        ("{skill}", "{value}"),
        ("{skills}", "{values}"),
        ("{object}", "the {object}"),
        ("{ObjectA}", "the {ObjectA}"),
        ("{ObjectB}", "the {ObjectB}"),
    ):
        text = text.replace(theirs, ours)
    return text.replace("the the ", "the ").strip().removesuffix(".")


def _pool(category: Category, table: Mapping[str, Any], profile: Profile) -> Pool:
    values = [*table["values"], *(table.get("official_code", ()) if profile == "official-code" else ())]
    if not values or not all(isinstance(value, str) and value.strip() == value and value for value in values):
        raise ValueError("values must be a list of words")
    if len(set(values)) < len(values):
        raise ValueError(f"{next(value for value in values if values.count(value) > 1)!r} stands there twice")
    pool = Pool(
        category,
        tuple(sorted(values)),
        table.get("statement") or _ours("paper")[category].statement,
        dict(table.get("sentences", {})),
        frozenset(table.get("easy", ())),
        frozenset(table.get("hard", ())),
    )
    strange = sorted((pool.easy | pool.hard | set(pool.sentences)) - set(values))
    if strange:
        raise ValueError(f"{strange[0]!r} is not among its values")
    return pool


def _only(pool: Pool, difficulty: Difficulty) -> Pool:
    kept = tuple(value for value in pool.values if pool.difficulty(value) == difficulty)
    return replace(pool, values=kept) if kept else pool
