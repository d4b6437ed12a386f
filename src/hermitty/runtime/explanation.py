"""What a result means beyond its text: a sentence, data where the output has a known form, and what to try next."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from hermitty.model import CommandResult
from hermitty.output.structured import Structured, structured
from hermitty.output.suggest import SuggestContext, Suggestion, suggest
from hermitty.output.summary import summary

# A PATH that leads to more programs than this is not searched to its end.
_MOST_NAMES = 20_000


@dataclass(frozen=True, slots=True)
class Explanation:
    """A result, understood. The text stays the truth; all of this is made from it."""

    summary: str
    structured: Structured | None
    suggestions: list[Suggestion]


def explain(result: CommandResult, env: Mapping[str, str]) -> Explanation:
    """Explain a result. Looks at the programs on PATH only when one was not found; may take milliseconds."""
    on_terminal = result.provider == "pty"
    # What a program wrote to its standard output is what has a form; errors have none.
    text = result.text if on_terminal or result.stdout is None else result.stdout
    context = SuggestContext(
        command=result.command,
        exit_code=result.exit_code,
        text=result.text,
        shell=result.shell or "bash",
        cwd=result.cwd,
        names_on_path=lambda: names_on_path(env.get("PATH", "")),
        on_terminal=on_terminal,
    )
    return Explanation(
        summary=summary(result),
        structured=structured(
            result.command,
            text,
            exit_code=result.exit_code,
            truncated=result.truncated or not result.state.is_final,
            on_terminal=on_terminal,
        ),
        suggestions=suggest(context) if result.state.is_final else [],
    )


def names_on_path(path: str) -> list[str]:
    """Return the names of the programs that PATH leads to."""
    names: dict[str, None] = {}
    for directory in path.split(os.pathsep):
        try:
            with os.scandir(directory or ".") as entries:
                names |= dict.fromkeys(entry.name for entry in islice(entries, _MOST_NAMES - len(names)))
        except OSError:
            continue
    return list(names)
