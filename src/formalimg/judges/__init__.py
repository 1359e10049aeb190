"""Judges: from an image to a verdict."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.judges.base import (
    DECLINED,
    Grounder,
    Grounding,
    Judge,
    LoadedImage,
    Part,
    Unscored,
    UnscoredReason,
    Verdict,
)
from formalimg.judges.registry import PROTOCOLS, Protocol, check_protocol, open_grounder, open_judge
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge, clause_parts, formula_part, judge_grounding

if TYPE_CHECKING:
    from formalimg.judges.certification import (
        PUBLISHED_PARSER,
        Certificate,
        ConditionResult,
        OverBudgetError,
        certify,
        images_to_certify,
    )
    from formalimg.judges.certification_images import CONDITIONS, impostors, random_scenes
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.grounders.boxes import BoxConvention, box_convention
    from formalimg.judges.grounders.icons import IconGrounder, ground_icons
    from formalimg.judges.grounders.vlm import VlmGrounder
    from formalimg.judges.grounding_files import (
        GroundedImages,
        GroundingFileJudge,
        GroundingFolder,
        find_grounding_folders,
        read_grounding_file,
    )
    from formalimg.judges.iou import MIN_OVERLAP, Match, match
    from formalimg.judges.preflight import PreflightResult, check_judge, needs_preflight
    from formalimg.judges.published.judges import PublishedClauseJudge, PublishedQuestionJudge, PublishedSceneJudge
    from formalimg.judges.published.score_judge import PublishedScoreJudge
    from formalimg.judges.published.verification import PublishedLayoutJudge, judge_objects
    from formalimg.judges.question_judge import QuestionJudge
    from formalimg.judges.score_judge import ScoreJudge

# Lazy, because these need numpy, image libraries or pydantic, or belong to studies of judges.
__getattr__ = lazy_exports(
    "formalimg.judges",
    {
        "certification": [
            "PUBLISHED_PARSER",
            "Certificate",
            "ConditionResult",
            "OverBudgetError",
            "certify",
            "images_to_certify",
        ],
        "certification_images": ["CONDITIONS", "impostors", "random_scenes"],
        "clause_judge": ["ClauseJudge"],
        "grounders.icons": ["IconGrounder", "ground_icons"],
        "preflight": ["PreflightResult", "check_judge", "needs_preflight"],
        "published.judges": ["PublishedClauseJudge", "PublishedQuestionJudge", "PublishedSceneJudge"],
        "published.score_judge": ["PublishedScoreJudge"],
        "published.verification": ["PublishedLayoutJudge", "judge_objects"],
        "question_judge": ["QuestionJudge"],
        "score_judge": ["ScoreJudge"],
        "grounders.boxes": ["BoxConvention", "box_convention"],
        "grounders.vlm": ["VlmGrounder"],
        "grounding_files": [
            "GroundedImages",
            "GroundingFileJudge",
            "GroundingFolder",
            "find_grounding_folders",
            "read_grounding_file",
        ],
        "iou": ["MIN_OVERLAP", "Match", "match"],
    },
)

__all__ = [
    "CONDITIONS",
    "DECLINED",
    "MIN_OVERLAP",
    "PROTOCOLS",
    "PUBLISHED_PARSER",
    "BoxConvention",
    "Certificate",
    "ClauseJudge",
    "ConditionResult",
    "GroundedImages",
    "Grounder",
    "Grounding",
    "GroundingFileJudge",
    "GroundingFolder",
    "IconGrounder",
    "Judge",
    "LayoutJudge",
    "LoadedImage",
    "Match",
    "OverBudgetError",
    "Part",
    "PreflightResult",
    "Protocol",
    "PublishedClauseJudge",
    "PublishedLayoutJudge",
    "PublishedQuestionJudge",
    "PublishedSceneJudge",
    "PublishedScoreJudge",
    "QuestionJudge",
    "SceneJudge",
    "ScoreJudge",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "VlmGrounder",
    "box_convention",
    "certify",
    "check_judge",
    "check_protocol",
    "clause_parts",
    "find_grounding_folders",
    "formula_part",
    "ground_icons",
    "images_to_certify",
    "impostors",
    "judge_grounding",
    "judge_objects",
    "match",
    "needs_preflight",
    "open_grounder",
    "open_judge",
    "random_scenes",
    "read_grounding_file",
]
