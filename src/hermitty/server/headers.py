"""What goes with every answer: headers that protect browsers; and answers that are JSON."""

from collections.abc import Mapping

from aiohttp import web

from hermitty.server.reading import write_json

# xterm.js writes the rules of its rows into style elements of its own, which 'unsafe-inline' stands for; scripts are
# files of ours only.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'{sockets}; worker-src 'self' blob:; manifest-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY.format(sockets=""),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": (
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), microphone=(), midi=(), "
        "payment=(), usb=(), clipboard-read=(self), clipboard-write=(self)"
    ),
}


def json_response(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Answer with JSON."""
    return web.Response(body=write_json(value), status=status, content_type="application/json", headers=headers)
