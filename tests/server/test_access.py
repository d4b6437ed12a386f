"""Who gets in: tokens, scopes, cookies, names of the server, pages of other sites, too many tries."""

import asyncio
import logging
import re
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hermitty.server.access import Scope
from hermitty.server.routing import Route
from hermitty.server.serving import Options
from hermitty.server.table import ROUTES
from tests.server.conftest import OWN_TOKEN, StartServer
from tests.server.talking import Answer, Client

GUARDED = [route for route in ROUTES if route.scope is not None]


def address_of(route: Route) -> str:
    """A path of a route, with parts that stand for nothing."""
    return re.sub(r"{\w+}", "nothing", route.path)


def cookie_in(answer: Answer) -> str:
    """The cookie that an answer sets, as a browser sends it back."""
    cookie = SimpleCookie(answer.headers["Set-Cookie"])
    ((name, morsel),) = cookie.items()
    return f"{name}={morsel.value}"


async def login(api: Client, token: str = OWN_TOKEN) -> str:
    """Log in as a browser does, and return the cookie."""
    answer = await api.get(f"/?token={token}", token=None)
    assert answer.status == 303, answer.body
    return cookie_in(answer)


async def test_no_route_is_open_without_a_token(api: Client) -> None:
    for route in GUARDED:
        answer = await api.ask(route.method, address_of(route), token=None)
        assert (answer.status, answer.code) == (401, "not_authenticated"), route.path
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert (await api.get("/openapi.json", token=None)).status == 401
    assert [route.path for route in ROUTES if route.scope is None] == ["/healthz"]
    assert (await api.get("/healthz", token=None)).json["status"] == "ok"


async def test_every_route_wants_its_scope(start: StartServer) -> None:
    api = await start(policy__mode="off", server__failed_tries=1000)
    tokens = {}
    for scope in Scope:
        made = await api.post("/api/tokens", {"name": f"only-{scope}", "scopes": [scope]})
        tokens[scope] = made.json["token"]
    for route in GUARDED:
        for scope in Scope:
            if route.path == "/api/events" and scope in (route.scope, Scope.ADMIN):
                continue  # it does not end
            answer = await api.ask(route.method, address_of(route), token=tokens[scope], data=b"not json")
            if scope in (route.scope, Scope.ADMIN):
                assert answer.status not in (401, 403), (route.path, scope, answer.body)
            else:
                assert (answer.status, answer.code) == (403, "missing_scope"), (route.path, scope)
                assert answer.json["error"]["scope"] == route.scope


@pytest.mark.parametrize(
    "shown", ["Bearer wrong", "Bearer ", "Basic abc", "wrong", "Bearer \xe4\xf6", "token wrong", f"Bearer {OWN_TOKEN}x"]
)
async def test_a_wrong_token_is_refused(api: Client, shown: str) -> None:
    answer = await api.get("/api/info", token=None, headers={"Authorization": shown})
    assert (answer.status, answer.code) == (401, "not_authenticated")


@pytest.mark.parametrize("kind", ["Bearer", "bearer", "token", "Token"])
async def test_the_token_is_shown_in_either_way(api: Client, kind: str) -> None:
    answer = await api.get("/api/info", token=None, headers={"Authorization": f"{kind} {OWN_TOKEN}"})
    assert answer.json["me"] == {"name": "owner", "scopes": ["admin"], "how": "header"}


async def test_the_cookie_comes_from_the_address_and_the_token_leaves_it(api: Client) -> None:
    answer = await api.get(f"/?token={OWN_TOKEN}&theme=dark", token=None)
    assert (answer.status, answer.headers["Location"]) == (303, "/?theme=dark")
    morsel = next(iter(SimpleCookie(answer.headers["Set-Cookie"]).values()))
    assert (morsel["httponly"], morsel["samesite"], morsel["path"], morsel["secure"]) == (True, "Strict", "/", "")
    assert int(morsel["max-age"]) == 30 * 86_400
    assert OWN_TOKEN not in answer.headers["Set-Cookie"]
    info = await api.get("/api/info", token=None, headers={"Cookie": cookie_in(answer)})
    assert info.json["me"]["how"] == "cookie"


