"""Tokens, logins, and how often somebody may try."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.errors import HostUnavailable, InvalidRequest, TokenNotFound
from hermitty.server.access import Scope
from hermitty.server.logins import Logins
from hermitty.server.private_files import read_private, write_private
from hermitty.server.throttle import Throttle
from hermitty.server.tokens import Token, Tokens, checked_token, hash_of, own_token

OWN = "the-token-of-the-owner"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def shown_by(logins: Logins, text: str) -> Token | None:
    """The token of a login that counts."""
    found = logins.find(text)
    assert found is None or logins.has(found.id)
    return None if found is None else found.token


def tokens_in(directory: Path, clock: Clock) -> Tokens:
    return Tokens(OWN, directory / "tokens.json", clock=clock)


def test_the_own_token_may_everything_and_others_what_they_are_for(tmp_path: Path) -> None:
    tokens = tokens_in(tmp_path, Clock())
    own = tokens.find(OWN)
    assert own is not None
    assert (own.name, set(own.scopes)) == ("owner", {Scope.ADMIN})
    made, text = tokens.create("bot", [Scope.VIEW, Scope.RUN], None)
    assert tokens.find(text) == made
    assert made.scopes == {Scope.VIEW, Scope.RUN}
    assert tokens.find(text + "x") is None
    assert tokens.find("") is None
    # Another server on the same files.
    assert tokens_in(tmp_path, Clock()).find(text) == made


def test_tokens_expire_and_are_deleted(tmp_path: Path) -> None:
    clock = Clock()
    tokens = tokens_in(tmp_path, clock)
    brief, brief_text = tokens.create("brief", [Scope.VIEW], 60)
    lasting, lasting_text = tokens.create("lasting", [Scope.VIEW], None)
    clock.now += 61
    assert (tokens.find(brief_text), tokens.find(lasting_text)) == (None, lasting)
    assert tokens.by_hash(brief.hash) is None
    assert tokens.delete(lasting.id) == lasting
    assert tokens.find(lasting_text) is None
    with pytest.raises(TokenNotFound):
        tokens.delete(lasting.id)
    # The name of one that has expired is free.
    assert tokens.create("brief", [Scope.VIEW], None)[0].name == "brief"


def test_names_are_given_once_and_there_are_not_too_many(tmp_path: Path) -> None:
    tokens = tokens_in(tmp_path, Clock())
    tokens.create("a", [Scope.VIEW], None)
    for name in ("a", "owner"):
        with pytest.raises(InvalidRequest, match="already"):
            tokens.create(name, [Scope.VIEW], None)
    for number in range(199):
        tokens.create(f"n{number}", [Scope.VIEW], None)
    with pytest.raises(InvalidRequest, match="200"):
        tokens.create("one more", [Scope.VIEW], None)


@pytest.mark.parametrize(
    "content", [b"{", b"[1]", b'[{"id": 1}]', b'[{"hash": "x", "scopes": ["all"]}]', b"null", b"\xff"]
)
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokens.json").write_bytes(content)
    with pytest.raises(HostUnavailable, match="damaged"):
        tokens_in(tmp_path, Clock())


def test_the_own_token_is_made_once_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "state" / "token"
    text = own_token(file)
    assert own_token(file) == text
    assert len(text) >= 43
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


@given(st.text())
def test_a_chosen_token_can_be_sent_in_a_header(text: str) -> None:
    try:
        checked = checked_token(text)
    except InvalidRequest:
        return
    assert checked == text
    assert f"Bearer {text}".split(" ") == ["Bearer", text]
    assert text.encode("ascii").isascii()


@given(st.text())
def test_any_text_has_a_hash(text: str) -> None:
    try:
        assert len(hash_of(text)) == 64
    except UnicodeEncodeError:
        assert any(0xD800 <= ord(each) <= 0xDFFF for each in text)


def test_a_login_counts_as_long_as_its_token_and_its_time(tmp_path: Path) -> None:
    clock = Clock()
    tokens = tokens_in(tmp_path, clock)
    guest, _ = tokens.create("guest", [Scope.VIEW], None)
    own = tokens.find(OWN)
    assert own is not None
    logins = Logins(tokens, tmp_path / "logins.json", clock=clock)
    first, second = logins.begin(guest, 100), logins.begin(own, 200)
    assert first not in (tmp_path / "logins.json").read_text()
    again = Logins(tokens, tmp_path / "logins.json", clock=clock)
    assert (shown_by(again, first), shown_by(again, second), shown_by(again, "x")) == (guest, own, None)
    clock.now += 101
    assert (shown_by(again, first), shown_by(again, second)) == (None, own)
    again.end(second)
    assert again.find(second) is None
    third = again.begin(guest, 100)
    tokens.delete(guest.id)
    assert again.find(third) is None


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b'{"a": ["b", "c"]}', b"\xff", b"null"])
def test_a_damaged_file_of_logins_is_forgotten(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "logins.json").write_bytes(content)
    tokens = tokens_in(tmp_path, Clock())
    assert Logins(tokens, tmp_path / "logins.json", clock=Clock()).find("x") is None


def test_logins_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermitty.server.logins._MOST_LOGINS", 5)
    clock = Clock()
    tokens = tokens_in(tmp_path, clock)
    own = tokens.find(OWN)
    assert own is not None
    logins = Logins(tokens, tmp_path / "logins.json", clock=clock)
    told: list[int] = []
    logins.when_ended = lambda: told.append(1)
    texts = [logins.begin(own, 100) for _ in range(8)]
    assert len(told) == 3
    assert [logins.find(text) is not None for text in texts] == [False] * 3 + [True] * 5


def test_private_files_are_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "private" / "file"
    assert read_private(file) is None
    write_private(file, b"one")
    os.chmod(file, 0o644)
    write_private(file, b"two")
    assert read_private(file) == b"two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["file"]
    with pytest.raises(HostUnavailable):
        write_private(file / "below", b"x")
    with pytest.raises(HostUnavailable):
        read_private(tmp_path)


def test_tries_are_counted_by_key_and_come_back_with_time() -> None:
    throttle = Throttle(2, 0.5)
    assert [throttle.take("a", 0.0) for _ in range(2)] == [0, 0]
    assert throttle.take("a", 0.0) == 2
    assert throttle.wait_s("a", 1.0) == 1
    assert (throttle.wait_s("b", 0.0), throttle.take("b", 0.0)) == (0, 0)
    assert throttle.take("a", 2.0) == 0
    assert throttle.take("a", 2.0) == 2
    assert [throttle.take("a", 1000.0) for _ in range(3)] == [0, 0, 2]


def test_what_is_remembered_of_those_who_try_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermitty.server.throttle._MOST_KEYS", 2)
    throttle = Throttle(1, 0.001)
    for key in ("a", "b", "a", "c"):
        throttle.take(key, 0.0)
    assert (throttle.wait_s("a", 0.0) > 0, throttle.wait_s("b", 0.0)) == (True, 0)


@given(st.lists(st.floats(0, 10), max_size=60), st.integers(1, 5), st.floats(0.1, 10))
def test_never_more_than_the_burst_and_the_rate(gaps: list[float], burst: int, per_s: float) -> None:
    throttle, now, passed = Throttle(burst, per_s), 0.0, 0
    for gap in gaps:
        now += gap
        passed += throttle.take("a", now) == 0
    assert passed <= burst + now * per_s + 1e-6


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory in which nothing can be written when it is `locked`."""
    place = tmp_path / "place"
    place.mkdir()
    return place


