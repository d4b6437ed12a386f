"""Every frame of a connection, recorded and compared with the published schema of the protocol."""

import json
from pathlib import Path
from typing import Any, Literal

from acp.connection import StreamDirection, StreamEvent
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

Version = Literal["v1", "v2"]
SCHEMAS: dict[Version, dict[str, Any]] = {
    version: json.loads((Path(__file__).parent / "schema" / f"{version}.json").read_text()) for version in ("v1", "v2")
}

Part = Literal["Request", "Response", "Notification"]


def definition(method: str, part: Part, version: Version = "v1") -> str | None:
    """The name of what the schema says about a method."""
    known = SCHEMAS[version]["$defs"].items()
    names = [name for name, each in known if each.get("x-method") == method and name.endswith(part)]
    return names[0] if names else None


def problems(name: str, value: object, version: Version = "v1") -> list[str]:
    """What is wrong with a value."""
    validator = Draft202012Validator({"$ref": f"#/$defs/{name}", **SCHEMAS[version]})
    return [f"{name}{error.json_path[1:]}: {error.message[:300]}" for error in validator.iter_errors(value)]


class Frames:
    """Records frames as an observer of a connection. `from_agent` frames are those that come in."""

    def __init__(self, version: Version = "v1") -> None:
        self._version = version
        self.sent: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []

    def __call__(self, event: StreamEvent) -> None:
        (self.received if event.direction is StreamDirection.INCOMING else self.sent).append(event.message)

    def methods(self) -> set[str]:
        """The methods that were called in either direction."""
        return {each["method"] for each in (*self.sent, *self.received) if "method" in each}

    def problems(self, *, of_agent: bool = True) -> list[str]:
        """What is wrong with the frames that we sent, and with those of the agent if it should know better."""
        found = _of(self.sent, self.received, self._version)
        return found + (_of(self.received, self.sent, self._version) if of_agent else [])


def _of(frames: list[dict[str, Any]], asked: list[dict[str, Any]], version: Version) -> list[str]:
    methods = {json.dumps(each["id"]): each["method"] for each in asked if "id" in each and "method" in each}
    found: list[str] = []
    for frame in frames:
        if frame.get("jsonrpc") != "2.0":
            found.append(f"not JSON-RPC 2.0: {frame}")
        if "method" in frame:
            name = definition(frame["method"], "Request" if "id" in frame else "Notification", version)
            found += problems(name, frame.get("params"), version) if name else [f"no such method: {frame['method']}"]
        elif "error" in frame:
            found += problems("Error", frame["error"], version)
        else:
            name = definition(methods.get(json.dumps(frame["id"]), ""), "Response", version)
            found += problems(name, frame["result"], version) if name else [f"an answer to nothing: {frame}"]
    return found
