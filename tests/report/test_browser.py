"""The page in a browser: axe-core in both themes and widths, what scripts add, and what remains without them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import report_scenes
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from fathom.report import Report

SCENES = ("cells", "failed", "pair", "sweep")
"""Every scene: between them they hold every kind of chart and block."""

SEEN = ((1280, "light"), (390, "dark"))
"""Each width and each theme once: what a theme changes, colours, depends on no width."""

PRINTED_WIDTH, PRINTED_HEIGHT = 688, 1005
"""What the margins leave of a sheet of A4, in CSS pixels."""

PATIENCE_MS = 300_000
"""However busy the machine is."""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: scripts/install-test-packages.sh")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of each scene as a file."""
    found = {}
    for name in SCENES:
        scene = report_scenes.SCENES[name](tmp_path_factory.mktemp(name))
        found[name] = Report(scene.analysis, scene.campaign).page(tmp_path_factory.mktemp("page") / f"{name}.html")
    return found


@pytest.fixture
def open_page(browser: Browser, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens the page of a scene; axe-core's script is let past the page's own policy."""
    contexts = []

    def opened(name: str, width: int = 1280, scheme: str = "light", *, scripts: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True, java_script_enabled=scripts
        )
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.goto(pages[name].as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["pair", "sweep"])
def test_the_first_pictures_need_no_scrolling_on_a_narrow_page(open_page: Open, name: str) -> None:
    page = open_page(name, 390)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll("#evidence, #comparisons, #before_after, #plane")].map((section) =>
            [section.id, [...section.querySelectorAll("figure .scroll")].filter((box) => box.clientWidth)
                .map((box) => box.scrollWidth - box.clientWidth)])"""
    )
    assert sum(len(over) for _, over in drawn) >= 3, drawn
    assert all(pixels <= 0 for _, over in drawn for pixels in over), drawn


@pytest.mark.parametrize(("width", "scheme"), SEEN)
@pytest.mark.parametrize("name", SCENES)
def test_axe_finds_no_violation(open_page: Open, name: str, width: int, scheme: str) -> None:
    page = open_page(name, width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_axe_sees_a_picture_without_words(open_page: Open) -> None:
    page = open_page("pair")
    page.evaluate("document.querySelector('main').append(new Image())")
    assert [found["id"] for found in Axe().run(page).response["violations"]] == ["image-alt"]


@pytest.mark.parametrize("name", SCENES)
def test_nothing_is_wider_than_a_narrow_page(open_page: Open, name: str) -> None:
    page = open_page(name, 390)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_captions_of_wide_tables_are_broken_on_a_narrow_page(open_page: Open) -> None:
    page = open_page("pair", width=390)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    widths = page.evaluate("[...document.querySelectorAll('.wraps')].map(one => one.getBoundingClientRect().width)")
    assert widths
    assert max(widths) <= 390


def test_a_short_table_of_many_columns_needs_no_scrolling_on_a_narrow_page(open_page: Open) -> None:
    page = open_page("pair", width=390)
    over = page.evaluate(
        "[...document.querySelectorAll('#comparisons .stacks .scroll')].map(one => one.scrollWidth - one.clientWidth)"
    )
    assert over
    assert max(over) <= 0
    head = page.evaluate("getComputedStyle(document.querySelector('#comparisons td[data-label]'), '::before').content")
    assert "Verdict" in head, "each value has its column's name before it"


def test_a_series_can_be_hidden_and_shown(open_page: Open) -> None:
    page = open_page("pair")
    figure = page.locator("figure:has(.bar)").first
    button = figure.locator(".bar button").first
    parts = figure.locator(f'[data-series="{button.inner_text()}"]')
    assert parts.count() > 0
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert not any(part.is_visible() for part in parts.all())
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert figure.locator(".off").count() == 0


def test_a_chart_can_be_enlarged_and_zoomed(open_page: Open) -> None:
    page = open_page("pair")
    page.locator("figure").first.get_by_role("button", name="Enlarge").click()
    dialog = page.locator("dialog")
    picture = dialog.locator("svg")
    whole = picture.get_attribute("viewBox")
    dialog.get_by_role("button", name="Zoom in").click()
    near = picture.get_attribute("viewBox")
    assert near is not None
    assert whole is not None
    assert float(near.split()[2]) == pytest.approx(0.8 * float(whole.split()[2]), rel=1e-3)
    dialog.get_by_role("button", name="Whole chart").click()
    assert picture.get_attribute("viewBox") == whole
    dialog.get_by_role("button", name="Close").click()
    # It is removed in answer to its event, which a busy machine sends later.
    dialog.wait_for(state="detached")


def test_without_scripts_nothing_is_lost(open_page: Open) -> None:
    page = open_page("pair", scripts=False)
    assert page.locator(".bar").count() == 0
    assert page.locator("svg.chart [data-series]").count() > 0
    assert page.locator("svg.chart title").count() > 0
    page.locator("details").first.locator("summary").click()
    assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("name", SCENES)
def test_no_printed_picture_is_taller_than_half_a_sheet(open_page: Open, name: str) -> None:
    page = open_page(name, PRINTED_WIDTH)
    page.emulate_media(media="print")
    heights = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map(one => one.getBoundingClientRect().height)"
    )
    assert max(heights) <= PRINTED_HEIGHT / 2


def test_the_printed_parts_of_a_picture_are_the_whole(open_page: Open) -> None:
    page = open_page("pair")
    parts = "[...document.querySelectorAll('figure:has(.parts)')]"
    whole = page.evaluate(f"{parts}.map(one => one.querySelector('.whole svg').viewBox.baseVal.height)")
    pieces = page.evaluate(
        f"{parts}.map(one => [...one.querySelectorAll('.parts svg')].map(svg => svg.viewBox.baseVal.height))"
    )
    assert whole
    assert [sum(heights) for heights in pieces] == whole
    ids = page.evaluate("[...document.querySelectorAll('use')].map(one => one.href.baseVal.slice(1))")
    assert all(page.evaluate("ids => ids.map(id => Boolean(document.getElementById(id)))", ids))
