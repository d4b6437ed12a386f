"""The actor that keeps the agent of a Ray node running. It owns nothing: no terminal, and no byte of one.

The agent is a child process of the actor's worker, and ends with it; the durable host is nobody's child, so that
neither the end of a worker, nor of a raylet, nor of the head touches its terminals. Workers run with SIGINT blocked,
which children inherit; an agent unblocks everything before it starts anything.
"""

import contextlib
import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from hermitty.cluster.agent_process import clean_environment, command
from hermitty.cluster.node import NodeFiles

_START_S = 30.0
_AGAIN_S = 0.2
_STOP_S = 10.0
# What Ray sets for its workers, and no terminal should have.
_OF_THE_WORKER = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "PYTHONBREAKPOINT", "SPT_NOENV")


class AgentKeeper:
    """Starts an agent, again and again, and tells where it is."""

    def __init__(self, state: str, name: str, address: str, options: tuple[str, ...] = ()) -> None:
        path = Path(state.replace("{name}", name)).expanduser()
        self._files = NodeFiles(path)
        self._name = name
        self._command = command(path, "--name", name, "--listen", f"{address}:0", *options)
        self._told: dict[str, Any] = {}
        self._ready = threading.Event()
        self._is_stopping = False
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name="agent", daemon=True)
        self._thread.start()

    def where(self) -> dict[str, Any]:
        """Return where the agent is, who its node is, and the node's secret; or what is wrong."""
        if not self._ready.wait(_START_S):
            return {"error": self._told.get("error", "the agent does not start")}
        return {**self._told, "name": self._name, "secret": self._files.own_secret().hex(), "keeper": os.getpid()}

    def stop(self) -> None:
        """End the agent for good; the terminals go on."""
        self._is_stopping = True
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        self._thread.join(_STOP_S)

    def _keep(self) -> None:
        while not self._is_stopping:
            try:
                self._run()
            except (OSError, ValueError) as problem:
                self._told = {"error": str(problem)}
            finally:
                self._ready.clear()
            time.sleep(_AGAIN_S)

    def _run(self) -> None:
        env = {
            name: value
            for name, value in clean_environment().items()
            if not name.startswith("RAY_") and name not in _OF_THE_WORKER
        }
        with subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
        ) as process:
            self._process = process
            assert process.stdout is not None
            told = json.loads(process.stdout.readline() or b'{"error": "it ended without a word"}')
            self._told = told
            if "error" not in told:
                self._ready.set()
            process.wait()
