"""Who asks, and whether they may: addresses, sites, tokens, cookies, and how often."""

import time
from collections.abc import Callable

from aiohttp import hdrs, web

from hermitty.config import ServerSettings
from hermitty.errors import (
    AccessRefused,
    HostNotAllowed,
    MissingScope,
    NotAuthenticated,
    OriginNotAllowed,
    TooManyRequests,
)
from hermitty.server.access import Access, Scope
from hermitty.server.hosts import HostName, Names, is_own_origin, parse_host
from hermitty.server.logins import Logins
from hermitty.server.standing import Standing
from hermitty.server.throttle import Throttle
from hermitty.server.tokens import STRONG_CHARACTERS, Token, Tokens

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MINUTE = 60.0
# A token may ask for so many seconds' worth of requests at once.
_BURST_S = 2.0


class Guard:
    """Decides about requests. `port` names the cookie: browsers send cookies to every port of a host."""

    def __init__(
        self,
        tokens: Tokens,
        logins: Logins,
        settings: Callable[[], ServerSettings],
        *,
        bound: str,
        port: int,
        is_tls: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tokens = tokens
        self.logins = logins
        self.standing = Standing(self._counts)
        tokens.when_deleted = logins.when_ended = self.standing.look
        self.is_tls = is_tls
        # Browsers take a cookie with this prefix only over TLS, for one host and its root.
        self.cookie = f"__Host-hermitty-{port}" if is_tls else f"hermitty-{port}"
        self._settings = settings
        self._bound = bound
        self._clock = clock
        limits = settings()
        self._tries = Throttle(limits.failed_tries, limits.failed_tries / _MINUTE)
        self._rates = Throttle(_BURST_S * limits.requests_per_s, limits.requests_per_s)
        self._limits = limits

    def check_place(self, request: web.Request) -> HostName:
        """Raise unless the request was meant for this server, and no page of another site sends it."""
        limits = self._settings()
        if limits is not self._limits:
            self._limits = limits
            self._tries.configure(limits.failed_tries, limits.failed_tries / _MINUTE)
            self._rates.configure(_BURST_S * limits.requests_per_s, limits.requests_per_s)
        hosts = request.headers.getall(hdrs.HOST, [])
        host = parse_host(hosts[0]) if len(hosts) == 1 else None
        if host is None or not Names(self._bound, limits.allowed_hosts).has(host):
            raise HostNotAllowed(", ".join(hosts))
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is not None and not is_own_origin(origin, host, allowed=limits.allowed_origins):
            raise OriginNotAllowed(origin)
        return host

    def identify(self, request: web.Request) -> Access:
        """Return who sends a request, by its header or its cookie. Raises NotAuthenticated or TooManyRequests."""
        shown = request.headers.get(hdrs.AUTHORIZATION)
        if shown is not None:
            kind, _, text = shown.partition(" ")
            if kind.lower() not in ("bearer", "token"):
                raise NotAuthenticated("show the token as `Authorization: Bearer TOKEN`")
            token = self.try_token(text.strip(), request.remote or "")
            return Access(token.name, token.scopes, "header", token.id, ends_at=token.expires_at)
        cookie = request.cookies.get(self.cookie)
        login = self.logins.find(cookie) if cookie else None
        if login is None:
            raise NotAuthenticated("this needs the token: `Authorization: Bearer TOKEN`, or open the page and log in")
        token = login.token
        ends_at = login.ends_at if token.expires_at is None else min(login.ends_at, token.expires_at)
        if request.headers.get(hdrs.ORIGIN) is None and not is_safe(request):
            # A browser always tells it; other programs have the token.
            raise OriginNotAllowed(None)
        return Access(token.name, token.scopes, "cookie", token.id, login.id, ends_at)

    def try_token(self, text: str, address: str) -> Token:
        """Return the token that somebody shows. Too many wrong ones from an address: it has to wait.

        A random token is let in all the same, because nobody finds it by trying: so nobody can lock its owner out.
        """
        now = self._clock()
        token = self.tokens.find(text)
        if token is not None and (len(text) >= STRONG_CHARACTERS or not self._tries.wait_s(address, now)):
            return token
        wait_s = self._tries.wait_s(address, now) if token is not None else self._tries.take(address, now)
        if wait_s:
            raise TooManyRequests("wrong tokens", max(1.0, wait_s))
        raise NotAuthenticated("this token is not known, or it has expired")

    def check_standing(self, access: Access) -> None:
        """Raise NotAuthenticated when somebody who was let in counts no more."""
        if not self._counts(access):
            raise NotAuthenticated("this token or login does not count any more")

    def check_rate(self, access: Access) -> None:
        """Count a request, or raise TooManyRequests."""
        wait_s = self._rates.take(access.name, self._clock())
        if wait_s:
            raise TooManyRequests("requests", max(1.0, wait_s))

    def login(self, token: Token) -> tuple[str, float]:
        """Return the text of a new cookie, and for how many seconds it counts."""
        keep_s = self._settings().login_days * 86_400
        return self.logins.begin(token, keep_s), keep_s

    def _counts(self, access: Access) -> bool:
        return self.tokens.has(access.token_id) and (access.login is None or self.logins.has(access.login))


def is_safe(request: web.Request) -> bool:
    """Tell whether a request only looks. A WebSocket does more."""
    return request.method in SAFE_METHODS and not is_upgrade(request)


def is_upgrade(request: web.Request) -> bool:
    """Tell whether a request wants a WebSocket."""
    return request.path.startswith("/ws/") and request.headers.get(hdrs.UPGRADE, "").lower() == "websocket"


def check_scope(access: Access, scope: Scope) -> None:
    """Raise MissingScope unless that is allowed."""
    if not access.may(scope):
        raise MissingScope(scope.value, sorted(access.scopes))


def headers_of(error: AccessRefused) -> dict[str, str]:
    """Return the headers that go with a refusal."""
    if isinstance(error, TooManyRequests):
        return {hdrs.RETRY_AFTER: str(max(1, round(error.retry_after_s)))}
    if isinstance(error, NotAuthenticated):
        return {hdrs.WWW_AUTHENTICATE: 'Bearer realm="hermitty"'}
    return {}
