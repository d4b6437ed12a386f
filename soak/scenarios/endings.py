"""Commands and terminals that are ended: what they started is gone."""

import asyncio
from typing import Any

from hermitty.errors import OutcomeUnknown, ServerUnavailable
from hermitty.model import State
from soak.census import command_lines
from soak.lines import Numbered
from soak.scenarios.commands import settled
from soak.scripts import write_scripts
from soak.world import LONG_S, Hand, Mark

_KILLS = {"stay.sh": "interrupt", "stubborn.sh": "kill"}


async def stop_commands(hand: Hand) -> None:
    """Interrupt what listens, kill what does not; the terminal can be used on."""
    async with hand.terminal() as terminal:
        for script in hand.dice.sample(sorted(_KILLS), k=len(_KILLS)):
            mark = hand.new_mark()
            result = await _started(hand, terminal.id, script, mark)
            if result is None:
                return
            result = await _stopped(hand, mark, _KILLS[script], result)
            wanted = "interrupted" if _KILLS[script] == "interrupt" else "killed"
            hand.ledger.expect(f"{hand.name}: {script}", wanted, result["state"])
        await _still_works(hand, terminal.id)


async def stop_by_time(hand: Hand) -> None:
    """Have a command killed after a moment, however it resists."""
    async with hand.terminal() as terminal:
        mark = hand.new_mark()
        result = await _started(hand, terminal.id, "stubborn.sh", mark, kill_after_s=hand.dice.uniform(0.2, 1.0))
        if result is None:
            return
        result = await settled(hand, mark.command_id, result)
        hand.ledger.expect(f"{hand.name}: state", "killed", result["state"])
        await _still_works(hand, terminal.id)


async def leave_behind(hand: Hand) -> None:
    """Close a terminal whose programs left it in every way there is."""
    await _leave(hand)


async def leave_in_sandbox(hand: Hand) -> None:
    """Do the same in a sandbox."""
    write_scripts(hand.directory / "scripts")
    hand.scripts = hand.directory / "scripts"
    lines = Numbered(hand.name, hand.dice.randint(1, 100))
    await _leave(hand, lines, sandbox="workspace")


async def _leave(hand: Hand, lines: Numbered | None = None, **fields: Any) -> None:
    seconds = f"1000.{hand.dice.randrange(10**8, 10**9)}"
    async with hand.terminal(**fields) as terminal:
        result = await hand.run_in(terminal.id, "leave.sh", hand.directory / "left", seconds)
        if result is not None:
            hand.ledger.compare_code(hand.name, (State.DONE, 0), (result.state, result.exit_code))
            hand.ledger.expect(f"{hand.name}: programs are there", True, bool(command_lines(f"sleep {seconds}")))
        if lines is not None:
            result = await hand.run_in(terminal.id, "count.sh", lines.form, lines.count, 3)
            if result is not None:
                hand.ledger.compare_code(hand.name, 3, result.exit_code)
                hand.ledger.compare_bytes(f"{hand.name}: text", lines.text().encode(), result.text.encode())
    if not await hand.so(lambda: not command_lines(f"sleep {seconds}")):
        for each in command_lines(f"sleep {seconds}"):
            hand.ledger.problem("left_processes", f"{hand.name}: {each}")


async def pass_by(hand: Hand) -> None:
    """Run something in a terminal of its own, which is gone afterwards."""
    mark, lines = hand.new_mark(), Numbered(hand.name, hand.dice.randint(1, 100))
    line = hand.line("count.sh", mark, lines.form, lines.count, 5)
    try:
        result = await hand.rt.run_temporary(line, cwd=str(hand.directory), session=hand.name, wait_s=LONG_S)
    except OutcomeUnknown:
        hand.ledger.note("temporary terminals that a kill met")
    else:
        hand.ledger.compare_code(hand.name, 5, result.exit_code)
        hand.ledger.compare_bytes(f"{hand.name}: text", lines.text().encode(), result.text.encode())
        hand.book(mark, line)
        listed = (await hand.ask("GET", f"/api/terminals?session={hand.name}")).json()["terminals"]
        hand.ledger.expect(f"{hand.name}: terminals", [], listed)
    # A server that took over may still have it, as any terminal of a session.
    await hand.ask("POST", f"/api/sessions/{hand.name}/end")


async def resize_often(hand: Hand) -> None:
    """Change the size again and again; programs see the last one."""
    async with hand.terminal() as terminal:
        sizes = [(hand.dice.randint(20, 300), hand.dice.randint(5, 100)) for _ in range(40)]
        try:
            await asyncio.gather(*(terminal.resize(cols, rows) for cols, rows in sizes))
        except ServerUnavailable:
            hand.ledger.note("sizes that a kill met")
        cols, rows = sizes[-1]
        told = await hand.ask("POST", f"/api/terminals/{terminal.id}/resize", {"cols": cols, "rows": rows})
        hand.ledger.expect(f"{hand.name}: resize", 200, told.status)
        result = await hand.run_in(terminal.id, "size.sh")
        if result is not None:
            hand.ledger.expect(f"{hand.name}: size", f"{rows} {cols}\n", result.text)


async def _started(hand: Hand, terminal: str, script: str, mark: Mark, **how: Any) -> dict[str, Any] | None:
    """Start a script, and return when it has printed something; None when a kill met it before."""
    line = hand.line(script, mark)
    try:
        await hand.rt.start_in(terminal, line, command_id=mark.command_id, **how)
    except OutcomeUnknown:
        hand.unknown(mark, line)
        return None
    hand.book(mark, line)
    if not await hand.so(lambda: mark.times > 0):
        hand.ledger.problem("lost_commands", f"{hand.name}: {line} was started and does not run")
    told = await hand.ask("GET", f"/api/commands/{mark.command_id}")
    hand.ledger.expect(f"{hand.name}: {script} is known", 200, told.status)
    found: dict[str, Any] = told.json()
    return found


async def _stopped(hand: Hand, mark: Mark, how: str, result: dict[str, Any]) -> dict[str, Any]:
    """Stop a command, again if a kill met the request."""
    while result["state"] in ("running", "needs_input"):
        told = await hand.ask("POST", f"/api/commands/{mark.command_id}/{how}", {"wait_s": 20})
        if told.status not in (200, 409):
            hand.ledger.problem("wrong_answers", f"{hand.name}: {how}: {told.status} {told.body!r}")
            break
        result = (await hand.ask("GET", f"/api/commands/{mark.command_id}?wait_s=5")).json()
    return result


async def _still_works(hand: Hand, terminal: str) -> None:
    lines = Numbered(hand.name, 10)
    if (result := await hand.run_in(terminal, "count.sh", lines.form, lines.count, 7)) is not None:
        hand.ledger.compare_code(f"{hand.name}: afterwards", 7, result.exit_code)
        hand.ledger.compare_bytes(f"{hand.name}: text", lines.text().encode(), result.text.encode())
