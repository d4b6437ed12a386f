"""`hermitty serve` in a directory of its own, always at the same address: started, killed, started again."""

import asyncio
import os
import random
import re
import secrets
import signal
import socket
import sys
import time
from pathlib import Path

from hermitty.host.control import HostStatus, host_status, stop_host
from soak.census import VARIABLE
from soak.plan import Plan

TOKEN = "the-token-of-the-soak-0123456789abcdef"
_READY_S = 120.0
_LOG_CHARACTERS = 4000
# Below the ports that the kernel gives to whoever connects: while the server is away, a client that tries to reach it
# from one of those might reach itself.
_PORTS = range(15_000, 30_000)
_CONFIG = """\
[policy]
question_timeout_s = {question_timeout_s}
[terminal]
shell = "/bin/bash"
log_bytes = {log_bytes}
[reuse]
spares = {spares}
terminals_per_workspace = 64
"""
# Scenarios run scripts of their own, about which nobody shall be asked.
_RULES = """\
[[rule]]
decision = "allow"
command = "sh"
"""


class Server:
    """The server and its host. `up` is set while it can be asked; `kills` counts those that it did not survive."""

    def __init__(self, directory: Path, plan: Plan) -> None:
        self.directory = directory
        self.state = directory / "state"
        self.mark = f"{VARIABLE}={secrets.token_hex(8)}"
        self.up = asyncio.Event()
        self.kills = 0
        self.longest_outage_s = 0.0
        self.port = 0
        self._plan = plan
        self._config = directory / "config" / "config.toml"
        self._log = directory / "server.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Return its process."""
        assert self._process is not None
        return self._process.pid

    def prepare(self) -> None:
        """Make its files."""
        home = self.directory / "home"
        home.mkdir(parents=True)
        self._config.parent.mkdir()
        self.keep_spares(2)
        (self._config.parent / "rules.toml").write_text(_RULES)
        self.port = _free_port()

    def keep_spares(self, count: int) -> None:
        """Choose how many warm terminals there are from now on."""
        plan = self._plan
        text = _CONFIG.format(question_timeout_s=plan.question_timeout_s, log_bytes=plan.log_bytes, spares=count)
        new = self._config.with_suffix(".new")
        new.write_text(text)
        new.replace(self._config)

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        name, _, value = self.mark.partition("=")
        plain = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "PYTHONPYCACHEPREFIX") if name in os.environ}
        environment = plain | {
            "HOME": str(self.directory / "home"),
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "HERMITTY_STATE_DIR": str(self.state),
            "HERMITTY_CONFIG": str(self._config),
            name: value,
        }
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "hermitty.cli.main", "serve", "--port", str(self.port), "--token", TOKEN),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._process = process
        assert process.stdout is not None
        async with asyncio.timeout(_READY_S):
            line = await process.stdout.readline()
        if b"127.0.0.1" not in line:
            raise RuntimeError(f"the server did not start: {line!r}\n{self.log_end()}")
        self.up.set()

    async def kill_and_start(self) -> None:
        """Kill it as a machine that has no memory left would, and start the next one."""
        began = time.monotonic()
        await self._end(signal.SIGKILL)
        self.kills += 1
        await self.start()
        self.longest_outage_s = max(self.longest_outage_s, time.monotonic() - began)

    async def stop(self) -> int | None:
        """Tell it to end, and return its exit code."""
        return await self._end(signal.SIGTERM)

    async def close(self) -> None:
        """End everything, whatever state it is in."""
        if self._process is not None and self._process.returncode is None:
            await self._end(signal.SIGKILL)
        await self.stop_host()

    async def host(self) -> HostStatus | None:
        """Return how the host is."""
        return await asyncio.to_thread(host_status, self.state)

    async def stop_host(self) -> None:
        """End the host and all terminals."""
        await asyncio.to_thread(stop_host, self.state)

    def log_end(self) -> str:
        """Return the end of what the server complained about."""
        try:
            return self._log.read_text(errors="replace")[-_LOG_CHARACTERS:]
        except FileNotFoundError:
            return ""

    def failures(self) -> list[str]:
        """Return what the server said of exceptions that nobody expected: a task that dies is told nowhere else."""
        try:
            text = self._log.read_text(errors="replace")
        except FileNotFoundError:
            return []
        return [text[at.start() : at.start() + _LOG_CHARACTERS] for at in re.finditer("Traceback", text)]

    async def _end(self, number: signal.Signals) -> int | None:
        assert self._process is not None
        self.up.clear()
        if self._process.returncode is None:
            self._process.send_signal(number)
        async with asyncio.timeout(_READY_S):
            await self._process.communicate()
        return self._process.returncode


def _free_port() -> int:
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
