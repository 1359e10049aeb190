"""Verify formulas in scenes and render the proofs as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from formalimg.errors import FormalimgError
from formalimg.logic.constraints import Semantics
from formalimg.logic.errors import NOWHERE, FormulaError, Problem
from formalimg.logic.evaluation import Evaluator
from formalimg.logic.parser import as_formula
from formalimg.logic.proof import Proof, prove
from formalimg.logic.syntax import DISTINCT, And, Atom, Count, Exists, Forall, Formula, Value, Variable, children
from formalimg.logic.variables import FormulaStructure, expand_distinct, narrow_counts, rename_apart, scope_problem
from formalimg.logic.world import DistinguishingWorld, World, objection_to_distinct

STYLE_PREDICATE = "IsStyle"  # The predicate about the image as a whole


@dataclass(frozen=True)
class Verification:
    """The result of verifying a formula in a scene. Truthy if the formula holds."""

    passed: bool
    formula: Formula
    scene: World
    semantics: Semantics
    style: str | None

    def __bool__(self) -> bool:
        return self.passed

    @cached_property
    def proof(self) -> Proof:
        """The proof or refutation: witnesses for the variables, or conflicting claims. Computed on first access."""
        formula = expand_distinct(rename_apart(self.formula))
        return prove(formula, self.passed, DistinguishingWorld(self.scene), self.semantics, self.style)

    def explain(self) -> str:
        """Return the proof or refutation as text that fits on one or two screens.

        If finding the reasons takes too many steps, the text is a single line.
        """
        return "\n".join(_proof_lines(self.proof, ""))

    def to_json(self) -> dict[str, object]:
        """Return the result and its proof as JSON-serializable data."""
        return {
            "passed": self.passed,
            "semantics": self.semantics,
            "style": self.style,
            "formula": str(self.formula),
            "proof": self.proof.to_json(),
        }


def verify(
    formula: Formula | str, scene: World, semantics: Semantics = "strict", style: str | None = None
) -> Verification:
    """Decide exactly whether a formula holds in a scene.

    Args:
        formula: a closed formula, parsed or as text.
        scene: a `Scene`, or any `World`.
        semantics: `"strict"`: `(forall ?x (implies A B))` also requires some object for which A holds, and the empty
            scene satisfies no quantifier. `"classical"`: as in textbooks.
        style: the style of the image, which decides `(IsStyle '…')`.

    Raises:
        FormulaError: if a variable is unbound, or the scene cannot decide an atom.
        TooHardError: if so many variables are linked that it takes too many steps to decide (a FormulaError with a
            problem of the kind `size`).
    """
    _require_known_semantics(semantics)
    if not hasattr(scene, "objection"):
        advice = "swap them" if hasattr(formula, "objection") else "Scene.from_json(…) reads one"
        raise FormalimgError(f"verify takes a formula and then a scene, not {type(scene).__name__}: {advice}")
    return AnalyzedFormula(as_formula(formula)).verify(scene, semantics, style)


def _require_known_semantics(semantics: str) -> None:
    if semantics not in ("strict", "classical"):
        raise FormalimgError(f"unknown semantics {semantics!r}: use 'strict' or 'classical'")


class AnalyzedFormula:
    """A formula prepared for verification in many scenes, so that scene-independent work is done only once."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self._structure = FormulaStructure()
        scan = _FormulaScan()
        scan.visit(formula)
        self._unbound_and_atoms = scan.unbound_and_atoms
        self._is_open = scan.is_open
        self._shapes = scan.shapes
        self._doubtful: dict[type, list[Atom]] = {}
        # An equivalent formula that binds every name once, and says `distinct` of two variables at a time.
        self.named_apart = rename_apart(formula) if scan.names_repeat else formula
        self._distinguishes = any(atom.predicate == DISTINCT for atom in scan.shapes.values())
        if self._distinguishes:
            self.named_apart = expand_distinct(self.named_apart)
        if scan.has_counts:
            self.named_apart = narrow_counts(self.named_apart)

    def verify(self, scene: World, semantics: Semantics, style: str | None) -> Verification:
        """Verify the formula in a scene, like the function `verify`."""
        _require_known_semantics(semantics)
        self.require_decidable(scene, style)
        world = DistinguishingWorld(scene) if self._distinguishes else scene
        passed = Evaluator(world, semantics, style, self._structure).holds(self.named_apart, {})
        return Verification(passed, self.formula, scene, semantics, style)

    def require_decidable(self, scene: World, style: str | None) -> None:
        """Raise an error if the formula contains something that the scene cannot decide."""
        doubtful = self._doubtful_in(scene)
        if self._is_open or (doubtful and any(_find_objection(atom, scene, style) is not None for atom in doubtful)):
            if self.formula.span is NOWHERE:  # built by code: give the problems a position
                AnalyzedFormula(as_formula(str(self.formula))).require_decidable(scene, style)
            raise FormulaError(self._problems(scene, style))

    def _doubtful_in(self, world: World) -> Sequence[Atom]:
        """Return one example atom of each form that may be undecidable in some world of this type."""
        kind = type(world)
        doubtful = self._doubtful.get(kind)
        if doubtful is None:
            decides = getattr(kind, "always_decides", None)
            doubtful = [
                atom
                for atom in self._shapes.values()
                if decides is None or atom.predicate in (STYLE_PREDICATE, DISTINCT) or not decides(atom)
            ]
            self._doubtful[kind] = doubtful
        return doubtful

    def _problems(self, world: World, style: str | None) -> list[Problem]:
        """Return all problems that prevent a world from deciding the formula, in text order."""
        problems = []
        decided: set[object] = set()
        for node in self._unbound_and_atoms:
            if isinstance(node, Variable):
                problems.append(scope_problem(node))
            elif _atom_shape(node) not in decided:
                objection = _find_objection(node, world, style)
                if objection is None:
                    decided.add(_atom_shape(node))
                else:
                    problems.append(Problem("undecided", objection, node.span))
        return problems


