"""A server's life: where it listens, what it takes, how it ends. And what it does with what is not for it."""

import asyncio
import json
import logging
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from hermitty.errors import HermittyError, HostUnavailable, InvalidRequest, ServerRunning, UnsafeAddress
from hermitty.runtime.places import Places
from hermitty.server import answering
from hermitty.server.presence import find_server, only_server
from hermitty.server.serving import Options, serving
from tests.server.conftest import OWN_TOKEN, StartServer, source_for
from tests.server.talking import Client
from tests.support.runtimes import Gate
from tests.support.shells import PATIENCE_S


async def raw(api: Client, data: bytes) -> bytes:
    """Send bytes over a connection of their own, and return everything that comes back."""
    address = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(data)
        async with asyncio.timeout(PATIENCE_S):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


# Where it listens.


async def test_where_the_server_is_can_be_found_by_its_owner_only(home: Path, places: Places) -> None:
    settings = source_for(home, places)
    async with serving(Options(port=0), places=places, settings=settings) as server:
        file = places.state / "server.json"
        assert file.stat().st_mode & 0o777 == 0o600
        found = json.loads(file.read_text())
        assert set(found) == {"url", "pid", "version", "started_at"}
        assert found["url"] == server.url == f"http://127.0.0.1:{server.port}"
        assert (places.state / "token").stat().st_mode & 0o777 == 0o600
        assert (places.state / "token").read_text().strip() == server.token
        assert server.address == f"{server.url}/?token={server.token}"
        assert len(server.token) >= 43
    assert not file.exists()
    async with serving(Options(port=0), places=places, settings=settings) as again:
        assert again.token == server.token


async def test_a_state_directory_has_one_server(home: Path, places: Places) -> None:
    settings = source_for(home, places)
    async with serving(Options(port=0), places=places, settings=settings) as server:
        with pytest.raises(ServerRunning) as caught:
            async with serving(Options(port=0), places=places, settings=settings):
                pass
        assert server.url in str(caught.value)
        assert find_server(places.state) is not None
    with only_server(places.state):
        pass


async def test_a_server_that_died_is_taken_over(home: Path, places: Places) -> None:
    places.state.mkdir(mode=0o700)
    (places.state / "server.json").write_text("half a fi")
    assert find_server(places.state) is None
    async with serving(Options(port=0), places=places, settings=source_for(home, places)) as server:
        assert find_server(places.state) is not None
        assert server.port > 0


async def test_a_port_that_is_taken_is_an_error_if_it_was_asked_for(home: Path, places: Places) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(HostUnavailable, match=f"port {port}"):
            async with serving(Options(port=port), places=places, settings=source_for(home, places)):
                pass
        settings = source_for(home, places, server__port=port)
        async with serving(Options(), places=places, settings=settings) as server:
            assert server.moved_from == port
            assert server.port > port


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
async def test_others_are_not_let_in_by_chance(home: Path, places: Places, host: str) -> None:
    with pytest.raises(UnsafeAddress):
        async with serving(Options(host=host, port=0), places=places, settings=source_for(home, places)):
            pass
    assert not places.state.exists()


async def test_an_open_address_with_a_token_takes_addresses_but_no_names(home: Path, places: Places) -> None:
    options = Options(host="0.0.0.0", port=0, token=OWN_TOKEN)
    async with (
        serving(options, places=places, settings=source_for(home, places)) as server,
        Client(server, OWN_TOKEN) as api,
    ):
        assert api.url == f"http://127.0.0.1:{server.port}"
        for host, status in (("10.1.2.3", 200), ("127.0.0.1", 200), ("evil.example", 403)):
            assert (await api.get("/api/info", headers={"Host": host})).status == status


@pytest.mark.parametrize("token", ["short", "with blanks in it", "ümläutiges-token"])
async def test_a_token_that_makes_no_sense_is_refused(home: Path, places: Places, token: str) -> None:
    with pytest.raises(InvalidRequest):
        async with serving(Options(port=0, token=token), places=places, settings=source_for(home, places)):
            pass


