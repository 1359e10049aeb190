"""Studies: what runs tell about judges and people, and what captions speak of."""

from typing import TYPE_CHECKING

from formalimg._util.lazy import lazy_exports

if TYPE_CHECKING:
    from formalimg.analysis.agreement_in_words import agreement_table, agreement_text
    from formalimg.analysis.agreement_tables import AgreementTable
    from formalimg.analysis.boxes_studied import Boxes, BoxesStudied, RatersBoxes
    from formalimg.analysis.boxes_study import study_boxes
    from formalimg.analysis.calibration import PAPER_THRESHOLDS, GateCalibrated, calibrate_gate
    from formalimg.analysis.calibration_curve import (
        AtThreshold,
        BestThreshold,
        LabelledScore,
        ThresholdRange,
        at_thresholds,
        best_threshold,
    )
    from formalimg.analysis.calibration_in_words import calibration_table, calibration_text
    from formalimg.analysis.captions.counts import CategoryCounts
    from formalimg.analysis.captions.finding import Mention, find_categories, find_mentions
    from formalimg.analysis.captions.outlook import Outlook, estimate_study
    from formalimg.analysis.captions.reading import Caption, read_captions
    from formalimg.analysis.captions.study import CaptionStudy, study_csv, study_json
    from formalimg.analysis.captions.studying import study_captions
    from formalimg.analysis.captions.terminal import study_table
    from formalimg.analysis.cases import JUDGE, MAJORITY, CaseSaid
    from formalimg.analysis.comparing_judges import compare_judges, compare_records, judge_named
    from formalimg.analysis.comparing_scores import compare_scores
    from formalimg.analysis.conduct import Conduct, RaterConduct, exclude_inattentive
    from formalimg.analysis.consistency_gaps import Bin, ScoreGap, ScorePair, score_gap
    from formalimg.analysis.consistency_in_words import scores_table, scores_text
    from formalimg.analysis.consistency_study import Gaps, ScoresStudied, study_scores
    from formalimg.analysis.corrections import Correction
    from formalimg.analysis.counterfactual_scores import counterfactual_specs, group_scores, image_score
    from formalimg.analysis.diagnosis import Diagnosis, Lexical, diagnose
    from formalimg.analysis.diagnosis_contrast import Contrast, Side
    from formalimg.analysis.diagnosis_in_words import diagnosis_table, diagnosis_text
    from formalimg.analysis.human_ratings import HumanRatings, StudyOfPeople, study_people
    from formalimg.analysis.judges_compared import Disagreement, Fraction, JudgesCompared, JudgeScores, Scored
    from formalimg.analysis.naming_judges import judge_names
    from formalimg.analysis.panels import Panel, RaterScore, Score
    from formalimg.analysis.people import Divergence, PeopleStudied, Share, study_votes
    from formalimg.analysis.people_in_words import people_table, people_tables, people_text
    from formalimg.analysis.points import PointsGiven, read_points
    from formalimg.analysis.points_studied import ImagePoints, MeanPoints, PointsStudied
    from formalimg.analysis.points_study import study_points
    from formalimg.analysis.rater_columns import ColumnsAlpha
    from formalimg.analysis.ratings import Rating, RatingsError, read_human_scores, read_labels
    from formalimg.analysis.scores_compared import QuestionScores, ScoreDisagreement, ScoresApart, ScoresCompared
    from formalimg.analysis.scores_of_people import ImageScores
    from formalimg.analysis.tables_in_words import AgreementFormat
    from formalimg.analysis.votes import Vote, VotesError, read_votes

