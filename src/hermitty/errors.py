"""What can go wrong with a request, as one tree.

A command that fails, times out or is interrupted is a *result*; these are for requests that cannot be carried out.

    HermittyError                  code
    ├── InvalidRequest             invalid_request     the caller asked for something that makes no sense
    │   ├── InvalidCommand         invalid_command     empty, NUL bytes
    │   ├── InvalidDirectory       invalid_directory   cwd is missing or is not a directory
    │   ├── InvalidSize            invalid_size        a screen of 0x0, or larger than any terminal
    │   ├── InvalidTime            invalid_time        negative, not a number
    │   ├── InvalidPattern         invalid_pattern     a regular expression that does not compile
    │   ├── InvalidOffset          invalid_offset      no byte or line there; says which there are
    │   ├── InvalidArtifact        invalid_artifact    not the form of an artifact's id
    │   ├── InvalidRule            invalid_rule        a rule of the policy that makes no sense; says why
    │   ├── InvalidJson            invalid_json        the body is not JSON; says where
    │   ├── TooLarge               too_large           more bytes than are taken
    │   ├── InvalidMessage         invalid_message     a message of a viewer that makes no sense; says why
    │   │   └── MalformedMessage   malformed_message   not even a JSON object
    │   ├── UnknownShell           unknown_shell       names what was found instead
    │   ├── SandboxRefused         sandbox_refused     a sandbox that could not protect anything; says why
    │   └── UnknownKey             unknown_key         send_key with a name nobody knows
    ├── IncompleteCommand          incomplete_command  the shell waits for the rest (open quote, heredoc)
    ├── TerminalBusy               terminal_busy       names the command that runs
    ├── TerminalClosed             terminal_closed     says why it ended
    ├── TerminalNotFound           terminal_not_found
    ├── TerminalPaused             terminal_paused     a person has it; says who
    ├── SessionNotFound            session_not_found   names those that there are
    ├── ArtifactNotFound           artifact_not_found  names the newest that there are
    ├── CommandDenied              command_denied      the policy or a person said no; says why and what would allow it
    │   └── ApprovalTimeout        approval_timeout    nobody answered in time, which means no
    ├── CommandSkipped             command_skipped     a person said: leave this one out
    ├── ApprovalNotFound           approval_not_found  no such question; names those that wait
    ├── AlreadyAnswered            already_answered    says who answered, and what
    ├── RuleNotFound               rule_not_found
    ├── CommandNotFound            command_not_found
    ├── CommandEnded               command_ended       input for a command that is over
    ├── InputOverflow              input_overflow      more typed than the program reads
    ├── HostUnavailable            host_unavailable    the machine refused a process, a PTY or a descriptor
    │   ├── HostBusy               host_busy           another server uses the host of terminals; says which process
    │   └── HostMismatch           host_mismatch       the host of terminals speaks another version; says what to do
    ├── SandboxUnavailable         sandbox_unavailable this machine cannot confine as asked; says why and what helps
    ├── NotSupported               not_supported       not possible on this platform; says what is
    ├── WorkspaceNotFound          workspace_not_found no terminal names it, and nobody described it
    ├── RecordingNotFound          recording_not_found
    ├── ToolNotFound               tool_not_found      names those that there are
    ├── TokenNotFound              token_not_found
    ├── CommandIdTaken             command_id_taken    another command has the id that the caller chose
    ├── SettingFixed               setting_fixed       an argument or a variable decides it; says which
    ├── AccessRefused              access_refused      who asks may not
    │   ├── NotAuthenticated       not_authenticated   no token, or none that is known
    │   ├── MissingScope           missing_scope       the token is for other things; says for what
    │   ├── HostNotAllowed         host_not_allowed    the address in the request is none of the server's names
    │   ├── OriginNotAllowed       origin_not_allowed  the request comes from another site's page
    │   └── TooManyRequests        too_many_requests   says when to try again
    ├── ServerRunning              server_running      there is one for this state directory; says where
    ├── UnsafeAddress              unsafe_address      open to others, and nobody chose the token
    ├── ServerUnavailable          server_unavailable  nothing answers there; says where, and how to start one
    │   ├── ServerMismatch         server_mismatch     the server is of another version; says which
    │   └── OutcomeUnknown         outcome_unknown     the connection broke; nobody knows whether it was done
    ├── RemoteError                remote_error        the server tells of an error that is not known here
    ├── AgentFailed                agent_failed        an ACP agent did not start, broke the protocol or ended; says how
    └── InvalidSettings            invalid_settings    names the file and the setting
"""

