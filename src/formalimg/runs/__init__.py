"""Runs: one suite, one image model and one judge in one folder, made and judged without losing anything."""

from formalimg.runs.card import read_card_table
from formalimg.runs.database import address_for_reading, told_of
from formalimg.runs.files import write_atomically
from formalimg.runs.forecast import Forecast, foresee
from formalimg.runs.heeding import NotBegunError
from formalimg.runs.inspection import failed_by_rule, inspect
from formalimg.runs.layouts import layouts_of
from formalimg.runs.lock import FolderLock, LockedError
from formalimg.runs.naming import pictures_url, run_name
from formalimg.runs.paging import ListedPicture, PictureFile, PicturePage, WantedPictures
from formalimg.runs.picture_store import PicturePlace
from formalimg.runs.plan import Selection, require_covered, style_for
from formalimg.runs.progress import Progress
from formalimg.runs.reading import StoredRun, open_run, picture_in
from formalimg.runs.record import Judged, Outcome, Party, PlannedItem, RunCard, RunRecord, Spent
from formalimg.runs.running import Order, carry_out, judge_run

__all__ = [
    "FolderLock",
    "Forecast",
    "Judged",
    "ListedPicture",
    "LockedError",
    "NotBegunError",
    "Order",
    "Outcome",
    "Party",
    "PictureFile",
    "PicturePage",
    "PicturePlace",
    "PlannedItem",
    "Progress",
    "RunCard",
    "RunRecord",
    "Selection",
    "Spent",
    "StoredRun",
    "WantedPictures",
    "address_for_reading",
    "carry_out",
    "failed_by_rule",
    "foresee",
    "inspect",
    "judge_run",
    "layouts_of",
    "open_run",
    "picture_in",
    "pictures_url",
    "read_card_table",
    "require_covered",
    "run_name",
    "style_for",
    "told_of",
    "write_atomically",
]
