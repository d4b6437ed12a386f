"""The process of an agent: `python -m hermitty.cluster STATE [options]`, on each node of a cluster.

It says one line when it listens: a JSON object with its address and the node's key. With --lifeline it ends when its
standard input does, so that it cannot outlive whoever started it; the terminals do. With --stdio it serves the one
connection that its standard input and output are, says nothing else, and takes the secret from the first line.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import ssl
import sys
from pathlib import Path

from hermitty.cluster.agent import HOST_OPTIONS, Agent, AgentOptions
from hermitty.cluster.node import NodeFiles
from hermitty.cluster.session import Session, node_name
from hermitty.cluster.stdio import read_secret, serve_stdio
from hermitty.errors import HermittyError
from hermitty.host.daemon import DaemonOptions


def main() -> int:
    """Serve until a signal, or the end of the lifeline."""
    options = _parser().parse_args()
    # Whoever started this may block signals, as workers of job runners do; shells must not inherit that.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        return asyncio.run(_serve(options))
    except (HermittyError, OSError, ValueError) as problem:
        if options.stdio:
            print(problem, file=sys.stderr)
        else:
            print(json.dumps({"error": str(problem)}), flush=True)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hermitty.cluster", description="Serve the terminals of a node.")
    parser.add_argument("state", type=_path, help="the node's state directory")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="where (default: any free port)")
    parser.add_argument("--unix", metavar="PATH", help="a local socket instead, for whoever forwards it")
    parser.add_argument("--stdio", action="store_true", help="one connection: standard input and output, as by ssh")
    parser.add_argument("--name", default=node_name(), help="what people call the node")
    parser.add_argument("--lease", type=float, default=12.0, metavar="S", help="a gateway silent for so long is gone")
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate chain: the connection is encrypted")
    parser.add_argument("--tls-key", metavar="FILE", help="its private key")
    parser.add_argument("--host-times", metavar="S,S,S,S", help="how long the durable host waits for whom")
    parser.add_argument("--lifeline", action="store_true", help="end with the standard input")
    return parser


def _path(text: str) -> Path:
    return Path(text).expanduser()


async def _serve(options: argparse.Namespace) -> int:
    context = None
    if options.tls_cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.tls_cert, options.tls_key)
    files = NodeFiles(options.state)
    times = DaemonOptions(*map(float, options.host_times.split(","))) if options.host_times else HOST_OPTIONS
    agent = Agent(
        AgentOptions(
            state=options.state,
            secret=read_secret() if options.stdio else files.own_secret(),
            name=options.name,
            lease_s=options.lease,
            host=times,
            tls=context,
        )
    )
    if options.stdio:
        session = Session(agent)
        await serve_stdio(session)
        await session.ended.wait()
        return 0
    enough = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, enough.set)
    told: dict[str, object] = {"node": files.key(), "pid": os.getpid()}
    if options.unix:
        await agent.listen_unix(options.unix)
        told["unix"] = options.unix
    else:
        host, _, port = options.listen.rpartition(":")
        told["host"], told["port"] = await agent.listen(host.strip("[]"), int(port))
    if options.lifeline:
        loop.add_reader(0, _look_at_lifeline, enough)
    files.announce(told)
    print(json.dumps(told), flush=True)
    try:
        await enough.wait()
        await agent.aclose()
    finally:
        files.withdraw(os.getpid())
    return 0


def _look_at_lifeline(enough: asyncio.Event) -> None:
    with contextlib.suppress(BlockingIOError):
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            enough.set()


if __name__ == "__main__":
    sys.exit(main())
