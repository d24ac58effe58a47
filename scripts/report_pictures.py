"""Takes pictures of reports in every form in which people read them, to look at after a change of the page.

    python scripts/report_pictures.py results/*/ --out target/pictures

Each campaign, or page that `fathom report --html` wrote, becomes NAME-1280-1.png and so on, a screenful each,
NAME-390-1.png, NAME-dark-1.png and, of what is printed, NAME-print-1.png, a sheet each. It needs Debian's chromium
and poppler-utils.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

Screen = tuple[str, int, Literal["light", "dark"]]
SCREENS: tuple[Screen, ...] = (("1280", 1280, "light"), ("390", 390, "light"), ("dark", 1280, "dark"))
SCREENFUL = 1500
PATIENCE_MS = 300_000
"""However busy the machine is."""


def page_of(source: Path, place: Path) -> Path:
    """The report's page: the file itself, or one made of a campaign."""
    if source.is_file():
        return source
    page = place / f"{source.name}.html"
    done = subprocess.run([sys.executable, "-m", "fathom", "report", str(source), "--html", str(page)], check=False)
    if not page.exists():
        raise SystemExit(f"{source}: no report (exit status {done.returncode})")
    return page


def screens(browser: Browser, page: Path, name: str, out: Path, most: int | None) -> None:
    """The page on screens, a picture for each screenful, the first `most` of them."""
    for form, width, scheme in SCREENS:
        context = browser.new_context(viewport={"width": width, "height": SCREENFUL}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE_MS)
        tab = context.new_page()
        tab.goto(page.as_uri())
        whole = tab.evaluate("document.documentElement.scrollHeight")
        for number, top in enumerate(range(0, whole, SCREENFUL)[:most], 1):
            height = min(SCREENFUL, whole - top)
            tab.screenshot(
                path=out / f"{name}-{form}-{number}.png",
                clip={"x": 0, "y": top, "width": width, "height": height},
                full_page=True,
            )
        context.close()


def printed(browser: Browser, page: Path, name: str, out: Path) -> None:
    """The page as it is printed: a picture for each sheet."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE_MS)
    tab = context.new_page()
    tab.goto(page.as_uri())
    sheets = out / f"{name}.pdf"
    tab.pdf(path=sheets, prefer_css_page_size=True, print_background=True)
    context.close()
    subprocess.run(["pdftoppm", "-png", "-r", "60", sheets, out / f"{name}-print"], check=True)


def main() -> int:
    """All pictures of all reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, help="campaigns, or pages of reports")
    parser.add_argument("--out", type=Path, default=Path("target/pictures"), help="folder (target/pictures)")
    parser.add_argument("--most", type=int, help="so many screenfuls from the top, instead of all")
    arguments = parser.parse_args()
    missing = [program for program in ("chromium", "pdftoppm") if shutil.which(program) is None]
    if missing:
        parser.error(f"{' and '.join(missing)}: not installed; apt install chromium poppler-utils")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE_MS)
        for source in arguments.sources:
            page = page_of(source.resolve(), Path(place)).resolve()
            screens(browser, page, page.stem, arguments.out, arguments.most)
            printed(browser, page, page.stem, arguments.out)
            print(f"{source}: {arguments.out}/{page.stem}-*.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