@contextlib.contextmanager
def locked(place: Path) -> Iterator[None]:
    """Let writing fail, as on a full disk."""
    aside = place.with_name("aside")
    place.rename(aside)
    place.touch()
    try:
        yield
    finally:
        place.unlink()
        aside.rename(place)


def test_a_token_whose_deletion_cannot_be_kept_is_refused_all_the_same(place: Path) -> None:
    tokens = tokens_in(place, Clock())
    made, text = tokens.create("guest", [Scope.VIEW], None)
    told: list[bool] = []
    tokens.when_deleted = lambda: told.append(tokens.has(made.id))
    with locked(place):
        with pytest.raises(HostUnavailable, match="refused from now on"):
            tokens.delete(made.id)
        assert (tokens.find(text), tokens.by_hash(made.hash)) == (None, None)
        assert told == [False]
        with pytest.raises(HostUnavailable):
            tokens.create("other", [Scope.VIEW], None)
        # It is still there to be deleted, which is what it takes.
        assert tokens.listed() == [made]
    assert tokens_in(place, Clock()).find(text) == made
    tokens.delete(made.id)
    assert (tokens.listed(), tokens_in(place, Clock()).find(text)) == ([], None)


def test_a_login_that_cannot_be_kept_counts_until_the_server_ends(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = tokens_in(place, Clock())
    own = tokens.find(OWN)
    assert own is not None
    logins = Logins(tokens, place / "logins.json", clock=Clock())
    before = logins.begin(own, 100)
    with locked(place):
        during = logins.begin(own, 100)
        assert shown_by(logins, during) == own
        logins.end(before)
        assert logins.find(before) is None
    assert len(caplog.messages) == 2
    assert all("forgotten at a restart" in each and during not in each for each in caplog.messages)
    after = logins.begin(own, 100)
    again = Logins(tokens, place / "logins.json", clock=Clock())
    assert [shown_by(again, each) for each in (before, during, after)] == [None, own, own]
