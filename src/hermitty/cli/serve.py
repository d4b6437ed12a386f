"""`hermitty serve`: the server, until Ctrl-C."""

import argparse
import os
import sys
from pathlib import Path

from hermitty.errors import InvalidRequest, NotSupported
from hermitty.runtime.places import STATE_VARIABLE

try:
    from hermitty.server.serving import Options, Serving, serve_until_stopped
except ImportError as exc:
    raise NotSupported(f"the server needs more packages ({exc.name} is missing); install hermitty[server]") from exc


def run_server(options: argparse.Namespace) -> int:
    """Serve and return the exit code."""
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise InvalidRequest(f"--port must be 0 to 65535, not {options.port}")
    if options.state_dir:
        # For everything that looks for the state directory, from here on.
        os.environ[STATE_VARIABLE] = os.path.abspath(os.path.expanduser(options.state_dir))
    chosen = Options(
        host=options.host,
        port=options.port,
        token=options.token,
        tls_cert=Path(options.tls_cert) if options.tls_cert else None,
        tls_key=Path(options.tls_key) if options.tls_key else None,
    )

    def ready(server: Serving) -> None:
        if server.moved_from is not None:
            print(f"hermitty: port {server.moved_from} is taken, so it is {server.port}", file=sys.stderr, flush=True)
        print(f"hermitty is at {server.address}", flush=True)
        if options.open:
            import webbrowser

            webbrowser.open(server.address)

    serve_until_stopped(chosen, ready)
    return 0
