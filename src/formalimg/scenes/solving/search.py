"""The search behind solving: which layouts, numbers of objects and margins are tried, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import NamedTuple

from formalimg.logic import STYLE, Formula, Value, atoms, rename_apart, verify
from formalimg.scenes.scene import Scene
from formalimg.scenes.solving.bodies import BARE, SNUG, Grid, Layout, comfortable, is_roomy
from formalimg.scenes.solving.claims import Claim, claim_of, conjuncts
from formalimg.scenes.solving.conflict import smallest_conflict
from formalimg.scenes.solving.counting import objects_needed
from formalimg.scenes.solving.expanding import Piece, expand
from formalimg.scenes.solving.looks import dressed, other_style
from formalimg.scenes.solving.margins import keeps_margin
from formalimg.scenes.solving.model import Arrangement, Attempt, Outcome, arrange
from formalimg.scenes.solving.places import Places, separate_places, shared_places
from formalimg.scenes.solving.results import SolverLimitError, Unsatisfiable, Witness
from formalimg.scenes.solving.shaping import well_shaped

_MAX_OBJECTS = 40
"""Bounds on the number of objects above this are not used."""

_MOST_CHECKS = 150
"""How many sets of pieces are tried to make a conflict small."""

# How long single attempts may take, in the solver's own time (about a second each on a slow machine).
_NEAT, _FREE, _PROOF, _PIECE = 0.1, 1.0, 10.0, 1.0
_MOST_SPENT = 15.0


def mentioned_styles(formula: Formula) -> list[str]:
    """The styles that a formula mentions, in alphabetical order."""
    found = (atom.arguments[0] for atom in atoms(formula) if atom.predicate == STYLE and atom.arguments)
    return sorted({word.text for word in found if isinstance(word, Value)})


class _Question(NamedTuple):
    """Places, and what must be true of them; None if that is too much to say."""

    places: Places
    piece: Piece | None


@dataclass
class Search:
    """The search for one formula: neat witnesses first, then a proof, then whatever witness there is."""

    formula: Formula
    instances: int
    margin: int
    seed: int
    up_to: int
    effort: float
    settle: bool = True
    spent: float = 0  # on attempts that were given up
    questions: dict[tuple[int, int], _Question] = field(default_factory=dict)  # by number of objects and instances

    def run(self) -> Witness | Unsatisfiable:
        """The answer."""
        self.renamed = rename_apart(self.formula)
        claim = claim_of(self.renamed)
        fewest = max(1, separate_places(claim, self.instances).count)
        witness = self.neat(claim, fewest, self.instances)
        if witness is not None:
            return witness
        if not self.settle:
            raise SolverLimitError("no comfortable scene with the full margin was found: let it settle for less")
        proof = self.refute(claim)
        if proof == "impossible":
            return self.empty_scene() or self.unsatisfiable(claim)
        most = fewest + 2
        if not isinstance(proof, str):
            most = max(most, len(set(proof.same_as)) + self.instances)
        for instances in dict.fromkeys([self.instances, 1]):
            witness = self.with_some_margin(claim, instances, most)
            if witness is not None:
                return witness
        if isinstance(proof, str):
            raise SolverLimitError("neither a witness nor a proof was found: try a larger effort, or a simpler formula")
        return self.witness_that_coincides(claim, proof)

    # --- ways of looking for a witness, the neatest first

    def neat(self, claim: Claim, count: int, instances: int) -> Witness | None:
        """A scene in rows and columns, or at least a comfortable one, with the full margin."""
        for grid in _grids(count):
            witness = self.separate(claim, count, instances, grid, self.margin, _NEAT)
            if witness is not None:
                return witness
        return self.separate(claim, count, instances, comfortable(count), self.margin, _FREE)

    def with_some_margin(self, claim: Claim, instances: int, most: int) -> Witness | None:
        """The largest margin for the least number of objects that can do at all."""
        fewest = max(1, separate_places(claim, instances).count)
        for count in range(fewest, max(fewest, most) + 1):
            barely = self.separate(claim, count, instances, SNUG, 0, _FREE)
            if barely is None:
                continue
            witness = self.neat(claim, count, instances)
            if witness is not None:
                return witness
            margin = self.margin
            while margin:
                margin //= 2
                for layout in (comfortable(count), SNUG):
                    witness = self.separate(claim, count, instances, layout, margin, _FREE)
                    if witness is not None:
                        return witness
            return barely
        return None

    def separate(
        self, claim: Claim, count: int, instances: int, layout: Layout, margin: int, effort: float
    ) -> Witness | None:
        """A scene of so many objects, a different one for each variable."""
        question = self.questions.get((count, instances))
        if question is None:
            places = separate_places(claim, instances)
            while places.count < count:
                places.add()
            question = self.questions[count, instances] = _Question(places, expand(claim, places, instances))
        found = self.arranged(question, layout, margin, effort)
        return None if isinstance(found, str) else self.witness(found, question.places, margin, instances)

    def witness_that_coincides(self, claim: Claim, proof: Arrangement) -> Witness:
        """A scene in which variables share objects, since they must."""
        places = self.shared(claim)[0]
        question = _Question(places, expand(claim, places, 1))
        margin = self.margin
        while margin:
            for layout in (comfortable(places.count), SNUG):
                found = self.arranged(question, layout, margin, _FREE)
                if not isinstance(found, str):
                    return self.witness(found, places, margin, 1)
            margin //= 2
        return self.witness(proof, places, 0, 1)

    def arranged(self, question: _Question, layout: Layout, margin: int, effort: float) -> Arrangement | Outcome:
        """One attempt, unless too much has been spent on attempts in vain."""
        places, piece = question
        if piece is None or self.spent > _MOST_SPENT:
            return "undecided"
        found = arrange(piece, places, Attempt(layout, margin, self.seed, effort * self.effort))
        self.spent += effort * (found == "undecided")
        return found

    # --- proofs

    def refute(self, claim: Claim, effort: float = _PROOF) -> Arrangement | Outcome:
        """Try to satisfy a claim with the least that counts as a scene: if this is impossible, so is the claim."""
        places, _ = self.shared(claim)
        return self.arranged(_Question(places, expand(claim, places, 1)), BARE, 0, effort)

    def shared(self, claim: Claim) -> tuple[Places, int | None]:
        """Places that may coincide, enough for a proof; and how many objects it then covers (None: any number)."""
        places = shared_places(claim)
        needed = objects_needed(claim, _MAX_OBJECTS)
        extra = max(0, self.up_to - (places.count > 0)) if needed is None else needed - places.count
        for _ in range(extra):
            places.add()
        return places, self.up_to if needed is None else None

    def unsatisfiable(self, claim: Claim) -> Unsatisfiable:
        """The proof, with the pieces that conflict."""
        self.spent = 0
        pieces = conjuncts(self.renamed)
        checks = iter(range(_MOST_CHECKS))

        def impossible(kept: frozenset[int]) -> bool:
            if next(checks, None) is None:
                return False  # then the conflict is right, and larger than need be
            part = claim_of(self.renamed, kept)
            return not self.is_easy(part) and self.refute(part, _PIECE) == "impossible"

        conflict = smallest_conflict(len(pieces), impossible)
        return Unsatisfiable(self.formula, self.shared(claim)[1], tuple(pieces[number] for number in conflict))

    def is_easy(self, claim: Claim) -> bool:
        """Is the claim satisfied at once, by objects in a grid? A quick answer, where it is yes."""
        places = separate_places(claim, 1)
        if not places.count:
            places.add()
        grid = Grid(10, 10) if places.count > 4 else Grid(5, 5)
        if places.count > grid.columns * grid.rows:
            return False
        return not isinstance(self.arranged(_Question(places, expand(claim, places, 1)), grid, 0, _NEAT), str)

    # --- results

    def empty_scene(self) -> Witness | None:
        """The empty scene, if that is a witness."""
        scene = Scene.of([])
        styles = mentioned_styles(self.formula)
        for style in [*styles, other_style(styles)] if styles else [None]:
            if verify(self.formula, scene, style=style):
                return Witness(scene, self.formula, self.margin, 0, {}, style)
        return None

    def witness(self, found: Arrangement, places: Places, margin: int, instances: int) -> Witness:
        """The scene that was found, without the objects that are not needed; checked, not trusted."""
        styles = mentioned_styles(self.formula)
        style = found.style or (other_style(styles) if styles else None)
        kept = [place for place in range(places.count) if found.same_as[place] == place]
        needed = {found.same_as[place] for place in places.certain}
        boxes, words = [found.boxes[place] for place in kept], [found.words[place] for place in kept]
        objects = dict(zip(kept, dressed(boxes, words, places.mentioned, self.seed), strict=True))
        if not keeps_margin(self.renamed, Scene.of(objects.values()), margin, style=style):
            raise AssertionError(f"not a witness of {self.formula}: {objects}")  # a bug of ours, never an answer
        for place in reversed(kept) if places.may_coincide else ():
            fewer = {other: obj for other, obj in objects.items() if other != place}
            spare = place not in needed and fewer
            if spare and keeps_margin(self.renamed, Scene.of(fewer.values()), margin, style=style):
                objects = fewer
        numbers = {place: number for number, place in enumerate(objects)}
        bindings = {name: numbers[found.same_as[place]] for name, place in places.names.items()}
        scene = well_shaped(self.formula, Scene.of(objects.values()), margin, style)
        return Witness(scene, self.formula, margin, instances, bindings, style)


def _grids(count: int) -> Iterator[Grid]:
    """Grids for so many objects, those with few empty cells and square ones first."""
    side = ceil(sqrt(count))
    shapes = {Grid(side, ceil(count / side)), Grid(ceil(count / side), side)}
    shapes |= {
        Grid(side, side),
        Grid(side + 1, side + 1),
        Grid(side + 2, side + 2),
        Grid(count, side),
        Grid(side, count),
    }
    ordered = sorted(shapes, key=lambda grid: (grid.columns * grid.rows, -grid.columns))
    yield from (grid for grid in ordered if is_roomy(grid))
