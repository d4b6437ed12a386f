"""Questions that wait at a server: listing and answering them from the command line."""

import argparse
import asyncio
import sys
import time
from typing import Any

from hermitty.cli.escapes import visible
from hermitty.cli.finding import be_patient, connect
from hermitty.client.http import part
from hermitty.client.values import Question, question_of
from hermitty.errors import ApprovalNotFound, InvalidRequest
from hermitty.wire.records import to_json

_MOST = 1000


def list_questions(options: argparse.Namespace) -> int:
    """Print the questions that wait, and return the exit code."""

    async def work() -> list[dict[str, Any]]:
        async with connect(options) as http:
            found: list[dict[str, Any]] = (await http.get("/api/approvals")).json()["approvals"]
            return found

    told = [each for each in asyncio.run(work()) if options.session in (None, each.get("session"))]
    if options.json:
        for each in told:
            print(to_json(each))
    elif told:
        print("\n".join(_described(question_of(each)) for each in told))
    else:
        print("hermitty: no question waits for an answer", file=sys.stderr)
    return 0


def answer_question(options: argparse.Namespace) -> int:
    """Answer a question and return the exit code."""
    answer, meant = options.reply
    body = {"answer": answer, "scope": options.scope, "typed": options.typed}

    async def work() -> dict[str, Any]:
        async with connect(options) as http:
            waiting = [str(each["id"]) for each in (await http.get("/api/approvals")).json()["approvals"]]
            be_patient(http)
            # Again, it says that the question is answered; the first one counts.
            answered = await http.send("POST", f"/api/approvals/{part(_chosen(meant, waiting))}", body=body)
            told: dict[str, Any] = answered.json()
            return told

    told = asyncio.run(work())
    if options.json:
        print(to_json(told))
    else:
        print(f"{visible(told['outcome'])}: {visible(told['question']['command'])}")
    return 0


def read_remote_audit(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what was decided about commands, newest first."""

    async def work() -> list[dict[str, Any]]:
        async with connect(options) as http:
            query = {"session": options.session, "limit": min(options.limit, _MOST)}
            found: list[dict[str, Any]] = (await http.get("/api/audit", query=query)).json()["entries"]
            return found

    return asyncio.run(work())


def _chosen(meant: str, waiting: list[str]) -> str:
    """Choose a question by its id or the beginning of it. An id that does not wait is left to the server."""
    found = [each for each in waiting if each == meant] or [
        each for each in waiting if meant and each.startswith(meant)
    ]
    if len(found) > 1:
        raise InvalidRequest(f"{visible(meant)!r} may be {', '.join(found)}; write more of the id")
    if not found and not meant:
        raise ApprovalNotFound(meant, waiting)
    return found[0] if found else meant


def _described(question: Question) -> str:
    lines = [f"{visible(question.id)}  {visible(question.level)}  {visible(question.command)}"]
    details = {
        "in": question.cwd,
        "session": question.session,
        "effects": ", ".join(question.effects),
        "because": "; ".join(question.reasons),
        "until": None
        if question.expires_at is None
        else time.strftime("%H:%M:%S", time.localtime(question.expires_at)),
        "to allow it, add": question.confirmation and f"--typed {question.confirmation!r}",
    }
    lines += [f"    {name}: {visible(str(value))}" for name, value in details.items() if value]
    return "\n".join(lines)
