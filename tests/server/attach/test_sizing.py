"""Who decides the size: the rules as tables, and with real viewers."""

import pytest

from hermitty.model import Size
from hermitty.runtime.api import Terminal
from hermitty.server.attach.sizing import Decision, Sizing
from hermitty.wire.attach import Error, Hello, Lock, Locked, Ping, Pong, Resize, Resized, Visible
from tests.server.attach.conftest import Server

A, B = 1, 2
BIG, SMALL, THIRD = Size(200, 50), Size(80, 24), Size(100, 30)


def resize(viewer: int, size: Size) -> tuple[str, int, Size]:
    return ("resize", viewer, size)


def types(viewer: int) -> tuple[str, int]:
    return ("types", viewer)


STORIES = [
    ("the first who comes decides", [(resize(A, BIG), (A, BIG))]),
    ("the last who comes decides before anybody typed", [(resize(A, BIG), (A, BIG)), (resize(B, SMALL), (B, SMALL))]),
    (
        "one who was there before only asks",
        [(resize(A, BIG), (A, BIG)), (resize(B, SMALL), (B, SMALL)), (resize(A, THIRD), None)],
    ),
    (
        "who types decides, with the size it asked for last",
        [
            (resize(A, BIG), (A, BIG)),
            (resize(B, SMALL), (B, SMALL)),
            (resize(A, THIRD), None),
            (types(A), (A, THIRD)),
            (types(A), None),
            (resize(B, BIG), None),
            (resize(A, BIG), (A, BIG)),
            (types(B), (B, BIG)),
        ],
    ),
    (
        "who typed before it asked decides",
        [(types(A), None), (resize(B, BIG), (B, BIG)), (resize(A, SMALL), (A, SMALL))],
    ),
    ("a tiny page changes nothing", [(resize(A, Size(1, 1)), None), (types(A), None)]),
    ("nor one that is only narrow", [(resize(A, Size(19, 50)), None), (resize(A, Size(200, 4)), None)]),
    ("the smallest that counts", [(resize(A, Size(20, 5)), (A, Size(20, 5)))]),
    (
        "a tiny page keeps what it asked for before",
        [
            (resize(A, BIG), (A, BIG)),
            (resize(A, Size(1, 1)), None),
            (resize(B, SMALL), (B, SMALL)),
            (types(A), (A, BIG)),
        ],
    ),
    (
        "when who decides leaves, who typed before does",
        [
            (resize(A, BIG), (A, BIG)),
            (types(A), None),
            (resize(B, SMALL), None),
            (types(B), (B, SMALL)),
            (("leave", B), (A, BIG)),
        ],
    ),
    ("when the last one leaves, the size stays", [(resize(A, BIG), (A, BIG)), (("leave", A), None)]),
    (
        "a hidden page does not decide",
        [
            (resize(A, BIG), (A, BIG)),
            (resize(B, SMALL), (B, SMALL)),
            (("hide", B), (A, BIG)),
            (resize(B, THIRD), None),
            (("show", B), (B, THIRD)),
        ],
    ),
    ("when nobody looks, the size stays", [(resize(A, BIG), (A, BIG)), (("hide", A), None)]),
    (
        "a lock lets one decide alone",
        [
            (resize(A, BIG), (A, BIG)),
            (resize(B, SMALL), (B, SMALL)),
            (("lock", A), (A, BIG)),
            (types(B), None),
            (("lock", B), None),
            (resize(A, THIRD), (A, THIRD)),
            (("unlock", B), (B, SMALL)),
        ],
    ),
    (
        "a lock ends with its holder",
        [
            (resize(A, BIG), (A, BIG)),
            (("lock", A), None),
            (types(B), None),
            (resize(B, SMALL), None),
            (("leave", A), (B, SMALL)),
        ],
    ),
    (
        "who holds it without a size keeps the size as it is",
        [(resize(A, BIG), (A, BIG)), (("lock", B), None), (resize(A, SMALL), None), (resize(B, THIRD), (B, THIRD))],
    ),
    (
        "a window that gets the focus did not type",
        [(resize(A, BIG), (A, BIG)), (resize(B, SMALL), (B, SMALL)), (("focus", A), None)],
    ),
    ("to leave without having come is fine", [(("leave", A), None), (("unlock", A), None)]),
]


