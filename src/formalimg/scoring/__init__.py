"""Scoring of any image by any prompt: no suite is needed, and everything is kept in a run folder."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.scoring.given_images import GivenImage, GivenImages, find_image_files
    from formalimg.scoring.prompt_files import pair_images
    from formalimg.scoring.prompt_items import (
        FORMS,
        FREE_PROMPTS,
        TYPICAL_QUESTIONS,
        PromptForm,
        PromptItemBuilder,
        PromptItems,
    )
    from formalimg.scoring.score_tables import score_table
    from formalimg.scoring.scoring import Score, Scores, Scoring, open_scoring, question_text, score
    from formalimg.scoring.translation import (
        FormulaTranslator,
        Translation,
        TranslationWords,
        read_prompts,
        shares,
        translate_by_reader,
        translation_words,
    )
    from formalimg.scoring.writer import QuestionWriter

# Lazy, because `import formalimg` names it.
__getattr__ = lazy_exports(
    "formalimg.scoring",
    {
        "given_images": ["GivenImage", "GivenImages", "find_image_files"],
        "prompt_files": ["pair_images"],
        "prompt_items": [
            "FORMS",
            "FREE_PROMPTS",
            "TYPICAL_QUESTIONS",
            "PromptForm",
            "PromptItemBuilder",
            "PromptItems",
        ],
        "score_tables": ["score_table"],
        "scoring": ["Score", "Scores", "Scoring", "open_scoring", "question_text", "score"],
        "translation": [
            "FormulaTranslator",
            "Translation",
            "TranslationWords",
            "read_prompts",
            "shares",
            "translate_by_reader",
            "translation_words",
        ],
        "writer": ["QuestionWriter"],
    },
)

__all__ = [
    "FORMS",
    "FREE_PROMPTS",
    "TYPICAL_QUESTIONS",
    "FormulaTranslator",
    "GivenImage",
    "GivenImages",
    "PromptForm",
    "PromptItemBuilder",
    "PromptItems",
    "QuestionWriter",
    "Score",
    "Scores",
    "Scoring",
    "Translation",
    "TranslationWords",
    "find_image_files",
    "open_scoring",
    "pair_images",
    "question_text",
    "read_prompts",
    "score",
    "score_table",
    "shares",
    "translate_by_reader",
    "translation_words",
]