class _FormulaScan:
    """Scan of a formula for free variables, atoms and other features relevant to verification."""

    def __init__(self) -> None:
        self.unbound_and_atoms: list[Variable | Atom] = []  # atoms after their unbound variables, in text order
        self.is_open = False  # whether there is an unbound variable
        # The first atom of each shape: a world that does not object to it objects to none of that shape.
        self.shapes: dict[object, Atom] = {}
        self.names_repeat = False  # whether a name is bound more than once
        self.has_counts = False
        self._scope: dict[str, int] = {}  # how many enclosing quantifiers bind each name seen so far

    def visit(self, formula: Formula) -> None:
        kind = type(formula)
        if kind is Atom:
            self.atom(formula)  # type: ignore[arg-type]
        elif kind is Exists or kind is Forall or kind is Count:
            name: str = formula.variable.name  # type: ignore[union-attr]
            depth = self._scope.get(name)
            self.names_repeat |= depth is not None
            self.has_counts |= kind is Count
            self._scope[name] = (depth or 0) + 1
            self.visit(formula.body)  # type: ignore[union-attr]
            self._scope[name] -= 1
        else:
            for part in children(formula):
                self.visit(part)

    def atom(self, atom: Atom) -> None:
        for argument in atom.arguments:
            if type(argument) is Variable and not self._scope.get(argument.name):
                self.unbound_and_atoms.append(argument)
                self.is_open = True
        self.unbound_and_atoms.append(atom)
        self.shapes.setdefault(_atom_shape(atom), atom)


def _atom_shape(atom: Atom) -> object:
    return (atom.predicate, *map(type, atom.arguments))


def _find_objection(atom: Atom, world: World, style: str | None) -> str | None:
    """Return the reason why an atom cannot be decided, or None if it can."""
    if atom.predicate != STYLE_PREDICATE:
        return objection_to_distinct(atom) if atom.predicate == DISTINCT else world.objection(atom)
    if len(atom.arguments) != 1 or not isinstance(atom.arguments[0], Value):
        return f"{STYLE_PREDICATE} is written ({STYLE_PREDICATE} 'word')"
    if style is None:
        return f"the style of the image is not known: say which it is (style={atom.arguments[0]}, …)"
    return None


_WIDTH = 100


def _proof_lines(proof: Proof, margin: str) -> Iterator[str]:
    headline = _abbreviate(proof.formula)
    if proof.candidate:
        headline = f"?{proof.candidate.variable} = {proof.candidate.description}: {headline}"
    yield f"{margin}{'✓' if proof.holds else '✗'} {headline}{f': {proof.reason}' if proof.reason else ''}"
    if len(proof.conflict) > 1:
        yield from _with_title(margin, "wanted", [_abbreviate(claim) for claim in proof.conflict])
    width = max((len(bound.variable) for bound in proof.bindings), default=0)
    bindings = [f"?{bound.variable:<{width}} = {bound.description}" for bound in proof.bindings]
    yield from _with_title(margin, "e.g." if proof.holds and isinstance(proof.formula, Forall) else "with", bindings)
    for part in _visible_parts(proof):
        yield from _proof_lines(part, margin + "  ")
    for number, claim in proof.others:
        summary = f"{number} other object{'s' * (number > 1)}: {_abbreviate(claim)}"
        yield f"{margin}  ✗ {summary if proof.parts else f'no object satisfies {_abbreviate(claim)}'}"


def _with_title(margin: str, title: str, lines: list[str]) -> Iterator[str]:
    """Yield the lines with a title before the first one and the others indented to match."""
    for line in lines:
        yield f"{margin}    {title:<6} {line}"
        title = ""


def _visible_parts(proof: Proof) -> Iterator[Proof]:
    for part in proof.parts:
        formula = part.formula
        is_word = isinstance(formula, Atom) and isinstance(formula.arguments[-1], Value) and len(formula.arguments) > 1
        if isinstance(formula, And) and part.candidate is None:
            yield from _visible_parts(part)
        elif not (proof.bindings and part.holds and is_word):
            yield part


def _abbreviate(formula: Formula) -> str:
    """Return a short, single-line form of a formula, truncated if necessary."""
    match formula:
        case Exists():
            variables = []
            while isinstance(formula, Exists):
                variables.append(f"?{formula.variable.name}")
                formula = formula.body
            text = f"exists {' '.join(variables)}"
        case Forall(variable, _):
            text = f"forall ?{variable.name}"
        case Count(bound, number, variable, _):
            text = f"{bound} {number} ?{variable.name}"
        case _:
            text = str(formula)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
