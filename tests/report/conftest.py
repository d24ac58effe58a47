"""Fixtures of the report's tests: sample campaigns, written as run directories, each with its analysis and its page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import report_scenes

from fathom.report import Report


@pytest.fixture(scope="session", params=sorted(report_scenes.SCENES))
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> report_scenes.Scene:
    """Every scene in turn."""
    return report_scenes.SCENES[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def html(scene: report_scenes.Scene, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the scene."""
    return (
        Report(scene.analysis, scene.campaign).page(tmp_path_factory.mktemp("page") / "report.html").read_text("utf-8")
    )


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> report_scenes.Scene:
    """Two variants, five rounds, real clock."""
    return report_scenes.pair(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="session")
def pair_html(pair: report_scenes.Scene, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the pair."""
    return Report(pair.analysis, pair.campaign).page(tmp_path_factory.mktemp("page") / "report.html").read_text("utf-8")
