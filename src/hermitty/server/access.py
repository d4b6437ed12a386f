"""Who somebody is to the server, and what that lets them do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Scope(StrEnum):
    """What a token may be used for. Each is granted by itself; `admin` includes all."""

    VIEW = "view"  # look at terminals, commands, history
    TYPE = "type"  # type into terminals, resize them
    RUN = "run"  # run commands, open and close terminals
    APPROVE = "approve"  # answer questions, remove rules
    ADMIN = "admin"  # settings, tokens


@dataclass(frozen=True, slots=True)
class Access:
    """Somebody who has shown a token, or the cookie of a login. `name` is for people and records, never the token."""

    name: str
    scopes: frozenset[Scope]
    how: Literal["header", "cookie"]
    token_id: str = ""
    login: str | None = None  # the hash of the cookie
    ends_at: float | None = None  # seconds since 1970; None: it counts until somebody ends it

    def may(self, scope: Scope) -> bool:
        """Tell whether something is allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def may_touch(self, taken_by: str | None) -> bool:
        """Tell whether a terminal that somebody took over is theirs, or they are a person, who answers questions."""
        return taken_by in (None, self.name) or self.may(Scope.APPROVE)
