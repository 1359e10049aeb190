"""Make the figures of the README and the docs: `python -m tools.docs_images [NAME …]`.

Runs are made with the built-in models, sites are started on this machine, and chromium takes the screenshots: of every
page on a desktop and a phone, in light and dark colours.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Error, Page, sync_playwright

from tools.docs_images.drawings import DRAWINGS, OTHER_TOOLS, write_drawings
from tools.docs_images.material import Material, SiteAddress
from tools.docs_images.pages import DESKTOP, SHOTS, Screen, Shot
from tools.draw_contact_sheets import save_small

ROOT = Path(__file__).parents[2]
CHROMIUM = Path("/usr/bin/chromium")
"""Used where it is; Playwright's own browser otherwise."""


_PATIENCE = 10_000
"""So many milliseconds a page may take."""


_DECODED = """() => Promise.all([...document.images]
    .filter(image => image.loading != "lazy" || image.getBoundingClientRect().top < innerHeight)
    .map(image => image.decode().catch(() => null)))"""
"""Waits for the images that can be seen; others may never load."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.docs_images", description="Make the figures of the docs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="the images to make, without their ending")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="where the images go")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "docs-images", help="runs, studies and reports")
    parser.add_argument("--screens", choices=("desktop", "all"), default="all", help="all: also phone and dark")
    options = parser.parse_args()
    known = {*DRAWINGS, *(Path(name).stem for name in OTHER_TOOLS), *(shot.name for shot in SHOTS)}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"there is no image {unknown[0]!r}: choose from {', '.join(sorted(known))}")
    options.out.mkdir(parents=True, exist_ok=True)
    write_drawings(options.names, options.out)
    shots = [shot for shot in SHOTS if not options.names or shot.name in options.names]
    if shots:
        failed = []
        for name, image in taken(shots, Material(options.work), desktop_only=options.screens == "desktop"):
            if isinstance(image, Image.Image):
                save_small(image, options.out / f"{name}.png")
            else:
                failed.append(name)
                print(f"{name}: {image}", file=sys.stderr)
        if failed:
            sys.exit(f"not made: {', '.join(failed)}: see their lines in tools/docs_images/pages.py")


def taken(
    shots: list[Shot], material: Material, *, desktop_only: bool = False
) -> Iterator[tuple[str, Image.Image | Error]]:
    """Take the screenshots; a page that is not as expected is an error, and the others are taken all the same."""
    with sync_playwright() as playwright:
        path = CHROMIUM if CHROMIUM.exists() else None
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for shot in shots:
            screens = (DESKTOP,) if desktop_only else shot.screens
            for together in [(screen,) for screen in screens] if shot.stores else [screens]:
                with material.site(shot.site) as address:
                    for screen in together:
                        try:
                            image: Image.Image | Error = _screenshot(browser, shot, address, screen)
                        except Error as error:
                            image = error
                        yield f"{shot.name}{screen.suffix}", image
        browser.close()


def _screenshot(browser: Browser, shot: Shot, site: SiteAddress, screen: Screen) -> Image.Image:
    width, height = screen.size or (shot.width, shot.height)
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if screen.dark else "light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    page.goto(site.address + shot.path.format(**site.names))
    page.locator(shot.ready).first.wait_for()
    for step in shot.steps:
        _do(page, *step, site.names)
    page.wait_for_load_state("networkidle")
    page.evaluate(_DECODED)
    full = shot.full and screen.size is None
    image = Image.open(io.BytesIO(page.screenshot(full_page=full, animations="disabled", caret="hide")))
    context.close()
    return image


def _do(page: Page, kind: str, target: str, value: str, names: Mapping[str, str]) -> None:
    match kind:
        case "click":
            page.locator(target).first.click()
        case "fill":
            page.fill(target, value)
        case "press":
            page.keyboard.press(target)
        case "scroll":
            page.locator(target).first.evaluate("element => element.scrollIntoView({block: 'start'})")
        case "select":
            page.locator(target).first.select_option(value)
        case "upload":
            page.set_input_files(target, value.format(**names))
        case "wait":
            page.locator(target).first.wait_for()


if __name__ == "__main__":
    main()
