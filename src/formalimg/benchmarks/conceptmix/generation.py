"""Generation of ConceptMix items: draw, bind, complete, realize, check; counts of possible items; census."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path
from typing import Any

from formalimg.benchmarks.conceptmix.binding import bind_attributes, bound_concepts
from formalimg.benchmarks.conceptmix.completion import assign_shapes, complete_binding
from formalimg.benchmarks.conceptmix.conflicts import SceneObjects, count_problems, find_conflicts
from formalimg.benchmarks.conceptmix.plausibility import bound_relations
from formalimg.benchmarks.conceptmix.pools import Difficulty, PoolProfile, Pools, load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.questions import concept_statements, template_questions
from formalimg.benchmarks.conceptmix.realization import realize
from formalimg.benchmarks.conceptmix.sampling import OTHER_CATEGORIES, draw_concepts, sampling_rules
from formalimg.benchmarks.conceptmix.spec import (
    ATTRIBUTES,
    Binding,
    BoundConcept,
    BoundObject,
    Category,
    Concept,
    ConceptSpec,
    RequestedConcept,
)
from formalimg.benchmarks.synthesis import SampledItems, Synthesis, SynthesisPlan
from formalimg.errors import FormalimgError
from formalimg.types import Item


def count_combinations(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return the number of different sets of concepts that `draw_concepts` can give.

    Their order does not count; how often each is there does, so red twice is not red once.
    """
    return _count(k, pools, profile, only, lambda category, values, objects, often: comb(values + often - 1, often))


