"""Images on an object store: the same run as in a folder, and nothing is lost when the store fails."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from formalimg.errors import FormalimgError
from formalimg.reports.page_images import make_thumbnail
from formalimg.runs.config import images_url
from formalimg.runs.execution import execute, judge_run
from formalimg.runs.image_store import check_url
from formalimg.runs.reader import locate_image, open_run
from tests.support.command import formalimg
from tests.support.models import NumberJudge, Speckles
from tests.support.run_contents import contents, judged, order, outcomes, rows

fsspec = pytest.importorskip("fsspec", reason="pip install 'formalimg[stores]'")
memory = pytest.importorskip("fsspec.implementations.memory")

URL = "s3://bucket/place/run"


class Bucket(memory.MemoryFileSystem):  # type: ignore[misc,name-defined]
    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    buckets: ClassVar[set[str]] = set()
    spoil: ClassVar[Callable[[int, bytes], bytes]]
    writes: ClassVar[int] = 0
    is_reachable: ClassVar[bool] = True

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("s3://")))

    def pipe_file(self, path: str, value: bytes, *args: Any, **options: Any) -> None:
        self._reached(path)
        Bucket.writes += 1
        super().pipe_file(path, Bucket.spoil(Bucket.writes, value))

    def cat_file(self, path: str, *args: Any, **options: Any) -> Any:
        self._reached(path)
        return super().cat_file(path, *args, **options)

    def ls(self, path: str, *args: Any, **options: Any) -> Any:
        self._reached(path)
        return super().ls(path, *args, **options)

    def _reached(self, path: str) -> None:
        if not Bucket.is_reachable:
            raise RuntimeError("Could not connect to the endpoint\nAWS_SECRET_ACCESS_KEY")
        if self._strip_protocol(path).split("/")[1] not in Bucket.buckets:
            raise FileNotFoundError("The specified bucket does not exist")


@pytest.fixture
def bucket() -> Iterator[type[Bucket]]:
    Bucket.store, Bucket.pseudo_dirs, Bucket.buckets = {}, [""], {"bucket"}
    Bucket.spoil, Bucket.writes, Bucket.is_reachable = staticmethod(lambda number, data: data), 0, True
    fsspec.register_implementation("s3", Bucket, clobber=True)
    yield Bucket
    sys.modules["fsspec.registry"]._registry.pop("s3")


def stored(url: str) -> dict[str, bytes]:
    system, root = fsspec.core.url_to_fs(url)
    found = {name.rpartition("/")[2]: system.cat_file(name) for name in system.ls(root, detail=False)}
    return {name: data for name, data in found.items() if not name.startswith(".")}


def waiting(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "images").iterdir())


@pytest.mark.parametrize("scheme", ["file", "s3"])
def test_a_run_on_a_store_is_the_same_run(scheme: str, tmp_path: Path, bucket: object) -> None:
    url = {"file": f"file://{tmp_path}/store", "s3": URL}[scheme]
    near, far = tmp_path / "near", tmp_path / "far"
    for folder, images in ((near, ""), (far, url)):
        model = Speckles()
        execute(order(model, images=images), folder, NumberJudge())
        execute(order(model, samples=2), folder, NumberJudge())  # goes on where the others lie
        assert len(model.asked) == 16
    here, there = contents(near), contents(far)
    assert stored(url) == here.pop("files")
    assert there.pop("files") == {}
    lines = there.pop("card")
    assert [line for line in lines if not line.startswith("images_id")] == [
        *here["card"][:14],
        f'images = "{url}"',
        *here.pop("card")[14:],
    ]
    assert here == there
    judge_run(far, NumberJudge(name="test/second"))
    for one, other in zip(judged(near), judged(far), strict=True):
        assert one.image is not None
        assert other.image is not None
        assert other.image.read_bytes() == one.image.read_bytes()
        assert (other.image.name, other.image.suffix, other.image.is_file()) == (one.image.name, ".png", True)
        assert make_thumbnail(other.image) == make_thumbnail(one.image)
        assert other.outcome.passed is not None


def half(number: int, data: bytes) -> bytes:
    return data[: len(data) // 2] if number % 3 == 0 else data


def refused(number: int, data: bytes) -> bytes:
    if number % 3 == 0:
        raise TimeoutError("the store is busy")
    return data


def cut_off(number: int, data: bytes) -> bytes:
    if number > 4:
        raise ConnectionError("the network is down")
    return data


@pytest.mark.parametrize("spoil", [half, refused, cut_off])
def test_no_image_is_lost_when_writing_fails(
    spoil: Callable[[int, bytes], bytes], tmp_path: Path, bucket: type[Bucket]
) -> None:
    folder, model = tmp_path / "run", Speckles(concurrency=1)
    execute(order(Speckles()), tmp_path / "unbroken", NumberJudge())
    bucket.spoil = staticmethod(spoil)
    done = execute(order(model, images=URL), folder, NumberJudge())
    assert (done.made, done.failed, done.coverage) == (8, 0, 1.0)
    assert bool(waiting(folder)) is (spoil is cut_off), "what fails now and then is tried again"
    assert all(one.image is not None and one.image.read_bytes() for one in judged(folder)), "what waits can be read"
    bucket.spoil = staticmethod(lambda number, data: data)
    execute(order(model, images=URL), folder, NumberJudge())
    assert len(model.asked) == 8, "nothing is made twice"
    assert waiting(folder) == []
    assert stored(URL) == contents(tmp_path / "unbroken")["files"]


def test_a_bucket_that_is_missing_is_told_before_anything_is_made(tmp_path: Path, bucket: type[Bucket]) -> None:
    bucket.buckets = set()
    model = Speckles()
    with pytest.raises(FormalimgError, match=r"cannot keep images at s3://.*bucket does not exist\): see to the buck"):
        execute(order(model, images=URL), tmp_path / "run")
    assert model.asked == []
    bucket.buckets = {"bucket"}
    execute(order(model, images=URL), tmp_path / "run")
    assert len(stored(URL)) == 8 + 1


def test_only_what_is_lost_or_cut_short_is_made_again(tmp_path: Path, bucket: type[Bucket]) -> None:
    model, folder = Speckles(), tmp_path / "run"
    execute(order(model, images=URL), folder, NumberJudge())
    system, root = fsspec.core.url_to_fs(URL)
    system.rm_file(f"{root}/3.png")
    system.pipe_file(f"{root}/5.png", b"short")
    system.pipe_file(f"{root}/6.webp", b"somebody else's")
    execute(order(model, images=URL), folder, NumberJudge())
    assert sorted(item for item, _ in model.asked[8:]) == ["3", "5"]
    assert stored(URL).pop("6.webp") == b"somebody else's", "the run never recorded it"
    assert len(stored(URL)) == 8 + 1 + 1


def test_a_store_out_of_reach_costs_verdicts_until_it_is_back_and_never_images(
    tmp_path: Path, bucket: type[Bucket]
) -> None:
    model, folder = Speckles(), tmp_path / "run"
    execute(order(model, images=URL), folder)
    bucket.is_reachable = False
    judge_run(folder, NumberJudge())
    assert {(one.reason, one.detail.count("\n")) for one in outcomes(folder)} == {("unreadable image", 0)}
    with pytest.raises(FormalimgError, match=r"^cannot keep images at s3://[^\n]*connect[^\n]*$"):
        execute(order(model, images=URL), folder)  # which must not take all images for lost
    bucket.is_reachable = True
    judge_run(folder, NumberJudge())
    assert all(one.passed is not None for one in outcomes(folder))
    assert len(model.asked) == 8
    assert rows(folder, "SELECT count(*) FROM pictures WHERE status = 'made'") == [(8,)]


def test_each_run_has_a_place_of_its_own(tmp_path: Path, bucket: type[Bucket]) -> None:
    assert images_url("s3://bucket/place/", tmp_path / "run") == URL
    execute(order(images=URL), tmp_path / "run")
    with pytest.raises(FormalimgError, match="holds files that are not of this run: choose another address"):
        execute(order(seed=2, images=URL), tmp_path / "other")
    with pytest.raises(FormalimgError, match="images: were kept s3://bucket/place/run, now s3://bucket/elsewhere"):
        execute(order(images="s3://bucket/elsewhere"), tmp_path / "run")
    fsspec.core.url_to_fs("s3://bucket/mine")[0].pipe_file("/bucket/mine/cat.png", b"mine")
    with pytest.raises(FormalimgError, match="holds files that are not of this run"):
        execute(order(images="s3://bucket/mine"), tmp_path / "third")
    assert stored("s3://bucket/mine") == {"cat.png": b"mine"}


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:SECRET@bucket/place",
        "s3://SECRET@bucket/place",
        "abfs://box:SECRET@account.dfs.core.windows.net/place",
        "az://box/place?sig=SECRET",
        "gs://bucket/place#SECRET",
        "https://user:SECRET@example.org/place",
        "simplecache::s3://bucket/place",
        "s3://bucket/../place",
        "s3://",
        "/some/folder",
        "",
    ],
)
def test_addresses_with_secrets_or_of_unknown_stores_are_refused(url: str) -> None:
    with pytest.raises(FormalimgError) as refused:
        check_url(url)
    assert "SECRET" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_container_before_the_account_is_no_secret() -> None:
    address = "abfs://box@account.dfs.core.windows.net/place"
    assert check_url(f"{address}/") == address


def test_the_card_of_a_stranger_opens_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "3.png").write_bytes(b"my diary")
    execute(order(images=f"file://{tmp_path}/store"), tmp_path / "run", NumberJudge())
    manifest = tmp_path / "run" / "run.toml"
    manifest.write_text(manifest.read_text().replace(f"{tmp_path}/store", f"{tmp_path}/secret"))
    with contextlib.closing(open_run(tmp_path / "run")) as run:
        found = run.image_file("3", 0)
    assert found is not None
    with pytest.raises(OSError, match=r"has no file \.formalimg-run that says it holds the images of the run"):
        found.path.read_bytes()
    (tmp_path / "secret" / ".formalimg-run").write_bytes((tmp_path / "store" / ".formalimg-run").read_bytes())
    with contextlib.closing(open_run(tmp_path / "run")) as run:
        found = run.image_file("3", 0)
    assert found is not None
    with pytest.raises(OSError, match="not the file that was stored"):
        found.path.read_bytes()
    store = locate_image(tmp_path / "run" / "images" / "gone.png", "").store
    for name in ("../store/3.png", "..\\store\\3.png", "..", "", ".formalimg-run"):
        with pytest.raises(OSError, match="leads out"):
            store.read(name)


def test_the_command_keeps_images_on_a_store_and_the_others_read_them(tmp_path: Path) -> None:
    store, runs = f"file://{tmp_path}/store", str(tmp_path / "runs")
    done = formalimg(
        "run", "--no-judge", "knolling", "-m", "builtin/scatter", "--levels", "1", "--per-level", "2", "--size", "256",
        "--images", store, "--runs", runs,
    )  # fmt: skip
    folder = tmp_path / "runs" / "knolling-builtin-scatter"
    assert f"images in {store}/knolling-builtin-scatter; judge them" in done.out
    assert formalimg("judge", str(folder)).code == 0
    page = tmp_path / "page.html"
    assert formalimg("report", str(folder), "--out", str(page)).code == 0
    assert page.read_text().count("data:image/webp;base64,") >= 2
    assert waiting(folder) == []


def test_the_viewer_and_studies_show_what_lies_on_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("starlette", reason="pip install 'formalimg[web]'")
    from formalimg.human_eval.study import read_image
    from formalimg.human_eval.study_builder import rateable_images
    from tests.web.sites import visitor

    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "runs" / "run"
    execute(order(images=f"file://{tmp_path}/store"), folder, NumberJudge())
    whole = (tmp_path / "store" / "3.png").read_bytes()
    site = visitor(tmp_path / "runs")
    assert site.get("/image?run=run&item=3").content == whole
    small = site.get("/thumbnail?run=run&item=3")
    assert (small.status_code, len(list((tmp_path / "cache").rglob("*.webp")))) == (200, 1)
    with contextlib.closing(open_run(folder)) as run:
        found, missing = rateable_images(run, None, grounded=False)
    assert (len(found), missing) == (8, 0)
    assert read_image(folder / found[3].file, found[3].sha256) == whole
    (tmp_path / "store" / "3.png").unlink()
    assert site.get("/image?run=run&item=3").status_code == 404
    assert site.get("/thumbnail?run=run&item=3").content == small.content, "kept here, as always"
    with pytest.raises(FormalimgError, match="cannot read"):
        read_image(folder / found[3].file, found[3].sha256)
