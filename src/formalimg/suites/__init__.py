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
    PASS_THRESHOLD,
    CounterfactualGroup,
    CounterfactualSpec,
    Dimension,
    WeightedQuestion,
)
from formalimg.suites.conceptmix.spec import (
    ATTRIBUTES,
    CATEGORIES,
    Binding,
    BindingError,
    BoundConcept,
    BoundObject,
    Category,
    Concept,
    ConceptSpec,
    RequestedConcept,
    SpatialRelation,
)
from formalimg.suites.conditions import STYLES, Condition, LayoutForm, ModelInput, StyleText
from formalimg.suites.defaults import DigestError, default_digest, instruction_digest
from formalimg.suites.formula.spec import FormulaSpec
from formalimg.suites.item import Item
from formalimg.suites.items_file import decode_item, encode_item, write_items
from formalimg.suites.loader import LoadedItems, load, load_with_skipped
from formalimg.suites.odd_records import (
    NO_PROMPT,
    ODD_TAGS,
    SkippedRecord,
    count_odd,
    odd_lines,
    odd_tags,
    odd_text,
    plain_tags,
)
from formalimg.suites.record import ItemsError, free_name
from formalimg.suites.registry import JudgeKind, Kind, PartTerms, Suite, SuiteKind, World, suite, suite_names

if TYPE_CHECKING:
    from formalimg.suites.cfworld.group_checks import GroupProblem, check_group, check_groups, find_comparison
    from formalimg.suites.cfworld.items import (
        builtin_groups,
        denominalised_items,
        items_of_groups,
        pair_items,
        rule_items,
    )
    from formalimg.suites.cfworld.published import PublishedItems, read_cf_world, repair_report
    from formalimg.suites.cfworld.published_groups import write_published_groups
    from formalimg.suites.cfworld.published_records import DataRepair, format_repairs
    from formalimg.suites.cfworld.questions import pair_spec, template_score_questions
    from formalimg.suites.cfworld.scores import (
        CfWorldFile,
        ScoredQuestion,
        cf_score_record,
        cf_world_file,
        read_cf_scores,
    )
    from formalimg.suites.conceptmix.binding import bind_attributes, binding_changes, bound_concepts
    from formalimg.suites.conceptmix.completion import complete_binding, lacks_size_reference
    from formalimg.suites.conceptmix.conflicts import Conflict, find_conflicts
    from formalimg.suites.conceptmix.generation import (
        ConceptCensus,
        ConceptRecipe,
        concept_census,
        content_key,
        count_bindings,
        count_combinations,
        generate_concept_items,
        max_items,
    )
    from formalimg.suites.conceptmix.plausibility import ObjectFacts, pool_objects, reference_objects
    from formalimg.suites.conceptmix.pools import Difficulty, Pool, PoolProfile, Pools, load_pools
    from formalimg.suites.conceptmix.prompt_check import extra_concepts, missing_concepts
    from formalimg.suites.conceptmix.published import ScoredImage, format_scores, read_scores, write_published_prompts
    from formalimg.suites.conceptmix.questions import concept_statements, template_questions
    from formalimg.suites.conceptmix.sampling import (
        InfeasibleDrawError,
        category_distribution,
        draw_concepts,
        expected_redraws,
    )
    from formalimg.suites.conceptmix.vocabulary import NounForms, noun_forms
    from formalimg.suites.download import BenchmarkSource, PullError, PullResult, pull, source, source_names
    from formalimg.suites.drawn_requests import NothingToDrawError, drawn_request, undrawable_because
    from formalimg.suites.export import (
        ExportedSuite,
        PromptFormat,
        PublisherInfo,
        export_suite,
        format_prompts,
        prompt_rows,
    )
    from formalimg.suites.formula.census import count_contents
    from formalimg.suites.formula.ontology import find_implausible
    from formalimg.suites.formula.published import write_published
    from formalimg.suites.formula.published_verdicts import (
        PublishedVerdict,
        format_clause_verdict,
        format_scene_verdict,
        read_verdict_files,
    )
    from formalimg.suites.formula.synthesis import Recipe, make_items
    from formalimg.suites.formula.wording import (
        WordingError,
        clause_in_words,
        is_equivalent_as_written,
        parse_prompt,
        realize,
        understand,
    )
    from formalimg.suites.formula.wording.lexicon import lexicon
    from formalimg.suites.geneval.formulas import TranslatedClause, to_formula, translate
    from formalimg.suites.geneval.rule import DetectionVerdict, RuleCheck, official_verdict
    from formalimg.suites.geneval.spec import OBJECT_COLORS, IncludedObjects, ObjectSpec
    from formalimg.suites.questions.files import read_questions
    from formalimg.suites.questions.spec import (
        MAX_QUESTIONS,
        QUESTION_CATEGORIES,
        GraphQuestion,
        QuestionSpec,
        Zeroing,
        find_graph_problem,
        whole_question,
    )

