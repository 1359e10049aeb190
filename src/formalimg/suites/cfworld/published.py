"""CF-World and its probes as their authors published them.

The repository has `prompt` (groups, one file for each field), `eval_questions` (questions, under the same names) and
`prompt_ablation` (the probes). The files have oddities. Each is tidied up by a rule, or left as it is, and told;
nothing is dropped, and what nobody can score is kept and named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from formalimg.errors import FormalimgError
from formalimg.suites.cfworld.names import CF_WORLD, CF_WORLD_ATTRIBUTES, CF_WORLD_DENOMINALISED, CF_WORLD_RULES
from formalimg.suites.cfworld.published_groups import LEVELS, PROMPTS, QUESTIONS, PublishedTree, read_trees
from formalimg.suites.cfworld.published_probes import PROBES, read_denominalised, read_pairs, read_rules
from formalimg.suites.cfworld.spec import CounterfactualSpec
from formalimg.suites.cfworld.tidying import Tidying, tidied_lines
from formalimg.suites.findings import Findings
from formalimg.suites.item import Item

_FOLDERS = {
    CF_WORLD: (PROMPTS, QUESTIONS),
    CF_WORLD_RULES: (PROBES,),
    CF_WORLD_ATTRIBUTES: (PROBES,),
    CF_WORLD_DENOMINALISED: (PROMPTS, QUESTIONS, PROBES),
}
"""What of the repository each suite needs."""


class Published(NamedTuple):
    """Published items, and what was odd about them.

    Attributes:
        items: all of them, in the order of the files.
        tidied: every oddity, where it is, and what was made of it.
        unscorable: the ids of items without questions.
    """

    items: tuple[Item[CounterfactualSpec], ...]
    tidied: tuple[Tidying, ...]
    unscorable: tuple[str, ...]


def read_cf_world(place: str | Path, suite: str = CF_WORLD) -> Published:
    """CF-World or one of its probes, from the authors' repository or what `formalimg pull` made of it.

    Args:
        place: the folder that holds `prompt`, `eval_questions` and `prompt_ablation`, or one of these.
        suite: `cf-world`, `cf-world-rules`, `cf-world-attributes` or `cf-world-denominalised`.

    Raises:
        ItemsError: naming everything that is wrong with the files, each with its place.
        FormalimgError: if the folders are not there, or there is no such suite.
    """
    findings = Findings()
    published = _read(Path(place), suite, findings)
    findings.raise_any()
    return published


def read_counterfactuals(place: Path, suite: str, findings: Findings) -> list[Item[CounterfactualSpec]]:
    """The items of a suite; what is wrong with the files is added to the findings."""
    return list(_read(place, suite, findings).items)


def tidying_report(place: str | Path, suite: str = CF_WORLD) -> list[str]:
    """What is odd about published data and what was made of it, as lines for people.

    Raises:
        FormalimgError: as `read_cf_world` does.
    """
    items, tidied, unscorable = read_cf_world(place, suite)
    groups = {item.spec.group for item in items}
    questions = sum(len(item.spec.questions) for item in items)
    lines = [f"{len(groups):,} groups, {len(items):,} prompts, {questions:,} questions"]
    if unscorable:
        lines.append(f"{len(unscorable):,} prompts without questions, never scored: {', '.join(unscorable)}")
    return [*lines, *tidied_lines(tidied)]


def _read(place: Path, suite: str, findings: Findings) -> Published:
    root = _root(place, suite)
    tidied: list[Tidying] = []
    items: Sequence[Item[CounterfactualSpec]]
    if suite == CF_WORLD_RULES:
        items = read_rules(root, findings, tidied)
    elif suite == CF_WORLD_ATTRIBUTES:
        items = read_pairs(root, findings, tidied)
    elif suite == CF_WORLD_DENOMINALISED:
        # What is odd about the groups is told with cf-world, and not again with its probe.
        items = read_denominalised(root, read_trees(root, findings, []), findings, tidied)
    else:
        items = _items_of(read_trees(root, findings, tidied))
    unscorable = tuple(item.id for item in items if not item.spec.questions)
    return Published(tuple(items), tuple(tidied), unscorable)


def _root(place: Path, suite: str) -> Path:
    if suite not in _FOLDERS:
        raise FormalimgError(f"{suite} is no suite of CF-World: these are {', '.join(_FOLDERS)}")
    inside = place.absolute()  # `.` may be one of the folders
    root = inside.parent if inside.name in (PROMPTS, QUESTIONS, PROBES) else place
    for folder in _FOLDERS[suite]:
        if not (root / folder).is_dir():
            raise FormalimgError(
                f"{place} holds no items of {suite}: give items.jsonl, or the repository with its folders "
                f"{', '.join(_FOLDERS[suite])} ({folder} is not there)"
            )
    return root


def _items_of(trees: Sequence[PublishedTree]) -> list[Item[CounterfactualSpec]]:
    return [
        Item(
            CF_WORLD,
            f"{group.id}-l{level}",
            level,
            group.prompts[level],
            CounterfactualSpec(group.id, group.assessments[level], group.questions[level]),
            group.tree.tags,
        )
        for tree in trees
        for group in tree.groups
        for level in LEVELS
    ]
