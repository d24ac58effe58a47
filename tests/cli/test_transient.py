"""What is told on the first screen of runs that were in something that does not last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def said(done: Any) -> str:
    assert done.returncode == 0, done.stderr
    return " ".join(word for word in done.stdout.split() if word != "│")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--model", "hdd/sata-7200", "--read", "0%", "--for", "30s"),
            "It did 88 % less than its mean once the first 6 s were over: lengthen the ramp.",
        ),
        (
            ("--model", "aws/gp3", "--rate", "3000", "--for", "10s"),
            "It is offered all that is allowed (gp3: 3,000 IOPS): its queue and its latency grow as long as that",
        ),
        (
            ("--model", "aws/gp3", "--rate", "2990", "--for", "10s"),
            "It is offered almost all that is allowed (gp3: 3,000 IOPS): with hardly more its queue would grow without",
        ),
        (
            ("--model", "aws/gp3", "--depth", "65536", "--for", "5s"),
            "It was measured for 5 s while requests took up to 6.9 s: measure longer.",
        ),
    ],
)
def test_what_does_not_last_is_told_first(fathom: Any, options: tuple[str, ...], words: str) -> None:
    assert words in said(fathom("io", *options, "--quiet", "--out", "c"))


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "hdd/sata-7200", "--read", "0%", "--for", "60s", "--ramp", "5min"),
        ("--model", "aws/gp3", "--rate", "2900", "--for", "10s"),
        ("--model", "aws/gp2", "--area", "500GiB", "--rate", "1500", "--for", "10s"),
        ("--model", "aws/gp3", "--depth", "64", "--for", "5s"),
    ],
)
def test_nothing_is_told_of_what_lasts(fathom: Any, options: tuple[str, ...]) -> None:
    text = said(fathom("io", *options, "--quiet", "--out", "c"))
    assert not any(words in text for words in ("than its mean once", "is offered all", "measure longer"))


def test_a_run_shorter_than_its_requests_is_not_audited(fathom: Any) -> None:
    done = fathom("io", "--model", "aws/gp3", "--depth", "65536", "--for", "5s", "--quiet", "--json", "--out", "c")
    (audit,) = json.loads(done.stdout)["analysis"]["audits"]
    assert audit["sentence"].endswith("too short a run to compare: requests took up to 139 % of the measured time.")
    assert audit["relative_error"] is None


MIRROR = """
title = "A mirror"
clock = "virtual"

[volumes.a]
kind = "model"
model = "aws/gp3"
size = "10GiB"

[volumes.b]
kind = "model"
model = "aws/gp3"
size = "10GiB"

[volumes.m]
kind = "mirror"
legs = ["a", "b"]
@initial@

[workload]
kind = "io"
volumes = ["m"]
read = "0%"
ramp = "1s"
duration = "10s"

[compare]
metric = "latency_ms"
rounds = 1
"""


@pytest.mark.parametrize(("initial", "told"), [("", True), ('initial = "copy"', False), ('initial = "blank"', False)])
def test_a_mirror_that_is_new_is_told_unless_that_is_meant(
    fathom: Any, tmp_path: Path, initial: str, told: bool
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(MIRROR.replace("@initial@", initial))
    text = said(fathom("simulate", study, "--quiet", "--out", "c"))
    assert ("copied its new mirror all the time" in text) == told
    assert ("rebuilt its mirror all the time" in text) == (initial == 'initial = "copy"')


BURST = """
title = "A burst before a cache"
clock = "virtual"

[volumes.ebs]
kind = "model"
model = "aws/gp3"
size = "100GiB"

[volumes.nvme]
kind = "model"
model = "aws/r5d.4xlarge/nvme"
size = "20GB"

[volumes.cached]
kind = "writeback"
backing = "ebs"
cache = "nvme"
@spans@

[workload]
kind = "io"
volumes = ["cached"]
size = "8KiB"
read = "0%"
rate = 2000
ramp = "5s"

[[workload.phases]]
name = "calm"
duration = "60s"

[[workload.phases]]
name = "burst"
duration = "10s"
rate = 7000

[compare]
metric = "latency_ms"
rounds = 1
"""


@pytest.mark.parametrize("longer", [False, True])
def test_a_cache_that_holds_a_burst_back_is_told_what_would_let_it_in(
    fathom: Any, tmp_path: Path, longer: bool
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(BURST.replace("@spans@", 'drain_target = "5min"\nlag_max = "5min"' if longer else ""))
    text = said(fathom("simulate", study, "--quiet", "--out", "c"))
    assert ("cannot sustain 7,000/s in phase burst" in text) != longer
    assert ('volumes.cached.drain_target = "5min" volumes.cached.lag_max = "5min"' in text) != longer


def test_a_percentile_of_a_handful_of_requests_says_so(fathom: Any) -> None:
    text = said(fathom("io", "--model", "hdd/sata-7200", "--for", "2s", "--quiet", "--out", "c"))
    assert " requests, too few to tell it)." in text
    assert "Marked ?: fewer than ten requests of all runs lie beyond it." in text
    text = said(fathom("io", "--model", "aws/gp3", "--depth", "16", "--for", "5s", "--quiet", "--out", "d"))
    assert "too few to tell" not in text
    assert "Marked ?" not in text
