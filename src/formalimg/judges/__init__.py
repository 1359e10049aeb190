"""Judges: from a picture to a verdict."""

from formalimg.judges.judge import Grounder, Grounding, Judge, Picture
from formalimg.judges.opening import open_grounder, open_judge
from formalimg.judges.scene_judge import SceneJudge, judge_grounding
from formalimg.judges.verdict import Part, Unscored, UnscoredReason, Verdict

__all__ = [
    "Grounder",
    "Grounding",
    "Judge",
    "Part",
    "Picture",
    "SceneJudge",
    "Unscored",
    "UnscoredReason",
    "Verdict",
    "judge_grounding",
    "open_grounder",
    "open_judge",
]
