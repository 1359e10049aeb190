"""Judges: from an image to a verdict."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports
from formalimg.judges.judge import Grounder, Grounding, Judge, LoadedImage
from formalimg.judges.layout_judge import LayoutJudge
from formalimg.judges.opening import open_grounder, open_judge
from formalimg.judges.scene_judge import SceneJudge, clause_parts, formula_part, judge_grounding
from formalimg.judges.verdict import Part, Unscored, UnscoredReason, Verdict

if TYPE_CHECKING:
    from formalimg.judges.certification import (
        CONDITIONS,
        MIN_OVERLAP,
        PUBLISHED_PARSER,
        Certificate,
        Match,
        Reading,
        certify,
        impostors,
        match,
        random_scenes,
    )
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.icons import IconGrounder, ground_icons
    from formalimg.judges.question_judge import QuestionJudge
    from formalimg.judges.score_judge import ScoreJudge
    from formalimg.judges.vlm_grounder import BoxConvention, VlmGrounder, box_convention

# These need numpy, image libraries or pydantic.
__getattr__ = lazy_exports(
    "formalimg.judges",
    {
        "certification": [
            "CONDITIONS",
            "MIN_OVERLAP",
            "PUBLISHED_PARSER",
            "Certificate",
            "Match",
            "Reading",
            "certify",
            "impostors",
            "match",
            "random_scenes",
        ],
        "clause_judge": ["ClauseJudge"],
        "icons": ["IconGrounder", "ground_icons"],
        "question_judge": ["QuestionJudge"],
        "score_judge": ["ScoreJudge"],
        "vlm_grounder": ["BoxConvention", "VlmGrounder", "box_convention"],
    },
)

__all__ = [
    "CONDITIONS",
    "MIN_OVERLAP",
    "PUBLISHED_PARSER",
    "BoxConvention",
    "Certificate",
    "ClauseJudge",
    "Grounder",
    "Grounding",
    "IconGrounder",
    "Judge",
    "LayoutJudge",
    "LoadedImage",
    "Match",
    "Part",
    "QuestionJudge",
    "Reading",
    "SceneJudge",
    "ScoreJudge",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "VlmGrounder",
    "box_convention",
    "certify",
    "clause_parts",
    "formula_part",
    "ground_icons",
    "impostors",
    "judge_grounding",
    "match",
    "open_grounder",
    "open_judge",
    "random_scenes",
]
