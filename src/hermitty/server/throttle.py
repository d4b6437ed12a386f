"""How often somebody may try. Pure: the time is given, and what is remembered is bounded."""

from collections import OrderedDict
from dataclasses import dataclass

# More than this many are not told apart: who was not seen for longest is forgotten.
_MOST_KEYS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Throttle:
    """A bucket for each key: `burst` tries at once, and then `per_s` in the long run."""

    def __init__(self, burst: float, per_s: float) -> None:
        self._burst = burst
        self._per_s = per_s
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def configure(self, burst: float, per_s: float) -> None:
        """Go on with other limits."""
        self._burst, self._per_s = burst, per_s

    def wait_s(self, key: str, now: float) -> float:
        """Return how long to wait before the next try; 0 is now."""
        bucket = self._buckets.get(key)
        if bucket is None:
            return 0.0
        missing = 1 - self._filled(bucket, now)
        return max(0.0, missing / self._per_s)

    def take(self, key: str, now: float) -> float:
        """Count a try, and return 0, or how long to wait instead."""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(self._burst, now)
            if len(self._buckets) > _MOST_KEYS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
            bucket.tokens = self._filled(bucket, now)
            bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self._per_s
        bucket.tokens -= 1
        return 0.0

    def _filled(self, bucket: _Bucket, now: float) -> float:
        return min(self._burst, bucket.tokens + max(0.0, now - bucket.at) * self._per_s)
