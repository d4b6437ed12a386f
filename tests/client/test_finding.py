"""Which server is meant, and who is shown which token."""

import json
from pathlib import Path

import pytest

from hermitty.client.finding import ServerAddress, checked_url, find_server
from hermitty.errors import InvalidRequest, NotAuthenticated, ServerUnavailable

URL = "http://127.0.0.1:8421"


def announce(state: Path, url: str = URL) -> None:
    (state / "server.json").write_text(json.dumps({"url": url, "pid": 1, "version": "0", "started_at": 0}))
    (state / "token").write_text("kept-token\n")


def test_the_one_that_runs_here_is_found_with_its_token(tmp_path: Path) -> None:
    announce(tmp_path)
    assert find_server(None, None, state=tmp_path, environ={}) == ServerAddress(URL, "kept-token")


def test_what_is_given_counts_before_the_environment_and_that_before_what_is_found(tmp_path: Path) -> None:
    announce(tmp_path)
    environ = {"HERMITTY_URL": "http://127.0.0.1:9000", "HERMITTY_TOKEN": "env-token"}
    given = find_server("http://127.0.0.1:9001", "mine", state=tmp_path, environ=environ)
    assert given == ServerAddress("http://127.0.0.1:9001", "mine")
    assert find_server(None, None, state=tmp_path, environ=environ) == ServerAddress(
        "http://127.0.0.1:9000", "env-token"
    )


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9999", "http://example.org:8421", "https://127.0.0.1:8421", "http://127.0.0.1:8421/other"]
)
def test_the_kept_token_goes_nowhere_else(tmp_path: Path, url: str) -> None:
    announce(tmp_path)
    with pytest.raises(NotAuthenticated, match="needs its token"):
        find_server(url, None, state=tmp_path, environ={})


def test_a_name_of_this_machine_leads_to_the_address_that_the_server_told(tmp_path: Path) -> None:
    announce(tmp_path)
    found = find_server("http://localhost:8421/", None, state=tmp_path, environ={})
    assert found == ServerAddress(URL, "kept-token")


def test_no_server_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ServerUnavailable, match="hermitty serve"):
        find_server(None, None, state=tmp_path, environ={})
    (tmp_path / "server.json").write_text("{broken")
    with pytest.raises(ServerUnavailable):
        find_server(None, None, state=tmp_path, environ={})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8421/?token=abc", (URL, "abc")),
        (" http://127.0.0.1:8421/ ", (URL, None)),
        ("https://example.org/hermitty/", ("https://example.org/hermitty", None)),
        ("http://[::1]:80", ("http://[::1]:80", None)),
    ],
)
def test_addresses_are_read(url: str, expected: tuple[str, str | None]) -> None:
    assert checked_url(url) == expected


@pytest.mark.parametrize("url", ["", "127.0.0.1:8421", "ftp://x", "http://", "http://a@b", "http://x:notaport"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="is not the address of a server"):
        checked_url(url)


def test_the_token_is_in_no_representation() -> None:
    assert "secret" not in repr(ServerAddress(URL, "secret"))
