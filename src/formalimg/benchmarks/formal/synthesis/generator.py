"""Item generator: sample a formula, prove it satisfiable, write its prompt.

Every item has its own random generator, seeded by the recipe and the item's slot, so that the result does not depend on
the order of generation or the number of processes. A rejected draw is followed by the next one.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

from formalimg._util.processes import spawn_context
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.benchmarks.formal.synthesis.knolling import draw_knolling
from formalimg.benchmarks.formal.synthesis.natural import draw_natural
from formalimg.benchmarks.formal.synthesis.oddity import ReadScene, speaks_of_one_after_every
from formalimg.benchmarks.formal.synthesis.skeleton import with_connectives
from formalimg.benchmarks.hooks import SampledItems, Synthesis, SynthesisPlan
from formalimg.benchmarks.registry import suite
from formalimg.errors import FormalimgError
from formalimg.language.lexicon import WordingError, lexicon
from formalimg.language.ontology.knowledge import COVERED, ontology
from formalimg.language.ontology.plausibility import find_implausible
from formalimg.language.realization import realize
from formalimg.logic.checks import check
from formalimg.logic.parser import parse
from formalimg.logic.syntax import And, Forall, Formula, atoms, subformulas
from formalimg.logic.variables import rename_apart
from formalimg.logic.verification import verify
from formalimg.scenes.rules import AS_READ
from formalimg.scenes.scene import Scene
from formalimg.scenes.solver.results import SolverLimitError, Witness
from formalimg.scenes.solver.search import solve
from formalimg.scenes.solver.spatial import solve_natural
from formalimg.types import Item

COUNTS = "knolling-counts"  # The suite whose formulas count objects, in the words of knolling
VERSION = "3"
"""Version of the default items of these suites, and part of every seed: raised whenever a change gives other items."""

_SUITES = ("knolling", COUNTS, "natural")

_MAX_DRAWS = 4000
"""Limit for one item; most draws are rejected where many components must each have classes of their own."""

_MAX_PROOFS = 400
"""How many drawn formulas of one item may turn out to be unfit by proof, which takes much longer than a draw."""

_UNPROVEN = ("unsatisfiable", "tight")  # Reasons to reject a formula by proof
_MAX_LEVEL = 30
_MAX_OBJECTS = 20
_MAX_JOBS = 64


class SynthesisError(FormalimgError):
    """Raised if items cannot be generated."""


@dataclass(frozen=True)
class Recipe:
    """The settings that determine which items are generated."""

    suite: str  # `knolling`, `knolling-counts` or `natural`
    levels: tuple[int, ...] = tuple(range(1, 11))  # K
    per_level: int = 200  # number of items of each level
    seed: int = 1  # another seed, other items
    objects: int | None = None  # total number of objects, in several components: tells complexity from mere number
    connectives: bool = False  # whether some instructions have an `or` or a `not`

    @property
    def version(self) -> str:
        """The version of the items: that of the default items for their recipe, empty for others."""
        default = Recipe(self.suite, suite(self.suite).bands["Overall"])
        return VERSION if self == default else ""

    def __post_init__(self) -> None:
        if self.suite not in _SUITES:
            raise SynthesisError(f"unknown suite {self.suite!r}: items can be made of {', '.join(_SUITES)}")
        if not self.levels or any(not 1 <= level <= _MAX_LEVEL for level in self.levels):
            raise SynthesisError(f"levels must be between 1 and {_MAX_LEVEL}, as in --levels 1-10")
        if self.per_level < 1:
            raise SynthesisError("at least one item per level is needed")
        if self.objects is not None and self.suite == COUNTS:
            raise SynthesisError("a count has as many objects as it says: leave out the number of objects")
        if self.objects is not None:
            if not 1 <= self.objects <= _MAX_OBJECTS:
                raise SynthesisError(f"objects must be between 1 and {_MAX_OBJECTS}")
            if any(self.objects % level for level in self.levels):
                raise SynthesisError(f"{self.objects} objects cannot be divided into components of every level")


class ItemSlot(NamedTuple):
    """A slot for one item of a recipe: its id, its level, and the first draw to try."""

    id: int
    level: int
    first_draw: int = 0


class _SynthesisAttempt(NamedTuple):
    item: Item[FormulaSpec]
    draw: int
    given_up: Counter[str]


def make_items(
    recipe: Recipe, *, jobs: int = 1, on_progress: Callable[[int], None] = lambda count: None
) -> SampledItems:
    """Generate all items of a recipe; the result does not depend on the number of jobs."""
    slots = [
        ItemSlot(number * recipe.per_level + index, level)
        for number, level in enumerate(recipe.levels)
        for index in range(recipe.per_level)
    ]
    items: list[Item[FormulaSpec]] = []
    rejected: Counter[str] = Counter()
    texts: set[str] = set()
    for slot, attempt in zip(slots, _make_attempts(recipe, slots, jobs), strict=True):
        while True:
            rejected += attempt.given_up
            if attempt.item.prompt not in texts and str(attempt.item.spec.formula) not in texts:
                break
            rejected["duplicate"] += 1
            if attempt.draw >= _MAX_DRAWS:
                raise SynthesisError(
                    f"{attempt.draw:,} draws gave no new item of level {slot.level}: "
                    f"ask for at most {slot.id % recipe.per_level:,} items per level"
                )
            attempt = make_item(recipe, slot._replace(first_draw=attempt.draw + 1))
        texts |= {attempt.item.prompt, str(attempt.item.spec.formula)}
        items.append(attempt.item)
        on_progress(len(items))
    return SampledItems(items, rejected)


def _make_attempts(recipe: Recipe, slots: list[ItemSlot], jobs: int) -> Iterator[_SynthesisAttempt]:
    if jobs < 1:
        raise SynthesisError("at least one job is needed")
    jobs = min(jobs, len(slots), _MAX_JOBS)
    if jobs == 1:
        yield from map(partial(make_item, recipe), slots)
        return
    # Forked processes, where there are any, do not run the caller's script again, as spawned ones would.
    context = multiprocessing.get_context("fork") if sys.platform == "linux" else spawn_context()
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        # The hardest levels come last: small chunks keep all processes busy until the end.
        yield from pool.map(partial(make_item, recipe), slots, chunksize=5)


def make_item(recipe: Recipe, slot: ItemSlot) -> _SynthesisAttempt:
    """Generate one item from the first draw, starting at the slot's, that is satisfiable and can be worded."""
    given_up: Counter[str] = Counter()
    has_forall: bool | None = None
    """As the first that turned out to be odd: most of these have a `forall`, and its share is to stay."""
    for draw in range(slot.first_draw, slot.first_draw + _MAX_DRAWS):
        if sum(given_up[reason] for reason in _UNPROVEN) >= _MAX_PROOFS:
            break
        rng = random.Random(f"{recipe.suite} {VERSION} {recipe.seed} {slot.level} {slot.id} {draw}")
        formula = _draw_formula(recipe, slot.level, rng)
        if formula is None or has_forall not in (None, _has_forall(formula)):
            given_up["draw"] += 1
            continue
        proof_seed, wording_seed = rng.randrange(2**31), rng.randrange(2**31)
        try:
            prompt, oddity = _write_soundly(recipe.suite, formula, wording_seed)
        except WordingError:
            given_up["wording"] += 1
            continue
        if oddity:
            has_forall = _has_forall(formula)
            given_up[oddity] += 1
            continue
        spec = _prove_formula(recipe.suite, formula, proof_seed)
        if isinstance(spec, str):
            given_up[spec] += 1
            continue
        tags = () if recipe.objects is None else (f"objects-{recipe.objects}",)
        item = Item(recipe.suite, str(slot.id), slot.level, prompt, spec, tags, recipe.version)
        return _SynthesisAttempt(item, draw, given_up)
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(given_up.items()))
    raise SynthesisError(
        f"no {recipe.suite} item of level {slot.level} came out of {given_up.total():,} draws ({reasons}): "
        f"take another level or seed{', or fewer objects' if recipe.objects else ''}"
    )


