"""One agent's conversation with terminals: what every adapter for a framework goes through.

    async with hermitty.open(approver=ask) as rt, AgentSession(rt) as session:
        reply = await session.call("run_command", {"command": "make test"})

The runtime is of this process or of a server (`hermitty.open(url=…)`), or one without `async` (`hermitty.sync.open()`,
then with `with`). Each command passes the runtime's own policy, with its questions and its record.

What a model sends is not the program's own: a runtime of this process without an approver, which trusts its program,
refuses here what it would ask about. A question that nobody answers in time is withdrawn, and nothing runs.
"""

import asyncio
import concurrent.futures
import contextlib
import os
import secrets
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from hermitty.adapters.session_door import SessionDoor
from hermitty.adapters.tooling import Reply, find_tool, parsed_arguments, reply_of, reply_of_command, reply_of_error
from hermitty.errors import HermittyError, InvalidRequest, TerminalClosed, TerminalNotFound
from hermitty.model import CommandResult, checked_time
from hermitty.runtime.tools import TOOLS

if TYPE_CHECKING:
    from hermitty.runtime.api import Runtime

T = TypeVar("T")

# As long as the policy's own limit, by default.
APPROVAL_WAIT_S = 300.0

_IS_OVER = "the session is over; begin another one"
_HAS_NOT_BEGUN = "the session has not begun: use `async with`, or `with`"


class AnyRuntime(Protocol):
    """What `hermitty.open()` and `hermitty.sync.open()` return."""

    @property
    def settings(self) -> Any:
        """Return the settings as they are now."""


