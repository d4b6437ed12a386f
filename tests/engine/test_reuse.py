"""The choice of a terminal, as tables and properties."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.engine.reuse import Candidate, Choice, Request, Tier, Use, choose
from hermitty.model import TerminalId
from hermitty.paths import can_change_directory, same_path


def terminal(name: str, cwd: str | None = "/p", **changes: object) -> Candidate:
    return replace(Candidate(TerminalId(name), cwd, "bash", session="A"), **changes)  # type: ignore[arg-type]


REQUEST = Request("/p", "bash", session="A")


def chosen(*candidates: Candidate, request: Request = REQUEST, **options: bool | int) -> tuple[str, Tier] | None:
    choice = choose(candidates, request, **options)  # type: ignore[arg-type]
    return (choice.candidate.id, choice.tier) if choice else None


@pytest.mark.parametrize(
    ("candidate", "tier"),
    [
        (terminal("t"), Tier.OWN_HERE),
        (terminal("t", "/p/"), Tier.OWN_HERE),
        (terminal("t", "/p/src"), Tier.OWN_NEAR),
        (terminal("t", "/"), Tier.OWN_NEAR),
        (terminal("t", session=None), Tier.FREE_HERE),
        (terminal("t", "/p/src", session=None), Tier.FREE_NEAR),
        (terminal("t", "/other"), None),
        (terminal("t", "/project"), None),
        (terminal("t", None), None),
        (terminal("t", ""), None),
        (terminal("t", session="B"), None),
        (terminal("t", use=Use.BUSY), None),
        (terminal("t", use=Use.LEASED), None),
        (terminal("t", use=Use.SWITCHING), None),
        (terminal("t", use=Use.UNUSABLE), None),
        (terminal("t", provider="pipe"), None),
        (terminal("t", shell="zsh"), None),
        (terminal("t", workspace="w"), None),
        (terminal("t", env=frozenset({("X", "1")})), None),
        (terminal("t", "/p/src", switches=4), Tier.OWN_NEAR),
        (terminal("t", "/p/src", switches=5), None),
        (terminal("t", switches=5), Tier.OWN_HERE),
    ],
)
def test_the_tier_of_one_terminal(candidate: Candidate, tier: Tier | None) -> None:
    assert choose([candidate], REQUEST) == (tier and Choice(candidate, tier))


def test_an_exact_match_beats_a_nearer_use() -> None:
    assert chosen(terminal("here", last_used=1), terminal("near", "/p/src", last_used=9)) == ("here", Tier.OWN_HERE)


def test_the_session_s_own_terminal_comes_before_an_unbound_exact_match() -> None:
    assert chosen(terminal("free", session=None, last_used=9), terminal("own", "/p/src")) == ("own", Tier.OWN_NEAR)


def test_an_unbound_exact_match_comes_before_an_unbound_switch() -> None:
    near = terminal("near", "/", session=None, last_used=9)
    assert chosen(near, terminal("here", session=None)) == ("here", Tier.FREE_HERE)


def test_the_most_recently_used_comes_first() -> None:
    used = [terminal(str(number), last_used=number) for number in (2, 3, 1)]
    assert chosen(*used) == ("3", Tier.OWN_HERE)


def test_without_a_session_nothing_is_one_s_own() -> None:
    request = replace(REQUEST, session=None)
    assert chosen(terminal("free", session=None), request=request) == ("free", Tier.FREE_HERE)
    assert chosen(terminal("bound"), request=request) is None


def test_others_terminals_are_taken_only_when_stealing_is_allowed() -> None:
    theirs = terminal("theirs", session="B")
    assert chosen(theirs) is None
    assert chosen(theirs, steal=True) == ("theirs", Tier.FREE_HERE)
    assert chosen(terminal("theirs", "/p/src", session="B"), steal=True) == ("theirs", Tier.FREE_NEAR)
    assert chosen(theirs, terminal("own", "/p/src"), steal=True) == ("own", Tier.OWN_NEAR)


def test_the_same_extra_environment_is_a_match() -> None:
    env = frozenset({("X", "1")})
    assert chosen(terminal("t", env=env), request=replace(REQUEST, env=env)) == ("t", Tier.OWN_HERE)
    assert chosen(terminal("t"), request=replace(REQUEST, env=env)) is None


def test_the_limit_of_switches_is_a_setting() -> None:
    assert chosen(terminal("t", "/p/src"), max_switches=0) is None
    assert chosen(terminal("t"), max_switches=0) == ("t", Tier.OWN_HERE)
    assert chosen(terminal("t", "/p/src", switches=5), max_switches=6) == ("t", Tier.OWN_NEAR)


PLACES = st.sampled_from(["/", "/p", "/p/src", "/p/src/a", "/p/srcs", "/q"])
SESSIONS = st.sampled_from([None, "A", "B"])
CANDIDATES = st.builds(
    Candidate,
    id=st.integers(0, 9).map(lambda number: TerminalId(f"t{number}")),
    cwd=st.none() | PLACES,
    shell=st.sampled_from(["bash", "zsh"]),
    use=st.sampled_from([Use.IDLE, Use.IDLE, *Use]),
    session=SESSIONS,
    workspace=st.sampled_from([None, "w"]),
    switches=st.integers(0, 6),
    last_used=st.integers(0, 5),
)
REQUESTS = st.builds(
    Request, cwd=PLACES, shell=st.just("bash"), session=SESSIONS, workspace=st.sampled_from([None, "w"])
)


@given(st.lists(CANDIDATES, max_size=8), REQUESTS, st.integers(0, 6), st.booleans())
def test_the_choice_keeps_every_rule(
    candidates: list[Candidate], request: Request, max_switches: int, steal: bool
) -> None:
    def allowed(one: Candidate) -> bool:
        return (
            one.use is Use.IDLE
            and one.cwd is not None
            and (one.workspace, one.shell) == (request.workspace, request.shell)
            and (one.session in (None, request.session) or steal)
            and can_change_directory(one.cwd, request.cwd)
            and (same_path(one.cwd, request.cwd) or one.switches < max_switches)
        )

    def rank(one: Candidate) -> tuple[bool, bool, int]:
        own = request.session is not None and one.session == request.session
        return not own, not same_path(one.cwd, request.cwd), -one.last_used

    choice = choose(candidates, request, max_switches=max_switches, steal=steal)
    usable = [one for one in candidates if allowed(one)]
    assert (choice is None) == (not usable)
    if choice is not None:
        assert choice.candidate in usable
        assert rank(choice.candidate) == min(map(rank, usable))
        assert choice.tier.is_near is not same_path(choice.candidate.cwd, request.cwd)
