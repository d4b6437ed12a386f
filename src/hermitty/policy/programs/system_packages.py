"""Package managers of systems: listing and showing is free; removing software is graver than installing it."""

import re
from collections.abc import Sequence

from hermitty.policy.arguments import Arg
from hermitty.policy.context import Judge
from hermitty.policy.effects import Effect, Finding, Level
from hermitty.policy.findings import ask, unclear
from hermitty.policy.options import Grammar
from hermitty.policy.programs.subcommands import Asked, Tool, asked
from hermitty.policy.programs.tables import Program, named

_CHANGES_SOFTWARE = Asked(Level.MEDIUM, (Effect.WRITE,), "changes what software is installed")

# `-o` and `-c` set anything, also commands that apt runs.
_APT_GLOBAL = (
    "-h,--help -v,--version -q --quiet? -a,--all-versions -f,--full --installed --upgradable --manual-installed "
    "--names-only -n -V,--verbose-versions --no-all-versions -i,--important --recurse --no-recommends --no-suggests "
    "--no-conflicts --no-breaks --no-replaces --no-enhances --no-depends --no-pre-depends -t,--target-release: "
    "-o,--option:exec -c,--config-file:exec -p,--pkg-cache:write -s,--src-cache:write "
)
_APT_READS = Grammar(_APT_GLOBAL, "plain*")
_APT: dict[str, Program] = {
    **named("list show search policy showsrc depends rdepends moo help madison", _APT_READS),
    **asked("""
    install reinstall satisfy build-dep: medium write,privilege installs software
    remove purge autoremove autopurge auto-remove dselect-upgrade: high delete,privilege removes software
    upgrade full-upgrade dist-upgrade: medium write,privilege replaces software
    update: low network,privilege gets lists of software
    download source changelog: low network gets files from another machine
    clean autoclean auto-clean distclean: low delete deletes downloaded packages
    edit-sources: high exec,privilege changes where software comes from
    check: low privilege locks the lists of software
    """),
}
_APT_CACHE = dict.fromkeys(
    (
        *("show", "search", "policy", "showpkg", "depends", "rdepends", "pkgnames", "stats", "showsrc", "madison"),
        *("unmet", "dump", "dumpavail", "showauto"),
    ),
    _APT_READS,
)
_APT_MARK = dict.fromkeys(("showauto", "showmanual", "showhold", "showheld", "showinstall"), _APT_READS)

_DPKG = Grammar(
    "--help --version -l,--list -L,--listfiles -s,--status -S,--search -p,--print-avail -c,--contents -I,--info "
    "-f,--field --get-selections --print-architecture --print-foreign-architectures --compare-versions "
    "--assert-multi-arch -W,--show --no-pager -C,--audit -V --verify? "
    "-i,--install -r,--remove -P,--purge --unpack --configure -a,--pending --set-selections --clear-selections "
    "--add-architecture --remove-architecture --update-avail --merge-avail --clear-avail --forget-old-unavail "
    "-x,--extract -X,--vextract -e,--control -R --fsys-tarfile --ctrl-tarfile -b,--build "
    "--root:exec --admindir:exec --instdir:exec --pre-invoke:exec --post-invoke:exec --status-logger:exec --log:write",
    "ask*",
)
_DPKG_READS = frozenset(
    {
        *("--help", "--version", "-l", "-L", "-s", "-S", "-p", "-c", "-I", "-f", "--get-selections", "-C", "-V", "-W"),
        *("--print-architecture", "--print-foreign-architectures", "--compare-versions", "--assert-multi-arch"),
        *("--no-pager", "--verify", "--fsys-tarfile", "--ctrl-tarfile"),
    }
)


