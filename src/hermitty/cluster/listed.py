"""Nodes from a file: machines whose agents somebody else starts, as a service or behind a forwarded socket.

    [[nodes]]
    name = "one"
    address = "10.0.0.5:8422"          # or: unix = "/run/user/1000/one.sock"
    secret_file = "one.secret"         # what the agent has in its state directory; relative to this file
    authority = "ca.pem"               # certificates that are believed; without it, the connection is not encrypted

    [[nodes]]
    name = "two"
    ssh = "ann@two.example"            # starts an agent for each connection; nothing has to run there
    python = "/opt/hermitty/bin/python"  # where hermitty is installed (default: python3)
    state = "~/.local/state/hermitty/nodes/two"
    ssh_config = "ssh_config"          # instead of the user's

The file is read again when it changes: nodes join, and leave.
"""

import asyncio
import contextlib
import secrets
import shlex
import tomllib
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from typing import Any

from hermitty.cluster.endpoint import Endpoint
from hermitty.cluster.placement import Backend, NodeChange, NodeInfo, PlaceSpec, Shares
from hermitty.errors import HostUnavailable, InvalidRequest

_LOOK_S = 2.0
_FIELDS = {"name", "address", "unix", "secret_file", "authority", "ssh", "ssh_config", "python", "state"}
_OF_SSH = {"ssh_config", "python", "state"}
_WAYS = ("address", "unix", "ssh")
# Nobody is asked anything, and no other connection is shared: it would outlive this one.
_SSH_OPTIONS = ("BatchMode=yes", "ControlMaster=no", "ControlPath=none", "ConnectTimeout=5", "RequestTTY=no")
_SECRET_BYTES = 32


class ListedPlacement:
    """A `Placement` by a list. It knows nothing of room: the node with the fewest workspaces gets the next one."""

    backend: Backend = "list"

    def __init__(self, path: Path, *, look_s: float = _LOOK_S) -> None:
        self._path = path
        self._look_s = look_s
        self._shares = Shares()
        self._nodes: dict[str, dict[str, str]] = {}
        self._read_at = 0

    async def nodes(self) -> list[NodeInfo]:
        """Read the file."""
        self._read()
        return [NodeInfo(name, name) for name in self._nodes]

    async def reserve(self, spec: PlaceSpec, among: Collection[str]) -> str:
        """Choose the node with the fewest workspaces."""
        node = self._shares.reserve(spec.workspace, among)
        if node is None:
            raise HostUnavailable("no node can be reached; see `hermitty cluster status`")
        return node

    async def release(self, workspace: str) -> None:
        """Forget a workspace."""
        self._shares.release(workspace)

    async def reserved(self) -> list[str]:
        """Return the workspaces that have a node."""
        return self._shares.reserved()

    async def endpoint(self, node: str) -> Endpoint:
        """Return what the file says."""
        listed = self._nodes.get(node)
        if listed is None:
            raise HostUnavailable(f"{str(self._path)!r} has no node {node!r}")
        if "ssh" in listed:
            return Endpoint(command=ssh_command(listed, self._path.parent), secret=secrets.token_bytes(_SECRET_BYTES))
        secret = self._path.parent / listed["secret_file"]
        try:
            known = bytes.fromhex(secret.read_text().strip())
        except (OSError, ValueError) as exc:
            raise HostUnavailable(f"the secret of node {node!r} cannot be read from {str(secret)!r}") from exc
        authority = str(self._path.parent / listed["authority"]) if "authority" in listed else ""
        if "unix" in listed:
            return Endpoint(unix=listed["unix"], secret=known)
        host, _, port = listed["address"].rpartition(":")
        return Endpoint(host=host.strip("[]"), port=int(port), secret=known, authority=authority)

    async def watch(self) -> AsyncIterator[NodeChange]:
        """Look at the file now and then."""
        while True:
            await asyncio.sleep(self._look_s)
            before = dict(self._nodes)
            with contextlib.suppress(InvalidRequest):  # somebody is writing it; it holds once it makes sense
                self._read()
            for name in self._nodes.keys() - before.keys():
                yield NodeChange("joined", NodeInfo(name, name))
            for name in before.keys() - self._nodes.keys():
                yield NodeChange("gone", NodeInfo(name, name), "it is no longer listed")

    async def aclose(self) -> None:
        """Do nothing."""

    def _read(self) -> None:
        try:
            changed_at = self._path.stat().st_mtime_ns
            if changed_at != self._read_at:
                self._nodes = parse_nodes(self._path.read_text(encoding="utf-8"))
                self._read_at = changed_at
        except (OSError, UnicodeDecodeError) as exc:
            raise InvalidRequest(f"the list of nodes {str(self._path)!r} cannot be read: {exc}") from exc


def ssh_command(listed: Mapping[str, str], base: Path) -> tuple[str, ...]:
    """Return the words that connect to a node by ssh; paths are relative to `base`."""
    config = ("-F", str(base / listed["ssh_config"])) if "ssh_config" in listed else ()
    options = [word for option in _SSH_OPTIONS for word in ("-o", option)]
    state = listed.get("state", f"~/.local/state/hermitty/nodes/{listed['name']}")
    # -P: what lies in the home directory is not imported. The other end's shell reads this line.
    agent = (
        listed.get("python", "python3"),
        "-P",
        "-m",
        "hermitty.cluster",
        state,
        "--stdio",
        "--name",
        listed["name"],
    )
    return ("ssh", *config, *options, "--", listed["ssh"], f"exec {shlex.join(agent)}")


def _check_ssh(listed: Mapping[str, str]) -> None:
    if "ssh" not in listed:
        if extra := sorted(listed.keys() & _OF_SSH):
            raise InvalidRequest(f"{extra[0]!r} of node {listed['name']!r} is for one with ssh")
    elif not listed["ssh"] or listed["ssh"].startswith("-"):
        raise InvalidRequest(f"ssh of node {listed['name']!r} is USER@HOST or HOST, not {listed['ssh']!r}")


def parse_nodes(text: str) -> dict[str, dict[str, str]]:
    """Return the nodes of a list by name. Raises InvalidRequest with what is wrong."""
    try:
        listed: Any = tomllib.loads(text).get("nodes", [])
    except tomllib.TOMLDecodeError as exc:
        raise InvalidRequest(f"the list of nodes is no TOML: {exc}") from exc
    nodes: dict[str, dict[str, str]] = {}
    for each in listed if isinstance(listed, list) else [None]:
        if not isinstance(each, dict) or not all(isinstance(value, str) for value in each.values()):
            raise InvalidRequest("a list of nodes has tables [[nodes]] with texts in them")
        if unknown := sorted(each.keys() - _FIELDS):
            raise InvalidRequest(f"a node has no {unknown[0]!r}; there are {', '.join(sorted(_FIELDS))}")
        needed = ("name",) if "ssh" in each else ("name", "secret_file")
        missing = [name for name in needed if not each.get(name)]
        if missing or sum(way in each for way in _WAYS) != 1:
            raise InvalidRequest(f"a node needs a {missing[0] if missing else 'address, or else unix, or else ssh'}")
        _check_ssh(each)
        if "address" in each and not each["address"].rpartition(":")[2].isdigit():
            raise InvalidRequest(f"the address of node {each['name']!r} is HOST:PORT, not {each['address']!r}")
        if each["name"] in nodes:
            raise InvalidRequest(f"there are two nodes {each['name']!r}")
        nodes[each["name"]] = each
    return nodes
