"""The doctor: check whether this installation gives the known answers, and what is missing (`formalimg doctor`)."""

from formalimg.doctor.checks import DoctorCheck, KnownAnswer, check_known_answers, run_checks

__all__ = ["DoctorCheck", "KnownAnswer", "check_known_answers", "run_checks"]