__getattr__ = lazy_exports(
    "formalimg.analysis",
    {
        "agreement_in_words": ["agreement_table", "agreement_text"],
        "agreement_tables": ["AgreementTable"],
        "boxes_studied": ["Boxes", "BoxesStudied", "RatersBoxes"],
        "boxes_study": ["study_boxes"],
        "calibration": ["PAPER_THRESHOLDS", "GateCalibrated", "calibrate_gate"],
        "calibration_curve": [
            "AtThreshold",
            "BestThreshold",
            "LabelledScore",
            "ThresholdRange",
            "at_thresholds",
            "best_threshold",
        ],
        "calibration_in_words": ["calibration_table", "calibration_text"],
        "captions.counts": ["CategoryCounts"],
        "captions.finding": ["Mention", "find_categories", "find_mentions"],
        "captions.outlook": ["Outlook", "estimate_study"],
        "captions.reading": ["Caption", "read_captions"],
        "captions.study": ["CaptionStudy", "study_csv", "study_json"],
        "captions.studying": ["study_captions"],
        "captions.terminal": ["study_table"],
        "cases": ["JUDGE", "MAJORITY", "CaseSaid"],
        "comparing_judges": ["compare_judges", "compare_records", "judge_named"],
        "comparing_scores": ["compare_scores"],
        "conduct": ["Conduct", "RaterConduct", "exclude_inattentive"],
        "consistency_gaps": ["Bin", "ScoreGap", "ScorePair", "score_gap"],
        "consistency_in_words": ["scores_table", "scores_text"],
        "consistency_study": ["Gaps", "ScoresStudied", "study_scores"],
        "corrections": ["Correction"],
        "counterfactual_scores": ["counterfactual_specs", "group_scores", "image_score"],
        "diagnosis": ["Diagnosis", "Lexical", "diagnose"],
        "diagnosis_contrast": ["Contrast", "Side"],
        "diagnosis_in_words": ["diagnosis_table", "diagnosis_text"],
        "judges_compared": ["Disagreement", "Fraction", "JudgeScores", "JudgesCompared", "Scored"],
        "naming_judges": ["judge_names"],
        "panels": ["Panel", "RaterScore", "Score"],
        "people": ["Divergence", "PeopleStudied", "Share", "study_votes"],
        "people_in_words": ["people_table", "people_tables", "people_text"],
        "human_ratings": ["HumanRatings", "StudyOfPeople", "study_people"],
        "points": ["PointsGiven", "read_points"],
        "points_studied": ["MeanPoints", "ImagePoints", "PointsStudied"],
        "points_study": ["study_points"],
        "rater_columns": ["ColumnsAlpha"],
        "ratings": ["Rating", "RatingsError", "read_human_scores", "read_labels"],
        "scores_compared": ["QuestionScores", "ScoreDisagreement", "ScoresApart", "ScoresCompared"],
        "scores_of_people": ["ImageScores"],
        "tables_in_words": ["AgreementFormat"],
        "votes": ["Vote", "VotesError", "read_votes"],
    },
)

__all__ = [
    "JUDGE",
    "MAJORITY",
    "PAPER_THRESHOLDS",
    "AgreementFormat",
    "AgreementTable",
    "AtThreshold",
    "BestThreshold",
    "Bin",
    "Boxes",
    "BoxesStudied",
    "Caption",
    "CaptionStudy",
    "CaseSaid",
    "CategoryCounts",
    "ColumnsAlpha",
    "Conduct",
    "Contrast",
    "Correction",
    "Diagnosis",
    "Disagreement",
    "Divergence",
    "Fraction",
    "Gaps",
    "GateCalibrated",
    "HumanRatings",
    "ImagePoints",
    "ImageScores",
    "JudgeScores",
    "JudgesCompared",
    "LabelledScore",
    "Lexical",
    "MeanPoints",
    "Mention",
    "Outlook",
    "Panel",
    "PeopleStudied",
    "PointsGiven",
    "PointsStudied",
    "QuestionScores",
    "RaterConduct",
    "RaterScore",
    "RatersBoxes",
    "Rating",
    "RatingsError",
    "Score",
    "ScoreDisagreement",
    "ScoreGap",
    "ScorePair",
    "Scored",
    "ScoresApart",
    "ScoresCompared",
    "ScoresStudied",
    "Share",
    "Side",
    "StudyOfPeople",
    "ThresholdRange",
    "Vote",
    "VotesError",
    "agreement_table",
    "agreement_text",
    "at_thresholds",
    "best_threshold",
    "calibrate_gate",
    "calibration_table",
    "calibration_text",
    "compare_judges",
    "compare_records",
    "compare_scores",
    "counterfactual_specs",
    "diagnose",
    "diagnosis_table",
    "diagnosis_text",
    "estimate_study",
    "exclude_inattentive",
    "find_categories",
    "find_mentions",
    "group_scores",
    "image_score",
    "judge_named",
    "judge_names",
    "people_table",
    "people_tables",
    "people_text",
    "read_captions",
    "read_human_scores",
    "read_labels",
    "read_points",
    "read_votes",
    "score_gap",
    "scores_table",
    "scores_text",
    "study_boxes",
    "study_captions",
    "study_csv",
    "study_json",
    "study_people",
    "study_points",
    "study_scores",
    "study_table",
    "study_votes",
]
