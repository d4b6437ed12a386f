"""The web page: its files, and the way in. Without a login there is a form for the token, which needs no script."""

import re
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from aiohttp import hdrs, web
from yarl import URL

from hermitty.errors import AccessRefused, NotAuthenticated, TooManyRequests
from hermitty.server.answering import Handler, read_all
from hermitty.server.errors import status_of
from hermitty.server.guard import Guard, headers_of
from hermitty.server.headers import CONTENT_POLICY
from hermitty.server.parts import PARTS

STATIC = Path(__file__).with_name("static")
# Build tools put a hash of the content into the name: such a file never changes.
_HASHED = re.compile(r"[.-][A-Za-z0-9_-]{8,}\.\w+$")
_COMPRESSED = (".br", ".gz")
# The worker that plays recordings emulates a terminal with WebAssembly. A worker has the policy of its own file.
_PLAYER = "asciinema-player-worker"
_YEAR = 365 * 86_400
# A form with a token of any sensible length.
_FORM_BYTES = 8 * 1024

_DOCUMENT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hermitty</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; background: light-dark(#eef2f1, #0c1214); color: light-dark(#1a2427, #e2e9ea); }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 15vh auto; max-width: 26rem; padding: 0 1rem; }}
input, button {{ font: inherit; padding: .5rem .7rem; width: 100%; box-sizing: border-box; margin: .3rem 0;
  border: 1px solid light-dark(#8c9a97, #5b6b70); border-radius: 6px; }}
button {{ background: light-dark(#1f6f5c, #5fc3a8); color: light-dark(#fff, #0a1a16); border-color: transparent; }}
:focus-visible {{ outline: 2px solid light-dark(#0b57d0, #8ab4ff); outline-offset: 1px; }}
.problem {{ color: light-dark(#b3261e, #f29087); }}
</style></head><body><main><h1>hermitty</h1>
{content}
</main></body></html>
"""
_FORM = """{problem}<form method="post" action="/login">
<label for="token">The token that <code>hermitty serve</code> printed:</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Log in</button></form>"""
_NO_PAGE = """<p>You are logged in. This installation has no web page; <a href="/openapi.json">/openapi.json</a>
lists what programs can ask for.</p>
<form method="post" action="/logout"><button type="submit">Log out</button></form>"""


def add_page(app: web.Application, directory: Path = STATIC) -> None:
    """Add the routes of the page and its files, as they are now."""
    app.router.add_get("/", index)
    app.router.add_post("/login", login)
    app.router.add_post("/logout", logout)
    app[_DIRECTORY] = directory
    for file in sorted(directory.rglob("*")):
        name = file.relative_to(directory).as_posix()
        if file.is_file() and file.suffix not in _COMPRESSED and name != "index.html":
            app.router.add_get(f"/{name}", _serve(file))


_DIRECTORY: web.AppKey[Path] = web.AppKey("static", Path)


async def index(request: web.Request) -> web.StreamResponse:
    """Show the page to who is logged in, and a form to everybody else. `?token=` logs in and disappears."""
    guard = request.app[PARTS].guard
    shown = request.query.get("token")
    if shown is not None:
        if request.headers.get("Sec-Fetch-Dest", "document") != "document":
            raise NotAuthenticated("this address is for people: open it in a tab of its own")
        return _login(request, guard, shown)
    try:
        guard.identify(request)
    except AccessRefused:
        return _document(_FORM.format(problem=""))
    file = request.app[_DIRECTORY] / "index.html"
    if not file.is_file():
        return _document(_NO_PAGE)
    response = web.FileResponse(file, headers={hdrs.CACHE_CONTROL: "no-cache"})
    host = request.headers[hdrs.HOST]  # checked
    response.headers["Content-Security-Policy"] = CONTENT_POLICY.format(sockets=f" ws://{host} wss://{host}")
    return response


async def login(request: web.Request) -> web.StreamResponse:
    """Take the token from the form. Anybody can send one, so no more is read than it takes."""
    if request.content_length is None:
        raise web.HTTPLengthRequired
    if request.content_length > _FORM_BYTES:
        raise web.HTTPRequestEntityTooLarge(_FORM_BYTES, request.content_length)
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPUnsupportedMediaType
    fields = parse_qs((await read_all(request)).decode("utf-8", "replace"))
    return _login(request, request.app[PARTS].guard, fields.get("token", [""])[0].strip())


async def logout(request: web.Request) -> web.StreamResponse:
    """Forget the browser."""
    guard = request.app[PARTS].guard
    guard.identify(request)
    guard.logins.end(request.cookies.get(guard.cookie, ""))
    response = _redirect("/")
    response.del_cookie(guard.cookie, path="/", secure=guard.is_tls, httponly=True, samesite="Strict")
    return response


def _login(request: web.Request, guard: Guard, shown: str) -> web.StreamResponse:
    try:
        token = guard.try_token(shown, request.remote or "")
    except AccessRefused as error:
        request.app[PARTS].counters.refused_tries += 1
        words = "This token is not known, or it has expired."
        if isinstance(error, TooManyRequests):
            words = "Too many wrong tokens. Wait a minute, and try again."
        problem = f'<p class="problem">{escape(words)}</p>'
        return _document(_FORM.format(problem=problem), status=status_of(error), headers=headers_of(error))
    text, keep_s = guard.login(token)
    response = _redirect(str(URL(request.rel_url).without_query_params("token")))
    response.set_cookie(
        guard.cookie, text, max_age=int(keep_s), path="/", secure=guard.is_tls, httponly=True, samesite="Strict"
    )
    return response


def _redirect(place: str) -> web.Response:
    # Only the path and the rest of the query: never to another site.
    path = "/" + place.partition("/")[2].lstrip("/\\")
    return web.Response(status=303, headers={hdrs.LOCATION: "/" if path.startswith("/log") else path})


def _document(content: str, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    response = web.Response(
        text=_DOCUMENT.format(content=content), content_type="text/html", status=status, headers=headers
    )
    # With no-referrer, a browser sends the form with the origin "null", which would be refused.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def _serve(file: Path) -> Handler:
    is_fixed = _HASHED.search(file.name) is not None
    headers: dict[str, str] = {hdrs.CACHE_CONTROL: f"public, max-age={_YEAR}, immutable" if is_fixed else "no-cache"}
    if file.name.startswith(_PLAYER):
        policy = CONTENT_POLICY.format(sockets="")
        headers["Content-Security-Policy"] = policy.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")

    async def serve(request: web.Request) -> web.StreamResponse:
        # Smaller variants beside the file (.br, .gz) are sent to who takes them.
        return web.FileResponse(file, headers=headers)

    return serve
