"""The extension module: the same as its stub, releases the interpreter, stops at once, raises what it says."""

from __future__ import annotations

import ast
import inspect
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fathom import _core
from fathom.results import REASONS

STUB = Path(__file__).parents[2] / "python" / "fathom" / "_core.pyi"

SIMULATED = """\
title = "t"
clock = "virtual"
[volumes.disk]
kind = "model"
size = "1GiB"
servers = 4
read = { latency = "100us" }
[workload]
kind = "io"
volumes = ["disk"]
outstanding = 8
duration = "1000000s"
"""


def simulate(tmp_path: Path, tick: Any = None, seconds: str = "1000000s", seed: int = 1) -> Any:
    """One simulated run."""
    return _core.run(entry(seed, **{"workload.duration": seconds}), tmp_path, tick)


def entry(seed: int = 1, **settings: Any) -> str:
    """A planned run, as JSON."""
    fixed = {"clock": "virtual", "seed": seed, "models": []}
    return json.dumps({"text": SIMULATED, "file": "t.toml", "set": settings, **fixed})


def test_the_stub_names_what_the_module_has() -> None:
    tree = ast.parse(STUB.read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == set(functions) | classes
    for name, node in functions.items():
        arguments = [argument.arg for argument in node.args.args]
        assert list(inspect.signature(getattr(_core, name)).parameters) == arguments, name
        assert ast.get_docstring(node), name


def test_every_reason_of_the_engine_is_explained() -> None:
    assert set(REASONS) == {*_core.describe()["reasons"], "internal"}


def test_every_kind_has_a_manual_and_documented_keys() -> None:
    kinds = _core.describe()["kinds"]
    names = [(kind["group"], kind["name"]) for kind in kinds]
    assert names == sorted(names)
    assert len(set(names)) == len(names) >= 8
    for kind in kinds:
        assert kind["summary"]
        assert "```toml" in kind["manual"], kind["name"]
        assert all(key["takes"] and key["summary"] for key in kind["keys"])


def test_a_study_without_mistakes_has_no_diagnostics() -> None:
    found = _core.check(SIMULATED, "t.toml")
    assert (found["screen"], found["diagnostics"]) == ("", [])
    assert found["study"] is not None
    assert [variant["levels"] for variant in found["study"]["variants"]] == [{}]


def test_diagnostics_have_places() -> None:
    found = _core.check(SIMULATED + "sise = 1\n", "t.toml")
    assert found["study"] is None
    assert found["diagnostics"][0].keys() == {"file", "line", "column", "length", "path", "message", "help"}
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["column"]) == (13, 1)
    assert "t.toml:13:1" in found["screen"]


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(_core.BadInput, match="lunar"):
        _core.check(SIMULATED, "t.toml", "lunar")
    with pytest.raises(_core.BadInput):
        _core.run("{not json", tmp_path)
    with pytest.raises(_core.BadInput, match="missing field"):
        _core.run("{}", tmp_path)
    with pytest.raises(_core.BadInput, match=r"m\.toml"):
        _core.check(SIMULATED, "t.toml", models=[("m.toml", "nothing = 1")])
    with pytest.raises(_core.BadInput, match=r"missing\.toml"):
        _core.catalogue_list([tmp_path / "missing.toml"])


def test_settings_that_do_not_work_are_a_failed_run(tmp_path: Path) -> None:
    with pytest.raises(_core.RunFailed) as failed:
        _core.run(entry(**{"workload.size": "3B"}), tmp_path)
    reason, message = failed.value.args
    assert reason == "settings"
    assert "workload.size" in message


def test_columns_have_one_length_and_the_documented_names(tmp_path: Path) -> None:
    from fathom.record import HISTOGRAMS, SAMPLES, frame

    outcome = simulate(tmp_path, seconds="2s")
    assert list(outcome["samples"]) == list(SAMPLES)
    assert list(outcome["histograms"]) == list(HISTOGRAMS)
    samples, histograms = frame(outcome["samples"], SAMPLES), frame(outcome["histograms"], HISTOGRAMS)
    assert len(samples) > 0
    measured = samples.filter(phase="measure", node="workload", op="read")
    total = outcome["volumes"]["workload"]["read"]["count"]
    assert measured["count"].sum() == total
    for measure in ("latency", "size"):
        buckets = histograms.filter(node="workload", op="read", measure=measure)
        assert buckets["count"].sum() == total
        assert (buckets["low"] <= buckets["high"]).all()
    assert outcome["metrics"]["iops"] == pytest.approx(total / 2.0)


def test_the_same_seed_gives_the_same_digest(tmp_path: Path) -> None:
    digests = [simulate(tmp_path, seconds="1s", seed=seed)["digest"] for seed in (1, 1, 2)]
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_what_the_callback_raises_stops_the_run_and_is_raised(tmp_path: Path) -> None:
    seen: list[float] = []

    def tick(share: float, words: str) -> None:
        seen.append(share)
        if len(seen) == 3:
            raise LookupError(words)

    # To its end it would simulate for hours.
    with pytest.raises(LookupError):
        simulate(tmp_path, tick)
    assert len(seen) == 3
    assert all(0 <= share <= 1 for share in seen)


def test_an_interrupt_is_noticed(tmp_path: Path) -> None:
    import _thread

    simulating, sent = threading.Event(), threading.Event()
    seen_after: list[float] = []

    def interrupt() -> None:
        assert simulating.wait(120)
        _thread.interrupt_main()
        sent.set()

    def tick(share: float, _words: str) -> None:
        simulating.set()
        if sent.is_set():
            seen_after.append(share)

    thread = threading.Thread(target=interrupt)
    thread.start()
    # To its end it would simulate for hours; a process that a script began in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            simulate(tmp_path, tick)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    # Ticks come every 50 ms; the next one ends it.
    assert len(seen_after) <= 1


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    enough = threading.Event()

    def take_turns() -> None:
        for _ in range(200):
            time.sleep(0.001)
        enough.set()

    ticks: list[float] = []

    def tick(share: float, _words: str) -> None:
        ticks.append(share)
        if enough.is_set():
            raise LookupError
        # A lock that is held is lent to others once per tick at most.
        assert len(ticks) < 100, "the interpreter lock was held"

    thread = threading.Thread(target=take_turns)
    thread.start()
    with pytest.raises(LookupError):
        simulate(tmp_path, tick)
    thread.join()
