"""Wishes, orders and answers: what they may be, how they are combined, and how they cross a process boundary."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermitty.config import Settings
from hermitty.errors import InvalidRequest
from hermitty.runtime.confining import Confining, floor_of
from hermitty.sandbox.hidden import confined_environment
from hermitty.sandbox.spec import Confinement, Effective, Mode, Sandbox, confine

paths = st.lists(st.from_regex(r"(?:/|~/)[a-z./ é]{0,20}", fullmatch=True), max_size=4).map(tuple)
orders = st.builds(
    Confinement,
    mode=st.sampled_from([Mode.WORKSPACE, Mode.STRICT]),
    workspace=st.from_regex(r"/[a-z/]{0,20}", fullmatch=True),
    read_deny=paths,
    read=paths,
    write=paths,
    hide=paths,
    network=st.sampled_from(["none", "host"]),
    pids=st.none() | st.integers(1, 10_000),
    memory_bytes=st.none() | st.integers(1 << 20, 1 << 40),
    cpu=st.none() | st.floats(0.01, 64),
    allow_weaker=st.booleans(),
)
pairs = st.lists(st.tuples(st.text(max_size=10), st.text(max_size=20)), max_size=4, unique_by=lambda pair: pair[0])
answers = st.builds(
    Effective,
    mode=st.sampled_from(Mode),
    mechanism=st.sampled_from(["bubblewrap", "landlock", "none"]),
    network=st.sampled_from(["none", "host"]),
    enforced=pairs.map(tuple),
    not_enforced=pairs.map(tuple),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(orders)
def test_an_order_survives_json(order: Confinement) -> None:
    assert Confinement.from_json(json.loads(json.dumps(order.to_json()))) == order


@given(answers)
def test_an_answer_survives_json(answer: Effective) -> None:
    assert Effective.from_json(json.loads(json.dumps(answer.to_json()))) == answer


@given(anything, st.sampled_from(list(Confinement.__dataclass_fields__)))
def test_noise_is_no_order(noise: object, field: str) -> None:
    for value in (noise, {"mode": "workspace", "workspace": "/w", field: noise}):
        try:
            Confinement.from_json(value)
        except ValueError:
            continue


@given(anything)
def test_noise_is_no_answer(noise: object) -> None:
    with pytest.raises(ValueError):
        Effective.from_json(noise)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("off", Sandbox(Mode.OFF)),
        ("strict", Sandbox(Mode.STRICT)),
        ({}, Sandbox(Mode.WORKSPACE)),
        ({"network": "host", "write": ["/data"]}, Sandbox(network="host", write=("/data",))),
    ],
)
def test_wishes(given: object, expected: Sandbox | None) -> None:
    wish = Sandbox.parse(given)
    assert wish == expected
    assert wish is None or Sandbox.parse(json.loads(json.dumps(wish.to_json()))) == wish


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("loose", "none of off, workspace, strict"),
        (True, "must be off, workspace or strict"),
        (["strict"], "must be off, workspace or strict"),
        ({"modus": "strict"}, "has no 'modus'"),
        ({"network": "proxy"}, "none or host"),
        ({"write": "/data"}, "a list of paths"),
        ({"write": ["data"]}, "absolute paths"),
        ({"read_deny": ["/a\0b"]}, "a list of paths"),
        ({"pids": 0}, "from 1"),
        ({"pids": True}, "from 1"),
        ({"memory_bytes": 5}, "from"),
        ({"cpu": float("nan")}, "from 0.01"),
    ],
)
def test_wishes_that_make_no_sense_are_named(given: object, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        Sandbox.parse(given)


OFF, WORKSPACE, STRICT = (Sandbox(mode, network="none") for mode in Mode)


@pytest.mark.parametrize(
    ("wish", "floor", "expected"),
    [
        (None, OFF, None),
        (OFF, OFF, None),
        (None, WORKSPACE, Confinement(Mode.WORKSPACE, "/w")),
        (STRICT, OFF, Confinement(Mode.STRICT, "/w")),
        (STRICT, WORKSPACE, Confinement(Mode.STRICT, "/w")),
        (Sandbox(network="host"), OFF, Confinement(Mode.WORKSPACE, "/w", network="host")),
        (
            Sandbox(pids=5, cpu=2.0, read_deny=("/b",)),
            Sandbox(pids=9, cpu=1.0, read_deny=("/a",), network="host"),
            Confinement(Mode.WORKSPACE, "/w", pids=5, cpu=1.0, read_deny=("/a", "/b"), network="host"),
        ),
    ],
)
def test_a_wish_on_top_of_the_settings(wish: Sandbox | None, floor: Sandbox, expected: Confinement | None) -> None:
    assert confine(wish, floor, workspace="/w") == expected


@pytest.mark.parametrize(
    ("wish", "floor"),
    [
        (OFF, WORKSPACE),
        (WORKSPACE, STRICT),
        (Sandbox(network="host"), WORKSPACE),
        (Sandbox(write=("/data",)), WORKSPACE),
        (Sandbox(read=("~/.ssh",)), WORKSPACE),
    ],
)
def test_no_wish_weakens_what_the_settings_confine(wish: Sandbox, floor: Sandbox) -> None:
    with pytest.raises(InvalidRequest, match="the settings"):
        confine(wish, floor, workspace="/w")


def test_what_is_weaker_and_what_is_only_told() -> None:
    limits = Effective(Mode.WORKSPACE, "bubblewrap", "none", (), (("memory", "why"),))
    weaker = Effective(Mode.WORKSPACE, "landlock", "none", (), (("processes", "why"),))
    assert (limits.is_weaker, weaker.is_weaker) == (False, True)
    assert limits.summary == "workspace (bubblewrap), network off, not enforced: memory"


def test_the_environment_inside() -> None:
    base = {"PATH": "/bin", "HERMITTY_TOKEN": "t", "SSH_AUTH_SOCK": "s", "AWS_SECRET": "x", "LC_ALL": "C", "HOME": "/h"}
    order = Confinement(Mode.WORKSPACE, "/w")
    strict = Confinement(Mode.STRICT, "/w")
    assert confined_environment(base, None) == base
    assert confined_environment(base, order) == {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h"}
    assert confined_environment(base, strict) == {"PATH": "/bin", "LC_ALL": "C", "HOME": "/h"}


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("GITHUB_TOKEN", "TOKEN", "NPM_TOKEN_2", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD")),
        *((name, True) for name in ("AWS_ACCESS_KEY_ID", "OPENAI_API_KEY", "OPENAI_APIKEY", "gh_token", "MYSQL_PWD")),
        *((name, True) for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GPG_PASSPHRASE", "SSH_PRIVATE_KEY")),
        *((name, False) for name in ("PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "KEYBOARD", "GIT_AUTHOR_NAME")),
        *((name, False) for name in ("PATH", "HOME", "LESSKEY", "VIRTUAL_ENV", "CARGO_HOME", "XDG_SESSION_ID")),
    ],
)
def test_variables_that_hold_secrets(name: str, is_secret: bool) -> None:
    order = Confinement(Mode.WORKSPACE, "/w")
    assert confined_environment({name: "x"}, order) == ({} if is_secret else {name: "x"})


def test_a_session_is_held_to_the_settings_of_where_it_began() -> None:
    settings = Settings().with_values({"sandbox.workspaces": {"/proj": "strict"}})
    confining = Confining(lambda: settings)
    assert confining.order(None, root="/elsewhere") is None
    order = confining.order(None, root="/elsewhere", began="/proj/deep")
    assert order is not None
    assert (order.mode, order.workspace) == (Mode.STRICT, "/elsewhere")
    with pytest.raises(InvalidRequest, match="ask for no less"):
        confining.order(Sandbox(mode=Mode.WORKSPACE), root="/elsewhere", began="/proj")


@given(
    mode=st.sampled_from(Mode),
    entries=st.dictionaries(
        st.sampled_from(["/", "/a", "/a/b", "/c"]), st.sampled_from(["off", "workspace", "strict"])
    ),
    places=st.tuples(*[st.sampled_from(["/a", "/a/b", "/a/b/d", "/c", "/e"])] * 2),
    began=st.sampled_from([None, "/a", "/a/b", "/c", "/e"]),
)
def test_the_strictest_place_counts_whatever_a_caller_names(
    mode: Mode, entries: dict[str, str], places: tuple[str, str], began: str | None
) -> None:
    settings = Settings().with_values({"sandbox.mode": str(mode), "sandbox.workspaces": entries})
    confining = Confining(lambda: settings)
    root, cwd = places
    floors = [floor_of(settings.sandbox, each).mode for each in (root, cwd, began) if each is not None]
    strictest = max(floors, key=lambda each: each.strength)

    order = confining.order(None, root=root, cwd=cwd, began=began)
    assert (Mode.OFF if order is None else order.mode) is strictest
    for less in Mode:
        if less.strength < strictest.strength:
            with pytest.raises(InvalidRequest, match="ask for no less"):
                confining.order(Sandbox(mode=less), root=root, cwd=cwd, began=began)


def test_a_mode_for_all_holds_for_every_session() -> None:
    settings = Settings().with_values({"sandbox.mode": "workspace"})
    confining = Confining(lambda: settings)
    for began in (None, "/", "/elsewhere"):
        order = confining.order(None, root="/anywhere", began=began)
        assert order is not None
        assert order.mode is Mode.WORKSPACE
