"""Answering a program's questions: pairs of a prompt and what to type, each used once, in any order.

An answer is typed when the program reads, not when its prompt shows: one that prints "Password: " and switches the echo
off afterwards must not have the password on the screen, nor lose it. What the terminal echoes of an answer is not a
prompt.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from hermitty.engine.command import Command
from hermitty.model import CommandResult, checked_time
from hermitty.output.patterns import TextMatch, TextPattern, text_pattern

# How much unanswered output is searched at a time, and how much of it is kept when there is more.
_SEARCH_LIMIT = 64 * 1024
_SEARCH_OVERLAP = 8 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """When output matches `prompt`, type `reply` and Enter. The reply may be a secret: it is in no representation.

    `prompt` is a regular expression without look-around and back-references: those may take for ever.
    """

    prompt: str
    reply: str = field(repr=False)


def checked_answers(answers: Sequence[Answer]) -> list[tuple[TextPattern, str]]:
    """Compile the prompts, or raise InvalidPattern."""
    return [(text_pattern(answer.prompt), answer.reply) for answer in answers]


async def answer_prompts(
    command: Command, answers: Sequence[Answer], *, timeout_s: float | None = None
) -> CommandResult:
    """Answer each prompt once as it appears and return the command's real end.

    A question that no answer fits ends the wait as `needs_input`; the time-out ends it as `running`.
    """
    checked_time("timeout_s", timeout_s)
    waiting = checked_answers(answers)
    # Output before `position`, and `skip` characters of the text after it, are done with: a prompt must not match what
    # another answer was for.
    position = skip = 0
    echo = ""  # what the terminal has yet to show of the last answer
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                running = command.is_running
                piece = command.output(position)
                if echo and piece.text.startswith(echo, skip):
                    skip, echo = skip + len(echo), ""
                elif not echo.startswith(piece.text[skip:]):
                    echo = ""
                if not echo and (match := _first(waiting, piece.text, skip)):
                    found, pair = match
                    waiting.remove(pair)
                    skip = found.end()
                    if not piece.text[skip:].strip():
                        position, skip = piece.next, 0
                    state = await command.until_it_reads()
                    if command.is_running:
                        command.write(pair[1] + "\r")
                        # A line editor shows what is typed although the terminal does not.
                        echo = pair[1] if state.echo or not state.canonical else ""
                    continue
                if not running:
                    return await command.wait()
                if len(piece.data) > _SEARCH_LIMIT:
                    # The first character only tells whether a line begins after it.
                    position, skip = piece.next - _SEARCH_OVERLAP, 1
                needs_input = await command.next_change()
                if needs_input is not None and command.output(piece.next).data == b"":
                    return command.result(needs_input)
    except TimeoutError:
        return command.result()


def _first(
    waiting: Sequence[tuple[TextPattern, str]], text: str, skip: int
) -> tuple[TextMatch, tuple[TextPattern, str]] | None:
    """Return the prompt that stands first in the text."""
    matches = [(found, pair) for pair in waiting if (found := pair[0].search(text, skip))]
    return min(matches, key=lambda match: match[0].start(), default=None)
