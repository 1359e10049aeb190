"""The studies that CF-World has: scores of people and of two judges, calibration of its gate, and diagnosis."""

from __future__ import annotations

from formalimg.human_eval.agreement.study_tables import OwnStudy, StudyName


def find_own_study(name: StudyName) -> OwnStudy | None:
    """Return the study of this name; only its own modules are loaded."""
    match name:
        case "human scores":
            from formalimg.benchmarks.cfworld.human_scores import study_human_scores
            from formalimg.human_eval.agreement.consistency import human_scores_table, human_scores_text

            return OwnStudy(study_human_scores, human_scores_text, human_scores_table)
        case "judge scores":
            from formalimg.benchmarks.cfworld.judge_scores import compare_scores
            from formalimg.human_eval.agreement.studies import agreement_text, study_table

            return OwnStudy(compare_scores, agreement_text, study_table)
        case "calibrate":
            from formalimg.benchmarks.cfworld.calibration import calibrate_gate
            from formalimg.benchmarks.cfworld.calibration_tables import calibration_table, calibration_text

            return OwnStudy(calibrate_gate, calibration_text, calibration_table)
        case "diagnose":
            from formalimg.benchmarks.cfworld.diagnosis import diagnose
            from formalimg.benchmarks.cfworld.diagnosis_tables import diagnosis_table, diagnosis_text

            return OwnStudy(diagnose, diagnosis_text, diagnosis_table)
        case _:
            return None
