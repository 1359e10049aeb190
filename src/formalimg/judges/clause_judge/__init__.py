"""The judge that asks a chat model, clause by clause, whether an image shows what a formula says."""

from formalimg.judges.clause_judge.judge import ANSWERS, DECIDERS, ClauseJudge

__all__ = ["ANSWERS", "DECIDERS", "ClauseJudge"]
