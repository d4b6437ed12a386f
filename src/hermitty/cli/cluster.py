"""`hermitty cluster`: the machines that a server with --cluster has its terminals on."""

import argparse
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from hermitty.cli.escapes import visible
from hermitty.cli.state_dir import add_state_dir

if TYPE_CHECKING:
    from hermitty.cluster.control import Observed

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_EPILOG = """\
Every node is asked itself, beside the server, which need not run. Without --cluster, the one that
the server of this state directory uses, or used last, is meant (HERMITTY_CLUSTER says another).

examples:
  hermitty cluster status                      the nodes, their terminals, who uses them
  hermitty cluster drain node-2                no new terminals there; what runs goes on
  hermitty cluster drain node-2 --off          take it back

exit codes: 0; 1 when a node does not answer; 125 when nothing could be asked.
"""
_VARIABLE = "HERMITTY_CLUSTER"
_HEADINGS = ("node", "key", "state", "terminals", "output", "hermitty", "gateway")


def add_cluster(commands: "Commands") -> None:
    """Describe `hermitty cluster`."""
    cluster = commands.add_parser(
        "cluster",
        help="the machines of a server with --cluster",
        description="Look at the nodes of a cluster, or drain one.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = cluster.add_subparsers(dest="cluster_command", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="how the nodes are", description="Ask every node how it is.")
    status.add_argument("--json", action="store_true", help="print one JSON object a node")
    drain = actions.add_parser(
        "drain",
        help="give a node no new terminals",
        description="Give a node no new terminals; what runs there goes on. The node remembers it.",
    )
    drain.add_argument("node", metavar="NODE", help="its name or its key")
    drain.add_argument("--off", action="store_true", help="give it new terminals again")
    for action in (status, drain):
        action.add_argument("--cluster", metavar="C", help="local:N, ray://ADDRESS or a file that lists nodes")
        add_state_dir(action)


def manage_cluster(options: argparse.Namespace) -> int:
    """Do what was asked and return the exit code."""
    import asyncio

    from hermitty.cluster.control import drain, observe, remembered_cluster
    from hermitty.runtime.places import find_places

    state = find_places().state
    cluster = options.cluster or os.environ.get(_VARIABLE) or remembered_cluster(state)
    if options.cluster_command == "status":
        nodes = asyncio.run(observe(cluster, state))
        _show(nodes, as_json=options.json)
        return 0 if all(node.report is not None for node in nodes) else 1
    node = asyncio.run(drain(cluster, state, options.node, on=not options.off))
    count = 0 if node.report is None else node.report.terminals
    what = "1 terminal goes on" if count == 1 else f"{count} terminals go on"
    name = visible(node.name)
    print(f"{name} is used again" if options.off else f"{name} gets no new terminals; {what} there")
    return 0


def _show(nodes: "list[Observed]", *, as_json: bool) -> None:
    from hermitty.wire.records import to_json

    if as_json:
        for node in nodes:
            report = {} if node.report is None else asdict(node.report)
            report.pop("request", None)
            print(to_json({**report, "name": node.name, "state": _state(node), "problem": node.problem or None}))
        return
    rows = [_HEADINGS, *(tuple(map(visible, _row(node))) for node in nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS) - 1)]
    for row in rows:
        print("  ".join((*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[-1])).rstrip())
    for node in nodes:
        if node.problem:
            print(visible(f"{node.name}: {node.problem}"))


def _state(node: "Observed") -> str:
    if node.report is None:
        return "unreachable"
    return "draining" if node.report.draining else "live"


def _row(node: "Observed") -> tuple[str, ...]:
    report = node.report
    if report is None:
        return (node.name, "-", _state(node), "-", "-", "-", "-")
    return (
        node.name,
        report.node,
        _state(node),
        str(report.terminals),
        f"{report.output_bytes:,}",
        report.release,
        report.gateway or "none",
    )