async def test_the_login_form_needs_no_script(api: Client) -> None:
    page = await api.get("/", token=None)
    assert page.status == 200
    assert b'<form method="post" action="/login">' in page.body
    assert b"<script" not in page.body
    origin = {"Origin": api.url}
    wrong = await api.post("/login", data={"token": "wrong"}, token=None, headers=origin)
    assert wrong.status == 401
    assert b"not known" in wrong.body
    answer = await api.post("/login", data={"token": f" {OWN_TOKEN} "}, token=None, headers=origin)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    inside = await api.get("/", token=None, headers={"Cookie": cookie_in(answer)})
    assert b"logged in" in inside.body or b"<script" in inside.body


async def test_a_page_that_leaves_the_page_no_referrer_would_break_the_form(api: Client) -> None:
    # Browsers send `Origin: null` with a form of a page whose policy is no-referrer.
    assert (await api.get("/", token=None)).headers["Referrer-Policy"] == "same-origin"
    assert (await api.post("/login", data={"token": OWN_TOKEN}, token=None, headers={"Origin": "null"})).status == 403


async def test_logging_out_ends_the_cookie(api: Client) -> None:
    cookie = {"Cookie": await login(api), "Origin": api.url}
    assert (await api.get("/api/info", token=None, headers=cookie)).status == 200
    assert (await api.post("/logout", token=None, headers=cookie)).status == 303
    assert (await api.get("/api/info", token=None, headers=cookie)).status == 401


async def test_a_cookie_outlives_the_server_but_not_its_token(start: StartServer, home: Path) -> None:
    from hermitty.runtime.places import find_places
    from hermitty.server.serving import serving
    from tests.server.conftest import source_for

    places = find_places()
    made = ""
    cookies: list[str] = []
    port = 0
    for turn in range(3):
        token = OWN_TOKEN if turn < 2 else "another-token-of-the-owner-0123456789"
        settings = source_for(home, places)
        async with (
            serving(Options(port=port, token=token), places=places, settings=settings) as server,
            Client(server, token) as api,
        ):
            port = server.port
            if turn == 0:
                answer = (await api.post("/api/tokens", {"name": "guest", "scopes": ["view"]})).json
                made = answer["id"]
                cookies = [await login(api), await login(api, answer["token"])]
            names = []
            for cookie in cookies:
                answer = await api.get("/api/info", token=None, headers={"Cookie": cookie})
                names.append(answer.json["me"]["name"] if answer.status == 200 else None)
            assert names == (["owner", "guest"] if turn < 2 else [None, "guest"])
            if turn == 2:
                assert (await api.ask("DELETE", f"/api/tokens/{made}")).status == 204
                assert (await api.get("/api/info", token=None, headers={"Cookie": cookies[1]})).status == 401


async def test_a_cookie_alone_does_not_change_anything(api: Client) -> None:
    cookie = {"Cookie": await login(api)}
    no_origin = await api.post("/api/run", {"command": "true"}, token=None, headers=cookie)
    assert (no_origin.status, no_origin.code) == (403, "origin_not_allowed")
    own = await api.post("/api/check", {"command": "true"}, token=None, headers={**cookie, "Origin": api.url})
    assert own.status == 200
    assert (await api.get("/api/terminals", token=None, headers=cookie)).status == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "file://", "nonsense", ""]
)
async def test_pages_of_other_sites_are_refused_whatever_they_show(api: Client, origin: str) -> None:
    for method, path in (("GET", "/api/info"), ("POST", "/api/check"), ("GET", "/healthz"), ("POST", "/login")):
        answer = await api.ask(method, path, headers={"Origin": origin})
        assert (answer.status, answer.code) == (403, "origin_not_allowed")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8421", "127.0.0.1.evil.example", "10.0.0.1", "[fe80::1]", "a b", "localhost:x"],
)
async def test_names_that_are_not_the_servers_are_refused(api: Client, host: str) -> None:
    answer = await api.get("/api/info", headers={"Host": host})
    assert (answer.status, answer.code) == (403, "host_not_allowed")
    page = await api.get("/", token=None, headers={"Host": host})
    assert page.status == 403


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:99", "app.localhost", "LOCALHOST"])
async def test_local_names_are_the_servers(api: Client, host: str) -> None:
    assert (await api.get("/api/info", headers={"Host": host})).status == 200
    answer = await api.get("/api/info", headers={"Host": host, "Origin": f"http://{host}"})
    assert answer.status == 200


