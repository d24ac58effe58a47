"""What all Python tests share: the flag that rewrites golden files, and how properties are tried."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

# What a shell starts in the background ignores SIGINT, and children inherit that: the tests could not stop theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No example fails because the machine was busy, and each run tries the same ones: a failure is new.
# Others are tried with `--hypothesis-profile=search`; it prints what repeats a failure.
settings.register_profile(
    "fathom", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "search", deadline=None, max_examples=2000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fathom")


def pytest_addoption(parser: pytest.Parser) -> None:
    """One flag for the golden files of every folder."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))
