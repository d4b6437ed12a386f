"""What a sandbox had to do with a failure, told from what programs print. A table; the output itself is never changed.

Only commands that failed are looked at, and only the end of what they printed: it is a hint, and says what is so in the
terminal, not that it was the cause.
"""

import re
from dataclasses import dataclass

from hermitty.sandbox.hidden import SECRETS_OF_HOME, SECRETS_OF_SYSTEM
from hermitty.sandbox.spec import EACH_PROCESS, Confinement, Effective, Mode

_LOOKED_AT = 4000
_MOST_HINTS = 4
_MOST_OF_A_KIND = 2

_QUOTES = "'\"`‘’“”"
_PATH = rf"[{_QUOTES}]?(?P<path>[^\s:{_QUOTES}][^:{_QUOTES}\n]{{0,200}}?)[{_QUOTES}]?"

_NETWORK = re.compile(
    r"""network\ is\ unreachable | could\ not\ resolve\ (?:host|proxy) | temporary\ failure\ in\ name\ resolution
    | name\ or\ service\ not\ known | getaddrinfo\ (?:EAI_AGAIN|ENOTFOUND) | ENETUNREACH | unable\ to\ resolve\ host
    | temporary\ failure\ resolving | nodename\ nor\ servname | failed\ to\ establish\ a\ new\ connection
    | failed\ to\ connect\ to | dial\ (?:tcp|udp)\b | /dev/(?:tcp|udp)/ | socket:\ operation\ not\ permitted
    | no\ address\ associated""",
    re.VERBOSE | re.IGNORECASE,
)
_READ_ONLY_AFTER = re.compile(rf"read-only file system(?:, \w+)?:? {_PATH}\s*$", re.IGNORECASE | re.MULTILINE)
_READ_ONLY_BEFORE = re.compile(rf"(?:^|[\s:]){_PATH}: read-only file system", re.IGNORECASE | re.MULTILINE)
_ANY_READ_ONLY = re.compile(r"read-only file system|EROFS", re.IGNORECASE)
_ANY_NOT_THERE = re.compile(r"no such file or directory|permission denied", re.IGNORECASE)
_NOT_THERE = re.compile(
    rf"(?:^|[\s:]){_PATH}: (?:no such file or directory|permission denied)"
    rf"|(?:no such file or directory|permission denied)(?:, \w+)?:? {_PATH.replace('path', 'other')}\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_SECRET = re.compile(
    "(?:^|/)(?:" + "|".join(re.escape(name) for name in SECRETS_OF_HOME) + ")(?:/|$)|^(?:"
    + "|".join(re.escape(path) for path in SECRETS_OF_SYSTEM) + ")(?:/|$)"
)  # fmt: skip
_PROCESSES = re.compile(
    r"fork: (?:retry: )?resource temporarily unavailable|cannot fork|can't start new thread|fork failed"
    r"|\[errno 11\] resource temporarily unavailable|pthread_create failed|EAGAIN",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"\bMemoryError\b|cannot allocate memory|out of memory|memory exhausted|bad_alloc|\bENOMEM\b|allocation failed"
    r"|OutOfMemoryError",
    re.IGNORECASE,
)
_RIGHTS = re.compile(
    r"no new privileges|must be owned by uid 0|effective uid is not 0|unshare failed|setuid|"
    r"creating new namespace failed|must be setuid root",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of a command that ended."""

    exit_code: int | None
    text: str


def explain_denials(outcome: Outcome, order: Confinement | None, effective: Effective | None) -> list[str]:
    """Return hints about what the sandbox forbids, as far as the output speaks of it."""
    if order is None or effective is None or effective.mechanism == "none" or outcome.exit_code in (0, None):
        return []
    text = outcome.text[-_LOOKED_AT:]
    hints: list[str] = []
    if effective.network == "none" and _NETWORK.search(text):
        hints.append("the network is off in this terminal (sandbox)")
    hints += _read_only(text, order)
    hints += _hidden(text, order)
    if order.pids is not None and _PROCESSES.search(text):
        hints.append(f"this terminal may have {order.pids} processes (sandbox)")
    if order.memory_bytes is not None:
        hints += _memory(outcome.exit_code, text, order.memory_bytes, dict(effective.enforced).get("memory"))
    if _RIGHTS.search(text):
        hints.append("no program gains rights or makes namespaces in this terminal (sandbox)")
    return hints[:_MOST_HINTS]


def _memory(exit_code: int | None, text: str, limit_bytes: int, enforced_by: str | None) -> list[str]:
    if enforced_by == "control group" and exit_code == 137:
        return [f"this terminal may use {limit_bytes} bytes of memory (sandbox); what needs more is killed"]
    if enforced_by == EACH_PROCESS and _MEMORY.search(text):
        return [f"each process of this terminal may use {limit_bytes} bytes of memory (sandbox)"]
    return []


def _read_only(text: str, order: Confinement) -> list[str]:
    if not _ANY_READ_ONLY.search(text):
        return []
    places = ", ".join((order.workspace, *order.write, "/tmp"))
    found = dict.fromkeys(match["path"] for match in _READ_ONLY_AFTER.finditer(text))
    # What stands alone in front is the name of a program, or of a call.
    found = found or dict.fromkeys(
        match["path"] for match in _READ_ONLY_BEFORE.finditer(text) if "/" in match["path"] or match[0][0] in " :"
    )
    names = [repr(_last_word(path)) for path in list(found)[:_MOST_OF_A_KIND]]
    subject = " and ".join(names) or "what it writes to"
    return [f"{subject} {'are' if len(names) > 1 else 'is'} read-only here (sandbox); can be written: {places}"]


def _hidden(text: str, order: Confinement) -> list[str]:
    if not _ANY_NOT_THERE.search(text):
        return []
    found: dict[str, None] = {}
    for match in _NOT_THERE.finditer(text):
        path = _last_word(match["path"] or match["other"])
        if _SECRET.search(path) or any(_is_below(path, deny) for deny in (*order.read_deny, *order.hide)):
            found[path] = None
    hints = [f"{path!r} is hidden here (sandbox)" for path in list(found)[:_MOST_OF_A_KIND]]
    if not hints and order.mode is Mode.STRICT and _NOT_THERE.search(text):
        hints.append(
            "a strict sandbox shows the system, the workspace and what is listed in sandbox.read, nothing else"
        )
    return hints


def _last_word(path: str) -> str:
    """Return the path behind what programs write in front of it: "cannot open /x"."""
    return path if path.startswith(("/", "~", ".")) else path.rpartition(" ")[2].strip(_QUOTES)


def _is_below(path: str, place: str) -> bool:
    place = place.removeprefix("~")
    return path == place or path.startswith(place + "/") or (place.startswith("/.") and f"{place}/" in f"{path}/")
