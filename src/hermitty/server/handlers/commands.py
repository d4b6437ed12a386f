"""Commands: run, look, stop, type into; what the policy makes of them; complete outputs."""

from itertools import islice

from aiohttp import web

from hermitty.errors import NotSupported
from hermitty.model import State
from hermitty.runtime.api import Answer, Command
from hermitty.server import decision_replies, replies, requests
from hermitty.server.handlers.terminals import type_into
from hermitty.server.reading import sandbox_of
from hermitty.server.routing import Call
from hermitty.server.runs import Wanted
from hermitty.server.views import command_of, result_of


async def run(call: Call[requests.Run, None]) -> replies.CommandResult:
    """Run a command where it fits best, if the policy allows it."""
    body, parts = call.body, call.parts
    command = body.command if isinstance(body.command, str) else tuple(body.command)
    wait_s = _wait(call, body.wait_s)
    result = await parts.runs.run(
        Wanted(command, session=body.session),
        lambda command_id: parts.runtime.run(
            command,
            cwd=body.cwd,
            session=body.session,
            workspace=body.workspace,
            shell=body.shell,
            provider=body.provider or "pty",
            env=body.env,
            wait_s=wait_s,
            kill_after_s=body.kill_after_s,
            answers=_answers(body.answers),
            command_id=command_id,
            sandbox=sandbox_of(body.sandbox),
        ),
        command_id=body.id,
        wait_s=wait_s,
    )
    return result_of(result)


async def run_in(call: Call[requests.RunIn, None]) -> replies.CommandResult:
    """Run a command in a given terminal, if the policy allows it."""
    body, parts, terminal_id = call.body, call.parts, call.path("id")
    parts.runtime.terminal(terminal_id)
    wait_s = _wait(call, body.wait_s)
    result = await parts.runs.run(
        Wanted(body.command, terminal_id, body.session),
        lambda command_id: parts.runtime.run_in(
            terminal_id,
            body.command,
            session=body.session,
            wait_s=wait_s,
            kill_after_s=body.kill_after_s,
            answers=_answers(body.answers),
            command_id=command_id,
        ),
        command_id=body.id,
        wait_s=wait_s,
    )
    return result_of(result)


async def run_temporary(call: Call[requests.RunTemporary, None]) -> replies.CommandResult:
    """Run a command in a terminal of its own, which is gone afterwards."""
    body, parts = call.body, call.parts
    wait_s = _bounded(call, body.wait_s)
    result = await parts.runs.run(
        Wanted(body.command, None, body.session),
        lambda command_id: parts.runtime.run_temporary(
            body.command,
            cwd=body.cwd,
            session=body.session,
            workspace=body.workspace,
            shell=body.shell,
            env=body.env,
            wait_s=wait_s,
            answers=_answers(body.answers),
            command_id=command_id,
            sandbox=sandbox_of(body.sandbox),
        ),
        command_id=body.id,
        wait_s=0,
    )
    return result_of(result)


async def run_batch(call: Call[requests.Batch, None]) -> replies.Results:
    """Run commands one after the other in one terminal."""
    body, parts = call.body, call.parts
    results = await parts.runs.commands(
        parts.runtime.run_batch(
            body.commands,
            cwd=body.cwd,
            session=body.session,
            workspace=body.workspace,
            shell=body.shell,
            wait_s=_bounded(call, body.wait_s),
            stop_on_error=body.stop_on_error,
        )
    )
    return replies.Results(results=[result_of(result) for result in results])


async def list_commands(call: Call[None, requests.CommandsQuery]) -> replies.Commands:
    """List the commands that run and that ran lately."""
    query = call.query
    known = call.parts.runtime.commands(terminal=query.terminal, session=query.session)
    return replies.Commands(commands=[command_of(each) for each in islice(known, query.limit)])


async def show_command(call: Call[None, requests.CommandQuery]) -> replies.CommandResult:
    """Look at a command, or wait for its end."""
    return result_of(await call.parts.runs.look(call.path("cid"), call.query.wait_s))


async def interrupt(call: Call[requests.Stop, None]) -> replies.CommandResult:
    """Interrupt a command as Ctrl-C would."""
    return result_of(await call.parts.runs.stop(call.path("cid"), State.INTERRUPTED, call.body.wait_s))


async def kill(call: Call[requests.Stop, None]) -> replies.CommandResult:
    """Kill a command and everything it started."""
    return result_of(await call.parts.runs.stop(call.path("cid"), State.KILLED, call.body.wait_s))


async def type_input(call: Call[requests.Input, None]) -> None:
    """Type for a command while it runs."""
    handle = call.parts.runtime.command(call.path("cid")).handle
    if not isinstance(handle, Command):
        raise NotSupported("this command has no terminal to type into; run it with the pty provider")
    type_into(handle, call.body)


async def check(call: Call[requests.Check, None]) -> decision_replies.Decision:
    """Say what the policy makes of a command, without running it."""
    body = call.body
    decision = call.parts.runtime.check(
        body.command, cwd=body.cwd, shell=body.shell, session=body.session, workspace=body.workspace
    )
    return decision_replies.Decision(**decision.to_dict())  # type: ignore[arg-type]  # the same fields, as plain values


async def read_artifact(
    call: Call[None, requests.ArtifactQuery],
) -> replies.ArtifactPage | replies.ArtifactMatches | web.Response:
    """Read a command's complete output: a page, or the lines that match."""
    artifact_id, query, runtime = call.path("aid"), call.query, call.parts.runtime
    if query.search is not None:
        found = await runtime.search_artifact(artifact_id, query.search, offset=query.offset)
        return replies.ArtifactMatches(
            id=artifact_id,
            matches=[
                replies.ArtifactMatch(line=each.line, offset=each.offset, text=each.text) for each in found.matches
            ],
            literal=found.literal,
            problem=found.problem,
            stopped=found.stopped,
            next=found.next,
            size=found.size,
        )
    page = await runtime.read_artifact(artifact_id, query.offset, query.limit)
    if query.format == "raw":
        headers = {"X-Hermitty-Size": str(page.size), "X-Hermitty-Next": "" if page.next is None else str(page.next)}
        return web.Response(body=page.data, content_type="application/octet-stream", headers=headers)
    return replies.ArtifactPage(
        id=artifact_id,
        offset=page.offset,
        text=page.text,
        line=page.line,
        starts_inside=page.starts_inside,
        next=page.next,
        size=page.size,
    )


def _wait(call: "Call[object, object]", wait_s: float | None) -> float:
    """Return how long a request waits: as long as it says or the settings do, but not for ever."""
    settings = call.parts.runtime.settings
    most = settings.server.longest_wait_s
    wanted = settings.run.wait_s if wait_s is None else wait_s
    return most if wanted is None else min(wanted, most)


def _bounded(call: "Call[object, object]", wait_s: float | None) -> float | None:
    return None if wait_s is None else min(wait_s, call.parts.runtime.settings.server.longest_wait_s)


def _answers(answers: list[requests.Answer]) -> list[Answer]:
    return [Answer(each.prompt, each.reply) for each in answers]
