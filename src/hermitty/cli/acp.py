"""`hermitty acp`: runs an agent, for a conversation or for one prompt."""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from hermitty.errors import HermittyError, InvalidRequest, NotSupported
from hermitty.runtime.api import SettingsSource, build_runtime
from hermitty.runtime.approvals import Approval, Question

try:
    from hermitty.adapters.acp.audience import Offers
    from hermitty.adapters.acp.client import AcpClient, running_agent
    from hermitty.adapters.acp.permissions import AsyncApprover, with_grants
    from hermitty.adapters.acp.terminals import Shown
except ImportError as exc:
    raise NotSupported(f"ACP needs more packages ({exc.name} is missing); install hermitty[acp]") from exc

from hermitty.cli.acp_console import Console
from hermitty.cli.acp_view import JsonView, TextView, harmless
from hermitty.cli.told import cancel_when_told

CANCELLED = 130
OTHERWISE = 1
FAILED = 125


def run_acp(options: argparse.Namespace) -> int:
    """Run an agent as the options say, and return the exit code to leave with."""
    # What the SDK logs may have an agent's words in it, and standard error may be a terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    cwd = os.path.abspath(options.cwd or os.curdir)
    if not os.path.isdir(cwd):
        raise InvalidRequest(f"--cwd {options.cwd!r} is not a directory")
    is_talk = options.prompt is None and not options.json and sys.stdin.isatty() and sys.stdout.isatty()
    prompt = options.prompt if options.prompt is not None or is_talk else sys.stdin.read()
    if not is_talk and not (prompt or "").strip():
        raise InvalidRequest("there is nothing to do: pass --prompt, or write it to standard input")
    return asyncio.run(_until_told(_Run(options, cwd, prompt)))


class _Run:
    """One use of the command."""

    def __init__(self, options: argparse.Namespace, cwd: str, prompt: str | None) -> None:
        self._options = options
        self._cwd = cwd
        self._prompt = prompt
        self._console = Console()
        self._client: AcpClient | None = None
        self._work: asyncio.Task[int] | None = None
        self._interrupts = 0
        self._cancelling: asyncio.Task[None] | None = None
        self._session_id: str | None = None
        self._is_in_turn = False
        self._stop_reason: str | None = None
        self.broken: list[OSError] = []
        self._json = JsonView(sys.stdout, broken=self._on_broken)
        words, deeds = sys.stdout, sys.stdout if prompt is None else sys.stderr
        self._text = TextView(words, deeds, find=self._find, broken=self._on_broken)

    async def run(self) -> int:
        """Run the agent to the end of the conversation or of the turn."""
        self._work = asyncio.current_task()
        settings = SettingsSource(workspace=Path(self._cwd))
        try:
            async with (
                build_runtime(settings.current, approver=with_grants(self._approver())) as runtime,
                running_agent(
                    runtime,
                    self._options.agent,
                    cwd=self._cwd,
                    offers=Offers(files=self._options.files, draft=self._options.acp_v2),
                    listener=self._json if self._options.json else self._text,
                ) as self._client,
            ):
                code = await self._with_agent(self._client)
        except HermittyError as error:
            self._text.finish_line()
            if self._options.json:
                self._json.print("error", code=error.code, message=error.message)
            print(f"hermitty: {harmless(error.message)}", file=sys.stderr)
            return FAILED
        if self._options.json:  # the last line, when everything is over
            self._json.print("result", session_id=self._session_id, stop_reason=self._stop_reason)
        return code

    async def _with_agent(self, client: AcpClient) -> int:
        if self._options.login:
            await client.authenticate(self._options.login)
        self._session_id = await client.new_session(self._cwd)
        if self._options.json:
            about = client.agent.get("info" if client.is_draft else "agentInfo")
            self._json.print("session", session_id=self._session_id, cwd=self._cwd, agent=about)
        with self._interruptible():
            if self._prompt is not None:
                return await self._turn(client, self._prompt)
            return await self._talk(client)

    async def _talk(self, client: AcpClient) -> int:
        code = 0
        gone = asyncio.ensure_future(client.wait_for_end())
        try:
            with self._console.reading():
                while True:
                    line = asyncio.ensure_future(self._console.line("> "))
                    try:
                        await asyncio.wait({line, gone}, return_when=asyncio.FIRST_COMPLETED)
                        if not line.done():
                            raise gone.result()
                    finally:
                        line.cancel()
                    if (text := line.result()) is None:
                        sys.stderr.write("\n")
                        return code
                    if text.strip():
                        code = await self._turn(client, text)
        finally:
            gone.cancel()

    async def _turn(self, client: AcpClient, text: str) -> int:
        assert self._session_id is not None
        self._is_in_turn, self._interrupts = True, 0
        try:
            reason = await client.prompt(self._session_id, text)
        finally:
            self._is_in_turn = False
            if self._cancelling is not None:
                await asyncio.wait({self._cancelling})
                self._cancelling = None
        self._text.finish_line()
        self._stop_reason = reason
        if reason != "end_turn" and not self._options.json:
            self._text.note(f"the turn ended: {harmless(reason)}")
        return {"end_turn": 0, "cancelled": CANCELLED}.get(reason, OTHERWISE)

    def _approver(self) -> AsyncApprover:
        if self._options.yes:
            return _say_yes
        return _say_no if self._prompt is not None else self._ask

    async def _ask(self, question: Question) -> Approval:
        self._text.finish_line()
        return await self._console.ask(question)

    def _find(self, session_id: str, terminal_id: str) -> Shown | None:
        return None if self._client is None else self._client.shown(session_id, terminal_id)

    def _on_broken(self, exc: OSError) -> None:
        if not self.broken and self._work is not None:
            self.broken.append(exc)
            self._work.cancel()

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let Ctrl-C cancel the turn; a second one ends everything."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _interrupted(self) -> None:
        self._interrupts += 1
        assert self._client is not None
        assert self._session_id is not None
        if not self._is_in_turn:
            sys.stderr.write("\n(Ctrl-D ends)\n> ")
            sys.stderr.flush()
        elif self._interrupts == 1:
            cancelling = self._client.cancel(self._session_id)
            self._cancelling = asyncio.get_running_loop().create_task(cancelling)
        elif self._work is not None:
            self._work.cancel()


async def _until_told(run: _Run) -> int:
    """Run until the end, or until a signal comes. Everything that was started ends either way."""
    work = asyncio.get_running_loop().create_task(run.run())
    told = cancel_when_told(work)
    try:
        return await work
    except asyncio.CancelledError:
        if run.broken:
            raise run.broken[0] from None
        return 128 + told[0] if told else CANCELLED


async def _say_yes(question: Question) -> Approval:
    return Approval("allow", by="--yes")


async def _say_no(question: Question) -> Approval:
    note = "and there is nobody to ask; a person can pass --yes, or keep a rule with `hermitty rules add`"
    return Approval("deny", by="hermitty acp", note=f"{'; '.join(question.reasons[:3])}, {note}")
