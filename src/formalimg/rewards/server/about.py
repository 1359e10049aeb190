"""What shapes the rewards of this server, so that they can be had again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from formalimg.logic import vocabulary, vocabulary_names
from formalimg.rewards import Scorer
from formalimg.rewards.server.limits import Limits


def about(version: str, scorer: Scorer, limits: Limits, *, reads_files: bool) -> Mapping[str, object]:
    """The version, who looks and with which settings, what counts how much, digests, and what is taken on.

    Args:
        version: the version of formalimg.
        scorer: who scores.
        limits: how much the server takes on.
        reads_files: whether images may be named by their paths.
    """
    return {
        "formalimg": version,
        "scorer": dict(scorer.settings),
        "looking": {
            part: {"name": party.name, "settings": dict(party.settings)} for part, party in scorer.looking.items()
        },
        "suites": dict(scorer.suite_digests()),
        "vocabularies": {name: vocabulary_digest(name) for name in vocabulary_names()},
        "limits": asdict(limits),
        "reads_files": reads_files,
    }


def vocabulary_digest(name: str) -> str:
    """A digest of the words and predicates of a vocabulary; what predicates say in words is left out."""
    words = vocabulary(name)
    known = {
        "words": {kind: list(entries) for kind, entries in words.words.items()},
        "predicates": {predicate.name: list(predicate.arguments) for predicate in words.predicates.values()},
    }
    return f"sha256:{hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()}"
