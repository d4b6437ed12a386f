"""Questions that wait for an answer as records: what a person is asked, and the request that goes on with the answer.

A record is JSON with a version. It holds the variables and the replies to prompts that were given for the command,
which may be secrets: keep it in files of its owner alone. Whoever watched the output of a request (`on_output`) is gone
after a restart, and not in it.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

from hermitty.engine.interact import Answer
from hermitty.errors import HermittyError, InvalidRequest
from hermitty.model import ProviderName
from hermitty.policy.rule import Layer, Rule, Scope
from hermitty.policy.rule_file import rule_of, table_of
from hermitty.runtime.approvals import Question
from hermitty.runtime.requests import RunRequest
from hermitty.sandbox.spec import Sandbox

VERSION = 1


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question, and the request behind it. `terminal` is where the command is to run, if that was said."""

    question: Question
    request: RunRequest
    terminal: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that nothing can be made of, and why."""

    reason: str


class _Wrong(ValueError):
    """Says what is wrong with a record."""


def encode(pending: PendingQuestion) -> bytes:
    """Write a record."""
    return json.dumps(
        {
            "version": VERSION,
            "question": _question_table(pending.question),
            "request": _request_table(pending.request),
            "terminal": pending.terminal,
        },
        allow_nan=False,
    ).encode()


def decode(record: bytes) -> PendingQuestion | Unreadable:
    """Read a record. Never raises: what is not exactly as expected is not run."""
    try:
        table = json.loads(record)
        if not isinstance(table, dict):
            raise _Wrong("it is no object")
        if table.get("version") != VERSION or isinstance(table["version"], bool):
            raise _Wrong(f"its version is {str(table.get('version'))[:20]}, and this hermitty knows {VERSION}")
        top = _Fields(table, "version", "question", "request", "terminal")
        return PendingQuestion(
            _question(top.table("question")), _request(top.table("request")), top.text_or_none("terminal")
        )
    except _Wrong as exc:
        return Unreadable(str(exc))
    except (ValueError, OverflowError, RecursionError, HermittyError) as exc:
        return Unreadable(f"it is not well formed: {str(exc)[:200]}")


def _question_table(question: Question) -> dict[str, object]:
    table = {each.name: getattr(question, each.name) for each in fields(Question)}
    rule = question.suggested_rule
    if rule is not None:
        table["suggested_rule"] = {**table_of(rule), "layer": rule.layer.name, "origin": rule.origin}
    return table


def _request_table(request: RunRequest) -> dict[str, object]:
    return {
        "command": request.command if isinstance(request.command, str) else list(request.command),
        "cwd": None if request.cwd is None else os.fspath(request.cwd),
        "session": request.session,
        "workspace": request.workspace,
        "shell": request.shell,
        "provider": request.provider,
        "env": dict(request.env),
        "wait_s": request.wait_s,
        "kill_after_s": request.kill_after_s,
        "answers": [[answer.prompt, answer.reply] for answer in request.answers],
        "command_id": request.command_id,
        "sandbox": None if request.sandbox is None else request.sandbox.to_json(),
        "merged": request.merged,
    }


def _question(table: Mapping[str, Any]) -> Question:
    get = _Fields(table, *(each.name for each in fields(Question)))
    rule = get.value("suggested_rule")
    return Question(
        id=get.text("id"),
        line=get.text("line"),
        command=get.text("command"),
        cwd=get.text_or_none("cwd"),
        shell=get.text("shell"),
        decision=cast("Any", get.choice("decision", ("ask", "block"))),
        level=get.text("level"),
        effects=get.texts("effects"),
        reasons=get.texts("reasons"),
        scopes=tuple(Scope(each) for each in get.texts("scopes")),
        suggested_rule=None if rule is None else _rule(get.table("suggested_rule")),
        confirmation=get.text_or_none("confirmation"),
        session=get.text_or_none("session"),
        workspace=get.text_or_none("workspace"),
        terminal=get.text_or_none("terminal"),
        origin=get.text("origin"),
        asked_at=get.number("asked_at"),
        expires_at=get.number_or_none("expires_at"),
    )


def _rule(table: Mapping[str, Any]) -> Rule:
    plain = {name: value for name, value in table.items() if name not in ("layer", "origin")}
    layer, origin = table.get("layer"), table.get("origin")
    if not isinstance(layer, str) or layer not in Layer.__members__ or not isinstance(origin, str):
        raise _Wrong("its rule has no known layer and origin")
    rule = rule_of(plain, layer=Layer[layer], origin=origin)
    # A rule that is only suggested may have no id yet.
    return rule if plain.get("id") else rule.renamed("")


def _request(table: Mapping[str, Any]) -> RunRequest:
    names = (each.name for each in fields(RunRequest) if each.name != "on_output")
    get = _Fields(table, *names)
    is_line = isinstance(get.value("command"), str)
    return RunRequest(
        command=get.text("command") if is_line else get.texts("command"),
        cwd=get.text_or_none("cwd"),
        session=get.text_or_none("session"),
        workspace=get.text_or_none("workspace"),
        shell=get.text_or_none("shell"),
        provider=cast("ProviderName", get.choice("provider", get_args(ProviderName))),
        env=get.variables("env"),
        wait_s=get.number_or_none("wait_s"),
        kill_after_s=get.number_or_none("kill_after_s"),
        answers=get.answers("answers"),
        command_id=get.text_or_none("command_id"),
        sandbox=get.sandbox("sandbox"),
        merged=get.flag("merged"),
    )


class _Fields:
    """The values of an object by name and kind; raises _Wrong for others, and for an object with other names."""

    def __init__(self, table: Mapping[str, Any], *names: str) -> None:
        self._table = table
        expected = frozenset(names)
        if table.keys() != expected:
            odd = min(table.keys() ^ expected)
            raise _Wrong(f"{odd[:40]!r} is {'missing' if odd in expected else 'not known'}")

    def value(self, name: str) -> Any:
        return self._table[name]

    def text(self, name: str) -> str:
        return cast("str", self._checked(name, isinstance(self._table[name], str)))

    def text_or_none(self, name: str) -> str | None:
        return None if self._table[name] is None else self.text(name)

    def flag(self, name: str) -> bool:
        return cast("bool", self._checked(name, isinstance(self._table[name], bool)))

    def number(self, name: str) -> float:
        value = self._table[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(cast("float", self._checked(name, is_number and math.isfinite(value))))

    def number_or_none(self, name: str) -> float | None:
        return None if self._table[name] is None else self.number(name)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        return cast("str", self._checked(name, self._table[name] in choices))

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._table[name]
        return tuple(self._checked(name, isinstance(value, list) and all(isinstance(each, str) for each in value)))

    def table(self, name: str) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self._checked(name, isinstance(self._table[name], dict)))

    def variables(self, name: str) -> dict[str, str]:
        table = self.table(name)
        self._checked(name, all(isinstance(value, str) for value in table.values()))
        return dict(table)

    def answers(self, name: str) -> tuple[Answer, ...]:
        value = self._table[name]
        is_so = isinstance(value, list) and all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair) for pair in value
        )
        return tuple(Answer(prompt, reply) for prompt, reply in self._checked(name, is_so))

    def sandbox(self, name: str) -> Sandbox | None:
        try:
            return Sandbox.parse(self._table[name])
        except (InvalidRequest, TypeError):
            raise _Wrong(f"{name} is not of the right kind") from None

    def _checked(self, name: str, is_right: bool) -> Any:
        if not is_right:
            raise _Wrong(f"{name} is not of the right kind")
        return self._table[name]
