"""Suites: benchmarks as items, how they are made, and how they are brought here."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.suites.cfworld.group import Group
from formalimg.suites.cfworld.names import (
    CF_WORLD,
    CF_WORLD_ATTRIBUTES,
    CF_WORLD_DENOMINALISED,
    CF_WORLD_RULES,
    CF_WORLD_SUITES,
    TAGGED_BY_FIELD,
)
from formalimg.suites.cfworld.spec import DIMENSIONS, PASS_MARK, CounterfactualSpec, Dimension, WeightedQuestion
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
from formalimg.suites.encoding import decode_item, encode_item
from formalimg.suites.findings import ItemsError
from formalimg.suites.formalimg_data.published import write_published
from formalimg.suites.item import FormulaSpec, Item
from formalimg.suites.items_file import write_items
from formalimg.suites.loading import load
from formalimg.suites.suite import Kind, Suite, suite, suite_names

if TYPE_CHECKING:
    from formalimg.suites.cfworld.checking import GroupProblem, check_group, check_groups
    from formalimg.suites.cfworld.items import denominalised_items, items_of_groups
    from formalimg.suites.cfworld.our_groups import our_groups
    from formalimg.suites.cfworld.our_probes import pair_items, rule_items
    from formalimg.suites.cfworld.probe_questions import pair_spec
    from formalimg.suites.cfworld.published import Published, read_cf_world, tidying_report
    from formalimg.suites.cfworld.questions import template_scores
    from formalimg.suites.cfworld.scores import ScoredQuestion, read_cf_scores
    from formalimg.suites.cfworld.tidying import Tidying, tidied_lines
    from formalimg.suites.cfworld.writing_published import write_counterfactuals
    from formalimg.suites.conceptmix.binding import bind_attributes, bound_concepts
    from formalimg.suites.conceptmix.census import ConceptCensus, take_concept_census
    from formalimg.suites.conceptmix.completing import complete_binding, lacks_measure
    from formalimg.suites.conceptmix.conflicts import Conflict, conflicts
    from formalimg.suites.conceptmix.content import content_of
    from formalimg.suites.conceptmix.counting import count_bindings, count_combinations, most_items
    from formalimg.suites.conceptmix.law import category_law, mean_redraws
    from formalimg.suites.conceptmix.making import ConceptRecipe, make_concept_items
    from formalimg.suites.conceptmix.pools import Difficulty, Pool, Pools, Profile, load_pools
    from formalimg.suites.conceptmix.published import write_sentences
    from formalimg.suites.conceptmix.questions import template_questions
    from formalimg.suites.conceptmix.sampling import ImpossibleDrawError, draw_concepts
    from formalimg.suites.conceptmix.saying import unasked, unsaid
    from formalimg.suites.conceptmix.scores import ScoredImage, read_scores, scores_text
    from formalimg.suites.conceptmix.statements import statements
    from formalimg.suites.conceptmix.tampering import tampering
    from formalimg.suites.exporting import ExportedSuite, Imprint, export_suite
    from formalimg.suites.ontology import implausible
    from formalimg.suites.pulling import Pulled, PullError, Source, pull, source, source_names
    from formalimg.suites.synthesis import Recipe, make_items, take_census
    from formalimg.suites.wording import WordingError, realize, same_meaning_as_written, understand
    from formalimg.suites.wording.dictionary import lexicon

# Most programs neither pull nor make items.
__getattr__ = lazy_exports(
    "formalimg.suites",
    {
        "cfworld.checking": ["GroupProblem", "check_group", "check_groups"],
        "cfworld.items": ["denominalised_items", "items_of_groups"],
        "cfworld.our_groups": ["our_groups"],
        "cfworld.our_probes": ["pair_items", "rule_items"],
        "cfworld.probe_questions": ["pair_spec"],
        "cfworld.published": ["Published", "read_cf_world", "tidying_report"],
        "cfworld.questions": ["template_scores"],
        "cfworld.scores": ["ScoredQuestion", "read_cf_scores"],
        "cfworld.tidying": ["Tidying", "tidied_lines"],
        "cfworld.writing_published": ["write_counterfactuals"],
        "conceptmix.binding": ["bind_attributes", "bound_concepts"],
        "conceptmix.census": ["ConceptCensus", "take_concept_census"],
        "conceptmix.completing": ["complete_binding", "lacks_measure"],
        "conceptmix.conflicts": ["Conflict", "conflicts"],
        "conceptmix.content": ["content_of"],
        "conceptmix.counting": ["count_bindings", "count_combinations", "most_items"],
        "conceptmix.law": ["category_law", "mean_redraws"],
        "conceptmix.making": ["ConceptRecipe", "make_concept_items"],
        "conceptmix.pools": ["Difficulty", "Pool", "Pools", "Profile", "load_pools"],
        "conceptmix.published": ["write_sentences"],
        "conceptmix.questions": ["template_questions"],
        "conceptmix.sampling": ["ImpossibleDrawError", "draw_concepts"],
        "conceptmix.saying": ["unasked", "unsaid"],
        "conceptmix.scores": ["ScoredImage", "read_scores", "scores_text"],
        "conceptmix.statements": ["statements"],
        "conceptmix.tampering": ["tampering"],
        "exporting": ["ExportedSuite", "Imprint", "export_suite"],
        "ontology": ["implausible"],
        "pulling": ["PullError", "Pulled", "Source", "pull", "source", "source_names"],
        "synthesis": ["Recipe", "make_items", "take_census"],
        "wording": ["WordingError", "realize", "same_meaning_as_written", "understand"],
        "wording.dictionary": ["lexicon"],
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
    "Difficulty",
    "DigestError",
    "Dimension",
    "ExportedSuite",
    "FormulaSpec",
    "Group",
    "GroupProblem",
    "ImpossibleDrawError",
    "Imprint",
    "Item",
    "ItemsError",
    "Kind",
    "LayoutForm",
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
    "Tidying",
    "WeightedQuestion",
    "WordingError",
    "bind_attributes",
    "bound_concepts",
    "category_law",
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
    "mean_redraws",
    "most_items",
    "our_groups",
    "pair_items",
    "pair_spec",
    "pull",
    "read_cf_scores",
    "read_cf_world",
    "read_scores",
    "realize",
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
    "tidying_report",
    "unasked",
    "understand",
    "unsaid",
    "write_counterfactuals",
    "write_items",
    "write_published",
    "write_sentences",
]
