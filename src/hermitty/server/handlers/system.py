"""The server itself: what it is, its numbers, its settings, its tokens, and the tools for models."""

import os
import shutil
import sys
import time
from typing import Any

from aiohttp import web
from msgspec import UNSET

from hermitty.config import Setting, all_settings
from hermitty.errors import ToolNotFound
from hermitty.runtime.api import installed_shells
from hermitty.runtime.history.masking import MASK, names_a_secret
from hermitty.runtime.settings.layers import LoadedSettings
from hermitty.runtime.tools import TOOLS
from hermitty.server import replies, requests, system_replies
from hermitty.server.counters import Metric, exposition, memory_bytes
from hermitty.server.parts import LAYOUT_BYTES, Parts
from hermitty.server.routing import Call
from hermitty.server.settings_editor import change_settings, has_file
from hermitty.server.tokens import Token
from hermitty.server.views import result_of
from hermitty.version import __version__

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", tuple: "list", dict: "table"}


_NOT_KEPT = "What the disk took no more of: outputs that are cut, decisions, gaps in recordings, workspaces."


async def health(call: Call[None, None]) -> system_replies.Health:
    """Say that the server is there."""
    return system_replies.Health(status="ok", version=__version__)


async def info(call: Call[None, None]) -> system_replies.Info:
    """Tell what this server is, and who you are to it."""
    parts, access = call.parts, call.access
    limits = parts.settings.current().server
    return system_replies.Info(
        version=__version__,
        pid=os.getpid(),
        host=parts.host,
        platform=sys.platform,
        shells=installed_shells(shutil.which),
        started_at=parts.counters.started_at,
        me=system_replies.Me(name=access.name, scopes=sorted(access.scopes), how=access.how),
        limits=system_replies.Limits(
            body_bytes=limits.body_bytes,
            longest_wait_s=limits.longest_wait_s,
            requests_per_s=limits.requests_per_s,
            connections=limits.connections,
            layout_bytes=LAYOUT_BYTES,
        ),
    )


async def stats(call: Call[None, None]) -> system_replies.Stats:
    """Tell numbers for a dashboard."""
    parts, now = call.parts, time.time()
    counters, terminals = parts.counters, parts.runtime.terminals()
    return system_replies.Stats(
        uptime_s=now - counters.started_at,
        terminals=len(terminals),
        running=sum(terminal.is_busy for terminal in terminals),
        viewers=sum(parts.attachments.viewers(terminal.id) for terminal in terminals),
        streams=parts.feed.readers,
        sessions=len(parts.runtime.sessions()),
        commands=counters.commands,
        commands_per_minute=counters.per_minute(now),
        approvals=system_replies.ApprovalStats(pending=_pending(parts), answered=counters.approvals_answered),
        memory_bytes=memory_bytes(),
        requests=counters.requests,
        errors=counters.errors,
    )


