"""The command line of `hermitty serve`."""

import argparse
from typing import TYPE_CHECKING

from hermitty.cli.state_dir import add_state_dir

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
The address is printed with its token when the server is ready; open it in a browser once, and
the browser stays logged in. The token is kept in the state directory, readable for you alone.
An address that other machines can reach needs a token of your choice (--token, HERMITTY_TOKEN)
or TLS. Ctrl-C ends the server.
"""


def add_serve(commands: "Commands") -> None:
    """Describe `hermitty serve`."""
    serve = commands.add_parser(
        "serve",
        help="start the server with its web page",
        description="Start the server: terminals for agents and people, over HTTP and WebSockets.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("--host", metavar="H", help="address to listen on (default: 127.0.0.1)")
    serve.add_argument("--port", metavar="P", type=int, help="port to listen on (default: 8421, or the next free one)")
    serve.add_argument("--token", metavar="T", help="the token (default: HERMITTY_TOKEN, or a random one that is kept)")
    add_state_dir(serve, "where everything is kept")
    serve.add_argument("--tls-cert", metavar="FILE", help="certificate chain, for https")
    serve.add_argument("--tls-key", metavar="FILE", help="its private key")
    serve.add_argument(
        "--cluster",
        metavar="C",
        help="terminals on several machines: ray://ADDRESS, local:N, or a file that lists nodes (HERMITTY_CLUSTER)",
    )
    serve.add_argument("--open", action="store_true", help="open the page in a browser")
