"""The usual way to judge command lines, as a baseline: regular expressions over the text, and a list of safe words.

The patterns are those of the documents this project began with: what is refused, what is asked about, and what may run.
"""

import re

_REFUSED = re.compile(
    r"rm\s+(?:-rf?|--recursive)\s+/|mkfs|dd\s+.*of=/dev/(?:sd|hd|nvme)|>>?\s*/dev/(?:sd|hd|nvme)", re.DOTALL
)
_DANGEROUS = re.compile(
    r"rm\s+-rf|sudo\s+(?:chmod|chown|mkfs)|(?:curl|wget).*\|\s*(?:ba)?sh|git\s+push\s+--force|git\s+reset\s+--hard"
    r"|apt-get\s+(?:remove|purge)|docker\s+(?:rm|rmi)\b|chmod|chown|npm\s+uninstall\s+-g|kill\s+-9|docker\s+system\s+prune",
    re.DOTALL,
)
_SAFE = re.compile(
    r"\s*(?:cat|head|tail|less|more|echo|pwd|ls|date|whoami|git\s+(?:status|diff|log)|printenv|env|set|cd|source|\.)"
    r"(?:\s|$)"
)


def judge_by_regexes(line: str) -> str:
    """Return "allow", "ask" or "block"."""
    if _REFUSED.search(line):
        return "block"
    return "allow" if _SAFE.match(line) and not _DANGEROUS.search(line) else "ask"
