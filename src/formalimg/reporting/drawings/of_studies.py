"""Which figures a study has: those for which it holds the data."""

from __future__ import annotations

from formalimg.analysis import (
    BoxesStudied,
    CaptionStudy,
    GateCalibrated,
    JudgesCompared,
    PeopleStudied,
    ScoresCompared,
    ScoresStudied,
)
from formalimg.reporting.drawings.drawing import Drawing
from formalimg.reporting.drawings.studied.captions import drawings_of_captions
from formalimg.reporting.drawings.studied.found_boxes import drawings_of_boxes
from formalimg.reporting.drawings.studied.gate import drawings_of_gate
from formalimg.reporting.drawings.studied.judges import drawings_of_judges
from formalimg.reporting.drawings.studied.people import drawings_of_people
from formalimg.reporting.drawings.studied.scores import drawings_of_scores, drawings_of_two_scores


def drawings_of_study(
    study: PeopleStudied
    | ScoresStudied
    | BoxesStudied
    | JudgesCompared
    | ScoresCompared
    | GateCalibrated
    | CaptionStudy,
) -> tuple[Drawing, ...]:
    """All figures of what a study of judges, people, captions or the gate of CF-World came to.

    Returns:
        The figures; none for what the study tells nothing about.
    """
    match study:
        case PeopleStudied():
            return tuple(drawings_of_people(study))
        case ScoresStudied():
            return tuple(drawings_of_scores(study))
        case BoxesStudied():
            return tuple(drawings_of_boxes(study))
        case JudgesCompared():
            return tuple(drawings_of_judges(study))
        case ScoresCompared():
            return tuple(drawings_of_two_scores(study))
        case GateCalibrated():
            return tuple(drawings_of_gate(study))
        case CaptionStudy():
            return tuple(drawings_of_captions(study))
