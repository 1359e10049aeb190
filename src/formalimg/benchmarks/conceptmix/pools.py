"""Concept pools: the concepts of each category, built in or loaded from a folder of TOML or published JSON files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from formalimg._util.io import refuse_special_file
from formalimg.benchmarks.conceptmix.spec import CATEGORIES, Category
from formalimg.benchmarks.conceptmix.words import check_relation_sentence, check_sentence, check_statement
from formalimg.errors import FormalimgError
from formalimg.logic.vocabulary import closest_match

PoolProfile: TypeAlias = Literal["paper", "official-code"]
"""Which rules apply where the paper and its published code differ."""

Difficulty: TypeAlias = Literal["easy", "hard"]


@dataclass(frozen=True)
class Pool:
    """The concepts of one category."""

    category: Category  # what sort of concepts they are
    values: tuple[str, ...]  # the concepts, sorted
    statement: str  # the sentence that a concept becomes, with placeholders
    # the sentences of single values that have one of their own
    sentences: Mapping[str, str] = field(default_factory=dict)
    easy: frozenset[str] = frozenset()  # values that are known to be easier or harder
    hard: frozenset[str] = frozenset()
    # the sentence in place of `statement` where the object is a human being; None if it is the same
    of_people: str | None = None

    def sentence(self, value: str, *, of_people: bool = False) -> str:
        """Return the sentence template for a value."""
        return self.sentences.get(value, (self.of_people if of_people else None) or self.statement)

    def difficulty(self, value: str) -> Difficulty | None:
        """Return the known difficulty of a value, or None if unknown."""
        return "easy" if value in self.easy else "hard" if value in self.hard else None


Pools: TypeAlias = Mapping[Category, Pool]  # All concepts by category; every category is present


_KEYS = ("values", "statement", "of_people", "sentences", "official_code", "easy", "hard")
_PUBLISHED_KEYS = ("category", "description", "skill")
_FORMAT_HINT = 'write values = ["...", "..."], and perhaps a statement'
_PUBLISHED_FORMAT_HINT = 'write {"category": "...", "description": "...", "skill": {"...": ""}}'


def load_pools(
    folder: str | Path | None = None, *, profile: PoolProfile = "paper", difficulty: Difficulty | None = None
) -> Pools:
    """Load the pools to sample concepts from."""
    if profile not in get_args(PoolProfile):
        raise FormalimgError(f"unknown profile {profile!r}: choose from {', '.join(get_args(PoolProfile))}")
    pools = dict(_load_builtin_pools(profile))
    if folder is not None:
        pools |= _load_pool_folder(Path(folder), pools, profile)
    if difficulty is None:
        return pools
    if not any(pool.difficulty(value) == difficulty for pool in pools.values() for value in pool.values):
        raise FormalimgError(
            f"none of these concepts is known to be {difficulty}: list some as {difficulty} = [...] in a file of "
            f"{folder}, or leave out the difficulty"
        )
    for category, pool in pools.items():
        values = tuple(value for value in pool.values if pool.difficulty(value) == difficulty)
        pools[category] = replace(pool, values=values) if values else pool
    return pools


@cache
def _load_builtin_pools(profile: PoolProfile) -> Pools:
    tables = tomllib.loads((files(__package__) / "concepts.toml").read_text(encoding="utf-8"))
    return {category: _parse_pool(category, tables[category], profile) for category in CATEGORIES}


def _load_pool_folder(folder: Path, defaults: Pools, profile: PoolProfile) -> dict[Category, Pool]:
    if not folder.is_dir():
        raise FormalimgError(f"there is no folder {folder}: give one with concepts, such as color.toml")
    pools: dict[Category, Pool] = {}
    for category in CATEGORIES:
        paths = [path for path in (folder / f"{category}.toml", folder / f"{category}.json") if path.is_file()]
        if len(paths) > 1:
            raise FormalimgError(f"{folder} has {category}.toml and {category}.json: keep the one you mean")
        for path in paths:
            pools[category] = _read_pool(path, category, defaults[category], profile)
    if not pools:
        raise FormalimgError(f"{folder} has no concepts: add files such as color.toml or color.json")
    return pools


def _read_pool(path: Path, category: Category, default: Pool, profile: PoolProfile) -> Pool:
    refuse_special_file(path)
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else _parse_published_config(text, category)
        return _parse_pool(category, table, profile, default)
    except OSError as error:
        raise FormalimgError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise FormalimgError(f"{path} cannot be read as concepts: {error}") from error


def _parse_pool(
    category: Category, table: Mapping[str, Any], profile: PoolProfile, default: Pool | None = None
) -> Pool:
    _reject_unknown_keys(table, _KEYS, category)
    values = _string_list(table, "values")
    if profile == "official-code":
        values += _string_list(table, "official_code")
    if not values:
        raise ValueError(f"it has no values: {_FORMAT_HINT}")
    for value in values:
        if not value or value.strip() != value or not value.isprintable() or set(value) & set("{}"):
            raise ValueError(f"{value!r} is not a valid value: use one line, without surrounding blanks or braces")
        if values.count(value) > 1:
            raise ValueError(f"{value!r} occurs twice")
        is_number = value.isascii() and value.isdigit() and len(value) < 7 and not value.startswith("0")
        if category == "number" and not is_number:
            raise ValueError(f'{value!r} is not a number of objects: write digits, 1 or more, as in "3"')
    if default is not None and "statement" not in table:
        statement, of_people = default.statement, default.of_people
    else:
        statement, of_people = _nonempty_text(table, "statement"), None
    if "of_people" in table:
        of_people = _nonempty_text(table, "of_people")
    texts = table.get("sentences", {})
    if not isinstance(texts, Mapping):
        raise ValueError('sentences must be a table of texts, by value, as in [sentences] and then red = "..."')
    sentences = {value: _nonempty_text(texts, value) for value in texts}
    easy, hard = (frozenset(_string_list(table, key)) for key in ("easy", "hard"))
    unlisted = sorted((easy | hard | set(sentences)) - set(values))
    if unlisted:
        raise ValueError(f"{unlisted[0]!r} is not among its values")
    if easy & hard:
        raise ValueError(f"{min(easy & hard)!r} is both easy and hard: keep the one you mean")
    pool = Pool(category, tuple(sorted(values)), statement, sentences, easy, hard, of_people)
    for text in filter(None, (statement, of_people)):
        check_statement(category, text)
    for sentence in sentences.values():
        check_sentence(category, sentence)
    for value in values if category == "spatial" else ():
        check_relation_sentence(value, pool.sentence(value))
    return pool


def _parse_published_config(text: str, category: Category) -> dict[str, Any]:
    """Convert a published configuration to our table: rename `{skill}` to `{value}` and add articles to objects."""
    if not text.strip():
        raise ValueError(f"it is empty: {_PUBLISHED_FORMAT_HINT}")
    data = json.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("skill"), dict):
        raise ValueError(f"it must be an object with the concepts in skill: {_PUBLISHED_FORMAT_HINT}")
    _reject_unknown_keys(data, _PUBLISHED_KEYS, category)
    if data.get("category", category) != category:
        raise ValueError(f"its category is {data['category']!r}, not {category!r}: rename the file, or fix it")
    skill = data["skill"]
    sentences = {value: _convert_sentence(_nonempty_text(skill, value)) for value in skill if skill[value] != ""}
    table: dict[str, Any] = {"values": list(skill), "sentences": sentences}
    if "description" in data:
        table["statement"] = _convert_sentence(_nonempty_text(data, "description"))
    return table


def _convert_sentence(text: str) -> str:
    text = text.replace("{skill}", "{value}").replace("{skills}", "{values}")
    for name in ("object", "ObjectA", "ObjectB"):
        text = text.replace(f"{{{name}}}", f"the {{{name}}}")
    return text.replace("the the ", "the ").strip().removesuffix(".")


def _reject_unknown_keys(table: Mapping[str, Any], keys: tuple[str, ...], category: Category) -> None:
    for key in table:
        if key == category and keys is _KEYS:
            raise ValueError(f"its values must be at the top level: remove the line [{category}]")
        if key not in keys:
            match = closest_match(key, keys)
            hint = f"did you mean {match}?" if match else f"choose from {', '.join(keys)}"
            raise ValueError(f"unknown key {key!r}: {hint}")


def _string_list(table: Mapping[str, Any], key: str) -> list[str]:
    values = table.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f'{key} must be a list of strings, as in {key} = ["...", "..."]')
    return list(values)


def _nonempty_text(table: Mapping[str, Any], key: str) -> str:
    text = table.get(key)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{key} must be a non-empty string, not {text!r}")
    return text
