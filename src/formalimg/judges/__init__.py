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
from formalimg.judges.registry import (
    DRAWN,
    PROTOCOLS,
    Protocol,
    check_protocol,
    open_grounder,
    open_judge,
    open_prompt_judge,
)
from formalimg.judges.scene_judge import LayoutJudge, SceneJudge, clause_parts, formula_part, judge_grounding

if TYPE_CHECKING:
    from formalimg.judges.callable_judge import CallableJudge
    from formalimg.judges.certificates.anchors import (
        ANCHOR_FILE,
        AnchorImage,
        AnchorSet,
        StoredLook,
        anchor_text,
        look_again,
        make_anchor,
        read_anchor,
    )
    from formalimg.judges.certificates.certificate import (
        AnswerCounts,
        CountedShare,
        InvarianceCounts,
        JudgeCertificate,
        read_certificate,
    )
    from formalimg.judges.certificates.flipped_scenes import FlippedScene, flipped_scenes
    from formalimg.judges.certificates.measurement import certify_judge, images_of
    from formalimg.judges.certificates.nuisances import NUISANCES
    from formalimg.judges.certification import (
        PUBLISHED_PARSER,
        Certificate,
        ConditionResult,
        certify,
        images_to_certify,
    )
    from formalimg.judges.certification_images import CONDITIONS, impostors, random_scenes
    from formalimg.judges.clause_judge import ClauseJudge
    from formalimg.judges.composition_judge import COMPOSITION_PROFILES, CompositionJudge, profile_scores
    from formalimg.judges.drawn_judge import DRAWN_NOTE, DrawnJudge
    from formalimg.judges.failures import FailureSentence, failed_parts, failure_sentences, failure_text
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
    from formalimg.judges.observations import (
        BoxCount,
        DroppedBox,
        clause_disagreement,
        count_boxes,
        explanation_title,
        has_clause_verdicts,
        other_labels_text,
        served_models,
    )
    from formalimg.judges.preflight import PreflightResult, check_judge, needs_preflight
    from formalimg.judges.prompt_judge import PromptJudge
    from formalimg.judges.published.judges import PublishedClauseJudge, PublishedQuestionJudge, PublishedSceneJudge
    from formalimg.judges.published.score_judge import PublishedScoreJudge
    from formalimg.judges.published.verification import PublishedLayoutJudge, judge_objects
    from formalimg.judges.question_graph_judge import QuestionGraphJudge, graph_verdict
    from formalimg.judges.question_judge import QuestionJudge
    from formalimg.judges.recorded_models import EvidenceError
    from formalimg.judges.score_judge import ScoreJudge
    from formalimg.judges.stored_evidence import RecordedJudge, UnknownJudgeError, open_local_judge

