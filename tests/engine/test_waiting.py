"""Who waits for somebody to type: the decision as a table."""

import pytest

from hermitty.engine.waiting import QUIET_S, judge, looks_like_prompt
from hermitty.host.base import TtyState, Waiting
from hermitty.model import NeedsInput

LINE = TtyState(waiting=Waiting.READING, shell_in_front=False)
RAW = TtyState(waiting=Waiting.POLLING, shell_in_front=False, echo=False, canonical=False)
COOKED_POLL = TtyState(waiting=Waiting.POLLING, shell_in_front=False)
SILENT = TtyState(waiting=Waiting.READING, shell_in_front=False, echo=False)
BUSY = TtyState(waiting=Waiting.NO, shell_in_front=False)
UNKNOWN = TtyState(shell_in_front=False)
UNKNOWN_SILENT = TtyState(shell_in_front=False, echo=False)
UNKNOWN_SILENT_SHELL = TtyState(shell_in_front=True, echo=False)
LONG_S = 3600.0


@pytest.mark.parametrize(
    ("state", "quiet_s", "last_line", "full_screen", "expected"),
    [
        # A blocked read is a fact, whatever the last line says.
        (LINE, QUIET_S, "Name: ", False, NeedsInput("Name: ", False, "kernel")),
        (LINE, QUIET_S, "", False, NeedsInput("", False, "kernel")),
        (LINE, QUIET_S, "no question at all", False, NeedsInput("no question at all", False, "kernel")),
        (LINE, QUIET_S, "", True, NeedsInput("", False, "kernel")),
        # A program that has just printed may be about to print more.
        (LINE, 0.0, "Name: ", False, None),
        (LINE, QUIET_S / 2, "Name: ", False, None),
        # Line mode without echo is how a secret is asked for; in raw mode only the words can tell.
        (SILENT, QUIET_S, "", False, NeedsInput("", True, "kernel")),
        (SILENT, QUIET_S, "Name: ", False, NeedsInput("Name: ", True, "kernel")),
        (RAW, LONG_S, "Enter passphrase: ", False, NeedsInput("Enter passphrase: ", True, "kernel")),
        (RAW, LONG_S, ">>> ", False, NeedsInput(">>> ", False, "kernel")),
        # With echo, not even the word makes it a secret.
        (LINE, QUIET_S, "Password: ", False, NeedsInput("Password: ", False, "kernel")),
        # A poll in raw mode is probably for keys: after a while, and sooner on a full screen.
        (RAW, 0.2, "", False, None),
        (RAW, 0.2, "", True, None),
        (RAW, 0.5, "", False, None),
        (RAW, 0.5, "", True, NeedsInput("", False, "kernel")),
        (RAW, 1.0, "", False, NeedsInput("", False, "kernel")),
        # A poll in line mode may be for anything (a server, a child): only a question counts.
        (COOKED_POLL, LONG_S, "listening on port 80", False, None),
        (COOKED_POLL, LONG_S, "", False, None),
        (COOKED_POLL, LONG_S, "Go on? [y/N] ", False, NeedsInput("Go on? [y/N] ", False, "pattern")),
        (COOKED_POLL, 0.4, "Go on? [y/N] ", False, None),
        # A program that does not wait does not ask, however it looks and however long it takes.
        (BUSY, LONG_S, "Password: ", False, None),
        (BUSY, LONG_S, "", True, None),
        # Where the kernel does not tell, questions are recognised after a pause.
        (UNKNOWN, LONG_S, "compiling", False, None),
        (UNKNOWN, LONG_S, "", False, None),
        (UNKNOWN, LONG_S, "Name: ", False, NeedsInput("Name: ", False, "pattern")),
        (UNKNOWN, 0.4, "Name: ", False, None),
        # The echo is off in line mode: that is a fact, unless the shell itself did it for its line editor.
        (UNKNOWN_SILENT, QUIET_S, "", False, NeedsInput("", True, "kernel")),
        (UNKNOWN_SILENT_SHELL, QUIET_S, "", False, None),
        (UNKNOWN_SILENT_SHELL, LONG_S, "Password: ", False, NeedsInput("Password: ", True, "pattern")),
    ],
)
def test_the_judgement(
    state: TtyState, quiet_s: float, last_line: str, full_screen: bool, expected: NeedsInput | None
) -> None:
    assert judge(state, quiet_s=quiet_s, last_line=last_line, full_screen=full_screen) == expected


@pytest.mark.parametrize("state", [LINE, RAW, COOKED_POLL, SILENT, BUSY, UNKNOWN, UNKNOWN_SILENT])
def test_output_that_flows_is_never_a_question(state: TtyState) -> None:
    assert judge(state, quiet_s=QUIET_S * 0.99, last_line="Password: ", full_screen=True) is None


@pytest.mark.parametrize(
    "line",
    [
        "Go on? [y/N] ",
        "Go on [Y/n]",
        "Overwrite (yes/no)? ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
        "Proceed ([y]/n)? ",
        "Stage this hunk [y,n,q,a,d,e,?]? ",
        "Password: ",
        "[sudo] password for me: ",
        "Name:",
        "mysql> ",
        "user@host:~$ ",
        "root@host:/# ",
        "host% ",
        "Press any key to continue . . .",
        "Press ENTER to continue",
        "press return",
        "Do you want to continue? maybe",
        "[a/b]",
    ],
)
def test_lines_that_ask(line: str) -> None:
    assert looks_like_prompt(line)


@pytest.mark.parametrize(
    "line",
    ["", "   ", "compiling main.c", "downloading 10 of 20", "done.", "a: b", "what? nothing", "--More", "1.5 MB/s"],
)
def test_lines_that_do_not_ask(line: str) -> None:
    assert not looks_like_prompt(line)


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("Password: ", True),
        ("Enter passphrase for key 'id': ", True),
        ("Passcode: ", True),
        ("Your PIN: ", True),
        ("API token? ", True),
        ("Client secret: ", True),
        ("密码：", True),
        ("spinning: ", False),
        ("Name: ", False),
    ],
)
def test_words_that_mean_a_secret(line: str, secret: bool) -> None:
    assert judge(RAW, quiet_s=LONG_S, last_line=line, full_screen=False) == NeedsInput(line, secret, "kernel")
