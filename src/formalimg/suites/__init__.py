"""Suites: benchmarks as items; synthesis, loading, download and export of items."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.suites.cfworld.spec import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CF_WORLD_SUITES,
    DIMENSIONS,
    PASS_MARK,
    TAGGED_BY_FIELD,
    CounterfactualSpec,
    Dimension,
    Group,
    WeightedQuestion,
)
from formalimg.suites.conceptmix.spec import (
    ATTRIBUTES,
    CATEGORIES,
    AskedConcept,
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Category,
    Concept,
    ConceptSpec,
    Relation,
)
from formalimg.suites.conditions import Condition, LayoutForm, Sent, StyleText
from formalimg.suites.defaults import DigestError, default_digest, instruction_digest
from formalimg.suites.formula.published import write_published
from formalimg.suites.formula.spec import FormulaSpec
from formalimg.suites.item import Item
from formalimg.suites.items_file import decode_item, encode_item, write_items
from formalimg.suites.loader import load
from formalimg.suites.record import ItemsError
from formalimg.suites.registry import JudgeKind, Kind, PartTerms, Suite, SuiteKind, suite, suite_names

if TYPE_CHECKING:
    from formalimg.suites.cfworld.group_checks import GroupProblem, check_group, check_groups
    from formalimg.suites.cfworld.items import denominalised_items, items_of_groups, our_groups, pair_items, rule_items
    from formalimg.suites.cfworld.published import Published, read_cf_world, repair_report
    from formalimg.suites.cfworld.published_groups import write_published_groups
    from formalimg.suites.cfworld.published_records import DataRepair, tidied_lines
    from formalimg.suites.cfworld.questions import pair_spec, template_scores
    from formalimg.suites.cfworld.scores import ScoredQuestion, read_cf_scores
    from formalimg.suites.conceptmix.binding import bind_attributes, bound_concepts, tampering
    from formalimg.suites.conceptmix.completion import complete_binding, lacks_measure
    from formalimg.suites.conceptmix.conflicts import Conflict, conflicts
    from formalimg.suites.conceptmix.generation import (
        ConceptCensus,
        ConceptRecipe,
        content_of,
        count_bindings,
        count_combinations,
        make_concept_items,
        most_items,
        take_concept_census,
    )
    from formalimg.suites.conceptmix.pools import Difficulty, Pool, Pools, Profile, load_pools
    from formalimg.suites.conceptmix.prompt_check import unasked, unsaid
    from formalimg.suites.conceptmix.published import ScoredImage, read_scores, scores_text, write_sentences
    from formalimg.suites.conceptmix.questions import statements, template_questions
    from formalimg.suites.conceptmix.sampling import (
        InfeasibleDrawError,
        category_distribution,
        draw_concepts,
        expected_redraws,
    )
    from formalimg.suites.download import Pulled, PullError, Source, pull, source, source_names
    from formalimg.suites.export import ExportedSuite, Imprint, export_suite
    from formalimg.suites.formula.census import take_census
    from formalimg.suites.formula.ontology import implausible
    from formalimg.suites.formula.synthesis import Recipe, make_items
    from formalimg.suites.formula.wording import WordingError, realize, same_meaning_as_written, understand
    from formalimg.suites.formula.wording.lexicon import lexicon

# Most programs neither pull nor make items.
__getattr__ = lazy_exports(
    "formalimg.suites",
    {
        "cfworld.group_checks": ["GroupProblem", "check_group", "check_groups"],
        "cfworld.items": ["denominalised_items", "items_of_groups", "our_groups", "pair_items", "rule_items"],
        "cfworld.questions": ["pair_spec", "template_scores"],
        "cfworld.published": ["Published", "read_cf_world", "repair_report"],
        "cfworld.scores": ["ScoredQuestion", "read_cf_scores"],
        "cfworld.published_records": ["DataRepair", "tidied_lines"],
        "cfworld.published_groups": ["write_published_groups"],
        "conceptmix.binding": ["bind_attributes", "bound_concepts", "tampering"],
        "conceptmix.generation": [
            "ConceptCensus",
            "ConceptRecipe",
            "content_of",
            "count_bindings",
            "count_combinations",
            "make_concept_items",
            "most_items",
            "take_concept_census",
        ],
        "conceptmix.completion": ["complete_binding", "lacks_measure"],
        "conceptmix.conflicts": ["Conflict", "conflicts"],
        "conceptmix.sampling": ["InfeasibleDrawError", "category_distribution", "draw_concepts", "expected_redraws"],
        "conceptmix.pools": ["Difficulty", "Pool", "Pools", "Profile", "load_pools"],
        "conceptmix.published": ["ScoredImage", "read_scores", "scores_text", "write_sentences"],
        "conceptmix.questions": ["statements", "template_questions"],
        "conceptmix.prompt_check": ["unasked", "unsaid"],
        "export": ["ExportedSuite", "Imprint", "export_suite"],
        "formula.ontology": ["implausible"],
        "download": ["PullError", "Pulled", "Source", "pull", "source", "source_names"],
        "formula.census": ["take_census"],
        "formula.synthesis": ["Recipe", "make_items"],
        "formula.wording": ["WordingError", "realize", "same_meaning_as_written", "understand"],
        "formula.wording.lexicon": ["lexicon"],
    },
)

__all__ = [
    "ATTRIBUTES",
    "CATEGORIES",
    "CF_WORLD",
    "CF_WORLD_ATTRIBUTES",
    "CF_WORLD_DENOMINALISED",
    "CF_WORLD_RULES",
    "CF_WORLD_SUITES",
    "DIMENSIONS",
    "PASS_MARK",
    "TAGGED_BY_FIELD",
    "AskedConcept",
    "Binding",
    "BindingError",
    "BoundConcept",
    "BoundObject",
    "Category",
    "Concept",
    "ConceptCensus",
    "ConceptRecipe",
    "ConceptSpec",
    "Condition",
    "Conflict",
    "CounterfactualSpec",
    "DataRepair",
    "Difficulty",
    "DigestError",
    "Dimension",
    "ExportedSuite",
    "FormulaSpec",
    "Group",
    "GroupProblem",
    "Imprint",
    "InfeasibleDrawError",
    "Item",
    "ItemsError",
    "JudgeKind",
    "Kind",
    "LayoutForm",
    "PartTerms",
    "Pool",
    "Pools",
    "Profile",
    "Published",
    "PullError",
    "Pulled",
    "Recipe",
    "Relation",
    "ScoredImage",
    "ScoredQuestion",
    "Sent",
    "Source",
    "StyleText",
    "Suite",
    "SuiteKind",
    "WeightedQuestion",
    "WordingError",
    "bind_attributes",
    "bound_concepts",
    "category_distribution",
    "check_group",
    "check_groups",
    "complete_binding",
    "conflicts",
    "content_of",
    "count_bindings",
    "count_combinations",
    "decode_item",
    "default_digest",
    "denominalised_items",
    "draw_concepts",
    "encode_item",
    "expected_redraws",
    "export_suite",
    "implausible",
    "instruction_digest",
    "items_of_groups",
    "lacks_measure",
    "lexicon",
    "load",
    "load_pools",
    "make_concept_items",
    "make_items",
    "most_items",
    "our_groups",
    "pair_items",
    "pair_spec",
    "pull",
    "read_cf_scores",
    "read_cf_world",
    "read_scores",
    "realize",
    "repair_report",
    "rule_items",
    "same_meaning_as_written",
    "scores_text",
    "source",
    "source_names",
    "statements",
    "suite",
    "suite_names",
    "take_census",
    "take_concept_census",
    "tampering",
    "template_questions",
    "template_scores",
    "tidied_lines",
    "unasked",
    "understand",
    "unsaid",
    "write_items",
    "write_published",
    "write_published_groups",
    "write_sentences",
]
