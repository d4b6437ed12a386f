"""terminado as a process: its WebSocket handler and its manager, in front of bash, on the event loop of the others.

Run as `python -m bench.terminado_server`; it prints its port. `/ws/terminal/NAME` is the terminal of that name, started
for its first viewer. Shells end when this process does: their PTYs are gone.
"""

import asyncio
import importlib
import signal
import sys
from typing import Any

from bench.relay import new_event_loop


async def _serve() -> None:
    terminado: Any = importlib.import_module("terminado")
    web: Any = importlib.import_module("tornado.web")
    netutil: Any = importlib.import_module("tornado.netutil")
    httpserver: Any = importlib.import_module("tornado.httpserver")
    manager = terminado.NamedTermManager(shell_command=["bash", "-i"], max_terminals=None)
    application = web.Application([(r"/ws/terminal/(\w+)", terminado.TermSocket, {"term_manager": manager})])
    enough = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, enough.set)
    sockets = netutil.bind_sockets(0, "127.0.0.1")
    server = httpserver.HTTPServer(application)
    server.add_sockets(sockets)
    print(sockets[0].getsockname()[1], flush=True)
    await enough.wait()
    server.stop()


def _main() -> int:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve())
    return 0


if __name__ == "__main__":
    sys.exit(_main())
