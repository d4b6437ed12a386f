"""`hermitty host`: the process that owns the terminals of the server, and outlives it."""

import argparse
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hermitty.cli.escapes import visible
from hermitty.cli.state_dir import add_state_dir

if TYPE_CHECKING:
    from pathlib import Path

    from hermitty.host.control import HostStatus

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
The server does not own its terminals: a small process of its own does, the host. It
starts with the first server, keeps shells and their newest output while no server runs,
and hands them to the next one. It ends by itself soon after its last terminal.

--state-dir or HERMITTY_STATE_DIR says which one is meant: each state directory has its own.

examples:
  hermitty host status            is it there, and what does it keep?
  hermitty host status --json     the same for programs
  hermitty host stop              end it and every terminal; asks first
  hermitty host stop --yes        without asking, as after an update

exit codes: status 0 when it runs, 1 when not; stop 0 when none runs any more,
1 when it was not allowed to; 125 when the host does not answer.
"""
_HEADINGS = ("terminal", "process", "size", "output", "not handled", "state")


def add_host(commands: "Commands") -> None:
    """Describe `hermitty host`."""
    host = commands.add_parser(
        "host",
        help="the process that keeps terminals while no server runs",
        description="Look at the process that owns the terminals of the server, or end it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = host.add_subparsers(dest="host_command", metavar="ACTION", required=True)
    status = actions.add_parser(
        "status",
        help="whether it runs, who uses it, and its terminals",
        description="Say whether the host runs, since when, who uses it, and which terminals it keeps.",
    )
    status.add_argument("--json", action="store_true", help="print JSON")
    stop = actions.add_parser(
        "stop",
        help="end it, with every terminal that it keeps",
        description="End the host, and with it every terminal and all that runs there.",
    )
    stop.add_argument("--yes", action="store_true", help="do not ask")
    for action in (status, stop):
        add_state_dir(action)


def manage_host(options: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    from hermitty.runtime.places import find_places

    state = find_places().state
    if options.host_command == "status":
        return _show(state, as_json=options.json)
    return _stop(state, is_sure=options.yes)


def _show(state: "Path", *, as_json: bool) -> int:
    from hermitty.host.control import host_status
    from hermitty.wire.records import to_json

    status = host_status(state)
    if as_json:
        print(to_json({"state": str(state), "running": status is not None, **(_record(status) if status else {})}))
    elif status is None:
        print(visible(f"no host runs for {state}"))
    else:
        _print(state, status)
    return 0 if status is not None else 1


def _stop(state: "Path", *, is_sure: bool) -> int:
    from hermitty.host.control import host_status, stop_host

    status = host_status(state)
    if status is None:
        print(visible(f"no host runs for {state}"))
        return 0
    count = _count(len(status.report.terminals))
    if status.report.terminals and not is_sure and not _is_confirmed(status, count):
        return 1
    stop_host(state)
    print(f"the host (process {status.welcome.pid}) has ended, and {count} with it")
    return 0


def _is_confirmed(status: "HostStatus", count: str) -> bool:
    user = status.report.user_pid
    used = f", which process {user} uses" if user is not None else ""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        print(f"hermitty: {count}{used} would end with the host; add --yes if that is meant", file=sys.stderr)
        return False
    print(
        f"hermitty: {count}{used}, with all that runs there, will end. Stop the host? [y/N] ", end="", file=sys.stderr
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    print("hermitty: nothing was stopped", file=sys.stderr)
    return False


def _count(terminals: int) -> str:
    return {0: "no terminal", 1: "1 terminal"}.get(terminals, f"{terminals} terminals")


def _record(status: "HostStatus") -> dict[str, Any]:
    welcome, report = status.welcome, status.report
    user = {"pid": report.user_pid, "since": _moment(report.user_since or 0.0)}
    return {
        "pid": welcome.pid,
        "hermitty": welcome.release,
        "protocol": welcome.version,
        "since": _moment(welcome.started_at),
        "used_by": None if report.user_pid is None else user,
        "memory_bytes": report.memory_bytes,
        "ring_bytes": sum(terminal.ring_bytes for terminal in report.terminals),
        "terminals": [asdict(terminal) for terminal in report.terminals],
    }


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _local(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _print(state: "Path", status: "HostStatus") -> None:
    from hermitty.version import __version__
    from hermitty.wire.hostlink.messages import VERSION

    welcome, report = status.welcome, status.report
    memory = "unknown" if report.memory_bytes is None else _megabytes(report.memory_bytes)
    rings = sum(min(terminal.ring_bytes, terminal.output_bytes) for terminal in report.terminals)
    user = "nobody" if report.user_pid is None else f"process {report.user_pid} since {_local(report.user_since or 0)}"
    print(visible(f"host of      {state}"))
    print(visible(f"process      {welcome.pid}, hermitty {welcome.release}, since {_local(welcome.started_at)}"))
    print(f"used by      {user}")
    print(f"memory       {memory}, and {_megabytes(rings)} of output")
    print(f"terminals    {len(report.terminals)}")
    if report.terminals:
        print()
        _print_table(
            [
                _HEADINGS,
                *(
                    (
                        visible(terminal.terminal),
                        str(terminal.pid),
                        f"{terminal.cols}x{terminal.rows}",
                        f"{terminal.output_bytes:,}",
                        f"{terminal.unread_bytes:,}",
                        _state(terminal.has_ended, terminal.is_used, terminal.is_paused),
                    )
                    for terminal in report.terminals
                ),
            ]
        )
    if welcome.version != VERSION:
        print(
            f"\nit speaks version {welcome.version}, this hermitty ({__version__}) version {VERSION}: a server of this "
            "version cannot use it; `hermitty host stop` ends it and its terminals",
            file=sys.stderr,
        )


def _state(has_ended: bool, is_used: bool, is_paused: bool) -> str:
    words = ["ended" if has_ended else "used" if is_used else "waits for a server"]
    return ", ".join([*words, *(["its programs wait for the reader"] if is_paused else [])])


def _print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        print("  ".join((*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1])))


def _megabytes(count: int) -> str:
    return f"{count / 1024 / 1024:.1f} MB"
