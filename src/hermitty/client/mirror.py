"""What the server has, as far as it has told: terminals, commands, sessions. Pure; events and answers keep it current.

Answers and events come by different ways. What is known to be over does not come back with an event that is late.
"""

from collections import OrderedDict
from dataclasses import replace
from typing import Any

from hermitty import events
from hermitty.client.values import CommandView, LastCommand, TerminalView, build, terminal_of
from hermitty.errors import CommandNotFound, InvalidMessage, SessionNotFound, TerminalClosed, TerminalNotFound
from hermitty.model import CommandId, CommandResult, Quality, TerminalId

# Commands and terminals that are over, of which the newest are remembered.
_REMEMBERED = 1000


class Mirror:
    """The state of a server."""

    def __init__(self) -> None:
        self.terminals: dict[str, TerminalView] = {}
        self.sessions: dict[str, str | None] = {}  # where each one is
        self.commands: OrderedDict[str, CommandView] = OrderedDict()
        self._gone: OrderedDict[str, str] = OrderedDict()  # why
        self._over: OrderedDict[str, None] = OrderedDict()

    # What was asked for.

    def load(self, terminals: list[Any], sessions: list[Any], commands: list[Any]) -> list[str]:
        """Replace everything by what the server has now; return the terminals that are gone."""
        before = set(self.terminals)
        self.terminals = {view.id: view for view in map(self._checked, terminals)}
        self.sessions = {str(each["id"]): each.get("cwd") for each in sessions}
        for told in reversed(commands):
            self._note_command(build(CommandView, told))
        lost = sorted(before - set(self.terminals))
        for terminal_id in lost:
            self._remember(self._gone, terminal_id, "it ended while nobody was connected")
        return lost

    def put(self, told: object) -> TerminalView:
        """Take a terminal as the server describes it now."""
        view = self._checked(told)
        if view.state == "exited":
            self.terminals.pop(view.id, None)
        elif view.id not in self._gone:
            self.terminals[view.id] = view
            self._note_session(view)
        return view

    def change(self, terminal_id: str, **changes: Any) -> None:
        """Take a change that was asked for, before the server tells of it."""
        if (view := self.terminals.get(terminal_id)) is not None:
            self.terminals[terminal_id] = replace(view, **changes)

    def forget(self, terminal_id: str, reason: str) -> None:
        """Note the end of a terminal."""
        self.terminals.pop(terminal_id, None)
        self._remember(self._gone, terminal_id, reason)

    def forget_session(self, session: str) -> None:
        """Note the end of a session: what is left of it is in the background."""
        self.sessions.pop(session, None)
        for view in list(self.terminals.values()):
            if view.session == session:
                self.change(view.id, session=None)

    def note_result(self, result: CommandResult) -> None:
        """Take what is known of a command. One that has ended leaves its terminal idle."""
        known = self.commands.get(result.id)
        if known is not None:
            self.commands[result.id] = replace(
                known, state=result.state.value, exit_code=result.exit_code, duration_s=result.duration_s
            )
        if not result.state.is_final:
            return
        self._remember(self._over, result.id, None)
        view = self.terminals.get(result.terminal or "")
        if view is not None and (view.command is None or view.command.id == result.id):
            last = LastCommand(result.id, result.command, result.exit_code, result.state.value, result.duration_s)
            self.change(view.id, command=None, last=last, state="idle", cwd=result.cwd or view.cwd)

    # What is there.

    def terminal(self, terminal_id: str) -> TerminalView:
        """Return a terminal that is open. Raises TerminalNotFound."""
        view = self.terminals.get(terminal_id)
        if view is None:
            raise TerminalNotFound(terminal_id, list(self.terminals))
        return view

    def check_open(self, terminal_id: str) -> None:
        """Raise TerminalClosed for a terminal that is known to be gone."""
        if terminal_id in self._gone:
            raise TerminalClosed(terminal_id, self._gone[terminal_id])

    def why_gone(self, terminal_id: str) -> str | None:
        """Return why a terminal ended, if it did."""
        return self._gone.get(terminal_id)

    def is_over(self, command_id: str) -> bool:
        """Tell whether a command is known to have ended."""
        return command_id in self._over

    def command(self, command_id: str) -> CommandView:
        """Return a command that runs or ran lately. Raises CommandNotFound."""
        view = self.commands.get(command_id)
        if view is None:
            raise CommandNotFound(command_id)
        return view

    def newest(self, *, terminal: str | None = None, session: str | None = None) -> list[CommandView]:
        """Return commands: those that run first, then the newest."""
        wanted = [
            each
            for each in reversed(self.commands.values())
            if terminal in (None, each.terminal) and session in (None, each.session)
        ]
        return sorted(wanted, key=lambda each: each.state not in ("running", "needs_input"))

    def check_session(self, session: str) -> None:
        """Raise SessionNotFound for one that has not begun."""
        if session not in self.sessions:
            raise SessionNotFound(session, list(self.sessions))

    # What happens.

    def apply(self, name: str, data: dict[str, Any]) -> events.Event | None:
        """Take an event of the server and return it as a runtime would tell it, if it would."""
        terminal_id = self._note_terminal(data.get("terminal"))
        match name:
            case "terminal_ended":
                self.forget(terminal_id, str(data.get("reason", "")))
                return events.TerminalEnded(TerminalId(terminal_id), str(data.get("reason", "")))
            case "session_ended":
                self.forget_session(str(data.get("session")))
                return None
            case "command_started" | "command_finished" | "command_silent":
                return self._command_event(name, terminal_id, data["command"], at=float(data.get("at") or 0))
            case "approval_asked":
                return _asked(data["approval"])
            case "approval_answered":
                told = data["approval"]
                return events.ApprovalAnswered(told["id"], told["outcome"], told["scope"], told["by"])
            case "cwd_changed":
                return events.CwdChanged(TerminalId(terminal_id), str(data["cwd"]))
            case "terminal_opened":
                told = data["terminal"]
                quality = Quality(told.get("quality", Quality.NONE))
                return events.TerminalOpened(
                    TerminalId(terminal_id), told.get("shell", ""), told.get("cwd") or "", quality
                )
            case "no_shell_integration":
                shell = data["terminal"].get("shell", "")
                return events.NoShellIntegration(TerminalId(terminal_id), shell, data["reason"], data["fallback"])
        return None

    def _command_event(self, name: str, terminal_id: str, told: dict[str, Any], *, at: float) -> events.Event:
        terminal, command_id = TerminalId(terminal_id), CommandId(told["id"])
        line, source = told.get("command"), told["source"]
        view = self.terminals.get(terminal_id)
        known = self.commands.get(command_id)
        if known is None:
            session, workspace = (view.session, view.workspace) if view else (None, None)
            known = CommandView(*(command_id, line, terminal_id, session, workspace, source, "running", None, at, 0.0))
        match name:
            case "command_started":
                self._note_command(known)
                return events.CommandStarted(terminal, command_id, line, source)
            case "command_finished":
                last = view.last if view is not None else None
                is_last = last is not None and last.id == command_id
                state = last.state if is_last and last is not None else "done"
                duration_s = last.duration_s if is_last and last is not None else max(0.0, at - known.started_at)
                exit_code = told.get("exit_code")
                self._note_command(
                    replace(known, command=line, state=state, exit_code=exit_code, duration_s=duration_s)
                )
                return events.CommandFinished(terminal, command_id, line, source, exit_code)
        return events.CommandSilent(terminal, command_id, line, source, told["silent_s"])

    def _note_terminal(self, told: object) -> str:
        if not isinstance(told, dict):
            return ""
        if "shell" in told:
            return self.put(told).id
        return str(told.get("id", ""))  # it is gone, or nobody has it yet

    def _note_command(self, view: CommandView) -> None:
        if self.is_over(view.id) and view.state in ("running", "needs_input"):
            return
        self.commands[view.id] = view
        if view.state not in ("running", "needs_input"):
            self._remember(self._over, view.id, None)
        while len(self.commands) > _REMEMBERED:
            self.commands.popitem(last=False)

    def _note_session(self, view: TerminalView) -> None:
        if view.session is not None:
            self.sessions[view.session] = view.cwd

    def _checked(self, told: object) -> TerminalView:
        view = terminal_of(told)
        if view.command is not None and self.is_over(view.command.id):
            view = replace(view, command=None, state="idle")
        return view

    @staticmethod
    def _remember(kept: "OrderedDict[str, Any]", key: str, value: Any) -> None:
        kept[key] = value
        if len(kept) > _REMEMBERED:
            kept.popitem(last=False)


def _asked(told: object) -> events.ApprovalAsked:
    if not isinstance(told, dict):
        raise InvalidMessage("the server told no question")
    return events.ApprovalAsked(
        approval=str(told.get("id") or told.get("approval")),
        command=told["command"],
        cwd=told.get("cwd"),
        level=told["level"],
        effects=tuple(told.get("effects") or ()),
        reasons=tuple(told.get("reasons") or ()),
        session=told.get("session"),
        terminal=told.get("terminal"),
        origin=told.get("origin", ""),
        expires_at=told.get("expires_at"),
    )