async def metrics(call: Call[None, None]) -> web.Response:
    """Tell the same numbers as Prometheus reads them."""
    parts, terminals = call.parts, call.parts.runtime.terminals()
    counters = parts.counters
    viewers = sum(parts.attachments.viewers(each.id) for each in terminals)
    memory = memory_bytes()
    statuses = {str(status): float(count) for status, count in sorted(counters.statuses.items())}
    numbers = [
        Metric("hermitty_uptime_seconds", "gauge", "Time since the start.", time.time() - counters.started_at),
        Metric("hermitty_terminals", "gauge", "Terminals that are open.", len(terminals)),
        Metric(
            "hermitty_terminals_busy", "gauge", "Terminals with a command.", sum(each.is_busy for each in terminals)
        ),
        Metric("hermitty_terminals_opened_total", "counter", "Terminals that were opened.", counters.terminals_opened),
        Metric("hermitty_viewers", "gauge", "Attached viewers.", viewers),
        Metric("hermitty_event_streams", "gauge", "Open streams of events.", parts.feed.readers),
        Metric("hermitty_events_total", "counter", "Events that were told.", parts.feed.last),
        Metric("hermitty_commands_total", "counter", "Commands that ended.", counters.commands),
        Metric("hermitty_approvals_pending", "gauge", "Questions that wait for an answer.", _pending(parts)),
        Metric("hermitty_approvals_answered_total", "counter", "Questions that are over.", counters.approvals_answered),
        Metric("hermitty_refused_tries_total", "counter", "Requests without a good token.", counters.refused_tries),
        Metric("hermitty_http_requests_total", "counter", "Requests by the status of the answer.", statuses, "status"),
    ]
    numbers.append(Metric("hermitty_not_kept_total", "counter", _NOT_KEPT, _not_kept(parts), "what"))
    if parts.runtime.node_states is not None:
        nodes = {state: float(count) for state, count in sorted(parts.runtime.node_states().items())}
        numbers.append(Metric("hermitty_nodes", "gauge", "Nodes of the cluster by their state.", nodes, "state"))
    if memory is not None:
        numbers.append(Metric("process_resident_memory_bytes", "gauge", "Memory of the server.", memory))
    text = exposition(numbers)
    return web.Response(body=text.encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


async def show_settings(call: Call[None, None]) -> system_replies.Settings:
    """Show every setting, its value, and where that comes from."""
    return _settings(call.parts)


async def put_settings(call: Call[dict[str, Any], None]) -> system_replies.Settings:
    """Change settings in the user's file, by dotted name. They hold from now on."""
    change_settings(call.parts.settings, call.body)
    call.parts.feed.publish("settings_changed", {"settings": sorted(call.body)})
    return _settings(call.parts)


async def reset_setting(call: Call[None, None]) -> system_replies.Settings:
    """Take a setting out of the user's file."""
    name = call.path("name")
    change_settings(call.parts.settings, {name: UNSET})
    call.parts.feed.publish("settings_changed", {"settings": [name]})
    return _settings(call.parts)


async def list_tokens(call: Call[None, None]) -> system_replies.TokenList:
    """List the tokens that were made."""
    return system_replies.TokenList(
        tokens=[system_replies.Token(**_token(each)) for each in call.parts.guard.tokens.listed()]
    )


async def create_token(call: Call[requests.CreateToken, None]) -> system_replies.NewToken:
    """Make a token for somebody. Its text is shown this once."""
    token, text = call.parts.guard.tokens.create(call.body.name, call.body.scopes, call.body.expires_in_s)
    return system_replies.NewToken(**_token(token), token=text)


async def delete_token(call: Call[None, None]) -> None:
    """Forget a token."""
    call.parts.guard.tokens.delete(call.path("id"))


async def list_tools(call: Call[None, None]) -> replies.Tools:
    """List the tools for models, with their schemas."""
    return replies.Tools(
        tools=[
            replies.Tool(name=tool.name, description=tool.description, parameters=tool.schema())
            for tool in TOOLS.values()
        ]
    )


async def call_tool(call: Call[requests.CallTool, None]) -> replies.ToolResult:
    """Run a tool."""
    tool = TOOLS.get(call.path("name"))
    if tool is None:
        raise ToolNotFound(call.path("name"), list(TOOLS))
    result = await call.parts.runs.commands(
        tool.call(call.parts.runtime, call.body.arguments, session=call.body.session)
    )
    command = None if result.command is None else result_of(result.command)
    return replies.ToolResult(text=result.text, data=result.data, command=command)


def _not_kept(parts: Parts) -> dict[str, float]:
    runtime = parts.runtime
    return {
        "artifacts": runtime.artifacts.failures,
        "decisions": runtime.gate.audit.lost,
        "recordings": 0 if runtime.recordings is None else runtime.recordings.gaps,
        "workspaces": parts.state.lost,
    }


def _pending(parts: Parts) -> int:
    return len(parts.runtime.gate.approvals.pending())


def _token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }


def _settings(parts: Parts) -> system_replies.Settings:
    loaded = parts.settings.loaded()
    file = parts.settings.config_file
    return system_replies.Settings(
        config_file=str(file) if has_file(parts.settings) else None,
        settings=[_setting(parts, loaded, setting) for setting in all_settings().values()],
        warnings=list(loaded.warnings),
    )


def _setting(parts: Parts, loaded: LoadedSettings, setting: Setting) -> system_replies.Setting:
    origin = loaded.origins[setting.name]
    return system_replies.Setting(
        name=setting.name,
        value=_shown(setting, loaded.settings.value(setting.name)),
        default=setting.default,
        origin=str(origin),
        origin_kind=origin.kind,
        explanation=setting.doc.text,
        allowed=setting.allowed,
        type=_TYPES[setting.kind],  # type: ignore[arg-type]  # the names of the table
        optional=setting.optional,
        choices=list(setting.doc.choices) or None,
        least=setting.doc.least,
        most=setting.doc.most,
        can_change=has_file(parts.settings) and origin.kind in ("default", "file"),
    )


def _shown(setting: Setting, value: Any) -> Any:
    if setting.kind is not dict:
        return value
    return {name: MASK if names_a_secret(name) else text for name, text in value.items()}
