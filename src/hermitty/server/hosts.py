"""Whether a request was meant for this server, and whether a page of another site sends it.

A page of an attacker can let its own name lead to our address (DNS rebinding): the browser then sends that name as
`Host`. And it can send requests to our address: the browser then sends the page's site as `Origin`. Numbers cannot be
rebound, so an address in digits is fine as far as it can be one of ours.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%25[\w.-]+)?\]|[\w.-]{1,253})(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://([^/?#@\s]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HostName:
    """The host of an address, in lower case without brackets, and its port if it was given."""

    name: str
    port: int | None

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """Return it as an address, unless it is a name."""
        try:
            return ipaddress.ip_address(self.name)
        except ValueError:
            return None


def parse_host(text: str) -> HostName | None:
    """Read `name`, `name:port` or `[::1]:port`; None for anything else."""
    found = _HOST.fullmatch(text)
    if found is None:
        return None
    port = int(found[2]) if found[2] else None
    if port is not None and not 0 < port < 65536:
        return None
    return HostName(found[1].strip("[]").lower().rstrip("."), port)


@dataclass(frozen=True, slots=True)
class Names:
    """What the server may be called. `bound` is the address that it listens on."""

    bound: str
    others: tuple[str, ...] = ()  # `*.example.org` stands for everything below

    def has(self, host: HostName | None) -> bool:
        """Tell whether the server may be called that."""
        if host is None or not host.name:
            return False
        if host.name == "localhost" or host.name.endswith(".localhost") or host.name == self.bound.lower():
            return True
        if any(_fits(host.name, other.lower()) for other in self.others):
            return True
        address = host.address
        if address is None:
            return False
        return address.is_loopback if is_loopback(self.bound) else is_wildcard(self.bound)


def is_own_origin(origin: str, host: HostName, *, allowed: Iterable[str] = ()) -> bool:
    """Tell whether a page's site is the server itself, as the request names it, or one that is allowed."""
    found = _ORIGIN.fullmatch(origin)
    if found is None:
        return False
    scheme = found[1].lower()
    site = parse_host(found[2])
    if site is None:
        return False
    if any(origin.lower() == each.lower().rstrip("/") for each in allowed):
        return True
    # A proxy may speak TLS for us: then the request says another scheme than the page, and has no port either.
    ports = {host.port} if host.port is not None else {None, *_DEFAULT_PORTS.values()}
    standard = _DEFAULT_PORTS[scheme]
    return site.name == host.name and (site.port in ports or (site.port is None and standard in ports))


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_wildcard(host: str) -> bool:
    """Tell whether it stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _fits(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern
