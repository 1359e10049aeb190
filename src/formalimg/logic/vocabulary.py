"""Load vocabularies (words and predicates of a suite) from TOML files and suggest spellings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from formalimg._util.io import refuse_special_file
from formalimg.errors import FormalimgError


def closest_match(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate closest to a misspelled word, ignoring case and separators, or None if there is none."""
    from difflib import get_close_matches  # here, so that programs start faster

    folded = {_fold_case(candidate): candidate for candidate in candidates}
    matches = get_close_matches(_fold_case(word), folded, n=1, cutoff=0.5)
    return folded[matches[0]] if matches else None


def _fold_case(word: str) -> str:
    return word[:80].casefold().replace("_", " ").replace("-", " ").strip()


_FOLDER = Path(__file__).parent / "vocabularies"

VARIABLE = "variable"  # The kind of an argument that must be a variable; every other kind names a list of words


class VocabularyError(FormalimgError):
    """Raised if a vocabulary does not exist or is invalid."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate with its name, argument kinds and a description of its meaning."""

    name: str
    arguments: tuple[str, ...]
    meaning: str


@dataclass(frozen=True)
class Vocabulary:
    """The words of a suite by kind (`class`, `color`, …) and its predicates."""

    name: str
    words: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, Predicate]

    def kinds_of(self, word: str) -> tuple[str, ...]:
        """Return all kinds of a word. In the natural vocabulary, for example, `orange` is both a class and a colour."""
        return tuple(kind for kind, words in self.words.items() if word in words)

    def nearest_word(self, word: str, kind: str) -> str | None:
        """Return the word of the given kind that is closest to a misspelled word."""
        return closest_match(word, self.words[kind])

    def predicate_taking(self, kind: str) -> str | None:
        """Return the name of a predicate that accepts an argument of the given kind."""
        return next((p.name for p in self.predicates.values() if kind in p.arguments), None)


def vocabulary(suite: str | Path | Vocabulary) -> Vocabulary:
    """Return the vocabulary of a suite (`"knolling"`, `"natural"`), or load one from a TOML file."""
    if isinstance(suite, Vocabulary):
        return suite
    if isinstance(suite, Path) or suite.endswith(".toml"):
        return _load_file(Path(suite))
    if suite not in vocabulary_names():
        near = closest_match(suite, vocabulary_names())
        advice = f"did you mean {near}?" if near else f"choose from {', '.join(vocabulary_names())}, or a .toml file"
        raise VocabularyError(f"unknown suite {suite!r}: {advice}")
    return _load_cached(_FOLDER / f"{suite}.toml")


@cache
def vocabulary_names() -> tuple[str, ...]:
    """Return the names of the built-in vocabularies."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def _load_file(path: Path) -> Vocabulary:
    import tomllib  # here, so that programs start faster

    refuse_special_file(path)
    try:
        return _build_vocabulary(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise VocabularyError(f"cannot read the vocabulary {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise VocabularyError(f"the vocabulary {path} is not valid TOML: {error}") from error


def _build_vocabulary(table: Mapping[str, object], source: str) -> Vocabulary:
    """Build a vocabulary from a TOML table, raising an error that identifies any invalid entry."""
    name, words, predicates = (table.get(key) for key in ("name", "words", "predicates"))
    if not isinstance(name, str) or not isinstance(words, dict) or not isinstance(predicates, dict):
        raise VocabularyError(f"{source}: a vocabulary needs name, [words] and [predicates]")
    for kind, entries in words.items():
        if not isinstance(entries, list) or not all(isinstance(word, str) and word for word in entries):
            raise VocabularyError(f"{source}: words.{kind} must be a list of words")
        if len(set(entries)) < len(entries):
            twice = next(word for word in entries if entries.count(word) > 1)
            raise VocabularyError(f"{source}: words.{kind} lists {twice!r} twice")
    known_kinds = {VARIABLE, *words}
    for predicate, entry in predicates.items():
        kinds = entry.get("arguments") if isinstance(entry, dict) else None
        if not isinstance(kinds, list) or not kinds or not all(kind in known_kinds for kind in kinds):
            raise VocabularyError(
                f"{source}: predicates.{predicate}.arguments must list kinds out of {sorted(known_kinds)}"
            )
    return Vocabulary(
        name,
        {kind: tuple(entries) for kind, entries in words.items()},
        {
            predicate: Predicate(predicate, tuple(entry["arguments"]), str(entry.get("meaning", "")))
            for predicate, entry in predicates.items()
        },
    )


_load_cached = cache(_load_file)
