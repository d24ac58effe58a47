"""`fathom record --postgresql` on a server that is not there."""

from __future__ import annotations

import shutil

import pytest

from fathom.host import recorder


def test_the_cause_is_told_and_no_hint() -> None:
    said = (
        'psql: error: connection to server at "localhost" (::1), port 1 failed: Connection refused\n'
        "\tIs the server running on that host and accepting TCP/IP connections?\n"
        'connection to server at "localhost" (127.0.0.1), port 1 failed: Connection refused\n'
        "\tIs the server running on that host and accepting TCP/IP connections?\n"
    )
    assert recorder.why(said) == (
        'connection to server at "localhost" (::1), port 1 failed: Connection refused; '
        'connection to server at "localhost" (127.0.0.1), port 1 failed: Connection refused'
    )
    assert recorder.why("") == "no answer"


@pytest.mark.skipif(shutil.which("psql") is None, reason="PostgreSQL's client is not installed")
def test_psql_itself_tells_the_cause_so() -> None:
    with pytest.raises(recorder.RecordError) as failed, recorder.psql("host=127.0.0.1 port=1 user=nobody"):
        pytest.fail("nobody listens there")
    assert "port 1 failed: Connection refused" in str(failed.value)
    assert "Is the server running" not in str(failed.value)
