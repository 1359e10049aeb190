"""The judge that asks a chat model for a score on each weighted question about an image."""

from formalimg.judges.score_judge.judge import ANSWERS, ScoreJudge
from formalimg.judges.score_judge.personas import PERSONAS, persona_of

__all__ = ["ANSWERS", "PERSONAS", "ScoreJudge", "persona_of"]
