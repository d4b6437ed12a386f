"""Secrets in command lines, replaced by `***` before a line is kept.

A small table of the usual ways to put a password or a token on a command line. It is a net, not a wall: a secret that
looks like any other word is not recognised. References such as `$TOKEN` say nothing and stay.

Each pattern has the group `keep` before the secret and the group `secret`. Patterns start at a fixed text or at the
start of a word, and what lies between is bounded, so that the time grows with the length of the line only.
"""

import re

MASK = "***"

_NAMES = (
    r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|secret[_-]?key"
    r"|secret_key_base|credentials?)"
)
# A quoted text, perhaps never closed, or a run of plain characters.
_VALUE = r"""(?P<secret>\$'(?:\\.|[^'\\])*+'?|'[^']*+'?|"(?:\\.|[^"\\])*+"?|(?:\\.|[^\s'"\\;&|<>()])++)"""
_PREFIXES = r"(?:gh[opsur]_|github_pat_|glpat-|hf_|npm_|pypi-|xox[abeprs]-|sk-|sk_live_|AIza)"
_NEAR = r"[^;|&\n]{0,300}?"

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"(?P<keep>)(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))",
        # NAME=value, NAME: value in JSON, fish's set, PowerShell's $env:
        rf"(?<![\w.$-])(?P<keep>(?:[\w.]*{_NAMES}|\w+_pass|\w+_pwd)\d*=){_VALUE}",
        rf'(?P<keep>\\?"[\w-]*{_NAMES}\\?"\s*:\s*\\?")(?P<secret>(?:[^"\\]|\\[^"])++)',
        rf"(?P<keep>\bset\s+(?:-[\w-]+\s+){{1,4}}\w*{_NAMES}\s+){_VALUE}",
        rf"(?P<keep>\$env:\w*{_NAMES}\s*=\s*){_VALUE}",
        # --password value, --api-key=value; not --no-password, not docker's --secret id=name
        rf"(?<![\w-])(?P<keep>--?+(?!no-)(?:[\w-]*[_-])?(?:{_NAMES}|pass)(?:=|\s+(?!-)))(?!id=|type=){_VALUE}",
        # scheme://user:secret@host
        r"""(?<![a-z0-9+.-])(?P<keep>[a-z][a-z0-9+.-]*://[^\s/:@'"]*:)(?P<secret>[^\s@/'"]+)(?=@)""",
        # headers
        r"""(?P<keep>\b(?:proxy-)?authorization\s*:\s*(?:(?:bearer|basic|token|digest)\s+)?)(?P<secret>[^\s'"]+)""",
        r"""(?P<keep>\b(?:x-api-key|x-auth-token|private-token|api-key)\s*:\s*)(?P<secret>[^\s'"]+)""",
        # programs with options of their own
        rf"""(?P<keep>\bcurl\b{_NEAR}\s(?:-u\s*|--user[ =])['"][^:'"]*:)(?P<secret>[^'"]+)""",
        rf"""(?P<keep>\bcurl\b{_NEAR}\s(?:-u\s*|--user[ =])['"]?[^\s:'"]*:)(?P<secret>[^\s'"]+)""",
        rf"(?P<keep>\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump)\b{_NEAR}\s-p)(?=\S){_VALUE}",
        rf"(?P<keep>\bsshpass\s+-p\s*){_VALUE}",
        rf"(?P<keep>\b(?:docker|podman|az)\s+login\b{_NEAR}\s-p[ =]){_VALUE}",
        rf"(?P<keep>\bredis-cli\b{_NEAR}\s-a\s+){_VALUE}",
        rf"(?P<keep>\s-pass(?:in|out)?\s+pass:){_VALUE}",
        # tokens that tell what they are by their form
        rf"(?P<keep>)\b(?P<secret>{_PREFIXES}[\w-]{{16,}}|(?:AKIA|ASIA)[0-9A-Z]{{16}})",
        r"(?P<keep>)\b(?P<secret>eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)",
    )
)

# The whole value is a variable or a substitution.
_REFERENCE = re.compile(r'"?(?:\$(?:[\w:]*|\{[^}]*\}|\([^)]*\)?)|`.*)"?', re.DOTALL)

_SECRET_NAME = re.compile(rf"[\w.]*(?:{_NAMES}|_pass|_pwd)\d*", re.IGNORECASE)


def mask_secrets(line: str) -> str:
    """Return the line with what looks like a secret replaced."""
    for pattern in _PATTERNS:
        line = pattern.sub(_masked, line)
    return line


def names_a_secret(variable: str) -> bool:
    """Tell whether a variable of this name usually holds a secret."""
    return _SECRET_NAME.fullmatch(variable) is not None


def _masked(found: re.Match[str]) -> str:
    if _REFERENCE.fullmatch(found["secret"]):
        return found.group()
    return found["keep"] + MASK
