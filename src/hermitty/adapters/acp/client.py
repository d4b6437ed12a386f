"""A client of the Agent Client Protocol: it runs an agent, and gives it terminals, answers and an audience.

    async with running_agent(runtime, ["my-agent"], cwd=cwd, listener=listener) as client:
        session_id = await client.new_session(cwd)
        stop_reason = await client.prompt(session_id, "run the tests")

When the context ends, whatever happened, the agent, what it started and its terminals are gone.

With `Offers(draft=True)` an agent may choose the draft of version 2: see `draft`.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from acp.client.router import build_client_router
from acp.exceptions import RequestError
from acp.schema import CreateTerminalResponse, EnvVariable, ReadTextFileResponse, WriteTextFileResponse

from hermitty.adapters.acp import faults
from hermitty.adapters.acp.agent_process import AgentProcess
from hermitty.adapters.acp.audience import Listener, NoListener, Offers
from hermitty.adapters.acp.connection import AcpConnection, Observer
from hermitty.adapters.acp.draft import DraftState, asked_call
from hermitty.adapters.acp.files import AcpFiles
from hermitty.adapters.acp.frames import MAX_FRAME_BYTES, FrameTransport
from hermitty.adapters.acp.permissions import Option, Permissions, chosen, granted, options_of
from hermitty.adapters.acp.terminals import AcpTerminals, Exit, Shown
from hermitty.adapters.acp.updates import SessionState, StateChanged, ToolCall, merged
from hermitty.errors import AgentFailed, InvalidRequest, NotSupported, SessionNotFound
from hermitty.runtime.api import Runtime
from hermitty.version import __version__

if TYPE_CHECKING:
    from acp.interfaces import Client

PROTOCOL_VERSION = 1
DRAFT_VERSION = 2
# Why a turn of the draft ended when the agent does not say.
UNREPORTED = "unreported"
_SESSIONS = 100
_AUTHENTICATE = -32000
# How long an agent may take to say hello, and goodbye to a session.
_HELLO_S = 120.0
_GOODBYE_S = 2.0
_LAST_WORDS_LINES = 15


@dataclass(slots=True)
class _Session:
    name: str
    cwd: str
    asking: set["asyncio.Task[bool]"] = field(default_factory=set)
    is_cancelled: bool = False
    turn: "asyncio.Future[str] | None" = None  # of the draft: why it ended, once it has


class AcpClient:
    """One connection to one agent. `running_agent` makes it, or `connected` over any transport."""

    def __init__(self, runtime: Runtime, *, offers: Offers, listener: Listener, process: AgentProcess | None) -> None:
        self.terminals = AcpTerminals(runtime, tell=listener.on_terminal)
        self.agent: Mapping[str, Any] = {}  # what it said about itself
        self.version = PROTOCOL_VERSION
        self._offers = offers
        self._listener = listener
        self._process = process
        self._permissions = Permissions(runtime)
        self._files = AcpFiles(runtime)
        self._states: dict[str, SessionState] = {}
        self._sessions: dict[str, _Session] = {}
        self.terminal_output = self.terminals.terminal_output
        self.wait_for_terminal_exit = self.terminals.wait_for_terminal_exit
        self.kill_terminal = self.terminals.kill_terminal
        self.release_terminal = self.terminals.release_terminal
        self._route = build_client_router(cast("Client", self))
        self._connection: AcpConnection

    # What we ask of the agent.

    async def initialize(self) -> None:
        """Agree on a version. Raises NotSupported if the agent wants another one."""
        about = {"name": "hermitty", "title": "hermitty", "version": __version__}
        hello = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": self._offers.capabilities(),
            "clientInfo": about,
        }
        if self._offers.draft:  # an agent of the first version finds what it looks for, and answers 1
            hello |= {"protocolVersion": DRAFT_VERSION, "info": about, "capabilities": {}}
        try:
            async with asyncio.timeout(_HELLO_S):
                self.agent = await self._request("initialize", hello)
        except TimeoutError as exc:
            raise AgentFailed(f"the agent did not answer initialize within {_HELLO_S:.0f} s") from exc
        version = self.agent.get("protocolVersion")
        spoken = (PROTOCOL_VERSION, DRAFT_VERSION) if self._offers.draft else (PROTOCOL_VERSION,)
        if not isinstance(version, int) or isinstance(version, bool) or version not in spoken:
            ours = " and ".join(map(str, spoken))
            raise NotSupported(
                f"the agent speaks version {str(version)[:20]} of the Agent Client Protocol; hermitty speaks {ours}"
            )
        self.version = version

    @property
    def is_draft(self) -> bool:
        """Tell whether the agent chose the draft of version 2."""
        return self.version == DRAFT_VERSION

    async def authenticate(self, method_id: str) -> None:
        """Log in by one of the agent's methods."""
        await self._request("auth/login" if self.is_draft else "authenticate", {"methodId": method_id})

    @property
    def login_methods(self) -> list[str]:
        """Return the names of the agent's ways to log in."""
        methods = self.agent.get("authMethods")
        name = "methodId" if self.is_draft else "id"
        found = (each.get(name) for each in methods if isinstance(each, dict)) if isinstance(methods, list) else ()
        return [each for each in found if isinstance(each, str)]

    async def new_session(self, cwd: str) -> str:
        """Begin a session in a directory, and return its id."""
        if not os.path.isabs(cwd):
            raise InvalidRequest(f"the directory of a session must be absolute, not {cwd!r}")
        answer = await self._request("session/new", {"cwd": cwd, "mcpServers": []})
        session_id = answer.get("sessionId")
        if not isinstance(session_id, str):
            raise AgentFailed("the agent answered session/new without a session id")
        name = self.terminals.begin_session(session_id, cwd)
        self._sessions[session_id] = _Session(name, cwd)
        await self._connection.settled()
        return session_id

    async def prompt(self, session_id: str, text: str) -> str:
        """Give the agent something to do, and return why it stopped once it did. Everything it told was heard."""
        session = self._session(session_id)
        if self._connection.ended.is_set():
            raise await self._explained("session/prompt")
        session.is_cancelled = False
        self.terminals.begin_turn(session_id)
        asked = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        # What was allowed and not used is not for another turn.
        self._permissions.grants.forget(session.name)
        try:
            return await (self._prompt_draft(session, asked) if self.is_draft else self._prompt(asked))
        finally:
            self._permissions.grants.forget(session.name)

    async def _prompt(self, asked: Mapping[str, Any]) -> str:
        answer = await self._request("session/prompt", asked)
        await self._connection.settled()
        reason = answer.get("stopReason")
        if not isinstance(reason, str):
            raise AgentFailed("the agent ended the turn without saying why")
        return reason

    async def _prompt_draft(self, session: _Session, asked: Mapping[str, Any]) -> str:
        """Prompt, and wait until the agent says that it is idle: its answer only means that it has heard."""
        session.turn = asyncio.get_running_loop().create_future()
        gone: asyncio.Future[bool] = asyncio.ensure_future(self._connection.ended.wait())
        waited: set[asyncio.Future[Any]] = {session.turn, gone}
        try:
            await self._request("session/prompt", asked)
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not session.turn.done():
                raise await self._explained("session/prompt")
            return session.turn.result()
        finally:
            session.turn = None
            gone.cancel()

    async def cancel(self, session_id: str) -> None:
        """Cancel the turn: questions are withdrawn, its terminals stop, and the agent is told."""
        session = self._session(session_id)
        session.is_cancelled = True
        self._permissions.grants.forget(session.name)
        with contextlib.suppress(ConnectionError, OSError):  # it is gone already
            await self._connection.send_notification("session/cancel", {"sessionId": session_id})
        for task in session.asking:
            task.cancel()
        if not self._connection.ended.is_set():
            await self.terminals.stop_turn(session_id)

    async def cancel_terminal(self, session_id: str, terminal_id: str) -> None:
        """Ask the agent to stop what runs in a terminal of its own. The terminal tells when that has happened.

        Raises NotSupported unless the agent says that this terminal can be cancelled now.
        """
        self._session(session_id)
        state = self.state(session_id)
        terminal = state.terminals.get(terminal_id) if isinstance(state, DraftState) else None
        if terminal is None or terminal.has_ended or not terminal.can_be_cancelled:
            raise NotSupported(f"the agent does not let terminal {terminal_id[:80]!r} be cancelled now")
        await self._request("terminal/cancel", {"sessionId": session_id, "terminalId": terminal_id})

    async def close_session(self, session_id: str) -> None:
        """End a session; everything in its terminals ends with it."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        for task in session.asking:
            task.cancel()
        if self._can_close():
            with contextlib.suppress(AgentFailed, TimeoutError):  # it ends with the agent at the latest
                async with asyncio.timeout(_GOODBYE_S):
                    await self._request("session/close", {"sessionId": session_id})
        self._permissions.grants.forget(session.name)
        await self.terminals.close_session(session_id)

    def state(self, session_id: str) -> SessionState:
        """Return what a session looks like now."""
        if session_id not in self._states and len(self._states) >= _SESSIONS:
            self._states.pop(next(iter(self._states)))
        return self._states.setdefault(session_id, DraftState() if self.is_draft else SessionState())

    async def wait_for_end(self) -> AgentFailed:
        """Wait until the agent is gone, and return what is known about that."""
        await self._connection.ended.wait()
        return await self._explained("anything more")

    async def clean_up_after_agent(self) -> None:
        """End the terminals of an agent that is gone: nobody is left to use them."""
        await self._connection.ended.wait()
        await self.terminals.aclose()

    def shown(self, session_id: str, terminal_id: str) -> Shown | None:
        """Return what a terminal shows: one of ours, or one that the agent told of."""
        state = self.state(session_id)
        told = state.terminals.get(terminal_id) if isinstance(state, DraftState) else None
        display = told or state.displays.get(terminal_id)
        if display is None:
            return self.terminals.shown(terminal_id)
        ended = Exit(display.exit_code, display.signal) if display.has_ended else None
        line = told.command or "" if told is not None else ""
        return Shown(line, display.tail.text(), display.tail.is_truncated, ended)

    async def aclose(self) -> None:
        """End the sessions and the connection."""
        await asyncio.gather(*map(self.close_session, list(self._sessions)))
        await self._connection.close()
        await self.terminals.aclose()

    # What the agent asks of us. Names and arguments are those of the SDK's `Client`.

    async def create_terminal(
        self,
        session_id: str,
        command: str,
        args: list[str] | None = None,
        env: list[EnvVariable] | None = None,
        cwd: str | None = None,
        output_byte_limit: int | None = None,
        **_: Any,
    ) -> CreateTerminalResponse:
        """Start a command in a terminal."""
        session = self._session(session_id)
        words = [command, *args] if args else command
        said = None
        if not env:
            said = self._permissions.grants.take(session.name, words, session.cwd if cwd is None else cwd)
        with granted(session.name, words, said):
            return await self.terminals.create_terminal(session_id, command, args, env, cwd, output_byte_limit)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """Read a file."""
        session = self._session(session_id)
        return await self._files.read(session.name, session.cwd, path, line, limit)

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """Write a file."""
        session = self._session(session_id)
        return await self._files.write(session.name, session.cwd, path, content)

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Do what a message says."""
        if is_notification:
            if method == "session/update" and isinstance(params, dict):
                self._updated(params)
            return None
        if method == "session/request_permission":
            return await self._permission(params)
        is_offered = {"fs": self._offers.files, "terminal": self._offers.terminal}.get(method.partition("/")[0], True)
        if not is_offered or self.is_draft:  # the same names would mean something else there
            raise RequestError.method_not_found(method)
        return await self._route(method, params, False)

    def _updated(self, params: Mapping[str, Any]) -> None:
        session_id, update = params.get("sessionId"), params.get("update")
        if isinstance(session_id, str) and isinstance(update, dict):
            change = self.state(session_id).apply(update)
            self._listener.on_update(session_id, update, change)
            turn = self._sessions[session_id].turn if session_id in self._sessions else None
            if isinstance(change, StateChanged) and change.ends_turn and turn is not None and not turn.done():
                turn.set_result(change.stop_reason or UNREPORTED)

    async def _permission(self, params: Any) -> dict[str, Any]:
        match params:
            case {"sessionId": str(session_id), "title": str(), "options": list(raw)} if self.is_draft:
                session = self._session(session_id)
                state = self.state(session_id)
                assert isinstance(state, DraftState)
                call = asked_call(params, state)
            case {"sessionId": str(session_id), "toolCall": {"toolCallId": str(call_id)} as told, "options": list(raw)}:
                session = self._session(session_id)
                call = merged(self.state(session_id).calls.get(call_id) or ToolCall(call_id), told)
            case _:
                raise faults.invalid("sessionId, toolCall (version 2: title) and options are needed")
        options = options_of(raw)
        answer = None if session.is_cancelled else await self._answer(session, call, options)
        self._listener.on_permission(session_id, call, options, answer)
        return {"outcome": {"outcome": "cancelled"} if answer is None else {"outcome": "selected", "optionId": answer}}

    async def _answer(self, session: _Session, call: ToolCall, options: Sequence[Option]) -> str | None:
        task = asyncio.ensure_future(self._permissions.decide(session.name, session.cwd, call))
        session.asking.add(task)
        try:
            allow = await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() and not (current is not None and current.cancelling()):
                return None  # the turn was cancelled
            raise
        finally:
            session.asking.discard(task)
        return (chosen(options, allow=True) if allow else None) or chosen(options, allow=False)

    def _can_close(self) -> bool:
        """Tell whether the agent wants to hear that a session is over."""
        if self.is_draft:
            abilities = self.agent.get("capabilities")
            return isinstance(abilities, dict) and isinstance(abilities.get("session"), dict)
        abilities = self.agent.get("agentCapabilities")
        of_sessions = abilities.get("sessionCapabilities") if isinstance(abilities, dict) else None
        return isinstance(of_sessions, dict) and of_sessions.get("close") is not None

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id, list(self._sessions))
        return session

    async def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._connection.send_request(method, dict(params))
        except RequestError as exc:
            if exc.code == _AUTHENTICATE:
                ways = ", ".join(self.login_methods) or "none that it names"
                raise AgentFailed(f"the agent wants you to log in first; its ways: {ways}") from exc
            raise AgentFailed(f"the agent refused {method}: {exc} ({exc.code}){_detail(exc.data)}") from exc
        except (ConnectionError, OSError) as exc:
            raise await self._explained(method) from exc
        if not isinstance(answer, dict):
            raise AgentFailed(f"the agent answered {method} with something that is no object")
        return answer

    async def _explained(self, method: str) -> AgentFailed:
        """Say why the connection is gone, as far as that is known."""
        if self._connection.failure is not None:
            return AgentFailed(f"the agent broke the protocol: {self._connection.failure}")
        if self._process is None:
            return AgentFailed(f"the connection ended before the agent answered {method}")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_S):
                await self._process.wait()
        code = self._process.exit_code
        how = "closed its output" if code is None else f"ended with code {code}" if code >= 0 else f"died of {-code}"
        words = self._process.last_words.rstrip().splitlines()[-_LAST_WORDS_LINES:]
        said = "; it said last:\n" + "\n".join(words) if words else ""
        return AgentFailed(f"the agent {how} before it answered {method}{said}")