async def test_the_token_may_come_from_the_environment(
    home: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMITTY_TOKEN", OWN_TOKEN)
    async with serving(Options(port=0), places=places, settings=source_for(home, places)) as server:
        assert server.token == OWN_TOKEN
        assert not (places.state / "token").exists()


async def test_tls(home: Path, places: Places, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = await asyncio.to_thread(
        subprocess.run,
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl is not installed")
    options = Options(port=0, token=OWN_TOKEN, tls_cert=cert, tls_key=key)
    async with serving(options, places=places, settings=source_for(home, places)) as server:
        trust = ssl.create_default_context(cafile=str(cert))
        headers = {"Authorization": f"Bearer {OWN_TOKEN}"}
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{server.url}/api/info", headers=headers, ssl=trust) as answer:
                assert answer.status == 200
            async with session.get(server.address, ssl=trust, allow_redirects=False) as answer:
                assert "Secure" in answer.headers["Set-Cookie"]
                assert answer.headers["Set-Cookie"].startswith("__Host-hermitty-")
    for wrong in (
        Options(tls_cert=cert),
        Options(tls_cert=key, tls_key=cert),
        Options(tls_cert=home / "x", tls_key=key),
    ):
        with pytest.raises(InvalidRequest):
            async with serving(wrong, places=places, settings=source_for(home, places)):
                pass


async def test_a_failed_start_leaves_nothing(home: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    (places.state).mkdir(mode=0o700)
    (places.state / "tokens.json").write_text("{damaged")
    with pytest.raises(HermittyError, match="damaged"):
        async with serving(Options(port=0), places=places, settings=source_for(home, places)):
            pass
    with only_server(places.state):
        assert not (places.state / "server.json").exists()


# How it ends.


async def test_at_the_end_everybody_is_told_and_whoever_waits_gets_what_is_known(
    home: Path, places: Places, work: Path, gate: Gate
) -> None:
    settings = source_for(home, places, policy__mode="off")
    server_context = serving(Options(port=0, token=OWN_TOKEN), places=places, settings=settings)
    server = await server_context.__aenter__()
    async with Client(server, OWN_TOKEN) as api, api.events() as events:
        terminal = await api.open(cwd=str(work))
        waiting = asyncio.ensure_future(api.post("/api/run", {"command": "cat gate", "cwd": str(work)}))
        await events.until("command_started")
        looking = asyncio.ensure_future(api.post("/api/batch", {"commands": ["true"], "cwd": str(work)}))
        async with api.websocket(f"/ws/terminal/{terminal['id']}", Authorization=f"Bearer {OWN_TOKEN}") as ws:
            assert (await ws.receive_json())["type"] == "hello"
            await looking
            ending = asyncio.ensure_future(server_context.__aexit__(None, None, None))
            assert (await waiting).json["state"] == "running"
            assert (await events.until("shutdown")).data == {"type": "shutdown"}
            assert await events.next() is None
            while not ws.closed:
                await ws.receive()
            assert ws.close_code == 1001
        async with asyncio.timeout(PATIENCE_S):
            await ending
        with pytest.raises(aiohttp.ClientConnectionError):
            await api.get("/healthz")
    assert find_server(places.state) is None


# What it takes.


async def test_a_body_that_is_too_large_is_refused(start: StartServer) -> None:
    api = await start(server__body_bytes=10_000)
    for data in (b"x" * 10_001, json.dumps({"command": "x" * 20_000}).encode()):
        answer = await api.post("/api/run", data=data)
        assert (answer.status, answer.code) == (413, "too_large")
    assert (await api.post("/api/check", {"command": "echo " + "x" * 9000})).status == 200
    assert (await api.get("/healthz")).status == 200


async def test_a_line_of_nearly_a_megabyte_is_taken(api: Client, work: Path) -> None:
    result = await api.run(": " + "x" * 1_000_000, cwd=str(work), shell="bash")
    assert result["exit_code"] == 0


async def test_headers_that_are_too_large_are_refused(api: Client) -> None:
    one = await api.get("/api/info", headers={"X-Large": "x" * 17_000})
    assert (one.status, one.code) == (431, "headers_too_large")
    many = await api.get("/api/info", headers={f"X-Large-{number}": "x" * 1000 for number in range(20)})
    assert (many.status, many.code) == (431, "headers_too_large")
    line = await api.get("/api/terminals?session=" + "x" * 17_000)
    assert line.status == 431


async def test_connections_are_limited(start: StartServer) -> None:
    api = await start(server__connections=3)
    address = urlsplit(api.url)
    others = [await asyncio.open_connection(address.hostname, address.port) for _ in range(3)]
    try:
        refused = await raw(api, b"")
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_many_connections"
    finally:
        for _, writer in others:
            writer.close()
            await writer.wait_closed()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                assert (await api.get("/healthz")).status == 200
                break
            except (AssertionError, aiohttp.ClientError):
                await asyncio.sleep(0)  # the server has not noticed yet that they left


ONE_TOO_MANY = """
import asyncio, uvloop
from hermitty.server.connections import _Full

async def main():
    server = await asyncio.get_running_loop().create_server(_Full, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        print((await reader.read()).decode())
        writer.close()

with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    runner.run(main())
"""


def test_one_connection_too_many_is_told_so_on_the_faster_loop() -> None:
    """Servers run on uvloop, whose transports are of another class. It leaves descriptors in its process."""
    pytest.importorskip("uvloop")
    told = subprocess.run(
        [sys.executable, "-c", ONE_TOO_MANY], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert (told.stdout.startswith("HTTP/1.1 503 "), told.stderr) == (True, "")


async def test_idle_connections_are_closed(start: StartServer) -> None:
    api = await start(server__idle_timeout_s=1)
    answer = await raw(api, f"GET /healthz HTTP/1.1\r\nHost: {urlsplit(api.url).netloc}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200 ")  # and then the end of the connection


@pytest.mark.parametrize("data", [b"", b"GET /healthz HTTP/1.1\r\nHost: local"])
async def test_connections_that_never_ask_are_closed(start: StartServer, data: bytes) -> None:
    api = await start(server__idle_timeout_s=1)
    assert await raw(api, data) == b""


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"BREW /coffee HTCPCP/1.0\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_answered_in_the_one_shape(
    api: Client, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = await raw(api, data)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] in (b"400", b"403", b"505")
    assert set(json.loads(body)["error"]) >= {"code", "message"}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/api/nothing", 404, "not_found"),
        ("PUT", "/api/run", 405, "method_not_allowed"),
        ("HEAD", "/api/run", 405, ""),
        ("PATCH", "/healthz", 405, "method_not_allowed"),
        ("POST", "/api/terminals/a/b/c", 404, "not_found"),
        ("GET", "/static/../../etc/passwd", 404, "not_found"),
        ("GET", "/..%2f..%2fetc%2fpasswd", 404, "not_found"),
    ],
)
async def test_what_is_not_there_is_said_in_the_one_shape(
    api: Client, method: str, path: str, status: int, code: str
) -> None:
    answer = await api.ask(method, path)
    assert answer.status == status
    assert not code or answer.code == code
    if status == 405 and code:
        assert answer.headers["Allow"] == ",".join(answer.json["error"]["allowed"])


async def test_a_mistake_of_ours_has_a_reference_and_tells_nothing_else(
    api: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(session: str) -> None:
        raise RuntimeError("-".join(("secret", "of", "somebody")))

    api.parts.runtime.release = broken  # type: ignore[method-assign]
    answer = await api.post("/api/sessions/private-name/release")
    assert (answer.status, answer.code) == (500, "internal_error")
    reference = answer.json["error"]["reference"]
    assert b"secret-of-somebody" not in answer.body
    assert reference in caplog.text
    assert "RuntimeError of POST /api/sessions/{sid}/release" in caplog.text
    assert "secret-of-somebody" not in caplog.text
    assert "private-name" not in caplog.text
    assert (await api.get("/api/stats")).json["errors"] == 1


async def test_the_files_of_the_page_are_served(home: Path, places: Places, tmp_path: Path) -> None:
    from hermitty.server.app import build_app  # noqa: F401 - the page is part of it
    from hermitty.server.page import add_page

    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><script src=/assets/app-0123abcd.js></script>")
    (static / "assets" / "app-0123abcd.js").write_text("let a = 1;" * 100)
    (static / "assets" / "app-0123abcd.js.gz").write_bytes(__import__("gzip").compress(b"let a = 1;" * 100))
    (static / "favicon.svg").write_text("<svg/>")
    app = aiohttp.web.Application(middlewares=[answering.answer_errors])
    async with serving(Options(port=0, token=OWN_TOKEN), places=places, settings=source_for(home, places)) as server:
        from hermitty.server.parts import PARTS

        app[PARTS] = server.app[PARTS]
        app.on_response_prepare.append(answering.add_headers)
        add_page(app, static)
        runner = aiohttp.web.AppRunner(app, access_log=None)
        await runner.setup()
        site = aiohttp.web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            url = f"http://127.0.0.1:{site.port}"
            headers = {"Authorization": f"Bearer {OWN_TOKEN}"}
            async with aiohttp.ClientSession() as session:
                async with session.get(url, headers=headers) as answer:
                    assert (await answer.text()).startswith("<!doctype html><script")
                    assert answer.headers["Cache-Control"] == "no-cache"
                    assert f"ws://127.0.0.1:{site.port}" in answer.headers["Content-Security-Policy"]
                async with session.get(f"{url}/assets/app-0123abcd.js") as answer:
                    assert await answer.text() == "let a = 1;" * 100
                    assert "immutable" in answer.headers["Cache-Control"]
                    assert answer.headers["Content-Encoding"] == "gzip"
                    assert answer.content_type in ("text/javascript", "application/javascript")
                plain = {"Accept-Encoding": "identity"}
                async with session.get(f"{url}/assets/app-0123abcd.js", headers=plain) as answer:
                    assert "Content-Encoding" not in answer.headers
                async with session.get(f"{url}/favicon.svg") as answer:
                    assert answer.headers["Cache-Control"] == "no-cache"
                    assert answer.headers["X-Content-Type-Options"] == "nosniff"
                for path in ("/assets/", "/assets/app-0123abcd.js.gz", "/index.html", "/assets/none.js"):
                    async with session.get(url + path) as answer:
                        assert answer.status == 404, path
        finally:
            await runner.cleanup()
