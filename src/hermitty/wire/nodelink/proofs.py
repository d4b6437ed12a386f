"""How both ends of a link prove that they know the secret of a node, without telling it.

Each end chooses a number that was never used before, and proves with both of them: what was overheard proves nothing
later. The two proofs differ in their first word, so that neither end can be made to give the other's.
"""

import hashlib
import hmac
from typing import Literal

NONCE_BYTES = 16


def proof(secret: bytes, side: Literal["agent", "gateway"], asked: str, answered: str) -> str:
    """Return the proof of one side; `asked` is the number of whoever connects, `answered` that of the agent."""
    text = "\0".join(("hermitty node link", side, asked, answered))
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def is_proof(given: str, secret: bytes, side: Literal["agent", "gateway"], asked: str, answered: str) -> bool:
    """Tell whether a proof is right, in a time that does not depend on how wrong it is."""
    return hmac.compare_digest(given.encode(), proof(secret, side, asked, answered).encode())
