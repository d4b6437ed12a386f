"""Sessions and workspaces: whose terminals are whose."""

from aiohttp import web

from hermitty.errors import HostUnavailable, TooLarge, WorkspaceNotFound
from hermitty.server import replies, requests
from hermitty.server.access import Scope
from hermitty.server.parts import LAYOUT_BYTES, Parts
from hermitty.server.reading import read_json, read_value
from hermitty.server.routing import Call


async def list_sessions(call: Call[None, None]) -> replies.Sessions:
    """List the sessions that go on."""
    runtime = call.parts.runtime
    found = []
    for session in runtime.sessions():
        own = runtime.terminals(session=session)
        running = sum(terminal.is_busy for terminal in own)
        found.append(replies.Session(id=session, cwd=runtime.session_cwd(session), terminals=len(own), running=running))
    return replies.Sessions(sessions=found)


async def release_session(call: Call[None, None]) -> None:
    """End a session; its terminals go on in the background."""
    call.parts.runtime.release(call.path("sid"))
    call.parts.feed.publish("session_ended", {"session": call.path("sid")})


async def end_session(call: Call[None, None]) -> None:
    """End a session and everything in its terminals."""
    await call.parts.runs.detached(call.parts.runtime.end(call.path("sid")))
    call.parts.feed.publish("session_ended", {"session": call.path("sid")})


async def report(call: Call[None, requests.ReportQuery]) -> web.Response:
    """Write what an agent should know about its terminals, as Markdown."""
    query = call.query
    text = await call.parts.runtime.report(call.path("sid"), reader=query.reader, edited=query.edited)
    return web.Response(body=text.encode("utf-8", "replace"), content_type="text/markdown", charset="utf-8")


async def list_workspaces(call: Call[None, None]) -> replies.Workspaces:
    """List the workspaces that somebody described, or that a terminal names."""
    stored = {each.id: each for each in call.parts.state.workspaces()}
    ids = dict.fromkeys([*stored, *_named(call.parts)])
    return replies.Workspaces(workspaces=[_workspace(call.parts, wid) for wid in ids])


async def show_workspace(call: Call[None, None]) -> replies.Workspace:
    """Look at a workspace."""
    _check_known(call.parts, call.path("wid"))
    return _workspace(call.parts, call.path("wid"))


async def put_workspace(call: Call[requests.PutWorkspace, None]) -> replies.Workspace:
    """Describe a workspace; what is left out stays."""
    wid = _checked_id(call.path("wid"))
    if not call.parts.state.put_workspace(wid, name=call.body.name, root=call.body.root):
        raise _not_kept(call.parts, "the workspace")
    shown = _workspace(call.parts, wid)
    call.parts.feed.publish("workspace_changed", {"workspace": shown})
    return shown


async def workspace_terminals(call: Call[None, None]) -> replies.Terminals:
    """List the terminals of a workspace that are open."""
    _check_known(call.parts, call.path("wid"))
    return replies.Terminals(terminals=call.parts.views.terminals(workspace=call.path("wid")))


async def get_layout(call: Call[None, None]) -> web.Response:
    """Return the layout of a workspace's page, as it was put; null when nobody put one."""
    _check_known(call.parts, call.path("wid"))
    data = call.parts.state.layout(call.path("wid"))
    return web.Response(body=data or b"null", content_type="application/json")


async def put_layout(call: Call[bytes, None]) -> None:
    """Keep the layout of a workspace's page: any JSON."""
    if len(call.body) > LAYOUT_BYTES:
        raise TooLarge("a layout", LAYOUT_BYTES)
    read_json(call.body)
    if not call.access.may(Scope.RUN):
        _check_known(call.parts, call.path("wid"))  # whoever only types makes no workspaces
    if not call.parts.state.put_layout(_checked_id(call.path("wid")), call.body):
        raise _not_kept(call.parts, "the layout")


def _named(parts: Parts) -> dict[str, int]:
    """Return the workspaces that terminals name, and how many do."""
    counts: dict[str, int] = {}
    for terminal in parts.runtime.terminals():
        workspace = parts.runtime.info(terminal.id).workspace
        if workspace is not None:
            counts[workspace] = counts.get(workspace, 0) + 1
    return counts


def _check_known(parts: Parts, wid: str) -> None:
    named = _named(parts)
    if wid not in named and parts.state.workspace(wid) is None:
        known = dict.fromkeys([*named, *(each.id for each in parts.state.workspaces())])
        raise WorkspaceNotFound(wid, list(known))


def _workspace(parts: Parts, wid: str) -> replies.Workspace:
    stored = parts.state.workspace(wid)
    return replies.Workspace(
        id=wid,
        name=stored.name if stored else None,
        root=stored.root if stored else None,
        terminals=_named(parts).get(wid, 0),
    )


def _not_kept(parts: Parts, what: str) -> HostUnavailable:
    return HostUnavailable(f"{what} could not be stored: {parts.state.problem}")


def _checked_id(wid: str) -> str:
    """Return an id that a workspace can have: the same texts that terminals can name."""
    return read_value(wid, requests.Name, "the workspace")
