"""The site shows anything, obeys nothing of it, and answers nobody else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.web.sites import HARM, Elements, change, concept_run, visitor

PAGES = [
    "/",
    f"/?text={HARM}&suite={HARM}&model={HARM}&tag={HARM}&baseline={HARM}",
    "/?baseline=nested/%3Cb%3Esecond%26&group=suite",
    "/run?run=first",
    "/run?run=nested/%3Cb%3Esecond%26&judge=0",
    "/run?run=knolling",
    f"/gallery?run=first&text={HARM}",
    f"/gallery?run=first&word={HARM}&kind=style",
    "/gallery?run=nested/%3Cb%3Esecond%26&page=2",
    f"/gallery?run=first&about={HARM}&at={HARM}",
    "/item?run=first&item=item-3",
    "/item?run=first&item=item-6",
    f"/item?run=nested/%3Cb%3Esecond%26&item=item-3&text={HARM}",
    "/item?run=knolling&item=0",
    "/compare?run=first&run=nested/%3Cb%3Esecond%26&run=knolling",
    "/compare?run=first&run=nested/%3Cb%3Esecond%26&group=all",
    f"/compare?run=first&baseline={HARM}",
    "/items/conceptmix/item-3?run=nested/%3Cb%3Esecond%26",
    f"/items/conceptmix/{HARM}",
    f"/items/{HARM}/item-3",
    f"/run?run={HARM}",
    f"/item?run=first&item={HARM}",
    f"/gallery?run=first&level={HARM}",
    f"/gallery?run=first&outcome={HARM}",
    "/compare",
    "/nowhere",
]


@pytest.mark.parametrize("page", PAGES)
def test_what_others_wrote_never_becomes_markup(runs: Path, page: str) -> None:
    answer = visitor(runs).get(page)
    assert answer.status_code < 500
    elements = Elements(answer.text)
    scripts = [values for tag, values in elements.found if tag == "script"]
    own = ["theme", "viewer"]
    if page == "/" or page.startswith("/?"):
        own += ["live", "runs"]
    elif answer.status_code == 200 and page.startswith("/run?"):
        own += ["live", "run"]
    elif answer.status_code == 200 and page.startswith(("/gallery", "/compare")):
        own.append("facets")
    assert scripts == [{"src": f"/static/{name}.js", "defer": None} for name in own]
    for tag, values in elements.found:
        assert tag not in ("i", "u", "iframe", "object", "base", "style")
        assert not [name for name in values if name.startswith("on") or name == "style"]
        addresses = [values[name] or "" for name in ("src", "href", "action") if name in values]
        assert all(address.startswith(("/", "#")) and not address.startswith("//") for address in addresses)
    assert "49" not in [word for word in elements.text.split() if "7" not in word]  # {{7*7}} is text


def test_harmful_text_is_shown_as_it_is(runs: Path) -> None:
    page = visitor(runs).get("/item?run=first&item=item-3").text
    assert Elements(page).text.count(HARM) >= 5  # prompt, two reasons, explanation, answer


@pytest.mark.parametrize("page", [*PAGES, "/static/viewer.js", "/image?run=first&item=item-0"])
def test_every_answer_tells_browsers_to_be_careful(runs: Path, page: str) -> None:
    headers = visitor(runs).get(page).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8421", "", "[::1", "10.0.0.7"]
)
def test_without_a_token_only_names_of_this_machine_are_answered(runs: Path, host: str) -> None:
    assert visitor(runs).get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8421", "127.0.0.2:8421", "localhost", "LOCALHOST:1", "[::1]:8421"])
def test_names_of_this_machine_are_answered(runs: Path, host: str) -> None:
    assert visitor(runs).get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("page", ["/", "/static/viewer.css", "/image?run=first&item=item-0", "/nowhere"])
def test_with_a_token_nothing_is_answered_without_it(runs: Path, page: str) -> None:
    anyone = visitor(runs, "right")
    for wrong in ("", "token=", "token=wrong", "token=righ", "token=right2", "token=%F0%9F%98%80"):
        assert anyone.get(page + ("&" if "?" in page else "?") + wrong).status_code == 403
    assert anyone.get(page, headers={"Cookie": "token=right"}).status_code == 403


def test_the_link_with_the_token_opens_the_site_and_takes_the_token_out_of_the_address(runs: Path) -> None:
    guest = visitor(runs, "right")
    answer = guest.get("/gallery?run=first&token=right&level=2", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/gallery?run=first&level=2")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=lax" in answer.headers["set-cookie"].lower()
    assert guest.get("/gallery?run=first&level=2").status_code == 200
    leads = guest.get("//evil.example/?token=right", follow_redirects=False).headers.get("location", "/")
    assert not leads.startswith(("//", "http"))


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:9", "http://127.0.0.1", "127.0.0.1:8421"]
)
def test_what_is_sent_by_other_sites_is_refused(runs: Path, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert visitor(runs).post("/", headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_pages_of_other_sites_cannot_make_this_one_work(runs: Path, headers: dict[str, str]) -> None:
    for path in ("/", "/events", "/compare?run=first&run=knolling"):
        assert visitor(runs).get(path, headers=headers).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_links_on_other_pages_lead_here(runs: Path, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert visitor(runs).get("/", headers=headers).status_code == 200


def test_nothing_can_be_sent_even_from_our_own_pages(runs: Path) -> None:
    own = {"Origin": "http://127.0.0.1:8421"}
    assert {visitor(runs).request(method, "/", headers=own).status_code for method in ("POST", "PUT", "DELETE")} == {
        405
    }


@given(
    some.sampled_from(["run", "item", "sample", "judge", "page", "level"]),
    some.text(max_size=12)
    | some.sampled_from(["..", "../..", "/etc/passwd", "first/../first", "./first", "99" * 20, "-1"]),
    some.sampled_from(["/run", "/gallery", "/item", "/image", "/thumbnail", "/witness", "/compare"]),
)
def test_any_address_is_answered_without_a_failure(runs: Path, name: str, value: str, path: str) -> None:
    values = {"run": "first", "item": "item-0", name: value}
    answer = visitor(runs).get(path, params=values)
    assert answer.status_code in (200, 400, 404, 422)
    if name == "run" and value not in ("first", "knolling"):
        assert answer.status_code in (400, 404)


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/"]
)
def test_no_path_leads_out_of_the_static_files(runs: Path, path: str) -> None:
    assert visitor(runs).get(path).status_code == 404


def test_files_outside_the_run_and_files_that_are_no_images_are_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    concept_run(folder, 4)
    secret = tmp_path / "runs" / "secret.png"
    shutil.copy(next((folder / "images").glob("*.png")), secret)
    (folder / "images" / "link.png").symlink_to(secret)
    (folder / "images" / "page.png").write_text("<svg onload='pwned=1'/>", encoding="utf-8")
    for place, file in enumerate(["../../secret.png", str(secret), "link.png", "page.png"]):
        change(folder, "UPDATE pictures SET file = ?, sha256 = ? WHERE item = ?", file, f"../{place}", f"item-{place}")
    guest = visitor(tmp_path / "runs")
    for address in ("/image", "/thumbnail"):
        codes = [guest.get(f"{address}?run=one&item=item-{place}").status_code for place in range(4)]
        assert codes[:3] == [404, 404, 404]
        assert codes[3] in (404, 415)


def test_a_run_that_lies_about_an_image_does_not_change_what_other_runs_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORMALIMG_CACHE", str(tmp_path / "cache"))
    digest = "ab" * 32
    concept_run(tmp_path / "runs" / "liar", 1)
    change(tmp_path / "runs" / "liar", "UPDATE pictures SET sha256 = ?", digest)
    assert visitor(tmp_path / "runs").get("/thumbnail?run=liar&item=item-0").status_code == 404
    assert not list((tmp_path / "cache").rglob(f"{digest}*"))
