"""Why a sandbox does not work here, and what helps: facts about the machine, and the sentences that go with them."""

from dataclasses import dataclass
from pathlib import Path

from hermitty.sandbox.probe import Abilities


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the kernel and the system say about user namespaces. None: it does not say."""

    clone_allowed: str | None = None  # kernel.unprivileged_userns_clone, of Debian and Arch
    most_namespaces: str | None = None  # user.max_user_namespaces
    apparmor_restricts: str | None = None  # kernel.apparmor_restrict_unprivileged_userns, of Ubuntu
    in_container: bool = False
    seccomp_mode: str | None = None  # of this process: 2 is a filter


def look_around(root: Path = Path("/")) -> Surroundings:
    """Read them."""
    status = _text(root / "proc/self/status") or ""
    mode = next((line.split()[1] for line in status.splitlines() if line.startswith("Seccomp:")), None)
    return Surroundings(
        clone_allowed=_text(root / "proc/sys/kernel/unprivileged_userns_clone"),
        most_namespaces=_text(root / "proc/sys/user/max_user_namespaces"),
        apparmor_restricts=_text(root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        in_container=(root / ".dockerenv").exists() or (root / "run/.containerenv").exists(),
        seccomp_mode=mode,
    )


def advise(found: Abilities, around: Surroundings) -> tuple[str, ...]:
    """Say what would make bubblewrap work; nothing when it works."""
    if found.bubblewrap.works:
        return ()
    if found.bubblewrap.program is None:
        return ("install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap`, `pacman -S bubblewrap`",)
    advice = []
    if around.apparmor_restricts == "1":
        advice.append(
            "AppArmor restricts user namespaces (Ubuntu 23.10 and later): install the profile of bubblewrap "
            "(`apt install apparmor-profiles`, then link bwrap-userns-restrict into /etc/apparmor.d and reload), "
            "or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
        )
    if around.clone_allowed == "0":
        advice.append("user namespaces are switched off: `sysctl kernel.unprivileged_userns_clone=1`")
    if around.most_namespaces == "0":
        advice.append("user namespaces are switched off: `sysctl user.max_user_namespaces=15000`")
    if around.in_container or around.seccomp_mode == "2":
        advice.append(
            "this is a container, or a process with a seccomp filter, and such filters forbid namespaces: run the "
            "container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or let the "
            "container be the sandbox"
        )
    return tuple(advice) or (f"bubblewrap says: {found.bubblewrap.problem}; it needs version 0.8 and user namespaces",)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
