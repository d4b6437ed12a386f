"""An agent without any SDK, which starts in no time: its prompt is a JSON list of calls, [name, arguments].

A name with a slash is a request to the client; "$T" stands for the last terminal. What the requests return is the text
of its message, as JSON, unless it was told to `say` something.
"""

import json
import os
import subprocess
import sys
from typing import Any

SESSION = "bare-session"
_waiting: list[dict[str, Any]] = []  # what came while an answer was waited for


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return dict(json.loads(line))


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": fields})


def request(method: str, params: dict[str, Any]) -> Any:
    send(id=1, method=method, params={"sessionId": SESSION, **params})
    while "method" in (message := receive()):
        _waiting.append(message)
    return message["result"] if "result" in message else {"error": message["error"]["code"]}


def prompt(text: str) -> str:
    try:
        calls = json.loads(text)
    except ValueError:
        calls = [["say", {"text": f"you said: {text}"}]]
    terminal = ""
    results: list[Any] = []
    for name, arguments in calls:
        arguments = {key: terminal if value == "$T" else value for key, value in arguments.items()}
        match name:
            case "say":
                update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": arguments["text"]})
            case "update":
                for _ in range(arguments.pop("times", 1)):
                    update(**arguments)
            case "die":
                os._exit(arguments["code"])
            case "spawn":
                subprocess.Popen(["sleep", "1000"], start_new_session=True)
            case "until_cancelled":
                while not _waiting or _waiting.pop()["method"] != "session/cancel":
                    _waiting.append(receive())
                return "cancelled"
            case _:
                results.append(request(name, arguments))
                terminal = results[-1].get("terminalId", terminal)
    if not any(name == "say" for name, _ in calls):
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": json.dumps(results)})
    return "end_turn"


while True:
    message = _waiting.pop(0) if _waiting else receive()
    match message.get("method"):
        case "initialize":
            send(id=message["id"], result={"protocolVersion": 1})
        case "session/new":
            send(id=message["id"], result={"sessionId": SESSION})
        case "session/prompt":
            send(id=message["id"], result={"stopReason": prompt(message["params"]["prompt"][0]["text"])})
