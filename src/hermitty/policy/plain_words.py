"""Effects in the words of people who do not know the policy."""

from collections.abc import Iterable
from typing import Final

from hermitty.policy.effects import Effect

WORDS: Final = {
    Effect.READ: "reads files",
    Effect.WRITE: "creates or changes files",
    Effect.DELETE: "deletes files",
    Effect.EXEC: "runs code that the line does not show",
    Effect.NETWORK: "uses the network",
    Effect.PRIVILEGE: "uses the rights of another user",
    Effect.PROCESS: "stops or signals other programs",
    Effect.SESSION: "changes what later commands in this shell mean",
    Effect.DEVICE: "touches devices",
    Effect.CREDENTIALS: "reads secrets",
    Effect.UNKNOWN: "does something that could not be analysed",
}


def in_plain_words(effects: Iterable[str]) -> tuple[str, ...]:
    """Return what effects mean, in the order of the table, each once."""
    given = set(effects)
    return tuple(text for effect, text in WORDS.items() if effect.value in given)
