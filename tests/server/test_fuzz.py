"""Requests made at random from the OpenAPI document: no failure of the server, and answers as the document says.

HERMITTY_FUZZ_EXAMPLES says how many in all. Every operation is called, with data as the document allows it and with
data that it forbids. Ids are real ones in half of the calls. Whatever needs an approval is denied, and the shell that
is typed into finds no programs: nothing that is made up here does anything. The same is tried by somebody who may only
look, and by somebody without a token.
"""

import asyncio
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from hermitty.errors import HostNotAllowed, MissingScope, NotAuthenticated, OriginNotAllowed, TooManyRequests
from hermitty.runtime.api import Runtime, build_runtime
from hermitty.runtime.approvals import Approval, Question
from hermitty.runtime.places import Places
from hermitty.runtime.tools import TOOLS
from hermitty.server.access import Scope
from hermitty.server.openapi import document
from hermitty.server.parts import SettingsPlace
from hermitty.server.serving import Options, Serving, serving
from hermitty.server.table import ROUTES
from tests.server.conftest import OWN_TOKEN, source_for
from tests.support.shells import PATIENCE_S

EXAMPLES = int(os.environ.get("HERMITTY_FUZZ_EXAMPLES", "250"))
# Not among them: positive_data_acceptance (whether a directory or a shell is there is not in the document) and those
# that look at several requests in a row (use_after_free, ensure_resource_availability).
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
OPERATIONS = [(method, path) for path, methods in document()["paths"].items() for method in methods]
SCOPES: dict[tuple[str, str], Scope | None] = {(route.method, route.path): route.scope for route in ROUTES}
# A path that is made up may be another one, or none; so may a site.
ELSEWHERE = {"not_found", "method_not_allowed", "invalid_request", HostNotAllowed.code, OriginNotAllowed.code}
REFUSALS = {
    "nobody": ELSEWHERE | {NotAuthenticated.code, TooManyRequests.code},
    "viewer": ELSEWHERE | {MissingScope.code},
}
# The stream of events does not end by itself.
ENDLESS = "/api/events"

Case = schemathesis.Case[Any]


def deny(question: Question) -> Approval:
    return Approval("deny", by="the test")


@dataclass
class FuzzedServer:
    """A server in a thread, with things in it that can be asked for, and somebody who asks."""

    url: str
    work: Path
    owner: requests.Session
    who: str
    session: requests.Session
    real: dict[str, str] = field(default_factory=dict)
    turn: int = 0

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = self.owner.request(method, self.url + path, json=body or None, timeout=PATIENCE_S)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def prepare(self) -> None:
        """Make sure that there is something for each kind of id."""
        shown = self.owner.get(f"{self.url}/api/terminals/{self.real.get('terminal')}")
        if shown.status_code != 200 or shown.json()["session"] != "real":
            place = {"cwd": str(self.work), "env": {"PATH": "/nowhere"}, "workspace": "real", "session": "real"}
            self.real["terminal"] = self.call("POST", "/api/terminals", **place)["id"]
        if "command" not in self.real:
            result = self.call("POST", "/api/run", command="seq 1 20000", cwd=str(self.work))
            self.real |= {"command": result["id"], "artifact": result["artifact"]}

    def kind_of(self, path: str, parameter: str) -> str | None:
        """Return something real for a part of a path."""
        usual = {"cid": "command", "aid": "artifact"}
        fixed = {"sid": "real", "wid": "real", "name": "terminal.cols"}
        if path.startswith("/api/tools"):
            return list(TOOLS)[self.turn % len(TOOLS)]
        if parameter == "id" and path.startswith("/api/terminals"):
            return self.real["terminal"]
        return self.real.get(usual.get(parameter, ""), fixed.get(parameter))

    def may(self, method: str, path: str) -> bool:
        """Tell whether whoever asks may ask for that."""
        if self.who == "owner":
            return True
        # The document itself is for everybody who is known.
        scope = SCOPES.get((method, path), Scope.VIEW)
        return scope is None or (scope is Scope.VIEW and self.who == "viewer")

    def with_real_ids(self, case: Case) -> Case:
        """Put real ids into half of the cases."""
        self.turn += 1
        if self.turn % 2:
            for name in case.path_parameters or {}:
                if (real := self.kind_of(case.path, name)) is not None:
                    case.path_parameters[name] = real
        return case


