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
from hermitty.shell.launch import installed_shells

__all__ = [
    "Answer",
    "Command",
    "HostedProcess",
    "OutputSlice",
    "Process",
    "RecordingInfo",
    "Recordings",
    "Runtime",
    "SettingsSource",
    "Terminal",
    "build_runtime",
    "installed_shells",
    "processes",
]