from collections.abc import Sequence
from typing import ClassVar

# Of what there may be many, so many are named in a message.
_MOST_NAMED = 10


class HermittyError(Exception):
    """The root of every error that hermitty raises on purpose."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidRequest(HermittyError, ValueError):
    """The request makes no sense; nothing was changed."""

    code = "invalid_request"


class InvalidCommand(InvalidRequest):
    """The command line cannot be given to any shell."""

    code = "invalid_command"


class InvalidDirectory(InvalidRequest):
    """The working directory is missing, is not a directory, or may not be entered."""

    code = "invalid_directory"

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"working directory {path!r} {problem}")
        self.path = path
        self.problem = problem


class InvalidSize(InvalidRequest):
    """A terminal cannot have this size."""

    code = "invalid_size"

    def __init__(self, cols: int, rows: int, limit: int) -> None:
        super().__init__(f"a terminal of {cols}x{rows} is not possible; use 1 to {limit} columns and rows")
        self.cols = cols
        self.rows = rows


class InvalidTime(InvalidRequest):
    """A duration is negative or not a number."""

    code = "invalid_time"

    def __init__(self, name: str, value: float) -> None:
        super().__init__(f"{name} must be a number of seconds, zero or more, not {value!r}")
        self.name = name
        self.value = value


class InvalidPattern(InvalidRequest):
    """A regular expression does not compile."""

    code = "invalid_pattern"

    def __init__(self, pattern: str, problem: str) -> None:
        super().__init__(f"pattern {pattern!r} is not a regular expression: {problem}")
        self.pattern = pattern


class InvalidOffset(InvalidRequest):
    """There is no byte or line at this place of an output."""

    code = "invalid_offset"

    def __init__(self, name: str, value: int, *, first: int, last: int) -> None:
        there = f"use {first} to {last}" if first <= last else "there is nothing to read"
        super().__init__(f"{name} {value} is outside the output; {there}")
        self.name = name
        self.value = value
        self.first = first
        self.last = last


class InvalidArtifact(InvalidRequest):
    """This cannot be the id of an artifact."""

    code = "invalid_artifact"

    def __init__(self, artifact_id: object) -> None:
        super().__init__(f"{str(artifact_id)[:80]!r} is not the id of an artifact, which looks like a_0123456789abcdef")


class InvalidRule(InvalidRequest):
    """A rule of the policy makes no sense; it was not kept."""

    code = "invalid_rule"


class InvalidJson(InvalidRequest):
    """What should be JSON is not."""

    code = "invalid_json"


class TooLarge(InvalidRequest):
    """More bytes than are taken."""

    code = "too_large"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} can have at most {limit} bytes")
        self.limit = limit


class InvalidMessage(InvalidRequest):
    """A viewer or a server said something that makes no sense."""

    code = "invalid_message"


class MalformedMessage(InvalidMessage):
    """A message is not even a JSON object."""

    code = "malformed_message"


class UnknownShell(InvalidRequest):
    """No such shell on this machine, or not one hermitty can drive."""

    code = "unknown_shell"

    def __init__(self, name: str, found: Sequence[str]) -> None:
        super().__init__(f"shell {name!r} was not found or is not known; found here: {_listed(found)}")
        self.name = name
        self.found = tuple(found)


class SandboxRefused(InvalidRequest):
    """The sandbox would protect nothing, or contradicts itself; nothing was started."""

    code = "sandbox_refused"


class UnknownKey(InvalidRequest):
    """A key name that does not exist."""

    code = "unknown_key"

    def __init__(self, key: str) -> None:
        super().__init__(f"unknown key {key!r}; use one character, or a name such as enter, tab, up, f5, ctrl-c, alt-x")
        self.key = key


class IncompleteCommand(HermittyError):
    """The shell read the whole line and still waits for more; nothing of it ran, and the line was given up."""

    code = "incomplete_command"

    def __init__(self, command: str) -> None:
        super().__init__(
            "the command is not complete: the shell waits for the rest of it (an open quote, bracket or heredoc?); "
            "it was given up and nothing ran"
        )
        self.command = command


class TerminalBusy(HermittyError):
    """The terminal already runs a command."""

    code = "terminal_busy"

    def __init__(self, terminal_id: str, command: str | None) -> None:
        doing = f"busy with `{command}`" if command else "busy"
        super().__init__(f"terminal {terminal_id} is {doing}; wait, interrupt it or open another")
        self.terminal_id = terminal_id
        self.command = command


class TerminalClosed(HermittyError):
    """The terminal is gone."""

    code = "terminal_closed"

    def __init__(self, terminal_id: str, reason: str) -> None:
        super().__init__(f"terminal {terminal_id} is closed: {reason}")
        self.terminal_id = terminal_id
        self.reason = reason


class TerminalNotFound(HermittyError):
    """No terminal has this id."""

    code = "terminal_not_found"

    def __init__(self, terminal_id: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no terminal {terminal_id!r}; there are: {_listed(known)}")
        self.terminal_id = terminal_id


class TerminalPaused(HermittyError):
    """A person has taken the terminal over; agents wait until it is handed back."""

    code = "terminal_paused"

    def __init__(self, terminal_id: str, by: str) -> None:
        super().__init__(f"{by} has taken terminal {terminal_id} over; wait until it is handed back, or use another")
        self.terminal_id = terminal_id
        self.by = by


class SessionNotFound(HermittyError):
    """No session has this name: it has not begun, or it has ended."""

    code = "session_not_found"

    def __init__(self, session: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no session {session!r}; there are: {_listed(known)}")
        self.session = session


class ArtifactNotFound(HermittyError):
    """No artifact has this id: it was deleted to make room, or never existed."""

    code = "artifact_not_found"

    def __init__(self, artifact_id: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no artifact {artifact_id!r}; there are: {_listed(known, _MOST_NAMED)}")
        self.artifact_id = artifact_id
        self.known = tuple(known[:_MOST_NAMED])


class CommandDenied(HermittyError):
    """The policy or a person said no; nothing ran."""

    code = "command_denied"

    def __init__(
        self, command: str, reason: str, *, level: str = "", rule: str | None = None, by: str | None = None
    ) -> None:
        super().__init__(f"not allowed: {reason}")
        self.command = command
        self.reason = reason
        self.level = level
        self.rule = rule
        self.by = by


class ApprovalTimeout(CommandDenied):
    """Nobody answered the question in time, which means no; nothing ran."""

    code = "approval_timeout"

    def __init__(self, command: str, after_s: float, *, level: str = "") -> None:
        super().__init__(command, f"nobody answered within {after_s:g} s, which means no", level=level)
        self.after_s = after_s


class CommandSkipped(HermittyError):
    """A person said that this command is to be left out; nothing ran, and nothing is wrong."""

    code = "command_skipped"

    def __init__(self, command: str, by: str | None = None, note: str | None = None) -> None:
        who = by or "the person who was asked"
        super().__init__(f"{who} chose to skip this command" + (f": {note}" if note else "") + "; go on without it")
        self.command = command
        self.by = by
        self.note = note


class ApprovalNotFound(HermittyError):
    """No question has this id: it was never asked, or that is long ago."""

    code = "approval_not_found"

    def __init__(self, approval_id: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no question {str(approval_id)[:80]!r}; waiting for an answer: {_listed(known)}")
        self.approval_id = approval_id


class AlreadyAnswered(HermittyError):
    """Somebody else was faster, or the question is no longer asked; this answer changed nothing."""

    code = "already_answered"

    def __init__(self, approval_id: str, answer: str, by: str) -> None:
        super().__init__(f"question {approval_id} was answered already: {answer}, by {by}")
        self.approval_id = approval_id
        self.answer = answer
        self.by = by


class RuleNotFound(HermittyError):
    """No rule has this id."""

    code = "rule_not_found"

    def __init__(self, rule_id: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no rule {str(rule_id)[:80]!r}; there are: {_listed(known, _MOST_NAMED)}")
        self.rule_id = rule_id


class CommandNotFound(HermittyError):
    """No command has this id, or it is forgotten by now."""

    code = "command_not_found"

    def __init__(self, command_id: str) -> None:
        super().__init__(f"no command {str(command_id)[:80]!r} is known; the history may still have it")
        self.command_id = command_id


class CommandEnded(HermittyError):
    """Input or a signal was meant for a command that is over."""

    code = "command_ended"

    def __init__(self, command_id: str) -> None:
        super().__init__(f"command {command_id} has ended; nothing was sent")
        self.command_id = command_id


class InputOverflow(HermittyError):
    """The program does not read, and what waits for it has reached the limit; the new input was not taken."""

    code = "input_overflow"

    def __init__(self, terminal_id: str, waiting: int, limit: int) -> None:
        super().__init__(
            f"terminal {terminal_id} has {waiting} bytes of unread input (limit {limit}); its program does not read"
        )
        self.terminal_id = terminal_id


class HostUnavailable(HermittyError):
    """The operating system refused a process, a PTY or a descriptor."""

    code = "host_unavailable"


class HostBusy(HostUnavailable):
    """One process at a time uses the terminals of a host."""

    code = "host_busy"


class HostMismatch(HostUnavailable):
    """The host that runs was started by another version, and does not understand this one."""

    code = "host_mismatch"


class SandboxUnavailable(HermittyError):
    """This machine cannot confine programs as it was asked to; nothing was started. Says why, and what helps."""

    code = "sandbox_unavailable"


class NotSupported(HermittyError):
    """Not possible on this platform or with this provider."""

    code = "not_supported"


class WorkspaceNotFound(HermittyError):
    """No terminal names this workspace, and nobody described it."""

    code = "workspace_not_found"

    def __init__(self, workspace: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no workspace {str(workspace)[:80]!r}; there are: {_listed(known[:_MOST_NAMED])}")
        self.workspace = workspace


class RecordingNotFound(HermittyError):
    """Nothing was recorded of this terminal."""

    code = "recording_not_found"

    def __init__(self, terminal_id: str) -> None:
        super().__init__(f"there is no recording of terminal {str(terminal_id)[:80]!r}")
        self.terminal_id = terminal_id


class ToolNotFound(HermittyError):
    """No tool has this name."""

    code = "tool_not_found"

    def __init__(self, tool: str, known: Sequence[str] = ()) -> None:
        super().__init__(f"no tool {str(tool)[:80]!r}; there are: {', '.join(known)}")
        self.tool = tool


class TokenNotFound(HermittyError):
    """No token has this id."""

    code = "token_not_found"

    def __init__(self, token_id: str) -> None:
        super().__init__(f"no token {str(token_id)[:80]!r}")
        self.token_id = token_id


class CommandIdTaken(HermittyError):
    """The id that a caller chose belongs to another command."""

    code = "command_id_taken"

    def __init__(self, command_id: str) -> None:
        super().__init__(f"{command_id} is the id of another command; choose 16 digits at random for each command")
        self.command_id = command_id


class SettingFixed(HermittyError):
    """A setting cannot be changed here: something that counts more decides it."""

    code = "setting_fixed"

    def __init__(self, setting: str, origin: str) -> None:
        super().__init__(f"setting {setting} is decided by {origin}, which counts more; change it there")
        self.setting = setting
        self.origin = origin


class AccessRefused(HermittyError):
    """Who asks may not."""

    code = "access_refused"


class NotAuthenticated(AccessRefused):
    """No token was shown, or none that is known."""

    code = "not_authenticated"


class MissingScope(AccessRefused):
    """The token is for other things."""

    code = "missing_scope"

    def __init__(self, scope: str, scopes: Sequence[str]) -> None:
        there = ", ".join(scopes) or "nothing"
        super().__init__(f"this needs a token with scope {scope}; yours is for: {there}")
        self.scope = scope
        self.scopes = tuple(scopes)


class HostNotAllowed(AccessRefused):
    """The address in a request is none of the server's names."""

    code = "host_not_allowed"

    def __init__(self, host: str) -> None:
        super().__init__(f"{host[:80]!r} is no name of this server; add it to the setting server.allowed_hosts")
        self.host = host[:80]


