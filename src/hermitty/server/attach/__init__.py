"""Viewers of terminals over WebSockets: exact bytes by offset, or the screen where bytes are missing."""

from hermitty.server.attach.attachments import Attachments, refuse
from hermitty.server.attach.limits import AttachLimits

__all__ = ["AttachLimits", "Attachments", "refuse"]
