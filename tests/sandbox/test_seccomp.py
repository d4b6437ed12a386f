"""Filters, run by a small machine of our own: what a call would get."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.sandbox.seccomp import Filter, program

X86, ARM = 0xC000003E, 0xC00000B7
ALLOW, FAIL = 0x7FFF0000, 0x00050000
BARE, FULL = Filter(), Filter(network=True, namespaces=True)


def outcome(steps: bytes, number: int, *arguments: int, machine: int = X86) -> str:
    """Run a filter on a call: "allow", or the name of the error."""
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, machine, 0, *(list(arguments) + [0] * 6)[:6])
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = struct.unpack_from("=HBBI", steps, at * 8)
        at += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                at += if_true if value == operand else if_false
            case 0x35:
                at += if_true if value >= operand else if_false
            case 0x45:
                at += if_true if value & operand else if_false
            case 0x06:
                if operand == ALLOW:
                    return "allow"
                assert operand & 0xFFFF0000 == FAIL
                return errno.errorcode[operand & 0xFFFF]
            case _:
                raise AssertionError(f"no such step: {code:#x}")


@pytest.mark.parametrize(
    ("wanted", "number", "arguments", "expected"),
    [
        (BARE, 0, (), "allow"),  # read
        (BARE, 59, (), "allow"),  # execve
        (BARE, 41, (2,), "allow"),  # socket, inet: a namespace confines it
        (BARE, 16, (0, 0x5413), "allow"),  # ioctl, the size
        (BARE, 16, (0, 0x5412), "EPERM"),  # ioctl, typing for others
        (BARE, 16, (0, 0xABCD00005412), "EPERM"),  # the kernel looks at the lower half
        (BARE, 16, (0, 0x541C), "EPERM"),
        (BARE, 250, (), "EPERM"),  # keyctl
        (BARE, 321, (), "EPERM"),  # bpf
        (BARE, 425, (), "ENOSYS"),  # io_uring_setup
        (BARE, 272, (0x10000000,), "allow"),  # unshare
        (BARE, 0x40000000, (), "ENOSYS"),  # x32
        (FULL, 41, (1,), "allow"),  # socket, unix
        (FULL, 41, (2,), "EPERM"),
        (FULL, 41, (10,), "EPERM"),
        (FULL, 41, (16,), "EPERM"),
        (FULL, 53, (1,), "allow"),  # socketpair
        (FULL, 272, (0x10000000,), "EPERM"),
        (FULL, 56, (0x11,), "allow"),  # clone
        (FULL, 56, (0x10000011,), "EPERM"),
        (FULL, 435, (), "ENOSYS"),  # clone3
        (FULL, 165, (), "EPERM"),  # mount
        (BARE, 160, (10,), "allow"),  # setrlimit, of locks: a namespace ends all of it
        (FULL, 160, (10,), "EPERM"),
        (FULL, 160, (7,), "allow"),
        (FULL, 302, (0, 10, 0, 0x1000), "allow"),  # prlimit64 that only asks
        (FULL, 302, (0, 10, 0x1000, 0), "EPERM"),
        (FULL, 302, (0, 10, 0x7FFF00000000, 0), "EPERM"),
        (FULL, 302, (0, 0xABCD0000000A, 0x1000, 0), "EPERM"),  # the kernel looks at the lower half
        (FULL, 302, (0, 7, 0x1000, 0), "allow"),
    ],
)
def test_what_calls_get(wanted: Filter, number: int, arguments: tuple[int, ...], expected: str) -> None:
    steps = program(wanted, "x86_64")
    assert steps is not None
    assert outcome(steps, number, *arguments) == expected


@given(st.sampled_from([BARE, FULL]), st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_every_call_gets_an_answer(wanted: Filter, number: int, arguments: list[int]) -> None:
    for name, machine in (("x86_64", X86), ("aarch64", ARM)):
        steps = program(wanted, name)
        assert steps is not None
        assert outcome(steps, number, *arguments, machine=machine) in ("allow", "EPERM", "ENOSYS")
        assert outcome(steps, number, *arguments, machine=0x40000003) == "EPERM"  # of another machine


def test_an_unknown_machine_has_no_filter() -> None:
    assert program(BARE, "pdp11") is None
