"""Judges: from a picture to a verdict."""

from formalimg.judges.judge import Grounder, Grounding, Judge, Picture
from formalimg.judges.verdict import Part, Unscored, UnscoredReason, Verdict

__all__ = ["Grounder", "Grounding", "Judge", "Part", "Picture", "Unscored", "UnscoredReason", "Verdict"]