@contextlib.asynccontextmanager
async def connected(
    runtime: Runtime,
    transport: Any,
    *,
    offers: Offers | None = None,
    listener: Listener | None = None,
    observers: list[Observer] | None = None,
    process: AgentProcess | None = None,
) -> AsyncIterator[AcpClient]:
    """Say hello to the agent at the other end of a transport of the SDK; end everything in the end."""
    client = AcpClient(runtime, offers=offers or Offers(), listener=listener or NoListener(), process=process)
    client._connection = AcpConnection(client.handle, transport, observers=observers)
    cleaning = asyncio.get_running_loop().create_task(client.clean_up_after_agent())
    try:
        await client.initialize()
        yield client
    finally:
        await client.aclose()
        await asyncio.wait({cleaning})  # the connection is closed, which is an end as well


@contextlib.asynccontextmanager
async def running_agent(
    runtime: Runtime,
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str] | None = None,
    offers: Offers | None = None,
    listener: Listener | None = None,
    observers: list[Observer] | None = None,
    max_frame_bytes: int = MAX_FRAME_BYTES,
) -> AsyncIterator[AcpClient]:
    """Start an agent and say hello to it. Raises AgentFailed."""
    process = await AgentProcess.start(argv, cwd=cwd, env=env)
    try:
        transport = FrameTransport(process.reader, process.writer, max_frame_bytes=max_frame_bytes)
        async with connected(
            runtime, transport, offers=offers, listener=listener, observers=observers, process=process
        ) as client:
            yield client
    finally:
        await process.end()


def _detail(data: object) -> str:
    match data:
        case None:
            return ""
        case {"details": str(details)}:
            return f": {details[:500]}"
        case _:
            return f": {str(data)[:500]}"
