"""A study on a server that is reached over TLS, through the command line: whom it believes, and why it does not."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fathom import results
from fathom.provision.account import account
from fathom.provision.host import Host
from fathom.provision.provide import provided
from provision.conftest import wants

STUDY = """\
title = "t"

[databases.there]
kind = "{kind}"
connect = {{ host = "{host}", port = {port}, user = "{user}", database = "{database}", {tls} }}

[workload]
kind = "insert"
database = "there"
rows = 20

[compare]
metric = "rows_per_second"
baseline = {{}}
rounds = 1
"""


@dataclass(frozen=True)
class There:
    """A server whose certificate is for `localhost`, signed by `authority`; `stranger` signed nothing."""

    kind: str
    port: int
    user: str
    database: str
    authority: Path
    stranger: Path

    def study(self, host: str, tls: str) -> str:
        """A tiny study on it."""
        to = {"kind": self.kind, "port": self.port, "user": self.user, "database": self.database}
        return STUDY.format(host=host, tls=tls, **to)


def certificate(directory: Path, name: str, *signed: str | Path) -> Path:
    """A key and a certificate, by openssl; self-signed unless `signed` says by whom."""
    path = directory / f"{name}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={name}", "-keyout", str(directory / f"{name}.key"), "-out", str(path)]
    subprocess.run([*command, *map(str, signed)], check=True, capture_output=True)
    return path


@pytest.fixture(params=["postgresql", "mariadb"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[There]:
    """A server of each kind that encrypts."""
    kind = str(request.param)
    place, keys = tmp_path / "server", tmp_path / "keys"
    place.mkdir()
    keys.mkdir()
    authority, stranger = certificate(keys, "authority"), certificate(keys, "stranger")
    own = certificate(
        keys, "localhost", "-CA", authority, "-CAkey", keys / "authority.key",
        "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
    )  # fmt: skip
    key = own.with_suffix(".key")
    owner = account({"postgresql": "postgres", "mariadb": "mysql"}[kind])
    if owner.name is not None:
        shutil.chown(key, owner.name)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings: dict[str, Any] = {
        "postgresql": {
            "listen_addresses": "127.0.0.1", "port": port,
            "ssl": True, "ssl_cert_file": str(own), "ssl_key_file": str(key),
        },
        "mariadb": {
            "skip_networking": False, "bind_address": "127.0.0.1", "port": port,
            "ssl_cert": str(own), "ssl_key": str(key),
        },
    }[kind]  # fmt: skip
    with provided(wants({"db": {"kind": kind, "settings": settings}}), place, Host()) as around:
        connection = around.servers["db"].connection
        yield There(kind, port, connection["user"], connection["database"], authority, stranger)


def test_a_study_runs_over_tls_and_says_so(fathom: Any, there: There, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(there.study("localhost", f'tls = "verify-full", tls_ca = "{there.authority}"'))
    done = fathom("run", "s.toml", "--out", "c")
    assert done.returncode == 0, done.stderr
    (run,) = results.read(tmp_path / "c").runs
    assert (run.status, run.facts["encryption"], run.metrics["rows"]) == ("ok", "TLSv1.3", 20)


@pytest.mark.parametrize(
    ("host", "signed_by", "words"),
    [
        ("localhost", "stranger", "signed by none of the authorities of `tls_ca`"),
        ("127.0.0.1", "authority", 'the server\'s certificate is not for "127.0.0.1"'),
    ],
)
def test_a_server_that_is_not_believed_is_a_failed_run_that_says_why(
    fathom: Any, there: There, tmp_path: Path, host: str, signed_by: str, words: str
) -> None:
    trusted = getattr(there, signed_by)
    (tmp_path / "s.toml").write_text(there.study(host, f'tls = "verify-full", tls_ca = "{trusted}"'))
    done = fathom("run", "s.toml", "--out", "c")
    assert done.returncode == 1, done.stderr
    (run,) = results.read(tmp_path / "c").runs
    assert (run.status, run.reason) == ("failed", "permission")
    assert words in (run.message or "")
    assert words in (done.stderr + done.stdout).replace("\n", " ")
