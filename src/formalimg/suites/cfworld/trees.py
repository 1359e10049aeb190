"""The fields of knowledge as the published files name them: `Biology`, `physics/Classical Mechanics`, and so on."""

from __future__ import annotations

import re
from typing import NamedTuple


class Tree(NamedTuple):
    """A field of knowledge, and where its files lie.

    Attributes:
        path: the path of its files within `prompt`, without their ending.
        discipline: what it is called in our tags.
        branch: of physics, such as optics; empty for others.
    """

    path: str
    discipline: str
    branch: str = ""

    @property
    def slug(self) -> str:
        """The path as the beginning of ids, such as physics-classical-mechanics."""
        return re.sub(r"[^a-z0-9]+", "-", self.path.lower()).strip("-")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of its items."""
        return tuple(filter(None, (self.discipline, self.branch)))


PUBLISHED_TREES = (
    Tree("Biology", "biology"),
    Tree("Chemical", "chemistry"),
    Tree("Geography", "geography"),
    Tree("Sociology", "sociology"),
    Tree("physics/Astronomy", "physics", "astronomy"),
    Tree("physics/Classical Mechanics", "physics", "mechanics"),
    Tree("physics/Electromagnetism", "physics", "electromagnetism"),
    Tree("physics/Optics", "physics", "optics"),
    Tree("physics/Thermodynamics", "physics", "thermodynamics"),
)


def tree_at(path: str) -> Tree:
    """The field whose files have this path; those that were not published are called by their names."""
    for tree in PUBLISHED_TREES:
        if tree.path == path:
            return tree
    discipline, *deeper = (Tree(part, "").slug for part in path.split("/"))
    return Tree(path, discipline, "-".join(deeper))


def tree_tagged(tags: tuple[str, ...]) -> Tree:
    """The field whose items have these tags."""
    for tree in PUBLISHED_TREES:
        if tree.tags == tags:
            return tree
    # Tags may be any words, and this becomes the name of a file.
    return tree_at("/".join(Tree(tag, "").slug or "other" for tag in tags))