@pytest.mark.parametrize("story", [story for _, story in STORIES], ids=[name for name, _ in STORIES])
def test_rules(story: list[tuple[tuple[str, int] | tuple[str, int, Size], tuple[int, Size] | None]]) -> None:
    sizing = Sizing()
    for step, expected in story:
        match step:
            case ("resize", viewer, Size() as size):
                got = sizing.resize(viewer, size)
            case ("types", viewer):
                got = sizing.typed(viewer, b"x")
            case ("focus", viewer):
                got = sizing.typed(viewer, b"\x1b[I") or sizing.typed(viewer, b"\x1b[O")
            case ("hide" | "show" as what, viewer):
                got = sizing.show(viewer, visible=what == "show")
            case ("lock", viewer):
                got = sizing.lock(viewer)
            case ("unlock", _):
                got = sizing.unlock()
            case ("leave", viewer):
                got = sizing.leave(viewer)
            case _:
                raise AssertionError(step)
        assert got == (None if expected is None else Decision(*expected)), step


async def test_everybody_is_told_the_size_and_programs_see_it(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id, name="ann") as ann, server.watch(terminal.id, name="bob") as bob:
        await ann.say(Resize(99, 33))
        for viewer in (ann, bob):
            await viewer.until(lambda: Resized(99, 33, "ann") in viewer.messages)  # noqa: B023
        await bob.say(Resize(77, 22))
        await ann.until(lambda: Resized(77, 22, "bob") in ann.messages)
        await ann.type("stty size\r")
        await ann.printed("33 99")
        assert terminal.size == Size(99, 33)


async def test_a_tiny_or_impossible_page_changes_nothing(server: Server, terminal: Terminal) -> None:
    before = terminal.size
    async with server.watch(terminal.id) as viewer:
        await viewer.say(Resize(1, 1))
        await viewer.say(Resize(0, 10))
        await viewer.say(Resize(5000, 10))
        await viewer.say(Resize(-1, 10))
        await viewer.say(Ping())
        await viewer.told(Pong)
        assert [error.code for error in viewer.of(Error)] == ["invalid_size"] * 3
    assert terminal.size == before


async def test_who_only_watches_neither_types_nor_resizes_nor_locks(server: Server, terminal: Terminal) -> None:
    before = terminal.size
    async with server.watch(terminal.id, scope="view") as guest, server.watch(terminal.id) as owner:
        assert not guest.hello.may_type
        await guest.say(Resize(99, 33))
        await guest.say(Visible(False))
        await guest.type("echo ty''ped\r")
        await guest.type("echo ty''ped\r")
        await guest.say(Lock(True))
        await guest.say(Ping())
        await guest.told(Pong)
        assert [error.code for error in guest.of(Error)] == ["not_allowed"]
        await owner.type("echo o''wner\r")
        await guest.printed("owner")
        assert b"typed" not in guest.output
        assert not owner.of(Locked)
    assert terminal.size == before


async def test_a_lock_is_told_and_ends_with_its_holder(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id, name="bob") as bob:
        async with server.watch(terminal.id, name="ann") as ann:
            await ann.say(Resize(99, 33))
            await ann.say(Lock(True))
            await bob.until(lambda: Locked(True, "ann") in bob.messages)
            await bob.say(Lock(True))
            await bob.told(Error)
            assert bob.of(Error)[0].code == "size_locked"
            await bob.say(Resize(77, 22))
            await bob.type("echo he''re\r")
            await bob.printed("here")
            assert terminal.size == Size(99, 33)
        await bob.until(lambda: {Locked(False), Resized(77, 22, "bob")} <= set(bob.messages))
    assert terminal.size == Size(77, 22)


async def test_a_viewer_that_comes_back_hears_of_sizes_between_the_right_bytes(
    server: Server, terminal: Terminal
) -> None:
    async with server.watch(terminal.id) as viewer:
        await viewer.say(Resize(100, 30))
        await viewer.told(Resized)
        has = viewer.offset
        await viewer.type("echo narr''ow\r")
        await viewer.printed("narrow\r\n")
    async with server.watch(terminal.id) as other:
        await other.say(Resize(120, 40))
        await other.until(lambda: terminal.size == Size(120, 40))
        await other.type("echo wi''de\r")
        await other.printed("wide\r\n")
    async with server.watch(terminal.id, since=has) as viewer:
        await viewer.printed("wide\r\n")
        assert isinstance(viewer.hello, Hello)
        at = viewer.order.index(next(each for each in viewer.order if isinstance(each, Resized) and each.cols == 120))
        before = b"".join(each[2] for each in viewer.order[:at] if isinstance(each, tuple) and each[0] == "output")
        assert b"narrow\r\n" in before
        assert b"wide\r\n" not in before


async def test_a_size_that_somebody_else_chose_is_told_when_they_say_so(server: Server, terminal: Terminal) -> None:
    async with server.watch(terminal.id) as viewer:
        terminal.resize(111, 44)
        server.attachments.look(terminal.id, by="a script")
        await viewer.until(lambda: Resized(111, 44, "a script") in viewer.messages)
