"""What the policy says about a command line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hermitty.policy.arguments import Arg
from hermitty.policy.effects import Effect, Finding, Level, Verdict
from hermitty.policy.findings import unclear
from hermitty.policy.record import Piece, Record
from hermitty.policy.rules import Ruling, Says

# More would not be read.
_MAX_REASONS = 30
_ORDER = list(Effect)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a line may run, how grave it is, and why. `parts` are its commands, for showing the line in colours."""

    verdict: Verdict
    level: Level
    reasons: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    rule: str | None = None
    suggested_rule: Mapping[str, object] | None = None
    parts: tuple[Piece, ...] = field(default=())

    @property
    def decision(self) -> str:
        """Return the name that users know: "allow", "ask" or "block"."""
        return self.verdict.label

    @property
    def is_allowed(self) -> bool:
        """Tell whether the line may run without a question."""
        return self.verdict is Verdict.ALLOW

    def segments(self, length: int) -> list[tuple[int, int, Verdict | None]]:
        """Cut the line, of so many characters, into pieces with one verdict each: the innermost command counts.

        What belongs to no command, such as `&&`, has none.
        """
        painted: list[Verdict | None] = [None] * length
        for part in sorted(self.parts, key=lambda one: (one.start - one.end, one.start)):
            end = min(part.end, length)
            painted[part.start : end] = [part.verdict] * max(0, end - part.start)
        pieces: list[tuple[int, int, Verdict | None]] = []
        start = 0
        for at in range(1, length + 1):
            if at == length or painted[at] is not painted[start]:
                pieces.append((start, at, painted[start]))
                start = at
        return pieces

    def to_dict(self) -> dict[str, object]:
        """Return it as it goes over the wire."""
        return {
            "decision": self.decision,
            "level": self.level.label,
            "reasons": list(self.reasons),
            "effects": [effect.value for effect in self.effects],
            "commands": [list(words) for words in self.commands],
            "rule": self.rule,
            "suggested_rule": None if self.suggested_rule is None else dict(self.suggested_rule),
            "parts": [
                {"start": part.start, "end": part.end, "verdict": part.verdict.label, "level": part.level.label}
                for part in self.parts
            ],
        }


def decided(record: Record) -> Decision:
    """Make the decision from all that was found: the gravest of it counts."""
    found = record.found
    effects = {one.effect for one in found if one.effect is not None}
    return Decision(
        max((one.verdict for one in found), default=Verdict.ALLOW),
        max((one.level for one in found), default=Level.LOW),
        _reasons(found),
        tuple(sorted(effects, key=_ORDER.index)),
        tuple(dict.fromkeys(tuple(map(_shown, call.argv)) for call in record.calls)),
        parts=_distinct(record.pieces),
    )


def ruled(decision: Decision, ruling: Ruling) -> Decision:
    """Return the decision after the rules: what they deny is refused like a block, and they never lift one."""
    rule = None if ruling.rule is None else ruling.rule.id
    match ruling.says:
        case Says.DENY:
            verdict = Verdict.BLOCK
        case Says.ALLOW if decision.verdict is not Verdict.BLOCK:
            return replace(decision, verdict=Verdict.ALLOW, rule=rule)
        case Says.ASK if rule is not None:
            verdict = max(decision.verdict, Verdict.ASK)
        case _:
            return decision
    return replace(decision, verdict=verdict, rule=rule, reasons=(ruling.reason, *decision.reasons))


def undecided(reason: str, length: int = 0) -> Decision:
    """Make the decision about a line that cannot be analysed at all."""
    finding = unclear(reason)
    parts = (Piece(0, length, finding.verdict, finding.level),) if length else ()
    return Decision(finding.verdict, finding.level, (reason,), (Effect.UNKNOWN,), parts=parts)


def _reasons(found: Iterable[Finding]) -> tuple[str, ...]:
    """Return the reasons to ask, the gravest first, each once."""
    grave = sorted((one for one in found if one.verdict is not Verdict.ALLOW), key=_gravity)
    reasons = list(dict.fromkeys(one.reason for one in grave))
    if len(reasons) > _MAX_REASONS:
        reasons[_MAX_REASONS:] = [f"and {len(reasons) - _MAX_REASONS} more"]
    return tuple(reasons)


def _shown(arg: Arg) -> str:
    return arg.shown if arg.text is None else arg.text


def _gravity(finding: Finding) -> tuple[int, int]:
    return -finding.verdict, -finding.level


def _distinct(parts: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join what was said about the same piece, as in a loop that was gone through twice."""
    joined: dict[tuple[int, int], Piece] = {}
    for part in parts:
        key = part.start, part.end
        other = joined.get(key, part)
        joined[key] = Piece(*key, max(part.verdict, other.verdict), max(part.level, other.level))
    return tuple(joined[key] for key in sorted(joined))
