"""Alert rules and dashboard for fathomd: sound to Prometheus and to Grafana's schema, and fed by a real daemon."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from fathom.host.fathomd import Serving, program

ROOT = Path(__file__).parents[2]
RULES = ROOT / "packaging/prometheus/fathomd.rules.yml"
RULES_TEST = Path(__file__).with_name("fathomd.rules.test.yml")
DASHBOARD = json.loads((ROOT / "packaging/grafana/fathomd.json").read_text(encoding="utf-8"))
NEEDS_PROMETHEUS = pytest.mark.skipif(shutil.which("promtool") is None, reason="prometheus is not installed")

PATIENCE_S = 120


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels that show something."""
    return [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    """What the panels ask for, with Grafana's variables replaced as Grafana does."""
    written = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [re.sub(r"\$(instance|volume)", ".*", text).replace("$__rate_interval", "1m") for text in written]


def lost(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """Places of `before` that `after` lacks or has otherwise."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from lost(value, after[key], f"{path}.{key}") if key in after else [f"{path}.{key}"]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from lost(one, other, f"{path}[{index}]")
    elif before != after:
        yield path


def test_the_dashboard_is_what_grafanas_schema_knows() -> None:
    plugins.register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))
    assert list(lost(DASHBOARD, read)) == [], "keys that Grafana does not know, or values it reads otherwise"
    wrong = {**DASHBOARD, "tilte": "x"}
    assert list(lost(wrong, json.loads(JSONEncoder().encode(Dashboard.from_json(wrong))))) == [".tilte"]


def test_panels_have_ids_and_places_of_their_own() -> None:
    every = DASHBOARD["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    taken: set[tuple[int, int]] = set()
    for panel in every:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@NEEDS_PROMETHEUS
def test_alerts_fire_when_they_should_and_only_then() -> None:
    checked = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = subprocess.run(["promtool", "test", "rules", RULES_TEST], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    alerts = set(re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8")))
    untested = {name for name in alerts if name not in RULES_TEST.read_text(encoding="utf-8")}
    assert untested == {"FathomdClientsTurnedAway"}, "that one is only tested not to fire"


def free_port() -> int:
    """A TCP port that nobody has at this moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def settings(at: Path, metrics: int) -> Path:
    """A daemon with a write-back cache and a mirror, laid out."""
    volumes = "".join(
        f'[volumes.{name}]\nkind = "file"\npath = "{at}/{name}"\nsize = "64MiB"\n' for name in ("ebs", "nvme", "a", "b")
    )
    path = at / "fathomd.toml"
    path.write_text(
        f'{volumes}[volumes.data]\nkind = "writeback"\nbacking = "ebs"\ncache = "nvme"\nsegment = "1MiB"\n'
        f'[volumes.both]\nkind = "mirror"\nlegs = ["a", "b"]\n'
        f'[exports.data]\nvolume = "data"\n[exports.both]\nvolume = "both"\n'
        f'[daemon]\nsocket = "{at}/nbd.sock"\nstatus = "{at}/status.sock"\nmetrics = "127.0.0.1:{metrics}"\n',
        encoding="utf-8",
    )
    subprocess.run([program(), "--create", str(path)], check=True)
    return path


def query(port: int, expression: str) -> list[dict[str, Any]]:
    """Prometheus' answer now."""
    asked = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{asked}", timeout=30) as reply:
        answer = json.load(reply)
    assert answer["status"] == "success"
    return list(answer["data"]["result"])


def wait_for(what: Any) -> None:
    """Until it holds or patience ends."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            if what():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError("it never came")


@NEEDS_PROMETHEUS
def test_a_real_prometheus_fills_every_panel_from_a_real_daemon(tmp_path: Path) -> None:
    metrics, port = free_port(), free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(
        f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\n"
        f"scrape_configs:\n  - job_name: fathomd\n    static_configs: [{{targets: ['127.0.0.1:{metrics}']}}]\n"
    )
    with Serving.start(settings(tmp_path, metrics), tmp_path / "log"):
        command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/tsdb"]
        command.append(f"--web.listen-address=127.0.0.1:{port}")
        with (tmp_path / "prometheus.log").open("wb") as log, subprocess.Popen(command, stderr=log) as prometheus:
            try:
                wait_for(lambda: query(port, 'up{job="fathomd"} == 1'))
                for name in ("data", "both"):
                    uri = f"nbd+unix:///{name}?socket={tmp_path}/nbd.sock"
                    write = ["qemu-io", "-f", "raw", "-c", "write 0 1M", "-c", "flush", "-c", "read 0 1M", uri]
                    subprocess.run(write, check=True, capture_output=True)
                wait_for(lambda: query(port, "sum(rate(fathomd_volume_requests_total[1m])) > 0"))
                empty = [text for text in expressions() if not query(port, text)]
                assert empty == []
                firing = {alert["metric"]["alertname"] for alert in query(port, 'ALERTS{alertstate="firing"}')}
                assert firing == set(), "nothing is wrong"
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/rules", timeout=30) as reply:
                    rules = json.load(reply)["data"]["groups"][0]["rules"]
                assert {rule["health"] for rule in rules} == {"ok"}
                known = {entry["metric"]["__name__"] for entry in query(port, '{job="fathomd"}')}
            finally:
                prometheus.terminate()
                prometheus.wait(PATIENCE_S)
    named = set(re.findall(r"\bfathomd_[a-z_]+", RULES.read_text(encoding="utf-8") + "\n".join(expressions())))
    assert named <= known, "a rule or panel asks for what the daemon does not count"
