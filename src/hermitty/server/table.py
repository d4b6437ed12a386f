"""Every route of the server: method, path, who may, what goes in, what comes out."""

from typing import Any

from hermitty.server import decision_replies, replies, requests, system_replies
from hermitty.server.access import Scope
from hermitty.server.handlers import commands, decisions, nodes, outputs, past, projects, streams, system, terminals
from hermitty.server.routing import NO_CONTENT, Content, Route

VIEW, TYPE, RUN, APPROVE, ADMIN = Scope.VIEW, Scope.TYPE, Scope.RUN, Scope.APPROVE, Scope.ADMIN

_TEXT, _BYTES = Content("text/plain"), Content("application/octet-stream", is_text=False)
_PICTURES = (Content("image/svg+xml"), Content("image/png", is_text=False))
# What running a command may come to, besides its result.
_RUN_ERRORS = (404, 409, 410, 422, 504)

# fmt: off
ROUTES: tuple[Route, ...] = (
    # Terminals.
    Route(
        "POST", "/api/terminals", RUN, terminals.open_terminal, "Open a terminal.",
        body=requests.OpenTerminal, reply=replies.Terminal, status=201, errors=(422,),
    ),
    Route(
        "GET", "/api/terminals", VIEW, terminals.list_terminals, "List the terminals that are open.",
        query=requests.TerminalsQuery, reply=replies.Terminals,
    ),
    Route(
        "GET", "/api/terminals/{id}", VIEW, terminals.show_terminal, "Look at a terminal.",
        reply=replies.Terminal, errors=(404,),
    ),
    Route(
        "PATCH", "/api/terminals/{id}", RUN, terminals.change_terminal,
        "Rename a terminal, give it to a session or to none, or let a person have it (`paused`).",
        body=requests.ChangeTerminal, reply=replies.Terminal, errors=(404, 409, 410),
    ),
    Route(
        "DELETE", "/api/terminals/{id}", RUN, terminals.delete_terminal,
        "Destroy a terminal and its processes. Doing it again is fine.",
        status=NO_CONTENT, errors=(404, 410),
    ),
    Route(
        "POST", "/api/terminals/{id}/commands", RUN, commands.run_in, "Run a command in a given terminal.",
        body=requests.RunIn, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/terminals/{id}/input", TYPE, terminals.type_input, "Type into a terminal.",
        body=requests.Input, status=NO_CONTENT, errors=(404, 409, 410),
    ),
    Route(
        "POST", "/api/terminals/{id}/resize", TYPE, terminals.resize, "Change the size of a terminal.",
        body=requests.Resize, reply=replies.Terminal, errors=(404, 410),
    ),
    Route(
        "GET", "/api/terminals/{id}/screen", VIEW, terminals.show_screen, "Show the screen of a terminal.",
        query=requests.ScreenQuery, contents=(_TEXT, _BYTES, *_PICTURES), errors=(404, 410, 422),
    ),
    Route(
        "GET", "/api/terminals/{id}/log", VIEW, terminals.read_log,
        "Read raw output by its offset; the headers X-Hermitty-Offset, -Next, -End and -Missed say what it is.",
        query=requests.LogQuery, contents=(_BYTES,), errors=(404, 410),
    ),
    # Commands.
    Route(
        "POST", "/api/run", RUN, commands.run, "Run a command where it fits best.",
        body=requests.Run, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/temporary", RUN, commands.run_temporary,
        "Run a command in a terminal of its own, which is gone afterwards.",
        body=requests.RunTemporary, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/batch", RUN, commands.run_batch, "Run commands one after the other in one terminal.",
        body=requests.Batch, reply=replies.Results, errors=_RUN_ERRORS,
    ),
    Route(
        "GET", "/api/commands", VIEW, commands.list_commands,
        "List commands: those that run first, then those that ran lately.",
        query=requests.CommandsQuery, reply=replies.Commands,
    ),
    Route(
        "GET", "/api/commands/{cid}", VIEW, commands.show_command, "Look at a command, or wait for its end.",
        query=requests.CommandQuery, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/commands/{cid}/interrupt", RUN, commands.interrupt, "Interrupt a command, as Ctrl-C would.",
        body=requests.Stop, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/commands/{cid}/kill", RUN, commands.kill, "Kill a command and everything it started.",
        body=requests.Stop, reply=replies.CommandResult, errors=_RUN_ERRORS,
    ),
    Route(
        "POST", "/api/commands/{cid}/input", TYPE, commands.type_input, "Type for a command while it runs.",
        body=requests.Input, status=NO_CONTENT, errors=(404, 409, 410, 422),
    ),
    Route(
        "GET", "/api/artifacts/{aid}", VIEW, commands.read_artifact,
        "Read a command's complete output: a page, or the lines that match.",
        query=requests.ArtifactQuery,
        reply=(replies.ArtifactPage, replies.ArtifactMatches),
        contents=(_BYTES,),
        errors=(404,),
    ),
    # Sessions and workspaces.
    Route(
        "GET", "/api/sessions", VIEW, projects.list_sessions, "List the sessions that go on.",
        reply=replies.Sessions,
    ),
    Route(
        "POST", "/api/sessions/{sid}/release", RUN, projects.release_session,
        "End a session; its terminals go on in the background.",
        status=NO_CONTENT, errors=(404,),
    ),
    Route(
        "POST", "/api/sessions/{sid}/end", RUN, projects.end_session, "End a session and what runs in its terminals.",
        status=NO_CONTENT, errors=(404,),
    ),
    Route(
        "GET", "/api/sessions/{sid}/report", VIEW, projects.report,
        "Tell what an agent should know about its terminals.",
        query=requests.ReportQuery, contents=(Content("text/markdown"),),
    ),
    Route(
        "GET", "/api/workspaces", VIEW, projects.list_workspaces, "List the workspaces.",
        reply=replies.Workspaces,
    ),
    Route(
        "GET", "/api/workspaces/{wid}", VIEW, projects.show_workspace, "Look at a workspace.",
        reply=replies.Workspace, errors=(404,),
    ),
    Route(
        "PUT", "/api/workspaces/{wid}", RUN, projects.put_workspace, "Describe a workspace.",
        body=requests.PutWorkspace, reply=replies.Workspace,
    ),
    Route(
        "GET", "/api/workspaces/{wid}/terminals", VIEW, projects.workspace_terminals,
        "List the terminals of a workspace that are open.",
        reply=replies.Terminals, errors=(404,),
    ),
    Route(
        "GET", "/api/workspaces/{wid}/layout", VIEW, projects.get_layout, "Return the layout of a workspace's page.",
        reply=Any, errors=(404,),
    ),
    Route(
        "PUT", "/api/workspaces/{wid}/layout", TYPE, projects.put_layout,
        "Keep the layout of a workspace's page: any JSON of at most 256 KB.",
        body=Any, raw_body=True, status=NO_CONTENT,
    ),
    # The policy.
    Route(
        "POST", "/api/check", VIEW, commands.check, "Say what the policy makes of a command, without running it.",
        body=requests.Check, reply=decision_replies.Decision,
    ),
    Route(
        "GET", "/api/approvals", VIEW, decisions.list_approvals, "List the questions that wait for an answer.",
        query=requests.ApprovalsQuery, reply=decision_replies.Approvals,
    ),
    Route(
        "GET", "/api/approvals/{id}", VIEW, decisions.show_approval, "Look at a question that waits for an answer.",
        reply=decision_replies.Question, errors=(404, 409),
    ),
    Route(
        "POST", "/api/approvals/{id}", APPROVE, decisions.answer_approval, "Answer a question; the first one counts.",
        body=requests.AnswerApproval, reply=decision_replies.Verdict, errors=(404, 409),
    ),
    Route(
        "GET", "/api/audit", VIEW, decisions.list_audit, "List what was decided about commands, and by whom.",
        query=requests.AuditQuery, reply=decision_replies.Audit,
    ),
    Route(
        "GET", "/api/rules", VIEW, decisions.list_rules, "List the rules that count.",
        query=requests.RulesQuery, reply=decision_replies.Rules,
    ),
    Route(
        "DELETE", "/api/rules", APPROVE, decisions.delete_rule_by_query, "Forget the rule with that id.",
        query=requests.DeleteRuleQuery, status=NO_CONTENT, errors=(404,),
    ),
    Route(
        "DELETE", "/api/rules/{id}", APPROVE, decisions.delete_rule, "Forget a rule.",
        query=requests.RulesQuery, status=NO_CONTENT, errors=(404,),
    ),
    # What happened.
    Route(
        "GET", "/api/history", VIEW, past.list_history, "List the commands that ran, newest first.",
        query=requests.HistoryParameters, reply=replies.HistoryPage,
    ),
    Route(
        "GET", "/api/recordings", VIEW, past.list_recordings, "List the recordings of terminals.",
        reply=replies.Recordings,
    ),
    Route(
        "GET", "/api/recordings/{tid}.cast", VIEW, past.read_recording, "Read a recording as asciicast.",
        query=requests.CastQuery, contents=(Content("application/x-asciicast"),), errors=(404,),
    ),
    Route(
        "GET", "/api/events", VIEW, streams.events,
        "Follow what happens, as server-sent events; `Last-Event-ID` or `since` resumes.",
        query=requests.EventsQuery, contents=(Content("text/event-stream"),),
    ),
    # The server.
    Route(
        "GET", "/api/info", VIEW, system.info, "Tell what this server is, and who you are to it.",
        reply=system_replies.Info,
    ),
    Route("GET", "/api/stats", VIEW, system.stats, "Tell numbers for a dashboard.", reply=system_replies.Stats),
    Route(
        "GET", "/api/settings", VIEW, system.show_settings, "Show every setting, and where its value comes from.",
        reply=system_replies.Settings,
    ),
    Route(
        "PUT", "/api/settings", ADMIN, system.put_settings, "Change settings, by dotted name.",
        body=dict[str, Any], reply=system_replies.Settings, errors=(409,),
    ),
    Route(
        "DELETE", "/api/settings/{name}", ADMIN, system.reset_setting, "Take a setting out of the user's file.",
        reply=system_replies.Settings, errors=(409,),
    ),
    Route(
        "GET", "/api/tokens", ADMIN, system.list_tokens, "List the tokens that were made.",
        reply=system_replies.TokenList,
    ),
    Route(
        "POST", "/api/tokens", ADMIN, system.create_token, "Make a token for somebody; it is shown this once.",
        body=requests.CreateToken, reply=system_replies.NewToken, status=201,
    ),
    Route(
        "DELETE", "/api/tokens/{id}", ADMIN, system.delete_token, "Forget a token.",
        status=NO_CONTENT, errors=(404,),
    ),
    Route(
        "GET", "/api/tools", VIEW, system.list_tools, "List the tools for models, with their schemas.",
        reply=replies.Tools,
    ),
    Route(
        "POST", "/api/tools/{name}", RUN, system.call_tool, "Run a tool.",
        body=requests.CallTool, reply=replies.ToolResult, errors=_RUN_ERRORS,
    ),
    Route("GET", "/healthz", None, system.health, "Say that the server is there.", reply=system_replies.Health),
    Route(
        "GET", "/metrics", VIEW, system.metrics, "Tell numbers as Prometheus reads them.",
        contents=(_TEXT,),
    ),
    # What clients need besides.
    *outputs.ROUTES,
    *nodes.ROUTES,
)
# fmt: on
