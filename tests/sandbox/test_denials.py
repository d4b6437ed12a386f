"""Hints about failures: a table of what programs print, and that nothing else gets one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.sandbox.denials import Outcome, explain_denials
from hermitty.sandbox.spec import EACH_PROCESS, Confinement, Effective, Mode

ORDER = Confinement(Mode.WORKSPACE, "/w", pids=50, memory_bytes=1 << 30, read_deny=("~/plans",), hide=("/state",))
HELD = Effective(Mode.WORKSPACE, "bubblewrap", "none", (("memory", "control group"),))
NETWORK = "the network is off in this terminal (sandbox)"
WRITABLE = "read-only here (sandbox); can be written: /w, /tmp"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("curl: (6) Could not resolve host: example.org", [NETWORK]),
        ("bash: connect: Network is unreachable\nbash: line 1: /dev/tcp/1.1.1.1/80: Network is unreachable", [NETWORK]),
        ("npm error code EAI_AGAIN\nnpm error getaddrinfo EAI_AGAIN registry", [NETWORK]),
        ("dial tcp: lookup proxy.golang.org: server misbehaving", [NETWORK]),
        ("bash: /etc/zz: Read-only file system", [f"'/etc/zz' is {WRITABLE}"]),
        ("touch: cannot touch '/etc/x y': Read-only file system", [f"'/etc/x y' is {WRITABLE}"]),
        ("mkdir: cannot create directory ‘.git/hooks/z’: Read-only file system", [f"'.git/hooks/z' is {WRITABLE}"]),
        ("zsh: read-only file system: /etc/zz", [f"'/etc/zz' is {WRITABLE}"]),
        ("OSError: [Errno 30] Read-only file system: '/etc/zz'", [f"'/etc/zz' is {WRITABLE}"]),
        ("Error: EROFS: read-only file system, open '/etc/zz'", [f"'/etc/zz' is {WRITABLE}"]),
        ("open: Read-only file system", [f"what it writes to is {WRITABLE}"]),
        ("cat: /home/me/.ssh/id_rsa: No such file or directory", ["'/home/me/.ssh/id_rsa' is hidden here (sandbox)"]),
        ("cat: /home/me/.netrc: Permission denied", ["'/home/me/.netrc' is hidden here (sandbox)"]),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/home/me/.aws/config'",
         ["'/home/me/.aws/config' is hidden here (sandbox)"]),
        ("cat: /state/token: No such file or directory", ["'/state/token' is hidden here (sandbox)"]),
        ("cat: /home/me/else: No such file or directory", []),
        ("bash: fork: retry: Resource temporarily unavailable", ["this terminal may have 50 processes (sandbox)"]),
        ("sudo: The \"no new privileges\" flag is set",
         ["no program gains rights or makes namespaces in this terminal (sandbox)"]),
        ("tests failed", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_programs_print(text: str, expected: list[str]) -> None:
    assert explain_denials(Outcome(1, text), ORDER, HELD) == expected


def test_only_failures_in_sandboxes_get_hints() -> None:
    text = "Network is unreachable"
    assert explain_denials(Outcome(0, text), ORDER, HELD) == []
    assert explain_denials(Outcome(None, text), ORDER, HELD) == []
    assert explain_denials(Outcome(1, text), None, None) == []
    assert explain_denials(Outcome(1, text), ORDER, Effective(Mode.WORKSPACE, "none", "host")) == []
    assert explain_denials(Outcome(1, text), ORDER, Effective(Mode.WORKSPACE, "bubblewrap", "host")) == []


def test_a_kill_names_the_limit_of_memory() -> None:
    (hint,) = explain_denials(Outcome(137, ""), ORDER, HELD)
    assert "1073741824 bytes of memory" in hint


@pytest.mark.parametrize(
    "text", ["MemoryError", "fork: Cannot allocate memory", "terminate called after throwing 'std::bad_alloc'"]
)
def test_an_allocation_that_fails_names_the_limit_of_a_process(text: str) -> None:
    each = Effective(Mode.WORKSPACE, "bubblewrap", "none", (("memory", EACH_PROCESS),))
    (hint,) = explain_denials(Outcome(1, text), ORDER, each)
    assert hint == "each process of this terminal may use 1073741824 bytes of memory (sandbox)"
    assert explain_denials(Outcome(1, text), ORDER, HELD) == []
    assert explain_denials(Outcome(137, ""), ORDER, each) == []


@given(st.text(max_size=300), st.integers(0, 255))
def test_noise_does_no_harm(text: str, code: int) -> None:
    strict = Confinement(Mode.STRICT, "/w")
    for order in (ORDER, strict):
        assert len(explain_denials(Outcome(code, text * 30), order, HELD)) <= 4