class OriginNotAllowed(AccessRefused):
    """A request comes from a page of another site, or does not tell from where."""

    code = "origin_not_allowed"

    def __init__(self, origin: str | None) -> None:
        where = "nobody knows where" if origin is None else repr(origin[:80])
        super().__init__(f"requests from {where} are not taken; the setting server.allowed_origins lists other sites")
        self.origin = None if origin is None else origin[:80]


class TooManyRequests(AccessRefused):
    """More requests than are taken."""

    code = "too_many_requests"

    def __init__(self, what: str, retry_after_s: float) -> None:
        super().__init__(f"too many {what}; try again in {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class ServerRunning(HermittyError):
    """A server uses this state directory already."""

    code = "server_running"

    def __init__(self, directory: str, url: str | None, pid: int | None) -> None:
        there = " and ".join(part for part in (url and f"it is at {url}", pid and f"its process is {pid}") if part)
        super().__init__(
            f"another server uses the state directory {directory!r}"
            + (f": {there}" if there else "")
            + "; stop it, or choose another --state-dir"
        )
        self.url = url
        self.pid = pid


class UnsafeAddress(HermittyError):
    """Others could reach the server, and nobody decided how they show who they are."""

    code = "unsafe_address"


class ServerUnavailable(HermittyError):
    """No server answers at an address."""

    code = "server_unavailable"

    def __init__(self, message: str, url: str | None = None) -> None:
        super().__init__(message)
        self.url = url


class ServerMismatch(ServerUnavailable):
    """The server is of a version that this client does not understand."""

    code = "server_mismatch"


class OutcomeUnknown(ServerUnavailable):
    """The connection broke after something was sent, and nobody can tell what became of it. It was not sent again."""

    code = "outcome_unknown"

    def __init__(self, message: str, url: str | None = None, command_id: str | None = None) -> None:
        super().__init__(message, url)
        self.command_id = command_id


class RemoteError(HermittyError):
    """A server told of an error whose code is not known here; `remote_code` and `status` say which."""

    code = "remote_error"

    def __init__(self, message: str, remote_code: str, status: int) -> None:
        super().__init__(message)
        self.remote_code = remote_code
        self.status = status


class AgentFailed(HermittyError):
    """An agent that was run by the Agent Client Protocol did not start, broke the protocol, or ended in the middle."""

    code = "agent_failed"


class InvalidSettings(HermittyError):
    """A setting has a value it cannot have."""

    code = "invalid_settings"


def _listed(names: Sequence[str], most: int | None = None) -> str:
    shown = ", ".join(names[:most]) or "none"
    return shown if most is None or len(names) <= most else f"{shown} and {len(names) - most} more"
