"""The tokens that are known: the server's own, and those with a name that were made for somebody.

Only hashes are kept of named tokens; the token itself is shown once. Tokens are compared by their hashes, in a time
that does not depend on where they differ.
"""

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable, InvalidRequest, TokenNotFound
from hermitty.server.access import Scope
from hermitty.server.private_files import read_private, write_private

OWN_NAME = "owner"
_MOST_TOKENS = 200
# A token of this length is random, or as good as that: trying does not find it.
STRONG_CHARACTERS = 32
_LEAST_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token. Times are seconds since 1970."""

    id: str
    name: str
    scopes: frozenset[Scope]
    created_at: float
    expires_at: float | None
    hash: str

    def is_live(self, now: float) -> bool:
        """Tell whether it still counts."""
        return self.expires_at is None or now < self.expires_at


class Tokens:
    """The tokens of one server. The file of named tokens is written as a whole with each change."""

    def __init__(self, own: str, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._own = Token(OWN_NAME, OWN_NAME, frozenset({Scope.ADMIN}), 0.0, None, hash_of(own))
        self._file = file
        self._clock = clock
        self._named = {token.id: token for token in _read(file)}
        self._refused: set[str] = set()  # deleted, but still in the file
        self.when_deleted: Callable[[], None] = lambda: None

    def find(self, shown: str) -> Token | None:
        """Return the token that somebody shows, if it is known and still counts."""
        wanted = hash_of(shown)
        found = None
        for token in (self._own, *self._named.values()):  # all of them, whichever it is
            if hmac.compare_digest(token.hash, wanted):
                found = token
        return found if found is not None and self._counts(found) else None

    def by_hash(self, token_hash: str) -> Token | None:
        """Return a token that still counts by its hash."""
        everyone = (self._own, *self._named.values())
        return next((token for token in everyone if token.hash == token_hash and self._counts(token)), None)

    def has(self, token_id: str) -> bool:
        """Tell whether a token still counts, by its id."""
        token = self._own if token_id == self._own.id else self._named.get(token_id)
        return token is not None and self._counts(token)

    def listed(self) -> list[Token]:
        """Return the tokens that have a name, the oldest first."""
        return sorted(self._named.values(), key=lambda token: token.created_at)

    def create(self, name: str, scopes: Iterable[Scope], expires_in_s: float | None) -> tuple[Token, str]:
        """Make a token and return it with its text, which nobody can ask for again."""
        now = self._clock()
        live = {token.id: token for token in self._named.values() if self._counts(token)}
        if len(live) >= _MOST_TOKENS:
            raise InvalidRequest(f"there are {_MOST_TOKENS} tokens already; delete one first")
        if name == OWN_NAME or any(token.name == name for token in live.values()):
            raise InvalidRequest(f"there is a token named {name!r} already")
        text = new_token()
        expires_at = None if expires_in_s is None else now + expires_in_s
        token = Token(f"k_{secrets.token_hex(6)}", name, frozenset(scopes), now, expires_at, hash_of(text))
        self._write({**live, token.id: token})
        return token, text

    def delete(self, token_id: str) -> Token:
        """Forget a token; whoever shows it is refused from now on, and whoever has shown it is told to leave.

        Raises HostUnavailable when the file cannot be changed: after a restart it would count again. Another try helps.
        """
        token = self._named.get(token_id)
        if token is None:
            raise TokenNotFound(token_id)
        self._refused.add(token_id)
        try:
            self._write({key: each for key, each in self._named.items() if key not in self._refused})
        except HostUnavailable as exc:
            message = f"the token is refused from now on, but counts again after a restart: {exc.message}; try again"
            raise HostUnavailable(message) from exc
        finally:
            self.when_deleted()
        return token

    def _counts(self, token: Token) -> bool:
        return token.id not in self._refused and token.is_live(self._clock())

    def _write(self, named: dict[str, Token]) -> None:
        records = [{**asdict(token), "scopes": sorted(token.scopes)} for token in named.values()]
        write_private(self._file, json.dumps(records, indent=1).encode())
        self._named = named


def new_token() -> str:
    """Make a token that nobody guesses."""
    return secrets.token_urlsafe(32)


def hash_of(text: str) -> str:
    """Return what is kept and compared of a token."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def checked_token(text: str) -> str:
    """Return a token that somebody chose, or raise InvalidRequest."""
    if len(text) < _LEAST_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidRequest(f"a token has {_LEAST_CHARACTERS} or more printable ASCII characters and no blanks")
    return text


def own_token(file: Path) -> str:
    """Return the token that is kept in the state directory; the first call makes it."""
    kept = (read_private(file) or b"").decode("ascii", "replace").strip()
    if kept:
        return checked_token(kept)
    text = new_token()
    write_private(file, f"{text}\n".encode())
    return text


def _read(file: Path) -> list[Token]:
    data = read_private(file)
    if not data:
        return []
    try:
        return [
            Token(**{**record, "scopes": frozenset(map(Scope, record["scopes"]))})
            for record in json.loads(data)
            if isinstance(record["hash"], str)
        ]
    except (ValueError, TypeError, KeyError) as exc:
        # Nobody is let in by a file that is not understood, and it is not written over.
        raise HostUnavailable(f"{file} is damaged; move it away: {type(exc).__name__}") from exc
