"""Logic: the formula language, its vocabularies, prenex form, exact evaluation, explanations and soft score."""

from formalimg.logic.best_binding import (
    BestBinding,
    ClauseResult,
    Credit,
    PreparedFormula,
    best_binding,
    prepare_formula,
)
from formalimg.logic.check import check
from formalimg.logic.clause_results import NOTHING_ASKED_FOR
from formalimg.logic.constraints import Semantics
from formalimg.logic.count_credit import asks_for_objects
from formalimg.logic.errors import FormulaError, Problem, SourceText, Span
from formalimg.logic.evaluation import TooHardError
from formalimg.logic.parser import parse, try_parse
from formalimg.logic.prenex import (
    Clause,
    ClauseKind,
    Component,
    Literal,
    PrenexForm,
    Quantifier,
    clauses,
    complexity,
    component_sizes,
    to_prenex,
)
from formalimg.logic.printer import to_pretty_text, to_text
from formalimg.logic.proof import Proof
from formalimg.logic.strict_forall import expand_strict_forall
from formalimg.logic.syntax import (
    COUNT_BOUNDS,
    DISTINCT,
    And,
    Atom,
    Count,
    CountBound,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Value,
    Variable,
    atoms,
    children,
    map_children,
    subformulas,
)
from formalimg.logic.variables import bound_variables, expand_distinct, free_variables, rename_apart
from formalimg.logic.verify import STYLE_PREDICATE, Verification, verify
from formalimg.logic.vocabulary import (
    Predicate,
    Vocabulary,
    VocabularyError,
    closest_match,
    vocabulary,
    vocabulary_names,
)
from formalimg.logic.world import World, members

__all__ = [
    "COUNT_BOUNDS",
    "DISTINCT",
    "NOTHING_ASKED_FOR",
    "STYLE_PREDICATE",
    "And",
    "Atom",
    "BestBinding",
    "Clause",
    "ClauseKind",
    "ClauseResult",
    "Component",
    "Count",
    "CountBound",
    "Credit",
    "Exists",
    "Forall",
    "Formula",
    "FormulaError",
    "Iff",
    "Implies",
    "Literal",
    "Not",
    "Or",
    "Predicate",
    "PrenexForm",
    "PreparedFormula",
    "Problem",
    "Proof",
    "Quantifier",
    "Semantics",
    "SourceText",
    "Span",
    "TooHardError",
    "Value",
    "Variable",
    "Verification",
    "Vocabulary",
    "VocabularyError",
    "World",
    "asks_for_objects",
    "atoms",
    "best_binding",
    "bound_variables",
    "check",
    "children",
    "clauses",
    "closest_match",
    "complexity",
    "component_sizes",
    "expand_distinct",
    "expand_strict_forall",
    "free_variables",
    "map_children",
    "members",
    "parse",
    "prepare_formula",
    "rename_apart",
    "subformulas",
    "to_prenex",
    "to_pretty_text",
    "to_text",
    "try_parse",
    "verify",
    "vocabulary",
    "vocabulary_names",
]
