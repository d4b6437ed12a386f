"""What users import: the promised names, typed and described, at next to no cost."""

import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import FunctionType

import pytest

import hermitty
import hermitty.sync
from hermitty import errors

NAMES = {
    *("Answer", "Command", "CommandResult", "HermittyError", "NeedsInput", "Quality", "RunSettings", "Runtime"),
    *("Settings", "State", "Terminal", "TerminalSettings", "__version__", "open"),
}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def loaded_by(code: str) -> set[str]:
    return modules_after(code) - modules_after("")


def test_the_promised_names_are_there() -> None:
    assert set(hermitty.__all__) >= NAMES
    for name in hermitty.__all__:
        assert getattr(hermitty, name) is not None
    assert set(hermitty.__all__) == set(hermitty._HOMES) | {"__version__", "open"}


def test_a_name_is_the_object_where_it_lives() -> None:
    for name, home in hermitty._HOMES.items():
        assert getattr(hermitty, name) is getattr(importlib.import_module(home), name)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hermitty' has no attribute 'nonsense'"):
        hermitty.nonsense  # noqa: B018
    assert not hasattr(hermitty, "__wrapped__")


def test_the_version_is_the_packages() -> None:
    assert hermitty.__version__ == metadata.version("hermitty")


def test_importing_loads_nothing_but_itself() -> None:
    ours = {name for name in loaded_by("import hermitty") if name.startswith("hermitty")}

    assert ours == {"hermitty", "hermitty.version"}


def test_importing_loads_nothing_heavy() -> None:
    loaded = {name.partition(".")[0] for name in loaded_by("import hermitty")}

    # `typing` and what it needs is all; every script has loaded it anyway.
    assert loaded <= {"hermitty", "typing", "collections", "contextlib", "functools", "operator", "re", "copyreg",
                      "types", "enum", "abc", "reprlib", "keyword", "heapq", "itertools", "sre_compile", "sre_parse",
                      "sre_constants", "warnings", "_collections", "_functools", "_operator", "_sre", "_typing",
                      "_collections_abc"}  # fmt: skip


def test_values_do_not_bring_the_engine_along() -> None:
    loaded = loaded_by("import hermitty; hermitty.CommandResult, hermitty.State, hermitty.HermittyError")

    assert {"asyncio", "subprocess", "hermitty.engine", "hermitty.runtime", "hermitty.vt"} & loaded == set()


@pytest.mark.parametrize("code", ["import hermitty; hermitty.open", "import hermitty.cli.main"])
def test_nothing_of_others_is_loaded_before_it_is_used(code: str) -> None:
    standard = set(sys.stdlib_module_names)
    loaded = {name.partition(".")[0] for name in loaded_by(code)}

    assert {name for name in loaded - standard if not name.startswith("_")} == {"hermitty"}
    assert "asyncio" not in loaded


def test_a_runtime_does_not_load_what_draws() -> None:
    code = "import hermitty, asyncio\nasync def main():\n    async with hermitty.open(): pass\nasyncio.run(main())"

    # The screen's library is loaded as a file, and the packages for pictures only when one is drawn.
    assert {"pyghostty", "PIL", "cffi", "pycparser"} & {name.partition(".")[0] for name in loaded_by(code)} == set()


def test_types_are_shipped() -> None:
    package = Path(hermitty.__file__).parent

    assert (package / "py.typed").read_bytes() == b""
    assert "Typing :: Typed" in metadata.metadata("hermitty").get_all("Classifier", [])


def public_functions() -> Iterator[tuple[str, object]]:
    """Every function and class that users see, with its name."""
    homes = [hermitty, hermitty.sync]
    for home in homes:
        for name in home.__all__:
            thing = getattr(home, name)
            if isinstance(thing, FunctionType | type):
                yield f"{home.__name__}.{name}", thing
            if isinstance(thing, type):
                for member, value in vars(thing).items():
                    function = (
                        value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
                    )
                    if not member.startswith("_") and isinstance(function, FunctionType):
                        yield f"{home.__name__}.{name}.{member}", function


@pytest.mark.parametrize(("name", "thing"), list(public_functions()))
def test_everything_public_is_described_and_typed(name: str, thing: object) -> None:
    description = inspect.getdoc(thing) or ""
    assert description.split("\n")[0].endswith((".", ":", ",", "`")) or "\n" in description, name
    if isinstance(thing, FunctionType):
        signature = inspect.signature(thing)
        untyped = [
            each.name
            for each in signature.parameters.values()
            if each.annotation is inspect.Parameter.empty and each.name not in ("self", "cls")
        ]
        assert untyped == []
        assert signature.return_annotation is not inspect.Signature.empty


def error_classes() -> list[type[errors.HermittyError]]:
    return [
        thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, errors.HermittyError)
    ]


def test_every_error_has_a_code_of_its_own_and_its_place_in_the_tree() -> None:
    codes = [kind.code for kind in error_classes()]

    assert len(set(codes)) == len(codes)
    drawn = re.findall(r"^[ │]*[├└]── (\w+) +(\w+)", errors.__doc__ or "", re.MULTILINE)
    assert [("HermittyError", "error"), *drawn] == [(kind.__name__, kind.code) for kind in error_classes()]


def test_the_synchronous_door_is_an_attribute() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import hermitty; hermitty.sync.open"], capture_output=True, check=False
    )

    assert done.returncode == 0
