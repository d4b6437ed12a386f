"""The summary of a pytest run: how many of what, which failed, and why."""

import re
from collections.abc import Sequence

_SUMMARY = re.compile(
    r"(?:=+ )?(?P<counts>(?:\d+ [a-z]+(?: [a-z]+)?(?:, )?){1,12}|no tests ran) in (?P<seconds>\d+\.\d+)s"
    r"(?: \([\d:]+(?: days?, [\d:]+)?\))?(?: =+)?"
)
_COUNT = re.compile(r"(\d+) ([a-z]+)")
_PLURALS = {"error": "errors", "warning": "warnings"}
_OUTCOME = re.compile(r"(FAILED|ERROR) (\S.*)")
_SHORT_SUMMARY = re.compile(r"=+ short test summary info =+")
# The end of a run holds what matters; hundreds of failures are told by their number.
_MAX_NAMED = 200


def parse_pytest(lines: Sequence[str]) -> dict[str, object] | None:
    """Read the last lines of pytest, quiet or not. None when it did not get as far as a summary."""
    end = next((at for at in range(len(lines) - 1, -1, -1) if _SUMMARY.fullmatch(lines[at].strip())), None)
    if end is None:
        return None
    found = _SUMMARY.fullmatch(lines[end].strip())
    assert found is not None
    counts = {_PLURALS.get(word, word): int(number) for number, word in _COUNT.findall(found["counts"])}
    begin = next((at for at in range(end, -1, -1) if _SHORT_SUMMARY.fullmatch(lines[at].strip())), end)
    failed: list[dict[str, object]] = []
    errors: list[dict[str, object]] = []
    for line in lines[begin:end]:
        outcome = _OUTCOME.fullmatch(line.rstrip())
        if outcome is None:
            continue
        test, _, reason = outcome[2].partition(" - ")
        named = failed if outcome[1] == "FAILED" else errors
        if len(named) < _MAX_NAMED:
            named.append({"test": test, "reason": reason or None})
    return {"counts": counts, "failed": failed, "errors": errors, "duration_s": float(found["seconds"])}
