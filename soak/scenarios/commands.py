"""Commands that end by themselves: their output, exit codes, directories, variables and ids."""

from typing import Any

from hermitty.errors import ApprovalTimeout, OutcomeUnknown
from hermitty.model import CommandResult, State
from hermitty.runtime.api import Answer
from soak.lines import Numbered
from soak.world import LONG_S, Hand, was_never_typed

_SIGNALS = {"TERM": 15, "KILL": 9, "SEGV": 11, "USR1": 10, "ABRT": 6, "PIPE": 13}


async def count_lines(hand: Hand) -> None:
    """Run something whose whole output is in the text."""
    lines = Numbered(hand.name, hand.dice.randint(1, 200))
    result = await hand.run("count.sh", lines.form, lines.count, 0, session=_session(hand))
    if result is not None:
        hand.ledger.compare_code(hand.name, (State.DONE, 0), (result.state, result.exit_code))
        hand.ledger.compare_bytes(f"{hand.name}: text", lines.text().encode(), result.text.encode())
        hand.ledger.expect(f"{hand.name}: total", len(lines.printed()), result.total_bytes)


async def keep_all(hand: Hand) -> None:
    """Run something whose text is cut: the artifact has everything."""
    lines = Numbered(hand.name, hand.dice.randint(1_000, 20_000))
    code = hand.dice.randint(0, 255)
    result = await hand.run("count.sh", lines.form, lines.count, code, session=_session(hand))
    if result is not None:
        hand.ledger.compare_code(hand.name, (State.DONE, code), (result.state, result.exit_code))
        hand.ledger.compare_bytes(f"{hand.name}: artifact", lines.printed(), await artifact(hand, result))


async def artifact(hand: Hand, result: CommandResult) -> bytes:
    """Read the complete output of a command, page by page."""
    data = bytearray()
    at: int | None = 0 if result.artifact is not None else None
    while at is not None:
        assert result.artifact is not None
        page = await hand.rt.read_artifact(result.artifact, at, 512 * 1024)
        data += page.data
        at = page.next
    return bytes(data)


async def exit_codes(hand: Hand) -> None:
    """Run things that fail, and things that die."""
    for _ in range(4):
        code = hand.dice.randint(0, 255)
        if (result := await hand.run("count.sh", "%.0f", 1, code, session=_session(hand))) is not None:
            hand.ledger.compare_code(hand.name, (State.DONE, code), (result.state, result.exit_code))
    name, number = hand.dice.choice(list(_SIGNALS.items()))
    if (result := await hand.run("die.sh", name)) is not None:
        hand.ledger.compare_code(
            f"{hand.name}: SIG{name}", (128 + number, f"SIG{name}"), (result.exit_code, result.signal)
        )


async def stay_somewhere(hand: Hand) -> None:
    """Change directory and variables in a session, give its terminal to another one."""
    session, other = f"{hand.name}-a", f"{hand.name}-b"
    inner, value = hand.directory / "inner", hand.dice.getrandbits(32)
    inner.mkdir()
    lines = ("cd inner", f"export SOAK_VALUE={value}", "pwd", 'printf "%s\\n" "$SOAK_VALUE"')
    results = [await _told(hand, line, session=session, cwd=hand.directory if not at else None)
               for at, line in enumerate(lines)]  # fmt: skip
    if None not in results:
        hand.ledger.expect(
            f"{hand.name}: directory and variable",
            ["", "", f"{inner}\n", f"{value}\n"],
            [result.text for result in results if result is not None],
        )
        hand.ledger.expect(f"{hand.name}: terminals", 1, len({result.terminal for result in results if result}))
    await hand.ask("POST", f"/api/sessions/{session}/release")
    result = await _told(hand, "pwd", session=other, cwd=hand.directory)
    if result is not None:
        hand.ledger.expect(f"{hand.name}: the other's directory", f"{hand.directory}\n", result.text)
    await hand.ask("POST", f"/api/sessions/{other}/end")


async def send_again(hand: Hand) -> None:
    """Send a command under an id until it is answered: it runs once, however often a server is killed meanwhile."""
    mark, code = hand.new_mark(), hand.dice.randint(0, 255)
    lines = Numbered(hand.name, hand.dice.randint(1, 50))
    line = hand.line("count.sh", mark, lines.form, lines.count, code)
    body = {"command": line, "cwd": str(hand.directory), "id": mark.command_id, "wait_s": LONG_S}
    for _ in range(hand.dice.randint(1, 3)):
        told = await hand.ask("POST", "/api/run", body)
        if told.status != 200:
            hand.ledger.problem("lost_commands", f"{hand.name}: {line}: {told.status} {told.body!r}")
            return
        result = await settled(hand, mark.command_id, told.json())
        if was_never_typed(result["state"], result["warnings"]):
            hand.unknown(mark, line)
            return
        hand.ledger.compare_code(hand.name, ("done", code), (result["state"], result["exit_code"]))
        hand.ledger.compare_bytes(f"{hand.name}: text", lines.text().encode(), result["text"].encode())
    hand.book(mark, line)


async def settled(hand: Hand, command_id: str, result: dict[str, Any]) -> dict[str, Any]:
    """Wait until a command is over, by its id."""
    while result["state"] in ("running", "needs_input"):
        told = await hand.ask("GET", f"/api/commands/{command_id}?wait_s=30")
        if told.status != 200:
            hand.ledger.problem("lost_commands", f"{hand.name}: {command_id}: {told.status} {told.body!r}")
            return result
        result = told.json()
    return result


async def answer_prompts(hand: Hand) -> None:
    """Run something that asks its user, who is told what to answer."""
    reply = f"r{hand.dice.getrandbits(32)}"
    kills = hand.server.kills
    result = await hand.run("ask.sh", answers=[Answer("name\\?", reply)])
    if result is None:
        return
    if result.state is State.NEEDS_INPUT and hand.server.kills > kills:
        # Who was to answer is dead; the question is told to whoever asks about the command.
        hand.ledger.note("prompts that nobody was left to answer")
        await hand.ask("POST", f"/api/commands/{result.id}/input", {"text": f"{reply}\r"})
        result = await hand.rt.result(result.id, LONG_S)
    hand.ledger.compare_code(hand.name, (State.DONE, 0), (result.state, result.exit_code))
    hand.ledger.expect(f"{hand.name}: answer", f"hello {reply}", result.text.rstrip().rpartition("\n")[2])


async def run_process(hand: Hand) -> None:
    """Run a program without a terminal. It belongs to the server, and is lost with it."""
    kills, count = hand.server.kills, hand.dice.randint(1, 100)
    result = await _told(hand, ("seq", "1", str(count)), cwd=hand.directory)
    if result is None or (result.state is State.LOST and hand.server.kills > kills):
        hand.ledger.note("processes that went with a server")
        return
    expected = "".join(f"{number}\n" for number in range(1, count + 1))
    hand.ledger.compare_code(hand.name, (State.DONE, 0), (result.state, result.exit_code))
    hand.ledger.compare_bytes(f"{hand.name}: stdout", expected.encode(), (result.stdout or "").encode())


async def _told(hand: Hand, command: str | tuple[str, ...], **how: Any) -> CommandResult | None:
    try:
        return await hand.rt.run(command, wait_s=LONG_S, **how)
    except OutcomeUnknown:
        hand.ledger.note("commands that a kill met before they began")
    except ApprovalTimeout:
        hand.ledger.note("questions that were answered too late")
    return None


def _session(hand: Hand) -> str | None:
    """Choose nobody, or one of a few who come again."""
    return hand.dice.choice((None, "red", "green", f"of-{hand.name.partition('-')[0]}"))
