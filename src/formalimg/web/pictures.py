"""Pictures as files: whole, small, and drawings of witnesses. They are found by the database, never by a path."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from threading import BoundedSemaphore

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg.errors import FormalimgError
from formalimg.models import cache_folder, picture_type
from formalimg.reporting import thumbnail_of
from formalimg.runs import PictureFile, write_atomically
from formalimg.scenes import DrawingError, draw
from formalimg.suites import FormulaSpec
from formalimg.web.asking import named, number
from formalimg.web.site import Site

_SHA256 = re.compile("[0-9a-f]{64}")
_FOR_GOOD = {"Cache-Control": "private, max-age=31536000, immutable"}
_MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
_TELLING = 16
"""So many digits of a digest tell pictures apart."""
_WITNESS_SIZE = 480

_decoding = BoundedSemaphore(2)
"""A large picture takes hundreds of megabytes while it is made small: not all at once."""


def picture_file(site: Site, request: Request) -> Response:
    """A picture as it is stored."""
    found = _found(site, request)
    try:
        data = found.path.read_bytes()
    except OSError as error:
        raise HTTPException(404, f"the file of the picture cannot be read: {error.strerror}") from error
    sort = picture_type(data)
    if sort is None:
        raise HTTPException(415, "the file is no picture that a browser should show")
    return Response(data, media_type=_MEDIA_TYPES[sort], headers=_how_long(found, request))


def thumbnail_file(site: Site, request: Request) -> Response:
    """A picture made small, once for all runs that have it."""
    found = _found(site, request)
    return Response(_small(found), media_type="image/webp", headers=_how_long(found, request))


def witness_file(site: Site, request: Request) -> Response:
    """A drawing of the scene that proves that an item can be satisfied."""
    query = request.query_params
    with site.opened(named(query, "run")) as run:
        item = run.suite_item(named(query, "item"))
    if item is None or not isinstance(item.spec, FormulaSpec) or item.spec.witness is None:
        raise HTTPException(404, "the item has no witness")
    try:
        picture = draw(item.spec.witness, _WITNESS_SIZE)
    except DrawingError as error:
        raise HTTPException(404, f"the witness cannot be drawn: {error}") from error
    page = io.BytesIO()
    picture.save(page, "PNG")
    return Response(page.getvalue(), media_type="image/png")


def _found(site: Site, request: Request) -> PictureFile:
    query = request.query_params
    with site.opened(named(query, "run")) as run:
        found = run.picture_file(named(query, "item"), number(query, "sample") or 0)
    if found is None:
        raise HTTPException(404, "there is no such picture")
    return found


def _how_long(found: PictureFile, request: Request) -> dict[str, str]:
    """Browsers may keep for good what the address names by its digest."""
    digest = request.query_params.get("sha256", "")
    return _FOR_GOOD if len(digest) >= _TELLING and found.sha256.startswith(digest) else {}


def _small(picture: PictureFile) -> bytes:
    # A digest that is none would be a path of somebody's choice.
    known = _SHA256.fullmatch(picture.sha256)
    kept = cache_folder() / "thumbnails" / picture.sha256[:2] / f"{picture.sha256}.webp" if known else None
    if kept is not None and kept.is_file():
        return kept.read_bytes()
    with _decoding:
        small = thumbnail_of(picture.path)
    if isinstance(small, str):
        raise HTTPException(404, small)
    if kept is not None and _is_true(picture):
        _keep(small.data, kept)
    return small.data


def _is_true(picture: PictureFile) -> bool:
    """Is the digest that of the file? A run that lies about it must not change what other runs show."""
    if not isinstance(picture.path, Path):  # what comes from an object store was compared on its way
        return True
    with picture.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == picture.sha256


def _keep(data: bytes, path: Path) -> None:
    """Keep a small picture. Where that is not possible, it is made again next time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [data])
    except (OSError, FormalimgError):
        return