def _draw_formula(recipe: Recipe, level: int, rng: random.Random) -> Formula | None:
    components = 1 if recipe.objects is None else recipe.objects // level
    benchmark = suite(recipe.suite)
    if benchmark.vocabulary == "knolling":
        drawn = [draw_knolling(level, rng, counting=recipe.suite == COUNTS) for _ in range(components)]
    else:
        drawn = [draw_natural(level, rng, styled=None if number == 0 else False) for number in range(components)]
    formulas = [formula for formula in drawn if formula is not None]
    if len(formulas) < components:
        return None
    conjuncts = (part for entry in formulas for part in (entry.parts if isinstance(entry, And) else (entry,)))
    formula = formulas[0] if components == 1 else And(tuple(conjuncts))
    if components > 1 and _classes_repeat(formula):
        return None  # components that speak of one class would constrain each other
    if recipe.connectives and rng.random() < 0.4:
        formula = with_connectives(formula, benchmark.vocabulary, rng)
    formula = parse(str(rename_apart(formula)))
    if benchmark.vocabulary in COVERED and components > 1 and find_implausible(formula):
        return None  # components that are plausible alone may not be together: every person kneels, every child runs
    if recipe.suite == COUNTS and verify(formula, Scene.of([])):
        return None  # "at most two cups": an empty image would do
    problems = check(formula, benchmark.vocabulary, k=level, single_component=components == 1)
    return None if problems else formula


