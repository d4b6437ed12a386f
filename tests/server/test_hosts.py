"""Names of the server and sites of pages: which are its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.server.hosts import HostName, Names, is_loopback, is_own_origin, is_wildcard, parse_host


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost", HostName("localhost", None)),
        ("LocalHost:80", HostName("localhost", 80)),
        ("example.org.", HostName("example.org", None)),
        ("127.0.0.1:8421", HostName("127.0.0.1", 8421)),
        ("[::1]:8421", HostName("::1", 8421)),
        ("[::1]", HostName("::1", None)),
        ("", None),
        ("::1", None),
        ("a:b", None),
        ("a:0", None),
        ("a:65536", None),
        ("a:80:80", None),
        ("a b", None),
        ("user@host", None),
        ("host/path", None),
        ("a\nb", None),
        ("a" * 300, None),
    ],
)
def test_hosts_are_read(text: str, expected: HostName | None) -> None:
    assert parse_host(text) == expected


@given(st.text())
def test_anything_is_a_host_or_none(text: str) -> None:
    found = parse_host(text)
    if found is not None:
        assert "@" not in found.name
        assert "/" not in found.name
        Names("127.0.0.1").has(found)
        is_own_origin(text, found)


@pytest.mark.parametrize(
    ("bound", "others", "host", "expected"),
    [
        ("127.0.0.1", (), "127.0.0.1", True),
        ("127.0.0.1", (), "127.8.8.8", True),
        ("127.0.0.1", (), "localhost", True),
        ("127.0.0.1", (), "a.localhost", True),
        ("127.0.0.1", (), "[::1]", True),
        ("127.0.0.1", (), "192.168.1.1", False),
        ("127.0.0.1", (), "example.org", False),
        ("127.0.0.1", (), "localhost.example.org", False),
        ("127.0.0.1", ("example.org",), "EXAMPLE.org", True),
        ("127.0.0.1", ("*.example.org",), "a.b.example.org", True),
        ("127.0.0.1", ("*.example.org",), "example.org", False),
        ("127.0.0.1", ("*.example.org",), "evilexample.org", False),
        ("0.0.0.0", (), "192.168.1.1", True),
        ("::", (), "[2001:db8::1]", True),
        ("0.0.0.0", (), "example.org", False),
        ("192.168.1.1", (), "192.168.1.1", True),
        ("192.168.1.1", (), "192.168.1.2", False),
        ("box.lan", (), "box.lan", True),
    ],
)
def test_what_the_server_may_be_called(bound: str, others: tuple[str, ...], host: str, expected: bool) -> None:
    assert Names(bound, others).has(parse_host(host)) is expected


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        ("http://localhost:8421", "localhost:8421", True),
        ("http://LOCALHOST:8421", "localhost:8421", True),
        ("http://localhost:8422", "localhost:8421", False),
        ("http://127.0.0.1:8421", "localhost:8421", False),
        ("https://example.org", "example.org", True),
        ("http://example.org", "example.org", True),
        ("https://example.org", "example.org:443", True),
        ("https://example.org:443", "example.org", True),
        ("https://example.org:8443", "example.org", False),
        ("http://example.org", "example.org:443", False),
        ("http://[::1]:80", "[::1]:80", True),
        ("null", "localhost", False),
        ("", "localhost", False),
        ("http://localhost/", "localhost", False),
        ("http://localhost@evil.example", "localhost", False),
        ("http://evil.example#localhost", "localhost", False),
        ("ftp://localhost", "localhost", False),
        ("http://localhost:8421.evil.example", "localhost:8421", False),
    ],
)
def test_which_pages_are_the_servers(origin: str, host: str, expected: bool) -> None:
    found = parse_host(host)
    assert found is not None
    assert is_own_origin(origin, found) is expected


def test_other_sites_can_be_allowed() -> None:
    here = HostName("localhost", 8421)
    assert is_own_origin("https://page.example", here, allowed=("https://Page.example/",))
    assert not is_own_origin("https://page.example:8443", here, allowed=("https://page.example",))


@pytest.mark.parametrize(
    ("host", "loopback", "wildcard"),
    [
        ("127.0.0.1", True, False),
        ("127.1.2.3", True, False),
        ("::1", True, False),
        ("localhost", True, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("10.0.0.1", False, False),
        ("example.org", False, False),
    ],
)
def test_who_can_reach_an_address(host: str, loopback: bool, wildcard: bool) -> None:
    assert (is_loopback(host), is_wildcard(host)) == (loopback, wildcard)
