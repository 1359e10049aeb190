"""The judge that asks a chat model one yes/no question for each concept that an image must show."""

from formalimg.judges.question_judge.judge import REQUESTS, QuestionJudge

__all__ = ["REQUESTS", "QuestionJudge"]
