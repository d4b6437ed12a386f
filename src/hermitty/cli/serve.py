"""`hermitty serve`: the server, until Ctrl-C."""

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path

from hermitty.errors import HermittyError, InvalidRequest, NotSupported
from hermitty.host.control import host_status
from hermitty.runtime.places import find_places

try:
    from hermitty.cli.mounted_mcp import mount_mcp
    from hermitty.server.serving import Options, Serving, clustered, serve_until_stopped
except ImportError as exc:
    raise NotSupported(f"the server needs more packages ({exc.name} is missing); install hermitty[server]") from exc

CLUSTER_VARIABLE = "HERMITTY_CLUSTER"


def run_server(options: argparse.Namespace) -> int:
    """Serve and return the exit code."""
    if options.port is not None and not 0 <= options.port <= 65_535:
        raise InvalidRequest(f"--port must be 0 to 65535, not {options.port}")
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

    cluster = options.cluster or os.environ.get(CLUSTER_VARIABLE)
    serve_until_stopped(chosen, ready, mount_mcp, make_runtime=clustered(cluster) if cluster else None)
    if not cluster:
        _tell_what_goes_on(f" --state-dir {shlex.quote(options.state_dir)}" if options.state_dir else "")
    return 0


def _tell_what_goes_on(where: str) -> None:
    """Say which terminals are left, and how to end them: a person may think that Ctrl-C has."""
    with contextlib.suppress(HermittyError):
        status = host_status(find_places().state)
        count = 0 if status is None else len(status.report.terminals)
        if count:
            what = "1 terminal goes on" if count == 1 else f"{count} terminals go on"
            how = f"`hermitty serve{where}` finds what is there, `hermitty host stop{where}` ends it"
            print(f"hermitty: {what} without the server; {how}")
