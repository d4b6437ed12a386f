"""The names that doors (command line, server, adapters, facade) may use from below."""

from hermitty.engine.command import Command, OutputSlice
from hermitty.engine.interact import Answer
from hermitty.engine.oneshot import Process
from hermitty.engine.terminal import Terminal
from hermitty.host.base import HostedProcess
from hermitty.pty import processes
from hermitty.runtime.build import build_runtime
from hermitty.runtime.recording.recordings import Recordings
from hermitty.runtime.recording.segments import RecordingInfo
from hermitty.runtime.runtime import Runtime
from hermitty.runtime.settings.source import SettingsSource
from hermitty.sandbox.advice import advise, look_around
from hermitty.sandbox.groups import our_hierarchies
from hermitty.sandbox.probe import abilities
from hermitty.sandbox.spec import Effective, Sandbox
from hermitty.shell.launch import installed_shells
from hermitty.vt.command_places import places_of

__all__ = [
    "Answer",
    "Command",
    "Effective",
    "HostedProcess",
    "OutputSlice",
    "Process",
    "RecordingInfo",
    "Recordings",
    "Runtime",
    "Sandbox",
    "SettingsSource",
    "Terminal",
    "abilities",
    "advise",
    "build_runtime",
    "installed_shells",
    "look_around",
    "our_hierarchies",
    "places_of",
    "processes",
]
