"""Answering a program's questions: pairs of a prompt and what to type, each used once, in any order."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hermitty.engine.command import Command
from hermitty.errors import InvalidPattern
from hermitty.model import CommandResult, checked_time


@dataclass(frozen=True, slots=True)
class Answer:
    """When output matches `prompt`, type `reply` and Enter."""

    prompt: str
    reply: str


def checked_answers(answers: Sequence[Answer]) -> list[tuple[re.Pattern[str], str]]:
    """Compile the prompts, or raise InvalidPattern."""
    compiled = []
    for answer in answers:
        try:
            compiled.append((re.compile(answer.prompt), answer.reply))
        except re.error as exc:
            raise InvalidPattern(answer.prompt, str(exc)) from exc
    return compiled


async def answer_prompts(
    command: Command, answers: Sequence[Answer], *, timeout_s: float | None = None
) -> CommandResult:
    """Answer each prompt once as it appears and return the command's real end.

    A question that no answer fits ends the wait as `needs_input`; the time-out ends it as `running`.
    """
    checked_time("timeout_s", timeout_s)
    waiting = checked_answers(answers)
    # Text before this has been answered: a prompt must not match what another answer was for.
    position = 0
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                piece = command.output(position)
                match = next((pair for pair in waiting if pair[0].search(piece.text)), None)
                if match is not None:
                    waiting.remove(match)
                    position = piece.next
                    if command.is_running:
                        command.write(match[1] + "\r")
                    continue
                if not command.is_running:
                    return await command.wait()
                needs_input = await command.next_change()
                if needs_input is not None and command.output(piece.next).data == b"":
                    return command.result(needs_input)
    except TimeoutError:
        return command.result()