def count_bindings(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return the number of different bindings that `bind_attributes` can give, before relations are completed.

    A red cat with a blue dog is not a blue cat with a red dog. The order of objects and of relations does not count.
    """
    return _count(k, pools, profile, only, _ways_to_bind)


def max_items(k: int, pools: Pools, *, profile: PoolProfile = "paper", only: Category | None = None) -> int:
    """Return an upper bound on the number of different items.

    Each relation goes to two of the objects, or to one of them and one of the plain objects that we add. What is then
    sorted out as a conflict is counted all the same, so there may be fewer.
    """
    from formalimg.benchmarks.conceptmix.plausibility import (
        reference_objects,
    )  # here, as counting alone needs no knowledge

    plain = len(reference_objects())

    def ways(category: Category, values: int, objects: int, often: int) -> int:
        if category in ATTRIBUTES:
            return _ways_to_bind(category, values, objects, often)
        pairs = objects * (objects - 1) + 2 * objects * plain if category == "spatial" else 1
        return comb(values * pairs + often - 1, often)

    return _count(k, pools, profile, only, ways)


def _ways_to_bind(category: Category, values: int, objects: int, often: int) -> int:
    if category in ATTRIBUTES:
        return comb(objects, often) * int(values**often)
    if category == "style":
        return values if often else 1  # of several, which only the published code draws, the last one stays
    return comb(values + often - 1, often)


def _count(
    k: int, pools: Pools, profile: PoolProfile, only: Category | None, ways: Callable[[Category, int, int, int], int]
) -> int:
    """Sum over all numbers of objects and of concepts per category.

    `ways(category, values, objects, count)` is the number of ways for a category to occur `count` times.
    """
    rules = sampling_rules(k, pools, profile, only)
    found = 0
    for objects in rules.object_counts():
        places = rules.others(objects)
        # For each number of places: the ways to fill them with the categories met so far.
        filled = [1] + [0] * places
        for category, limit in zip(OTHER_CATEGORIES, rules.limits(objects), strict=True):
            one = [
                ways(category, len(pools[category].values), objects, often) for often in range(min(limit, places) + 1)
            ]
            filled = [
                sum(one[often] * filled[there - often] for often in range(min(there + 1, len(one))))
                for there in range(places + 1)
            ]
        found += comb(rules.pool, objects) * filled[places]
    return found


def content_key(spec: ConceptSpec) -> Hashable:
    """Return a key that is equal exactly for specs that ask for the same: such items are duplicates.

    The key holds the concepts and their objects. Added objects count where a relation names them, since a cat on a
    table is not a cat on a chair; size references do not. Without a binding the concepts alone decide.
    """
    concepts = tuple(sorted(each.concept for each in spec.concepts))
    binding = spec.binding
    if binding is None:
        return concepts
    objects = [_object_key(obj) for obj in binding.objects]
    drawn = sum(each.category == "object" for each in spec.concepts)
    relations = sorted(
        (relation.name, *(() if end is None else objects[end - 1] for end in (relation.first, relation.second)))
        for relation in binding.relations
    )
    return concepts, tuple(sorted(objects[:drawn])), tuple(relations)


def _object_key(obj: BoundObject) -> tuple[object, ...]:
    return obj.item, *sorted(obj.attributes.items())


VERSION = "3"
"""Version of the default suite; raise it whenever a change gives other items."""

_DRAWS = "1"
"""Part of all seeds. It stays, so that another version asks for the same concepts, except where they are rejected."""

_MAX_DRAWS = 1000
_WORDINGS = 5
"""Wordings that are tried before other concepts are drawn."""
_MAX_COUNTED_LEVEL = 50  # beyond it counting takes long, and there are nearly always more items than requested


@dataclass(frozen=True)
class ConceptRecipe:
    """Which items of ConceptMix to generate."""

    # the levels (k) to generate; 0 is an object alone, of which there are only as many as objects
    levels: tuple[int, ...] = tuple(range(1, 8))
    per_level: int = 300  # number of items per level
    seed: int = 1  # the random seed
    concepts: Path | None = None  # a folder of the user's own concepts; None for those of the paper
    only: Category | None = None  # take concepts other than objects from this category alone
    # take only concepts that are known to be easy or hard, in categories that have such
    difficulty: Difficulty | None = None
    profile: PoolProfile = "paper"  # sampling rules of the paper or of its published code

    def __post_init__(self) -> None:
        if not self.levels or min(self.levels) < 0:
            raise FormalimgError("levels must be 0 (an object alone) or more, as in --levels 1-7")
        if self.per_level < 1:
            raise FormalimgError("at least one item per level must be requested")

    def pools(self) -> Pools:
        """Load the pools that concepts are drawn from."""
        return load_pools(self.concepts, profile=self.profile, difficulty=self.difficulty)

    @property
    def is_default(self) -> bool:
        """Whether these are items of the default suite, not others with the same ids."""
        whole = ConceptRecipe()
        return replace(self, levels=whole.levels) == whole and self.levels == whole.levels[: len(self.levels)]


@dataclass
class GeneratedConceptItems:
    """The items of a recipe, and the number of rejected draws by reason."""

    items: list[Item[ConceptSpec]] = field(default_factory=list)
    rejections: Counter[str] = field(default_factory=Counter)


def generate_concept_items(
    recipe: ConceptRecipe, *, on_progress: Callable[[int], None] = lambda count: None
) -> GeneratedConceptItems:
    """Generate all items of a recipe; the same recipe always gives the same items."""
    pools = recipe.pools()
    _require_enough(recipe, pools)
    made = GeneratedConceptItems()
    seen: set[Hashable] = set()
    for number, level in enumerate(recipe.levels):
        for index in range(recipe.per_level):
            item = _generate_item(recipe, pools, number * recipe.per_level + index, level, seen, made.rejections)
            made.items.append(item)
            seen.add(content_key(item.spec))
            on_progress(len(made.items))
    return made


def _require_enough(recipe: ConceptRecipe, pools: Pools) -> None:
    for level in recipe.levels:
        if level > _MAX_COUNTED_LEVEL:
            continue
        most = max_items(level, pools, profile=recipe.profile, only=recipe.only)
        if most < recipe.per_level:
            raise FormalimgError(
                f"there are at most {most:,} different items with k={level}, fewer than {recipe.per_level:,}: "
                "ask for fewer, or give more concepts"
            )


def _generate_item(
    recipe: ConceptRecipe, pools: Pools, number: int, level: int, seen: set[Hashable], given_up: Counter[str]
) -> Item[ConceptSpec]:
    reasons: Counter[str] = Counter()
    for draw in range(_MAX_DRAWS):
        rng = random.Random(f"conceptmix {_DRAWS} {recipe.seed} {level} {number} {draw}")
        drawn = _draw_item(recipe, pools, level, rng)
        if not isinstance(drawn, str) and content_key(drawn[1]) not in seen:
            prompt, spec = drawn
            given_up += reasons
            return Item("conceptmix", str(number), level, prompt, spec, (), VERSION if recipe.is_default else "")
        reasons[drawn if isinstance(drawn, str) else "duplicate"] += 1
    reasons_text = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))
    raise FormalimgError(
        f"{_MAX_DRAWS} draws for k={level} were all rejected ({reasons_text}): take a smaller k, ask for fewer items, "
        "or give more concepts"
    )


def _draw_item(recipe: ConceptRecipe, pools: Pools, level: int, rng: random.Random) -> tuple[str, ConceptSpec] | str:
    """Return prompt and spec of one draw, or why it was rejected."""
    concepts = draw_concepts(level, pools, rng, profile=recipe.profile, only=recipe.only)
    drawn = sum(concept.category == "object" for concept in concepts)
    binding = assign_shapes(bind_attributes(concepts, pools, rng), rng)
    clash = next(iter(find_conflicts(binding)), None)
    if clash is None:
        binding = complete_binding(binding, rng)
        clash = next(iter(find_conflicts(binding)), None)
    if clash is not None:
        return clash.reason
    if count_problems(bound_relations(binding.relations), SceneObjects(binding.objects, drawn)):
        return "doubtful"
    bound = bound_concepts(concepts, binding)
    prompts = (realize(bound, binding, rng) for _ in range(_WORDINGS))
    prompt = next((text for text in prompts if _says_exactly(text, bound, binding, pools)), None)
    if prompt is None:
        return "not said clearly"
    texts = zip(bound, concept_statements(bound, binding, pools), template_questions(bound, binding), strict=True)
    return prompt, ConceptSpec(
        tuple(
            RequestedConcept(each.concept.category, each.concept.value, statement, question, each.objects)
            for each, statement, question in texts
        ),
        binding,
    )


def _says_exactly(prompt: str, bound: Sequence[BoundConcept], binding: Binding, pools: Pools) -> bool:
    """Return whether a prompt reads back as its concepts, and nothing else."""
    return not (missing_concepts(prompt, bound, binding) or extra_concepts(prompt, bound, binding, pools))


class ConceptSynthesis(Synthesis):
    """Sampling of items with concepts, as users ask for it."""

    suites = "conceptmix"
    options = frozenset(("--concepts", "--only", "--difficulty", "--profile"))

    def plan(
        self, levels: tuple[int, ...] | None, per_level: int | None, seed: int, options: Mapping[str, Any]
    ) -> SynthesisPlan:
        """Return the recipe, ready to be made."""
        chosen = {name.removeprefix("--"): value for name, value in options.items()}
        recipe = ConceptRecipe(levels or ConceptRecipe.levels, per_level or ConceptRecipe.per_level, seed, **chosen)

        def make(on_progress: Callable[[int], None]) -> SampledItems:
            made = generate_concept_items(recipe, on_progress=on_progress)
            return SampledItems(made.items, made.rejections)

        return SynthesisPlan("conceptmix", len(recipe.levels) * recipe.per_level, make)


@dataclass
class ConceptCensus:
    """Counts over a set of items."""

    items: int = 0  # number of items
    levels: Counter[int] = field(default_factory=Counter)  # number of items per level
    objects: Counter[int] = field(default_factory=Counter)  # number of items per number of objects among their concepts
    concepts: Counter[Concept] = field(default_factory=Counter)  # number of items per concept
    words: Counter[int] = field(default_factory=Counter)  # total number of words of the prompts of each level
    references: int = 0  # number of added reference objects


def concept_census(items: Iterable[Item[ConceptSpec]]) -> ConceptCensus:
    """Count what a set of items consists of."""
    census = ConceptCensus()
    for item in items:
        objects = sum(concept.category == "object" for concept in item.spec.drawn)
        census.items += 1
        census.levels[item.level] += 1
        census.objects[objects] += 1
        census.concepts.update(item.spec.drawn)
        census.words[item.level] += len(item.prompt.split())
        if item.spec.binding is not None:
            census.references += len(item.spec.binding.objects) - objects
    return census
