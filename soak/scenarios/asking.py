"""Questions to people: answered, denied, or left alone until it is too late."""

import asyncio

from soak.world import LONG_S, Hand

_CODES = {"deny": "command_denied", None: "approval_timeout"}


async def ask_people(hand: Hand) -> None:
    """Run what needs an answer; only what was allowed happens, and once."""
    mark = hand.new_mark()
    line = f"echo ran >> {mark.path.name}"
    body = {"command": line, "cwd": str(hand.directory), "id": mark.command_id, "wait_s": LONG_S}
    answer = hand.dice.choice(("allow", "allow", "deny", None))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(hand.ask("POST", "/api/run", body))
        said = await _answer(hand, line, answer, running) if answer is not None else None
    told = running.result()
    if told.status == 200:
        state = told.json()["state"]
        hand.ledger.expect(f"{hand.name}: {answer}, and it ran", "allow", said)
        hand.ledger.expect(f"{hand.name}: state", ("done", 0), (state, told.json()["exit_code"]))
        hand.book(mark, line)
        return
    code = told.json()["error"]["code"]
    # An answer that comes too late is none.
    hand.ledger.expect(f"{hand.name}: {answer}: {told.body!r}", True, code in (_CODES.get(said), "approval_timeout"))
    hand.book(mark, line, is_known=False)


async def _answer(hand: Hand, line: str, answer: str, running: "asyncio.Task[object]") -> str | None:
    """Answer the question about a command; return the answer that counted, None if none did."""
    while not running.done():
        waiting = (await hand.ask("GET", "/api/approvals")).json()["approvals"]
        mine = [each["id"] for each in waiting if each["command"] == line]
        if not mine:
            await asyncio.sleep(0.05)
            continue
        told = await hand.ask("POST", f"/api/approvals/{mine[0]}", {"answer": answer})
        if told.status == 200:
            return answer
        if told.status == 409 and told.json()["error"].get("outcome") == answer:
            return answer  # the first try counted, and its server was killed
        hand.ledger.expect(f"{hand.name}: answered with {told.status} {told.body!r}", True, told.status in (404, 409))
    return answer
