"""What whoever runs the study sees: how far raters are, and their answers as files."""

from __future__ import annotations

from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.human_eval import RaterSummary, Study, StudyRecord, exported_texts, read_study, summarize_raters
from formalimg.web.pages import page

_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class _Line(NamedTuple):
    """How a rater does, and when the last answer came (UTC)."""

    summary: RaterSummary
    last: str


def progress_page(study: Study, _request: Request) -> Response:
    """How far raters are, as of now."""
    record = read_study(study.folder)
    last = {it.rater: it.last for it in study.progress()}
    lines = [_Line(summary, last[summary.rater]) for summary in summarize_raters(record)]
    return page(
        "rating-progress.html",
        name=study.folder.resolve().name,
        manifest=study.manifest,
        lines=lines,
        finished=sum(line.summary.finished for line in lines),
        of=sum(line.summary.of for line in lines),
        checks=any(task.is_check for task in record.tasks),
        files=list(_files(record)),
    )


def export_file(study: Study, request: Request) -> Response:
    """One of the files of an export, as of now."""
    name = request.path_params["name"]
    texts = _files(read_study(study.folder))
    if name not in texts:
        raise HTTPException(404, "there is no such file, or nobody has finished an image yet")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    media_type = _TYPES[name.rpartition(".")[2]]
    return Response(texts[name].encode("utf-8", "replace"), media_type=media_type, headers=headers)


def _files(record: StudyRecord) -> dict[str, str]:
    try:
        return exported_texts(record)
    except FormalimgError:  # nobody has finished anything yet
        return {}