# Most programs neither pull nor make items.
__getattr__ = lazy_exports(
    "formalimg.suites",
    {
        "cfworld.group_checks": ["GroupProblem", "check_group", "check_groups", "find_comparison"],
        "cfworld.items": ["denominalised_items", "items_of_groups", "builtin_groups", "pair_items", "rule_items"],
        "cfworld.questions": ["pair_spec", "template_score_questions"],
        "cfworld.published": ["PublishedItems", "read_cf_world", "repair_report"],
        "cfworld.scores": ["CfWorldFile", "ScoredQuestion", "cf_score_record", "cf_world_file", "read_cf_scores"],
        "cfworld.published_records": ["DataRepair", "format_repairs"],
        "cfworld.published_groups": ["write_published_groups"],
        "conceptmix.binding": ["bind_attributes", "bound_concepts", "binding_changes"],
        "conceptmix.generation": [
            "ConceptCensus",
            "ConceptRecipe",
            "content_key",
            "count_bindings",
            "count_combinations",
            "generate_concept_items",
            "max_items",
            "concept_census",
        ],
        "conceptmix.completion": ["complete_binding", "lacks_size_reference"],
        "conceptmix.conflicts": ["Conflict", "find_conflicts"],
        "conceptmix.sampling": ["InfeasibleDrawError", "category_distribution", "draw_concepts", "expected_redraws"],
        "conceptmix.plausibility": ["ObjectFacts", "pool_objects", "reference_objects"],
        "conceptmix.vocabulary": ["NounForms", "noun_forms"],
        "drawn_requests": ["NothingToDrawError", "drawn_request", "undrawable_because"],
        "conceptmix.pools": ["Difficulty", "Pool", "Pools", "PoolProfile", "load_pools"],
        "conceptmix.published": ["ScoredImage", "read_scores", "format_scores", "write_published_prompts"],
        "conceptmix.questions": ["concept_statements", "template_questions"],
        "conceptmix.prompt_check": ["extra_concepts", "missing_concepts"],
        "export": [
            "ExportedSuite",
            "PromptFormat",
            "PublisherInfo",
            "export_suite",
            "format_prompts",
            "prompt_rows",
        ],
        "formula.ontology": ["find_implausible"],
        "formula.published": ["write_published"],
        "formula.published_verdicts": [
            "PublishedVerdict",
            "format_clause_verdict",
            "format_scene_verdict",
            "read_verdict_files",
        ],
        "download": ["PullError", "PullResult", "BenchmarkSource", "pull", "source", "source_names"],
        "formula.census": ["count_contents"],
        "formula.synthesis": ["Recipe", "make_items"],
        "formula.wording": [
            "WordingError",
            "clause_in_words",
            "realize",
            "is_equivalent_as_written",
            "parse_prompt",
            "understand",
        ],
        "formula.wording.lexicon": ["lexicon"],
        "geneval.formulas": ["TranslatedClause", "to_formula", "translate"],
        "geneval.rule": ["DetectionVerdict", "RuleCheck", "official_verdict"],
        "geneval.spec": ["OBJECT_COLORS", "IncludedObjects", "ObjectSpec"],
        "questions.files": ["read_questions"],
        "questions.spec": [
            "MAX_QUESTIONS",
            "QUESTION_CATEGORIES",
            "GraphQuestion",
            "QuestionSpec",
            "Zeroing",
            "find_graph_problem",
            "whole_question",
        ],
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
    "MAX_QUESTIONS",
    "NO_PROMPT",
    "OBJECT_COLORS",
    "ODD_TAGS",
    "PASS_THRESHOLD",
    "QUESTION_CATEGORIES",
    "STYLES",
    "BenchmarkSource",
    "Binding",
    "BindingError",
    "BoundConcept",
    "BoundObject",
    "Category",
    "CfWorldFile",
    "Concept",
    "ConceptCensus",
    "ConceptRecipe",
    "ConceptSpec",
    "Condition",
    "Conflict",
    "CounterfactualGroup",
    "CounterfactualSpec",
    "DataRepair",
    "DetectionVerdict",
    "Difficulty",
    "DigestError",
    "Dimension",
    "ExportedSuite",
    "FormulaSpec",
    "GraphQuestion",
    "GroupProblem",
    "IncludedObjects",
    "InfeasibleDrawError",
    "Item",
    "ItemsError",
    "JudgeKind",
    "Kind",
    "LayoutForm",
    "LoadedItems",
    "ModelInput",
    "NothingToDrawError",
    "NounForms",
    "ObjectFacts",
    "ObjectSpec",
    "PartTerms",
    "Pool",
    "PoolProfile",
    "Pools",
    "PromptFormat",
    "PublishedItems",
    "PublishedVerdict",
    "PublisherInfo",
    "PullError",
    "PullResult",
    "QuestionSpec",
    "Recipe",
    "RequestedConcept",
    "RuleCheck",
    "ScoredImage",
    "ScoredQuestion",
    "SkippedRecord",
    "SpatialRelation",
    "StyleText",
    "Suite",
    "SuiteKind",
    "TranslatedClause",
    "WeightedQuestion",
    "WordingError",
    "World",
    "Zeroing",
    "bind_attributes",
    "binding_changes",
    "bound_concepts",
    "builtin_groups",
    "category_distribution",
    "cf_score_record",
    "cf_world_file",
    "check_group",
    "check_groups",
    "clause_in_words",
    "complete_binding",
    "concept_census",
    "concept_statements",
    "content_key",
    "count_bindings",
    "count_combinations",
    "count_contents",
    "count_odd",
    "decode_item",
    "default_digest",
    "denominalised_items",
    "draw_concepts",
    "drawn_request",
    "encode_item",
    "expected_redraws",
    "export_suite",
    "extra_concepts",
    "find_comparison",
    "find_conflicts",
    "find_graph_problem",
    "find_implausible",
    "format_clause_verdict",
    "format_prompts",
    "format_repairs",
    "format_scene_verdict",
    "format_scores",
    "free_name",
    "generate_concept_items",
    "instruction_digest",
    "is_equivalent_as_written",
    "items_of_groups",
    "lacks_size_reference",
    "lexicon",
    "load",
    "load_pools",
    "load_with_skipped",
    "make_items",
    "max_items",
    "missing_concepts",
    "noun_forms",
    "odd_lines",
    "odd_tags",
    "odd_text",
    "official_verdict",
    "pair_items",
    "pair_spec",
    "parse_prompt",
    "plain_tags",
    "pool_objects",
    "prompt_rows",
    "pull",
    "read_cf_scores",
    "read_cf_world",
    "read_questions",
    "read_scores",
    "read_verdict_files",
    "realize",
    "reference_objects",
    "repair_report",
    "rule_items",
    "source",
    "source_names",
    "suite",
    "suite_names",
    "template_questions",
    "template_score_questions",
    "to_formula",
    "translate",
    "understand",
    "undrawable_because",
    "whole_question",
    "write_items",
    "write_published",
    "write_published_groups",
    "write_published_prompts",
]
