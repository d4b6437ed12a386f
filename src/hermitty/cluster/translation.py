"""What the host seam has, as messages of the node link, and back. The agent and the gateway use one half each."""

import json

from hermitty.errors import InvalidRequest
from hermitty.host.base import FoundPty, PipeSpec, PtySpec, TtyState
from hermitty.model import Size, TerminalId
from hermitty.sandbox.spec import Confinement, Effective
from hermitty.wire.nodelink import messages as m


def open_message(number: int, spec: PtySpec) -> m.Open:
    """Return the request for a new PTY."""
    return m.Open(
        number,
        spec.terminal,
        (spec.program, *spec.args),
        spec.cwd,
        dict(spec.env),
        spec.size.cols,
        spec.size.rows,
        spec.directory,
        spec.log_bytes,
        tuple(m.InitialFile(name, data.decode("latin-1")) for name, data in spec.files.items()),
        _order_text(spec.sandbox),
    )


def pty_spec(request: m.Open) -> PtySpec:
    """Return what is to be opened. Raises InvalidRequest for files that would lie elsewhere."""
    return PtySpec(
        terminal=TerminalId(request.terminal),
        program=request.argv[0],
        args=request.argv[1:],
        cwd=request.cwd,
        env=request.env,
        size=Size(request.cols, request.rows),
        directory=request.directory,
        files={checked_name(file.name): file.text.encode("latin-1") for file in request.files},
        log_bytes=request.log_bytes,
        sandbox=_order(request.sandbox),
    )


def start_message(number: int, spec: PipeSpec) -> m.Start:
    """Return the request for a process with pipes."""
    order = _order_text(spec.sandbox)
    return m.Start(number, spec.owner, spec.argv, spec.cwd, dict(spec.env), spec.stdin, spec.merged, order)


def pipe_spec(request: m.Start) -> PipeSpec:
    """Return what is to be started."""
    return PipeSpec(
        owner=request.owner,
        argv=request.argv,
        cwd=request.cwd,
        env=request.env,
        stdin=request.stdin,
        merged=request.merged,
        sandbox=_order(request.sandbox),
    )


def found_item(found: FoundPty) -> m.FoundItem:
    """Return a PTY that nobody uses, for the gateway."""
    status = found.exit_status
    return m.FoundItem(
        found.terminal,
        found.pid,
        found.directory,
        found.size.cols,
        found.size.rows,
        found.start,
        found.end,
        found.writes,
        found.answered,
        status is not None,
        None if status is None else status.code,
        None if status is None else status.signal,
    )


def state_message(number: int, state: TtyState) -> m.State:
    """Return what the kernel knows of a terminal, for the gateway."""
    return m.State(
        number,
        state.waiting.name,
        state.shell_in_front,
        state.shell_replaced,
        state.echo,
        state.canonical,
        state.cwd,
    )


def effective_text(effective: Effective | None) -> str | None:
    """Return what is enforced, as JSON."""
    return None if effective is None else json.dumps(effective.to_json())


def effective(text: str | None) -> Effective | None:
    """Return what is enforced."""
    return None if text is None else Effective.from_json(json.loads(text))


def checked_name(name: str) -> str:
    """Return the name of a private file. Raises InvalidRequest for one that leads elsewhere."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise InvalidRequest(f"{name[:80]!r} cannot be the name of a private file")
    return name


def _order_text(sandbox: Confinement | None) -> str | None:
    return None if sandbox is None else json.dumps(sandbox.to_json())


def _order(text: str | None) -> Confinement | None:
    return None if text is None else Confinement.from_json(json.loads(text))
