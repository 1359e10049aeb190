"""Image files as stored, thumbnails, and drawings of witnesses, looked up in the database and never by path."""

from __future__ import annotations

import re
from contextlib import suppress
from threading import BoundedSemaphore

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from formalimg._util.images import image_type, png_bytes
from formalimg._util.io import atomic_write, cache_folder
from formalimg.benchmarks.formal.spec import FormulaSpec
from formalimg.drawing.icon_scene import DrawingError, draw
from formalimg.errors import FormalimgError
from formalimg.reports.page_images import make_thumbnail
from formalimg.runs.queries import ImageFile
from formalimg.web.viewer.site import Site
from formalimg.web.viewer.urls import parse_number, require_value

_SHA256 = re.compile("[0-9a-f]{64}")
_IMMUTABLE = {"Cache-Control": "private, max-age=31536000, immutable"}
_MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
_DIGEST_LENGTH = 16  # digits of a digest that identify an image
_WITNESS_SIZE = 480
_decoding = BoundedSemaphore(2)  # decoding a large image takes hundreds of megabytes


def image_file(site: Site, request: Request) -> Response:
    """Return an image file as stored."""
    image = _require_image(site, request)
    try:
        data = image.path.read_bytes()
    except OSError as error:
        raise HTTPException(404, f"the file of the image cannot be read: {error.strerror}") from error
    kind = image_type(data)
    if kind is None:
        raise HTTPException(415, "the file is not an image that a browser can show")
    return Response(data, media_type=_MEDIA_TYPES[kind], headers=_cache_headers(image, request))


def thumbnail_file(site: Site, request: Request) -> Response:
    """Return a thumbnail, which is cached for all runs with the same image."""
    image = _require_image(site, request)
    return Response(thumbnail_bytes(image), media_type="image/webp", headers=_cache_headers(image, request))


def witness_file(site: Site, request: Request) -> Response:
    """Return a drawing of an item's witness scene."""
    query = request.query_params
    with site.open(require_value(query, "run")) as run:
        item = run.suite_item(require_value(query, "item"))
    if item is None or not isinstance(item.spec, FormulaSpec) or item.spec.witness is None:
        raise HTTPException(404, "the item has no witness")
    try:
        image = draw(item.spec.witness, _WITNESS_SIZE)
    except DrawingError as error:
        raise HTTPException(404, f"the witness cannot be drawn: {error}") from error
    return Response(png_bytes(image, compress_level=6), media_type="image/png")


def _require_image(site: Site, request: Request) -> ImageFile:
    query = request.query_params
    with site.open(require_value(query, "run")) as run:
        image = run.image_file(require_value(query, "item"), parse_number(query, "sample") or 0)
    if image is None:
        raise HTTPException(404, "there is no such image")
    return image


def _cache_headers(image: ImageFile, request: Request) -> dict[str, str]:
    """Return headers that let browsers cache a file forever if its digest is in the URL."""
    digest = request.query_params.get("sha256", "")
    return _IMMUTABLE if len(digest) >= _DIGEST_LENGTH and image.sha256.startswith(digest) else {}


def thumbnail_bytes(image: ImageFile) -> bytes:
    """Return a thumbnail as WebP, generated once for all runs with the same image."""
    # Anything but a digest could be a path.
    is_digest = _SHA256.fullmatch(image.sha256)
    cached = cache_folder() / "thumbnails" / image.sha256[:2] / f"{image.sha256}.webp" if is_digest else None
    if cached is not None and cached.is_file():
        return cached.read_bytes()
    with _decoding:
        thumbnail = make_thumbnail(image.path)
    if isinstance(thumbnail, str):
        raise HTTPException(404, thumbnail)
    if cached is not None:  # safe, as reading compared the digest
        with suppress(OSError, FormalimgError):
            cached.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(cached, [thumbnail.data])
    return thumbnail.data
