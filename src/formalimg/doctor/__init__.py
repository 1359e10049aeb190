"""The doctor: is this installation fit to give numbers that can be trusted?"""

from formalimg.doctor.checks import Answer, Finding, examine, try_known_answers

__all__ = ["Answer", "Finding", "examine", "try_known_answers"]