async def test_settings_name_other_hosts_and_sites(start: StartServer) -> None:
    api = await start(
        server__allowed_hosts=("term.example", "*.lan"), server__allowed_origins=("https://page.example",)
    )
    for host, status in (("term.example", 200), ("a.lan:80", 200), ("lan", 403), ("other.example", 403)):
        assert (await api.get("/api/info", headers={"Host": host})).status == status
    for origin, status in (("https://page.example", 200), ("http://page.example", 403)):
        assert (await api.get("/api/info", headers={"Origin": origin})).status == status
    # Behind a proxy that speaks TLS.
    proxied = {"Host": "term.example", "Origin": "https://term.example"}
    assert (await api.get("/api/info", headers=proxied)).status == 200


async def test_wrong_tokens_are_slowed_down_but_the_owner_is_not_locked_out(start: StartServer) -> None:
    api = await start(server__failed_tries=3)
    statuses = [(await api.get("/api/info", token=f"wrong-{number}")).status for number in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    refused = await api.get("/api/info", token="wrong")
    assert refused.code == "too_many_requests"
    assert int(refused.headers["Retry-After"]) >= 1
    assert (await api.get("/?token=wrong", token=None)).status == 429
    assert (await api.get("/api/info")).status == 200
    assert (await api.get("/api/info", token=None)).status == 401


async def test_a_short_token_has_to_wait_when_somebody_guesses(start: StartServer) -> None:
    api = await start(Options(port=0, token="short-one"), server__failed_tries=2)
    assert (await api.get("/api/info", token="short-one")).status == 200
    for _ in range(3):
        await api.get("/api/info", token="guess-one")
    assert (await api.get("/api/info", token="short-one")).status == 429


async def test_a_link_in_another_page_cannot_try_tokens(start: StartServer) -> None:
    api = await start(server__failed_tries=1)
    for _ in range(3):
        answer = await api.get("/?token=wrong", token=None, headers={"Sec-Fetch-Dest": "image"})
        assert answer.status == 401
    assert (await api.get("/api/info", token="wrong")).status == 401


async def test_requests_of_one_token_are_limited(start: StartServer) -> None:
    api = await start(server__requests_per_s=1)
    statuses = [(await api.get("/api/stats")).status for _ in range(6)]
    assert statuses.count(429) >= 1
    assert statuses[:2] == [200, 200]


async def test_tokens_are_made_listed_and_forgotten(api: Client) -> None:
    made = await api.post("/api/tokens", {"name": "bot", "scopes": ["view", "run"], "expires_in_s": 3600})
    assert made.status == 201
    token = made.json.pop("token")
    assert len(token) >= 43
    listed = (await api.get("/api/tokens")).json["tokens"]
    assert [(each["name"], each["scopes"]) for each in listed] == [("bot", ["run", "view"])]
    assert token not in str(listed)
    me = (await api.get("/api/info", token=token)).json["me"]
    assert (me["name"], me["scopes"]) == ("bot", ["run", "view"])
    state = api.parts.audit_file.parent
    assert (state / "tokens.json").stat().st_mode & 0o777 == 0o600
    assert token not in (state / "tokens.json").read_text()
    again = await api.post("/api/tokens", {"name": "bot", "scopes": ["view"]})
    assert again.status == 400
    for body in ({"name": "x", "scopes": []}, {"name": "x", "scopes": ["all"]}, {"name": "", "scopes": ["view"]}):
        assert (await api.post("/api/tokens", body)).status == 400
    assert (await api.post("/api/tokens", {"name": "x", "scopes": ["view"], "expires_in_s": 0})).status == 400
    assert (await api.ask("DELETE", f"/api/tokens/{listed[0]['id']}")).status == 204
    assert (await api.get("/api/info", token=token)).status == 401
    gone = await api.ask("DELETE", f"/api/tokens/{listed[0]['id']}")
    assert (gone.status, gone.code) == (404, "token_not_found")


async def test_websockets_are_refused_with_codes(api: Client, work: Path) -> None:
    terminal = await api.open(cwd=str(work))
    cookie = await login(api)
    blind = (await api.post("/api/tokens", {"name": "blind", "scopes": ["approve"]})).json["token"]
    tries = [
        ({}, terminal["id"], 4001),
        ({"Authorization": "Bearer wrong"}, terminal["id"], 4001),
        ({"Cookie": cookie}, terminal["id"], 4003),
        ({"Cookie": cookie, "Origin": "https://evil.example"}, terminal["id"], 4003),
        ({"Authorization": f"Bearer {OWN_TOKEN}", "Origin": "https://evil.example"}, terminal["id"], 4003),
        ({"Authorization": f"Bearer {OWN_TOKEN}", "Host": "evil.example"}, terminal["id"], 4003),
        ({"Authorization": f"Bearer {blind}"}, terminal["id"], 4003),
        ({"Authorization": f"Bearer {OWN_TOKEN}"}, "t_nothing", 4004),
    ]
    for headers, terminal_id, code in tries:
        async with api.websocket(f"/ws/terminal/{terminal_id}", **headers) as ws:
            await ws.receive()
            assert ws.close_code == code, headers
    async with api.websocket(f"/ws/terminal/{terminal['id']}", Cookie=cookie, Origin=api.url) as ws:
        hello = await ws.receive_json()
        assert (hello["type"], hello["terminal"]) == ("hello", terminal["id"])
        assert (await api.get(f"/api/terminals/{terminal['id']}")).json["viewers"] == 1


async def test_what_is_no_websocket_gets_an_answer(api: Client) -> None:
    answer = await api.get("/ws/terminal/t_nothing")
    assert answer.status == 426
    assert answer.code == "upgrade_required"


async def test_every_answer_protects_browsers(api: Client) -> None:
    for path in ("/", "/healthz", "/api/info", "/api/nothing", "/metrics"):
        headers = (await api.get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] in ("no-referrer", "same-origin")
        assert "camera=()" in headers["Permissions-Policy"]
        assert headers["Cache-Control"] in ("no-store", "no-cache")
        assert "Server" not in headers


async def test_no_token_reaches_a_log_or_an_error(
    start: StartServer, work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api = await start(policy__mode="off", server__failed_tries=1000)
    caplog.set_level(logging.DEBUG)
    secret = "wrong-but-secret-0123456789"
    await api.run("echo printed-secret", cwd=str(work))
    answers = [
        await api.get(f"/?token={secret}", token=None),
        await api.get("/api/info", token=secret),
        await api.get(f"/api/info?token={secret}"),
        await api.post("/login", data={"token": secret}, token=None),
        await api.get("/api/info", token=None, headers={"Cookie": f"hermitty-{api.server.port}={secret}"}),
    ]
    address = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(
        f"GET / HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {secret}".encode() + b"\x00\r\n\r\n"
    )
    malformed = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert malformed.startswith(b"HTTP/1.0 400")
    assert b'"error"' in malformed
    texts = [str(answer.body) for answer in answers[:2]] + [str(answers[3].body), malformed.decode()]
    assert not [text for text in texts if secret in text]
    assert not [each for each in caplog.messages if secret in each or OWN_TOKEN in each or "printed-secret" in each]
    assert secret not in caplog.text
    assert OWN_TOKEN not in caplog.text