class AgentSession:
    """The terminals of one conversation. Use it with `async with`, or `with` over `hermitty.sync.open()`.

    A session that got no `name` is ended with everything that runs in it; one with a name is left to whoever named it.
    `wait_s` is how long a command in a persistent terminal is waited for before it goes on in the background (default:
    the setting `tools.wait_persistent_s`), `approval_wait_s` how long a question may stay open.

    `call` and `run` never raise what the model can do something about: that is a reply. Cancelling them kills the
    command, or withdraws its question.
    """

    def __init__(
        self,
        runtime: AnyRuntime,
        *,
        name: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        wait_s: float | None = None,
        approval_wait_s: float = APPROVAL_WAIT_S,
    ) -> None:
        checked_time("wait_s", wait_s)
        checked_time("approval_wait_s", approval_wait_s)
        self.name = name or f"agent-{secrets.token_hex(4)}"
        self._is_ours = name is None
        # A runtime without `async` has the real one in the thread of its loop.
        self._portal: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        if not hasattr(runtime, "__aenter__"):
            self._portal = cast("Any", runtime)
            runtime, self._loop = self._portal.asynchronous
        self._door = SessionDoor(
            cast("Any", runtime), self.name, cwd=cwd, wait_s=wait_s, approval_wait_s=approval_wait_s
        )
        self._turn = asyncio.Lock()
        self._calls: set[asyncio.Task[Reply]] = set()
        self._terminal: str | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        if self._portal is not None:
            raise InvalidRequest("this runtime is one without async: use `with`, not `async with`")
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        if self._portal is None:
            raise InvalidRequest("this runtime is asynchronous: use `async with`, or one of hermitty.sync.open()")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.blocking(self.aclose())

    async def aclose(self) -> None:
        """Cancel the calls that still wait, and end the session with everything that runs in it, if nobody named it."""
        if self._closed:
            return
        self._closed = True
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)
        if self._is_ours:
            await self._door.close()

    def blocking(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something from a thread without an event loop, and wait. An exception here (Ctrl-C) cancels it."""
        if self._portal is not None:
            return cast("T", self._portal.call(work))
        loop, here = self._loop, _running_loop()
        if loop is None or here is loop:
            work.close()
            why = "was not entered" if loop is None else "belongs to the event loop that would wait for it"
            raise InvalidRequest(f"the session {why}; use the framework's asynchronous calls, or hermitty.sync.open()")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise InvalidRequest("the call was cancelled in the event loop of its session") from None
        except BaseException:  # Ctrl-C, too: whoever waited is gone, so what it waited for ends
            future.cancel()
            raise

    # What a model can do. Each may be awaited in any event loop: it is done in that of the runtime.

    async def call(self, tool: str, arguments: Mapping[str, Any] | str | None = None) -> Reply:
        """Call a tool by its name. Arguments may come as JSON text."""

        async def work() -> Reply:
            known, given = find_tool(tool), parsed_arguments(arguments)
            # Only what the tools use of a runtime.
            return reply_of(await known.call(cast("Runtime", self._door), given, session=self.name))

        return await self._there(work)

    async def run(self, command: str, *, wait_s: float | None = None) -> Reply:
        """Run a command in the conversation's own terminal, which keeps directory and variables.

        One command runs there at a time: one that goes on from an earlier call is waited for first.
        """

        async def work() -> Reply:
            checked_time("wait_s", wait_s)
            async with self._turn:
                return await self._run(command, wait_s)

        return await self._there(work)

    async def restart(self) -> Reply:
        """Close the conversation's own terminal, and end everything in it; the next command gets a new one."""

        async def work() -> Reply:
            await self._close_terminal()
            return Reply("[the terminal was restarted; its variables and programs are gone]", {})

        return await self._there(work)

    async def run_apart(
        self,
        command: str | list[str],
        *,
        wait_s: float | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Reply:
        """Run a command without a terminal, with separate output streams (`command.stdout`, `command.stderr`).

        After the wait (default: the setting `tools.wait_temporary_s`) it is killed.
        """

        async def work() -> Reply:
            return reply_of_command(await self._door.run_piped(command, wait_s=wait_s, cwd=cwd, env=env))

        return await self._there(work)

    async def _there(self, work: Callable[[], Coroutine[Any, Any, Reply]]) -> Reply:
        """Do something in the event loop of the runtime; what cannot be done is a reply."""

        async def replied() -> Reply:
            call = asyncio.get_running_loop().create_task(work())
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)
            try:
                return await call
            except HermittyError as error:
                return reply_of_error(error)
            except asyncio.CancelledError:
                here = asyncio.current_task()
                if not self._closed or (here is not None and here.cancelling()):
                    raise
                return reply_of_error(InvalidRequest(_IS_OVER))

        if self._loop is None or self._closed:
            return reply_of_error(InvalidRequest(_IS_OVER if self._closed else _HAS_NOT_BEGUN))
        if asyncio.get_running_loop() is self._loop:
            return await replied()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(replied(), self._loop))

    async def _run(self, command: str, wait_s: float | None) -> Reply:
        is_new = False
        if (terminal := self._terminal) is not None:
            earlier = await self._earlier(terminal, wait_s)
            if earlier is not None and not earlier.state.is_final:
                reply = reply_of_command(earlier)
                text = f"{reply.text}\n[not run: an earlier command has the terminal; call again to wait, or restart]"
                return Reply(text, reply.data, True, earlier)
            try:
                return await self._run_there(terminal, command, wait_s)
            except (TerminalNotFound, TerminalClosed):
                is_new = True  # its shell has left; nothing was run
                self._terminal = None
        opened = await self._door.open_terminal()
        self._terminal = opened.id
        reply = await self._run_there(opened.id, command, wait_s)
        if not is_new:
            return reply
        note = "[a new terminal: the shell of the one before has ended]"
        return Reply(f"{reply.text}\n{note}", reply.data, reply.is_error, reply.command)

    async def _run_there(self, terminal: str, command: str, wait_s: float | None) -> Reply:
        door = self._door if wait_s is None else self._door.waiting(wait_s)
        arguments = {"command": command, "persistent_terminal_id": terminal}
        # The same tool as everybody's.
        tool = TOOLS["run_persistent_command"]
        return reply_of(await tool.call(cast("Runtime", door), arguments, session=self.name))

    async def _earlier(self, terminal: str, wait_s: float | None) -> CommandResult | None:
        """Wait for a command that an earlier call left in the terminal, and return where it stands."""
        try:
            earlier = self._door.last_command(terminal)
        except TerminalNotFound:
            return None
        if earlier is None or not earlier.is_running:
            return None
        result: CommandResult = await earlier.wait(self._door.wait_s if wait_s is None else wait_s)
        return result

    async def _close_terminal(self) -> None:
        terminal, self._terminal = self._terminal, None
        if terminal is not None:
            with contextlib.suppress(TerminalNotFound):  # its shell has left by itself
                await self._door.close_terminal(terminal)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