@pytest.fixture(params=["owner", "viewer", "nobody"])
def fuzzed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FuzzedServer]:
    """A server whose people say no to everything, and somebody who asks it."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    places = Places(tmp_path / "config" / "config.toml", tmp_path / "state")
    ready: list[Serving] = []
    began, enough = threading.Event(), asyncio.Event()

    def with_deniers(settings: SettingsPlace) -> Runtime:
        return build_runtime(settings.current, approver=deny)

    async def serve() -> None:
        settings = source_for(home, places, policy__mode="normal", server__requests_per_s=100_000)
        options = Options(port=0, token=OWN_TOKEN)
        async with serving(options, places=places, settings=settings, make_runtime=with_deniers) as server:
            ready.append(server)
            loops.append(asyncio.get_running_loop())
            began.set()
            await enough.wait()

    loops: list[asyncio.AbstractEventLoop] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERMITTY_STATE_DIR", str(places.state))
        patch.setenv("HERMITTY_CONFIG", str(places.config_file))
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        assert began.wait(PATIENCE_S)
        with requests.Session() as owner, requests.Session() as session:
            owner.headers["Authorization"] = f"Bearer {OWN_TOKEN}"
            server = FuzzedServer(ready[0].url, work, owner, request.param, session)
            server.prepare()
            if server.who == "owner":
                session.headers.update(owner.headers)
            elif server.who == "viewer":
                made = server.call("POST", "/api/tokens", name="viewer", scopes=["view"])
                session.headers["Authorization"] = f"Bearer {made['token']}"
            yield server
        loops[0].call_soon_threadsafe(enough.set)
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore")  # other people's code
def test_requests_made_at_random(fuzzed: FuzzedServer) -> None:
    schema = schemathesis.openapi.from_dict(document())
    schema.config.update(base_url=fuzzed.url)
    problems = []
    for method, path in OPERATIONS:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                try_operation(fuzzed, schema[path][method.upper()], mode)
            except (Exception, BaseExceptionGroup) as exc:  # all of them are of interest
                problems.append(f"{method.upper()} {path}, {mode.name}: {exc}")
    assert fuzzed.turn >= min(EXAMPLES, len(OPERATIONS))
    assert not problems, "\n\n".join(problems)


def try_operation(fuzzed: FuzzedServer, operation: Any, mode: GenerationMode) -> None:
    """Call one operation with data that fits, or with data that does not."""

    @hypothesis.settings(
        max_examples=max(1, EXAMPLES // len(OPERATIONS) // 2),
        deadline=None,
        database=None,
        derandomize=EXAMPLES <= 1000,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def try_one(case: Case) -> None:
        fuzzed.prepare()
        case = fuzzed.with_real_ids(case)
        method = case.method.upper()
        if case.path == ENDLESS and fuzzed.may(method, case.path):
            try_stream(fuzzed, case)
            return
        response = case.call(session=fuzzed.session, timeout=PATIENCE_S)
        case.validate_response(response, checks=CHECKS)
        if not fuzzed.may(method, case.path):
            assert response.json()["error"]["code"] in REFUSALS[fuzzed.who], response.status_code
        if (method, case.path, response.status_code) == ("POST", "/api/terminals", 201):
            fuzzed.call("DELETE", f"/api/terminals/{response.json()['id']}")

    try:
        try_one()
    except (hypothesis.errors.Unsatisfiable, hypothesis.errors.InvalidArgument):
        assert mode is GenerationMode.NEGATIVE  # nothing of this operation can be wrong


def try_stream(fuzzed: FuzzedServer, case: Case) -> None:
    """Ask for events, and look at how the answer begins."""
    arguments = case.as_transport_kwargs(base_url=fuzzed.url)
    arguments["headers"] = {
        **arguments.get("headers", {}),
        "Authorization": str(fuzzed.session.headers["Authorization"]),
    }
    with requests.request(**arguments, stream=True, timeout=PATIENCE_S) as answer:
        assert answer.status_code in (200, 400), answer.status_code
        kind = "text/event-stream" if answer.status_code == 200 else "application/json"
        assert answer.headers["Content-Type"].startswith(kind)
