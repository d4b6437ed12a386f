"""Browsers that have shown a token: each has a cookie with a random text, of which only the hash is kept.

A login counts as long as its token does. Logins outlive the server, unless they could not be written.
"""

import hashlib
import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermitty.errors import HostUnavailable
from hermitty.server.private_files import read_private, write_private
from hermitty.server.tokens import Token, Tokens

_MOST_LOGINS = 1000


@dataclass(frozen=True, slots=True)
class Login:
    """A browser that is logged in. `id` is the hash of its cookie."""

    id: str
    token: Token
    ends_at: float


class Logins:
    """The logins of one server."""

    def __init__(self, tokens: Tokens, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._tokens = tokens
        self._file = file
        self._clock = clock
        self._known: dict[str, tuple[str, float]] = _read(file)  # by cookie: token and end, hashes both
        self.when_ended: Callable[[], None] = lambda: None

    def begin(self, token: Token, keep_s: float) -> str:
        """Let a browser in, and return the text of its cookie."""
        now = self._clock()
        text = secrets.token_urlsafe(32)
        known = {key: each for key, each in self._known.items() if each[1] > now}
        while len(known) >= _MOST_LOGINS:
            known.pop(next(iter(known)))
        self._change({**known, _hash(text): (token.hash, now + keep_s)})
        return text

    def find(self, text: str) -> Login | None:
        """Return the login of a browser, if it and the token that it has shown still count."""
        # The text has 256 random bits: how long looking for its hash takes tells nothing that helps to guess it.
        return self._find(_hash(text))

    def has(self, login_id: str) -> bool:
        """Tell whether a login still counts."""
        return self._find(login_id) is not None

    def end(self, text: str) -> None:
        """Forget a browser."""
        key = _hash(text)
        if key in self._known:
            self._change({each: login for each, login in self._known.items() if each != key})

    def _find(self, key: str) -> Login | None:
        token_hash, ends_at = self._known.get(key, ("", 0.0))
        token = self._tokens.by_hash(token_hash) if ends_at > self._clock() else None
        return Login(key, token, ends_at) if token is not None else None

    def _change(self, known: dict[str, tuple[str, float]]) -> None:
        has_ended = not self._known.keys() <= known.keys()
        self._known = known
        if has_ended:
            self.when_ended()
        try:
            write_private(self._file, json.dumps(known).encode())
        except HostUnavailable as exc:
            # Nobody is kept out by a full disk. The next change is written with this one.
            logging.getLogger("hermitty.server").warning("logins and logouts are forgotten at a restart: %s", exc)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _read(file: Path) -> dict[str, tuple[str, float]]:
    try:
        found = json.loads(read_private(file) or b"{}")
        return {str(key): (str(token), float(ends_at)) for key, (token, ends_at) in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}  # everybody logs in once more