# Lazy, because these need numpy, image libraries or pydantic, or belong to studies of judges.
__getattr__ = lazy_exports(
    "formalimg.judges",
    {
        "callable_judge": ["CallableJudge"],
        "certification": [
            "PUBLISHED_PARSER",
            "Certificate",
            "ConditionResult",
            "certify",
            "images_to_certify",
        ],
        "certification_images": ["CONDITIONS", "impostors", "random_scenes"],
        "certificates.anchors": [
            "ANCHOR_FILE",
            "AnchorImage",
            "AnchorSet",
            "StoredLook",
            "anchor_text",
            "look_again",
            "make_anchor",
            "read_anchor",
        ],
        "certificates.certificate": [
            "AnswerCounts",
            "CountedShare",
            "InvarianceCounts",
            "JudgeCertificate",
            "read_certificate",
        ],
        "certificates.flipped_scenes": ["FlippedScene", "flipped_scenes"],
        "certificates.measurement": ["certify_judge", "images_of"],
        "certificates.nuisances": ["NUISANCES"],
        "clause_judge": ["ClauseJudge"],
        "composition_judge": ["COMPOSITION_PROFILES", "CompositionJudge", "profile_scores"],
        "drawn_judge": ["DRAWN_NOTE", "DrawnJudge"],
        "grounders.icons": ["IconGrounder", "ground_icons"],
        "preflight": ["PreflightResult", "check_judge", "needs_preflight"],
        "published.judges": ["PublishedClauseJudge", "PublishedQuestionJudge", "PublishedSceneJudge"],
        "published.score_judge": ["PublishedScoreJudge"],
        "published.verification": ["PublishedLayoutJudge", "judge_objects"],
        "prompt_judge": ["PromptJudge"],
        "question_graph_judge": ["QuestionGraphJudge", "graph_verdict"],
        "question_judge": ["QuestionJudge"],
        "score_judge": ["ScoreJudge"],
        "recorded_models": ["EvidenceError"],
        "stored_evidence": ["RecordedJudge", "UnknownJudgeError", "open_local_judge"],
        "grounders.boxes": ["BoxConvention", "box_convention"],
        "grounders.vlm": ["VlmGrounder"],
        "failures": ["FailureSentence", "failed_parts", "failure_sentences", "failure_text"],
        "grounding_files": [
            "GroundedImages",
            "GroundingFileJudge",
            "GroundingFolder",
            "find_grounding_folders",
            "read_grounding_file",
        ],
        "iou": ["MIN_OVERLAP", "Match", "match"],
        "observations": [
            "BoxCount",
            "DroppedBox",
            "clause_disagreement",
            "count_boxes",
            "explanation_title",
            "has_clause_verdicts",
            "other_labels_text",
            "served_models",
        ],
    },
)

__all__ = [
    "ANCHOR_FILE",
    "COMPOSITION_PROFILES",
    "CONDITIONS",
    "DECLINED",
    "DRAWN",
    "DRAWN_NOTE",
    "MIN_OVERLAP",
    "NUISANCES",
    "PROTOCOLS",
    "PUBLISHED_PARSER",
    "AnchorImage",
    "AnchorSet",
    "AnswerCounts",
    "BoxConvention",
    "BoxCount",
    "CallableJudge",
    "Certificate",
    "ClauseJudge",
    "CompositionJudge",
    "ConditionResult",
    "CountedShare",
    "DrawnJudge",
    "DroppedBox",
    "EvidenceError",
    "FailureSentence",
    "FlippedScene",
    "GroundedImages",
    "Grounder",
    "Grounding",
    "GroundingFileJudge",
    "GroundingFolder",
    "IconGrounder",
    "InvarianceCounts",
    "Judge",
    "JudgeCertificate",
    "LayoutJudge",
    "LoadedImage",
    "Match",
    "Part",
    "PreflightResult",
    "PromptJudge",
    "Protocol",
    "PublishedClauseJudge",
    "PublishedLayoutJudge",
    "PublishedQuestionJudge",
    "PublishedSceneJudge",
    "PublishedScoreJudge",
    "QuestionGraphJudge",
    "QuestionJudge",
    "RecordedJudge",
    "SceneJudge",
    "ScoreJudge",
    "StoredLook",
    "UnknownJudgeError",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "VlmGrounder",
    "anchor_text",
    "box_convention",
    "certify",
    "certify_judge",
    "check_judge",
    "check_protocol",
    "clause_disagreement",
    "clause_parts",
    "count_boxes",
    "explanation_title",
    "failed_parts",
    "failure_sentences",
    "failure_text",
    "find_grounding_folders",
    "flipped_scenes",
    "formula_part",
    "graph_verdict",
    "ground_icons",
    "has_clause_verdicts",
    "images_of",
    "images_to_certify",
    "impostors",
    "judge_grounding",
    "judge_objects",
    "look_again",
    "make_anchor",
    "match",
    "needs_preflight",
    "open_grounder",
    "open_judge",
    "open_local_judge",
    "open_prompt_judge",
    "other_labels_text",
    "profile_scores",
    "random_scenes",
    "read_anchor",
    "read_certificate",
    "read_grounding_file",
    "served_models",
]
