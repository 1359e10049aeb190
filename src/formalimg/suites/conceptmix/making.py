"""Making items without a chat model: draw concepts, bind them, sort out what conflicts, put the rest into words.

Each item has a source of chance of its own, made from the recipe and the item's place. A draw that comes to nothing is
followed by another one, with other concepts, as in the paper; how often that happened is counted by reason.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path

from formalimg.errors import FormalimgError
from formalimg.suites.conceptmix.binding import bind_attributes, bound_concepts
from formalimg.suites.conceptmix.completing import complete_binding
from formalimg.suites.conceptmix.conflicts import conflicts
from formalimg.suites.conceptmix.content import content_of
from formalimg.suites.conceptmix.counting import most_items
from formalimg.suites.conceptmix.fitting import fit_shapes
from formalimg.suites.conceptmix.placing import Cast, troubles
from formalimg.suites.conceptmix.pools import Difficulty, Pools, Profile, load_pools
from formalimg.suites.conceptmix.questions import template_questions
from formalimg.suites.conceptmix.realizing import realize
from formalimg.suites.conceptmix.sampling import draw_concepts
from formalimg.suites.conceptmix.saying import unasked, unsaid
from formalimg.suites.conceptmix.spatial_order import placed_relations
from formalimg.suites.conceptmix.spec import AskedConcept, Category, ConceptSpec
from formalimg.suites.conceptmix.statements import statements
from formalimg.suites.item import Item

VERSION = "1"
"""Of the default suite: to be raised whenever a change gives other items."""

_MOST_DRAWS = 1000
_LARGEST_COUNTED = 50  # beyond it counting takes long, and there are nearly always more items than anybody asks for


@dataclass(frozen=True)
class ConceptRecipe:
    """Which items of ConceptMix to make.

    Attributes:
        levels: the levels (k) to make items of.
        per_level: how many items of each level.
        seed: another seed, other items.
        concepts: a folder of the user's own concepts; None for those of the paper.
        only: take concepts that are no objects from this category alone.
        difficulty: take only concepts that are known to be easy or hard, in categories that have such.
        profile: whose rules of drawing hold, the paper's or those of its published code.
    """

    levels: tuple[int, ...] = tuple(range(1, 8))
    per_level: int = 300
    seed: int = 1
    concepts: Path | None = None
    only: Category | None = None
    difficulty: Difficulty | None = None
    profile: Profile = "paper"

    def __post_init__(self) -> None:
        if not self.levels or min(self.levels) < 1:
            raise FormalimgError("levels must be 1 or more, as in --levels 1-7")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be asked for")

    def pools(self) -> Pools:
        """The pools that concepts are drawn from."""
        return load_pools(self.concepts, profile=self.profile, difficulty=self.difficulty)

    @property
    def is_default(self) -> bool:
        """Are these the first items of the suite as it ships, or all of them, and not others with the same ids?"""
        whole = ConceptRecipe()
        return replace(self, levels=whole.levels) == whole and self.levels == whole.levels[: len(self.levels)]


@dataclass
class MadeConcepts:
    """The items of a recipe, and how often draws came to nothing, by reason."""

    items: list[Item[ConceptSpec]] = field(default_factory=list)
    given_up: Counter[str] = field(default_factory=Counter)


def make_concept_items(
    recipe: ConceptRecipe, *, on_progress: Callable[[int], None] = lambda count: None
) -> MadeConcepts:
    """Make all items of a recipe; the same recipe always gives the same items.

    Args:
        recipe: what to make.
        on_progress: is called with the number of items made so far.

    Raises:
        FormalimgError: if a draw is impossible, if there are not so many different items, or if so many draws come to
            nothing that it is hopeless.
    """
    pools = recipe.pools()
    _require_enough(recipe, pools)
    made = MadeConcepts()
    seen: set[Hashable] = set()
    for number, level in enumerate(recipe.levels):
        for index in range(recipe.per_level):
            item = _make(recipe, pools, number * recipe.per_level + index, level, seen, made.given_up)
            made.items.append(item)
            seen.add(content_of(item.spec))
            on_progress(len(made.items))
    return made


def _require_enough(recipe: ConceptRecipe, pools: Pools) -> None:
    for level in recipe.levels:
        if level > _LARGEST_COUNTED:
            continue
        most = most_items(level, pools, profile=recipe.profile, only=recipe.only)
        if most < recipe.per_level:
            raise FormalimgError(
                f"there are at most {most:,} different items with k={level}, fewer than {recipe.per_level:,}: "
                "ask for fewer, or give more concepts"
            )


def _make(
    recipe: ConceptRecipe, pools: Pools, number: int, level: int, seen: set[Hashable], given_up: Counter[str]
) -> Item[ConceptSpec]:
    reasons: Counter[str] = Counter()
    for draw in range(_MOST_DRAWS):
        chance = random.Random(f"conceptmix {VERSION} {recipe.seed} {level} {number} {draw}")
        drawn = _draw(recipe, pools, level, chance)
        if not isinstance(drawn, str) and content_of(drawn[1]) not in seen:
            prompt, spec = drawn
            given_up += reasons
            return Item("conceptmix", str(number), level, prompt, spec, (), VERSION if recipe.is_default else "")
        reasons[drawn if isinstance(drawn, str) else "duplicate"] += 1
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))
    raise FormalimgError(
        f"{_MOST_DRAWS} draws for k={level} came to nothing ({told}): take a smaller k, ask for fewer items, "
        "or give more concepts"
    )


def _draw(recipe: ConceptRecipe, pools: Pools, level: int, chance: random.Random) -> tuple[str, ConceptSpec] | str:
    """The words of one draw and what they ask for, or why nothing came of it."""
    concepts = draw_concepts(level, pools, chance, profile=recipe.profile, only=recipe.only)
    drawn = sum(concept.category == "object" for concept in concepts)
    binding = fit_shapes(bind_attributes(concepts, pools, chance), chance)
    clash = next(iter(conflicts(binding)), None)
    if clash is None:
        binding = complete_binding(binding, chance)
        clash = next(iter(conflicts(binding)), None)
    if clash is not None:
        return clash.reason
    if troubles(placed_relations(binding.relations), Cast(binding.objects, drawn)):
        return "doubtful"
    bound = bound_concepts(concepts, binding)
    prompt = realize(bound, binding, chance)
    if unsaid(prompt, bound, binding) or unasked(prompt, bound, binding, pools):
        return "not said clearly"
    said, asked = statements(bound, binding, pools), template_questions(bound, binding)
    return prompt, ConceptSpec(
        tuple(
            AskedConcept(each.concept.category, each.concept.value, statement, question, each.objects)
            for each, statement, question in zip(bound, said, asked, strict=True)
        ),
        binding,
    )