def _dpkg(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _DPKG.parse(args, name)
    found = _DPKG.option_findings(parsed, name, judge.here)
    given = {one.option.name for one in parsed.options}
    if parsed.has("-r", "-P"):
        return [*found, ask("removes software", Level.HIGH, Effect.DELETE)]
    if given and given <= _DPKG_READS:
        return found
    return [*found, ask("changes what software is installed, or unpacks files", Level.HIGH, Effect.WRITE)]


_RPM = Grammar(
    "--help --version -qailfpcdRvhVK --query --all --info --list --files --file --package --configfiles --docfiles "
    "--requires --provides --changelog --scripts --qf,--queryformat: --last --whatprovides --whatrequires --conflicts "
    "--obsoletes --state --verify --checksig --querytags --showrc --eval:ask -E:ask -D,--define:exec --load:exec "
    "--rcfile:exec --macros:exec --pipe:exec --root:exec --dbpath:exec -e,--erase -i,--install -U,--upgrade "
    "-F,--freshen --import --rebuilddb --initdb --reinstall",
    "plain*",
)


def _rpm(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    parsed = _RPM.parse(args, name)
    found = _RPM.findings(parsed, name, judge.here)
    if parsed.has("-q", "--query", "--version", "--help", "--querytags") and not parsed.has("--rebuilddb", "--initdb"):
        urls = [arg for arg in parsed.operands if "://" in (arg.text or "")]
        return found + [ask("gets a package from elsewhere", Level.LOW, Effect.NETWORK, at=arg) for arg in urls]
    if parsed.has("-e"):
        return [*found, ask("removes software", Level.HIGH, Effect.DELETE)]
    return [*found, ask("changes what software is installed", Level.HIGH, Effect.WRITE)]


_DNF_READS = Grammar(
    "-h,--help --version -q,--quiet -v,--verbose -C,--cacheonly --installed --available --all --upgrades "
    "--showduplicates --enabled --disabled --repo,--repoid: --color: -y,--assumeyes --nogpgcheck --setopt:exec "
    "-c,--config:exec --installroot:exec --enableplugin:exec --downloaddir:write --repofrompath:network",
    "plain*",
)
_DNF: dict[str, Program] = {
    **named("list info search provides whatprovides repolist repoinfo repoquery deplist help", _DNF_READS),
    **asked("""
    install localinstall reinstall groupinstall upgrade update downgrade distro-sync: \
        medium write,privilege installs software
    remove erase autoremove groupremove: high delete,privilege removes software
    makecache check-update updateinfo download: low network gets lists of software
    clean history mark module group config-manager copr swap shell: \
        medium write,privilege changes software or where it comes from
    """),
}
_PACMAN = re.compile(r"-[QFSD][a-z]*|--(?:query|files|sync|remove|upgrade|database|help|version)|-[RUTVh][a-z]*")
_PACMAN_READS = re.compile(r"-Q[a-z]*|-S[silgpq]*[sil][silgpq]*|-F[lsxqa]*|-V|-h|--query|--help|--version|--files")


def _pacman(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge by the first word: the operation."""
    if not args or args[0].text is None or any(arg.text is None and arg.may_be_option for arg in args):
        return [unclear(f"what {name} does is only known when it runs")]
    first = args[0].text
    others = [arg.text or "" for arg in args[1:] if arg.prefix.startswith("-")]
    if _PACMAN_READS.fullmatch(first) and not others:
        return []
    if first.startswith(("-R", "--remove")):
        return [ask("removes software", Level.HIGH, Effect.DELETE)]
    level = Level.MEDIUM if _PACMAN.fullmatch(first) else Level.HIGH
    return [ask("changes what software is installed", level, Effect.WRITE)]


_BREW_READS = Grammar(
    "-h,--help -v,--verbose -q,--quiet -d,--debug -1lrt --formula --formulae --cask --casks --versions --full-name "
    "--pinned --multiple --json? --installed --tree --include-build --for-each --analytics --installed-on-request "
    "--github^network --eval-all^exec",
    "plain*",
)
_BREW: dict[str, Program] = {
    **named("list ls info abv search deps uses leaves desc config --prefix --cellar --cache --repository", _BREW_READS),
    **named("help commands --version -v --help -h", _BREW_READS),
    **asked("""
    install reinstall upgrade tap bundle: medium network,exec installs software
    uninstall remove rm autoremove untap: high delete removes software
    update outdated fetch doctor livecheck audit: low network,exec gets lists of software
    cleanup: medium delete deletes downloaded and old software
    services: high process changes services
    link unlink pin unpin switch: medium write changes which software is used
    edit create sh ruby irb test style cat home: medium exec runs other programs
    """),
}


def _brew(name: str, args: Sequence[Arg], judge: Judge) -> list[Finding]:
    """Judge by the first word, which may look like an option: `brew --prefix`."""
    if not args or args[0].text is None:
        return [unclear(f"what {name} does is only known when it runs")] if args else []
    program = _BREW.get(args[0].text, _CHANGES_SOFTWARE)
    if isinstance(program, Grammar):
        return program.judge(f"{name} {args[0].text}", args[1:], judge.here)
    return program(f"{name} {args[0].text}", args[1:], judge)


_APK: dict[str, Program] = {
    **named(
        "info list search policy version stats",
        Grammar("-aevqILRsdr --all --installed -X,--repository:network -p,--root:ask --cache-dir:write", "plain*"),
    ),
    **asked("""
    add fix upgrade: medium write,privilege installs software
    del: high delete,privilege removes software
    update fetch cache: low network gets lists of software
    """),
}
_READS_PLAIN = Grammar(
    "-h,--help --all --json --columns: --user --system --app --runtime --verbose --root:ask", "plain*"
)
_SNAP: dict[str, Program] = {
    **named("list info version services connections interfaces changes help", _READS_PLAIN),
    **asked("""
    find search remote-ls: low network asks a store
    install refresh update: medium write,privilege installs software
    remove uninstall: high delete,privilege removes software
    run: medium exec runs a program
    """),
}

PROGRAMS: dict[str, Program] = {
    **named("apt apt-get aptitude", Tool(_APT, _APT_GLOBAL + "-y,--yes,--assume-yes", other=_CHANGES_SOFTWARE)),
    "apt-cache": Tool(_APT_CACHE, _APT_GLOBAL, other=_CHANGES_SOFTWARE),
    "apt-mark": Tool(_APT_MARK, _APT_GLOBAL, other=_CHANGES_SOFTWARE),
    "dpkg": _dpkg,
    "dpkg-query": Grammar(
        "--help --version -l,--list -L,--listfiles -s,--status -S,--search -p,--print-avail -W,--show "
        "-c,--control-path --control-list --control-show --no-pager -f,--showformat: --load-avail --admindir:exec "
        "--root:exec",
        "plain*",
    ),
    **named("rpm rpmquery", _rpm),
    **named(
        "dnf yum microdnf", Tool(_DNF, "-h,--help --version -q,--quiet -y,--assumeyes -C", other=_CHANGES_SOFTWARE)
    ),
    "pacman": _pacman,
    "brew": _brew,
    "apk": Tool(_APK, "-h,--help -V,--version -q,--quiet -v,--verbose", other=_CHANGES_SOFTWARE),
    **named("snap flatpak", Tool(_SNAP, "--help --version", other=_CHANGES_SOFTWARE)),
    **asked(
        """
    apt-key add-apt-repository apt-add-repository: high write,privilege changes whose software is trusted
    zypper emerge xbps-install nix-env nix yay paru guix: medium write,exec changes what software is installed
    xbps-remove: high delete removes software
    choco winget scoop port: medium write,exec changes what software is installed
    update-alternatives alternatives: medium write,privilege changes which software is used
    """,
        "--help --version",
    ),
}
