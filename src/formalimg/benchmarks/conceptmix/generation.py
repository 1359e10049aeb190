"""Generation of ConceptMix items: draw, bind, complete, realize, check."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from formalimg.benchmarks.conceptmix.completion import assign_shapes, complete_binding
from formalimg.benchmarks.conceptmix.conflicts import SceneObjects, count_problems, find_conflicts
from formalimg.benchmarks.conceptmix.plausibility import bound_relations
from formalimg.benchmarks.conceptmix.pools import Difficulty, PoolProfile, Pools, load_pools
from formalimg.benchmarks.conceptmix.prompt_check import extra_concepts, missing_concepts
from formalimg.benchmarks.conceptmix.questions import concept_statements, template_questions
from formalimg.benchmarks.conceptmix.realization import write_prompt
from formalimg.benchmarks.conceptmix.sampling import bind_attributes, draw_concepts, require_enough
from formalimg.benchmarks.conceptmix.spec import Category, ConceptSpec, bound_concepts
from formalimg.benchmarks.hooks import SampledItems, Synthesis, SynthesisPlan
from formalimg.errors import FormalimgError
from formalimg.types import Item

VERSION = "3"  # Version of the default suite; raise it whenever a change gives other items
_DRAWS = "1"
"""Part of all seeds. It stays, so that another version asks for the same concepts, except where they are rejected."""

_MAX_DRAWS = 1000
_WORDINGS = 5  # Wordings that are tried before other concepts are drawn


def content_key(spec: ConceptSpec) -> Hashable:
    """Return a key that is equal for two specs exactly if they are duplicates, by their concepts and objects.

    Added objects are part of the key if a relation names them: a cat on a table differs from a cat on a chair.
    """
    concepts = tuple(sorted(requested.concept for requested in spec.concepts))
    binding = spec.binding
    if binding is None:
        return concepts
    objects = [(obj.item, *sorted(obj.attributes.items())) for obj in binding.objects]
    drawn = sum(requested.category == "object" for requested in spec.concepts)
    relations = sorted(
        (relation.name, *(() if end is None else objects[end - 1] for end in (relation.first, relation.second)))
        for relation in binding.relations
    )
    return concepts, tuple(sorted(objects[:drawn])), tuple(relations)


@dataclass(frozen=True)
class ConceptRecipe:
    """The parameters for generating ConceptMix items."""

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

    @property
    def is_default(self) -> bool:
        """Whether the recipe produces the default suite, rather than different items with the same ids."""
        default = ConceptRecipe()
        return replace(self, levels=default.levels) == default and self.levels == default.levels[: len(self.levels)]


def generate_concept_items(
    recipe: ConceptRecipe, *, on_progress: Callable[[int], None] = lambda count: None
) -> SampledItems:
    """Generate all items of a recipe, deterministically."""
    pools = load_pools(recipe.concepts, profile=recipe.profile, difficulty=recipe.difficulty)
    for level in recipe.levels:
        require_enough(level, recipe.per_level, pools, recipe.profile, recipe.only)
    items: list[Item[ConceptSpec]] = []
    rejections: Counter[str] = Counter()
    keys: set[Hashable] = set()
    for number, level in enumerate(recipe.levels):
        for index in range(recipe.per_level):
            item = _generate_item(recipe, pools, number * recipe.per_level + index, level, keys, rejections)
            items.append(item)
            keys.add(content_key(item.spec))
            on_progress(len(items))
    return SampledItems(items, rejections)


def _generate_item(
    recipe: ConceptRecipe, pools: Pools, number: int, level: int, keys: set[Hashable], rejections: Counter[str]
) -> Item[ConceptSpec]:
    reasons: Counter[str] = Counter()
    for draw in range(_MAX_DRAWS):
        rng = random.Random(f"conceptmix {_DRAWS} {recipe.seed} {level} {number} {draw}")
        result = _draw_item(recipe, pools, level, rng)
        if not isinstance(result, str) and content_key(result[1]) not in keys:
            prompt, spec = result
            rejections += reasons
            return Item("conceptmix", str(number), level, prompt, spec, (), VERSION if recipe.is_default else "")
        reasons[result if isinstance(result, str) else "duplicate"] += 1
    reasons_text = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(3))
    raise FormalimgError(
        f"{_MAX_DRAWS} draws for k={level} were all rejected ({reasons_text}): take a smaller k, ask for fewer items, "
        "or give more concepts"
    )


def _draw_item(recipe: ConceptRecipe, pools: Pools, level: int, rng: random.Random) -> tuple[str, ConceptSpec] | str:
    concepts = draw_concepts(level, pools, rng, profile=recipe.profile, only=recipe.only)
    drawn = sum(concept.category == "object" for concept in concepts)
    binding = assign_shapes(bind_attributes(concepts, pools, rng), rng)
    conflict = next(iter(find_conflicts(binding)), None)
    if conflict is None:
        binding = complete_binding(binding, rng)
        conflict = next(iter(find_conflicts(binding)), None)
    if conflict is not None:
        return conflict.reason
    if count_problems(bound_relations(binding.relations), SceneObjects(binding.objects, drawn)):
        return "doubtful"
    bound = bound_concepts(concepts, binding)
    for _ in range(_WORDINGS):
        prompt = write_prompt(bound, binding, rng)
        if not missing_concepts(prompt, bound, binding) and not extra_concepts(prompt, bound, binding, pools):
            statements, questions = concept_statements(bound, binding, pools), template_questions(bound, binding)
            return prompt, ConceptSpec.of(bound, statements, questions, binding)
    return "not said clearly"


class ConceptSynthesis(Synthesis):
    """Synthesis of ConceptMix items from command-line options."""

    suites = "conceptmix"
    options = frozenset(("--concepts", "--only", "--difficulty", "--profile"))

    def plan(
        self, levels: tuple[int, ...] | None, per_level: int | None, seed: int, options: Mapping[str, Any]
    ) -> SynthesisPlan:
        """Return the synthesis plan for the given options."""
        settings = {name.removeprefix("--"): value for name, value in options.items()}
        recipe = ConceptRecipe(levels or ConceptRecipe.levels, per_level or ConceptRecipe.per_level, seed, **settings)
        total = len(recipe.levels) * recipe.per_level
        return SynthesisPlan(
            "conceptmix", total, lambda on_progress: generate_concept_items(recipe, on_progress=on_progress)
        )
