"""Studies: what runs tell about judges and people, and what captions speak of."""

from typing import TYPE_CHECKING

from formalimg.lazily import lazily

if TYPE_CHECKING:
    from formalimg.studies.agreement_in_words import AgreementFormat, agreement_table, agreement_text
    from formalimg.studies.captions.counts import CategoryCounts
    from formalimg.studies.captions.finding import Mention, find_categories, find_mentions
    from formalimg.studies.captions.outlook import Outlook, foresee_study
    from formalimg.studies.captions.reading import Caption, read_captions
    from formalimg.studies.captions.study import CaptionStudy, study_csv, study_json
    from formalimg.studies.captions.studying import study_captions
    from formalimg.studies.captions.terminal import study_table
    from formalimg.studies.comparing_judges import compare_judges, compare_records, judge_named
    from formalimg.studies.judges_compared import Disagreement, Fraction, JudgesCompared, JudgeScores, Scored
    from formalimg.studies.panels import JUDGE, MAJORITY, Panel, Score
    from formalimg.studies.people import Divergence, PeopleStudied, Share, study_votes
    from formalimg.studies.votes import Vote, VotesError, read_votes

__getattr__ = lazily(
    "formalimg.studies",
    {
        "agreement_in_words": ["AgreementFormat", "agreement_table", "agreement_text"],
        "captions.counts": ["CategoryCounts"],
        "captions.finding": ["Mention", "find_categories", "find_mentions"],
        "captions.outlook": ["Outlook", "foresee_study"],
        "captions.reading": ["Caption", "read_captions"],
        "captions.study": ["CaptionStudy", "study_csv", "study_json"],
        "captions.studying": ["study_captions"],
        "captions.terminal": ["study_table"],
        "comparing_judges": ["compare_judges", "compare_records", "judge_named"],
        "judges_compared": ["Disagreement", "Fraction", "JudgeScores", "JudgesCompared", "Scored"],
        "panels": ["JUDGE", "MAJORITY", "Panel", "Score"],
        "people": ["Divergence", "PeopleStudied", "Share", "study_votes"],
        "votes": ["Vote", "VotesError", "read_votes"],
    },
)

__all__ = [
    "JUDGE",
    "MAJORITY",
    "AgreementFormat",
    "Caption",
    "CaptionStudy",
    "CategoryCounts",
    "Disagreement",
    "Divergence",
    "Fraction",
    "JudgeScores",
    "JudgesCompared",
    "Mention",
    "Outlook",
    "Panel",
    "PeopleStudied",
    "Score",
    "Scored",
    "Share",
    "Vote",
    "VotesError",
    "agreement_table",
    "agreement_text",
    "compare_judges",
    "compare_records",
    "find_categories",
    "find_mentions",
    "foresee_study",
    "judge_named",
    "read_captions",
    "read_votes",
    "study_captions",
    "study_csv",
    "study_json",
    "study_table",
    "study_votes",
]