def _classes_repeat(formula: Formula) -> bool:
    classes = FormulaSpec(formula).object_classes
    if len(classes) < sum(atom.predicate == "Is" for atom in atoms(formula)):
        return True
    covered = [cls for cls in classes if cls in ontology().entries]
    return any(ontology().is_also(first, second) for first, second in permutations(covered, 2))


def _prove_formula(name: str, formula: Formula, seed: int) -> FormulaSpec | str:
    """Return the spec of a satisfiable formula with its witness, or the reason for rejecting it.

    A formula that can only hold by a narrow margin is rejected too, because no model could fairly be expected to
    satisfy it.
    """
    try:
        if suite(name).vocabulary in COVERED:
            result = solve_natural(formula, margin=AS_READ.margin, seed=seed)
        else:
            result = solve(formula, seed=seed, as_read=True)
    except SolverLimitError:
        return "tight"
    if not isinstance(result, Witness):
        return "unsatisfiable"
    return FormulaSpec.of(formula, result.scene)


def _has_forall(formula: Formula) -> bool:
    return any(isinstance(part, Forall) for part in subformulas(formula))


def _write_soundly(name: str, formula: Formula, seed: int) -> tuple[str, str | None]:
    """Return the prompt of a formula, and the reason to reject it as odd or None."""
    words = suite(name).vocabulary
    oddity = ReadScene(formula).find_oddity() if words in COVERED else None
    if oddity:
        return "", oddity
    prompt = realize(formula, words, seed=seed)
    each_case = lexicon(words).each_case
    if f"{each_case}," in prompt.lower():
        raise WordingError(f"a sentence with {each_case!r} joins nothing: draw another formula")
    is_checked = words in COVERED or name == COUNTS
    return prompt, "one of every" if is_checked and speaks_of_one_after_every(prompt) else None


class FormulaSynthesis(Synthesis):
    """Synthesis of items with formulas, for the options of `formalimg items synth`."""

    suites = "knolling and natural"
    options = frozenset(("--objects", "--connectives", "--jobs"))

    def __init__(self, name: str) -> None:
        self._suite = name

    @property
    def counting(self) -> str | None:
        """The suite that counts objects with the same vocabulary."""
        return COUNTS if suite(self._suite).vocabulary == suite(COUNTS).vocabulary else None

    def plan(
        self, levels: tuple[int, ...] | None, per_level: int | None, seed: int, options: Mapping[str, Any]
    ) -> SynthesisPlan:
        """Return the sampling plan of a recipe; `--jobs` is one process per core by default."""
        recipe = Recipe(
            self._suite,
            levels or suite(self._suite).bands["Overall"],
            per_level or Recipe.per_level,
            seed,
            options.get("--objects"),
            options.get("--connectives", False),
        )
        jobs = options.get("--jobs") or os.cpu_count() or 1

        def make(on_progress: Callable[[int], None]) -> SampledItems:
            return make_items(recipe, jobs=jobs, on_progress=on_progress)

        return SynthesisPlan(self._suite, len(recipe.levels) * recipe.per_level, make)
