"""Which cluster is meant by what a person wrote: local:N, ray://ADDRESS?OPTIONS, or a file that lists nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from hermitty.cluster.placement import Placement, PlaceSpec
from hermitty.errors import InvalidRequest

_RAY_OPTIONS = {"cpu", "memory", "namespace", "state", "direct", "authority", "tls_cert", "tls_key"}
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """Nodes on this machine."""

    count: int


@dataclass(frozen=True, slots=True)
class RayChoice:
    """A Ray cluster. `wanted` is what each workspace gets."""

    address: str
    wanted: PlaceSpec
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListChoice:
    """Nodes from a file."""

    path: Path


Choice = LocalChoice | RayChoice | ListChoice


def parse_choice(text: str) -> Choice:
    """Understand what a person wrote. Raises InvalidRequest with what there is."""
    if text.startswith("local:"):
        number = text.removeprefix("local:")
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 256:
            raise InvalidRequest(f"--cluster local:N takes 1 to 256 nodes, not {number!r}")
        return LocalChoice(int(number))
    if text.startswith("ray://"):
        return _ray_choice(text)
    if "://" in text or not text:
        raise InvalidRequest(f"--cluster is local:N, ray://ADDRESS or a file that lists nodes, not {text!r}")
    return ListChoice(Path(text))


def _ray_choice(text: str) -> RayChoice:
    parts = urlsplit(text)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    labels = {name.removeprefix("label."): value for name, value in given.items() if name.startswith("label.")}
    options = {name: value for name, value in given.items() if not name.startswith("label.")}
    if unknown := sorted(options.keys() - _RAY_OPTIONS):
        known = ", ".join(sorted(_RAY_OPTIONS))
        raise InvalidRequest(f"ray:// has no option {unknown[0]!r}; there are {known} and label.NAME")
    if not parts.netloc:
        raise InvalidRequest("ray:// needs an address: ray://auto on a machine of the cluster, or ray://HOST:10001")
    wanted = PlaceSpec("", _number(options.pop("cpu", "0")), _bytes(options.pop("memory", "0")), labels)
    # On a machine of the cluster there is no need for the proxy of remote clients.
    is_direct = parts.netloc == "auto" or options.pop("direct", "") in ("1", "true", "yes")
    return RayChoice(parts.netloc if is_direct else f"ray://{parts.netloc}", wanted, options)


def make_placement(choice: Choice, state: Path) -> Placement:
    """Make what knows the nodes; `state` is where local ones have their files."""
    match choice:
        case LocalChoice(count=count):
            from hermitty.cluster.local import LocalPlacement

            return LocalPlacement(state, count)
        case ListChoice(path=path):
            from hermitty.cluster.listed import ListedPlacement

            return ListedPlacement(path)
        case RayChoice(address=address, options=options):
            from hermitty.cluster.ray import RayOptions, RayPlacement

            agent = tuple(
                word for name in ("tls_cert", "tls_key") if name in options for word in (_flag(name), options[name])
            )
            usual = RayOptions()
            return RayPlacement(
                RayOptions(
                    address=address,
                    namespace=options.get("namespace", usual.namespace),
                    state=options.get("state", usual.state),
                    authority=options.get("authority", ""),
                    agent=agent,
                )
            )


def wanted_of(choice: Choice) -> PlaceSpec:
    """Return what each workspace gets."""
    return choice.wanted if isinstance(choice, RayChoice) else PlaceSpec("")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e6:
        raise InvalidRequest(f"cpu is a number of cores, not {text!r}")
    return number


def _bytes(text: str) -> int:
    lower = text.lower().removesuffix("b").removesuffix("i")
    unit = lower[-1:] if lower[-1:].isalpha() else ""
    digits = lower.removesuffix(unit)
    if unit not in _UNITS or not digits.isascii() or not digits.isdigit():
        raise InvalidRequest(f"memory is a number of bytes, such as 512m or 4g, not {text!r}")
    return int(digits) * _UNITS[unit]
