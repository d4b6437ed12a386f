"""The messages between a gateway and the agent of a node.

Whoever connects says `Hello`; the agent answers with a `Challenge`, in which it proves that it knows the secret of its
node; the gateway proves the same, and is welcome or refused. Nothing else is understood before that. What has the same
meaning on the link between an agent and its durable host is the same message.

`Hello`, `Challenge`, `Proof`, `Refused`, `Status`, `NodeReport` and `Drain` keep their fields in every version.
"""

from dataclasses import dataclass
from typing import Literal

from hermitty.wire.hostlink.messages import (
    Acknowledge,
    Close,
    Directory,
    DiscardInput,
    Done,
    DropDirectory,
    Exited,
    Failed,
    Found,
    FoundItem,
    FoundList,
    Goodbye,
    Inspect,
    MakeDirectory,
    Malformed,
    Number,
    RememberProgram,
    Resize,
    SignalForeground,
    SignalSince,
    State,
    Write,
)

# Raised whenever a gateway and an agent of different versions could misunderstand each other.
VERSION = 1

Role = Literal["gateway", "observer"]


# The beginning.


@dataclass(frozen=True, slots=True)
class Hello:
    """Whoever connects says this first. `gateway` tells one gateway from another; `nonce` is hexadecimal."""

    version: int
    release: str
    role: Role
    gateway: str
    nonce: str
    programs: tuple[str, ...]  # where are these? The answer comes with the welcome


@dataclass(frozen=True, slots=True)
class Challenge:
    """The agent proves that it knows the secret, and wants the same proof."""

    version: int
    release: str
    nonce: str
    proof: str


@dataclass(frozen=True, slots=True)
class Proof:
    """Whoever connected knows the secret, too."""

    proof: str


@dataclass(frozen=True, slots=True)
class Welcome:
    """The gateway has the terminals of the node now. `ticks` is the node's idea of now, in hundredths of a second.

    `cpus` and `memory_bytes` are what the machine has, if it tells.
    """

    node: str
    name: str
    incarnation: str
    environment: dict[str, str]
    programs: dict[str, str]
    ticks: int
    draining: bool
    cpus: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    """The agent takes no such connection, and ends it."""

    code: str
    message: str


# Requests. Each gets one answer with its number.


@dataclass(frozen=True, slots=True)
class InitialFile:
    """A file that is there before the shell starts; `text` has one character for each byte."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Open:
    """Start a program on a new PTY. Answer: Opened. `sandbox` is the order for it, as JSON."""

    request: int
    terminal: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    cols: int
    rows: int
    directory: str
    log_bytes: int
    files: tuple[InitialFile, ...]
    sandbox: str | None


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Use a terminal that nobody uses. Answer: Opened. Output is sent from `have` on.

    Output after `acknowledged` must stay there for the next gateway.
    """

    request: int
    terminal: str
    acknowledged: int
    have: int


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Read a private file of a terminal that was found. Answer: File."""

    request: int
    terminal: str
    name: str


@dataclass(frozen=True, slots=True)
class GetFile:
    """Read a private file of a terminal. Answer: File."""

    request: int
    handle: int
    name: str


@dataclass(frozen=True, slots=True)
class Start:
    """Start a program with pipes. Answer: Started. It ends with the connection."""

    request: int
    owner: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    stdin: bool
    merged: bool
    sandbox: str | None


@dataclass(frozen=True, slots=True)
class SignalProcess:
    """Signal a process with everything it started. Answer: Number."""

    request: int
    handle: int
    number: int


@dataclass(frozen=True, slots=True)
class CloseProcess:
    """Kill what is left of a process. Answer: Done."""

    request: int
    handle: int


@dataclass(frozen=True, slots=True)
class FindProgram:
    """Where is a program? Answer: Text."""

    request: int
    name: str


@dataclass(frozen=True, slots=True)
class CheckDirectory:
    """What is wrong with a directory? Answer: Text, with nothing if it can be entered."""

    request: int
    path: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Are you there? Answer: Pong."""

    request: int


@dataclass(frozen=True, slots=True)
class Status:
    """How is the node? Answer: NodeReport."""

    request: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Shall the node get new terminals? Answer: Done."""

    request: int
    draining: bool


# What needs no answer. The agent tells how much of it was done: see Applied.


@dataclass(frozen=True, slots=True)
class PutFile:
    """Write a private file of a terminal, all of it or nothing."""

    handle: int
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class DropFile:
    """Delete a private file of a terminal."""

    handle: int
    name: str


@dataclass(frozen=True, slots=True)
class ProcessInput:
    """Write to a process."""

    handle: int
    data: bytes


@dataclass(frozen=True, slots=True)
class CloseInput:
    """End the input of a process."""

    handle: int


# Answers.


@dataclass(frozen=True, slots=True)
class Opened:
    """A terminal that is now used by whoever asked. `sandbox` is what is enforced, as JSON."""

    request: int
    handle: int
    pid: int
    directory: str
    start: int
    end: int
    writes: int
    input_bytes: int  # received so far
    input_taken: int  # of these; the rest waits for a program to read
    sandbox: str | None


@dataclass(frozen=True, slots=True)
class File:
    """A file, if it was found."""

    request: int
    found: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Started:
    """A process that runs. `sandbox` is what is enforced, as JSON."""

    request: int
    handle: int
    pid: int
    sandbox: str | None


@dataclass(frozen=True, slots=True)
class Text:
    """A text, or nothing."""

    request: int
    value: str | None


@dataclass(frozen=True, slots=True)
class Pong:
    """I am here. `ticks` is the node's idea of now."""

    request: int
    ticks: int
    draining: bool


@dataclass(frozen=True, slots=True)
class NodeReport:
    """How a node is. Without a host of terminals, `incarnation` is empty; without a gateway, `gateway` is."""

    request: int
    node: str
    name: str
    release: str
    incarnation: str
    gateway: str
    draining: bool
    terminals: int
    output_bytes: int
    memory_bytes: int | None


# Events.


@dataclass(frozen=True, slots=True)
class Data:
    """Output of a terminal from `offset` on."""

    handle: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Applied:
    """So many of the things that need no answer have reached the host since the terminal was opened or taken over.

    Its programs have taken `input_taken` bytes of input since it was opened, or these were forgotten.
    """

    handle: int
    count: int
    input_taken: int


@dataclass(frozen=True, slots=True)
class ProcessOutput:
    """Output of a process: stream 1 or 2."""

    handle: int
    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ProcessExited:
    """A process is gone, and all of its output was sent."""

    handle: int
    code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class DrainChanged:
    """Somebody has said whether the node shall get new terminals."""

    draining: bool


@dataclass(frozen=True, slots=True)
class HostGone:
    """The host of the terminals has ended, and they with it."""

    reason: str


Request = (
    MakeDirectory | DropDirectory | Open | Found | TakeOver | ReadFile | GetFile | Inspect | SignalForeground
    | SignalSince | Close | Start | SignalProcess | CloseProcess | FindProgram | CheckDirectory | Goodbye | Ping
    | Status | Drain
)  # fmt: skip
Answer = Directory | Opened | FoundList | File | State | Number | Started | Text | Pong | NodeReport | Done | Failed
# What is said to a terminal, and counted.
Told = Write | Acknowledge | DiscardInput | Resize | RememberProgram | PutFile | DropFile
ToldProcess = ProcessInput | CloseInput
Event = Data | Applied | Exited | ProcessOutput | ProcessExited | DrainChanged | HostGone
Greeting = Hello | Challenge | Proof | Welcome | Refused
Message = Greeting | Request | Told | ToldProcess | Answer | Event | Malformed

__all__ = [
    "VERSION", "Acknowledge", "Answer", "Applied", "Challenge", "CheckDirectory", "Close", "CloseInput",
    "CloseProcess", "Data", "Directory", "DiscardInput", "Done", "Drain", "DrainChanged", "DropDirectory", "DropFile",
    "Event", "Exited", "Failed", "File", "FindProgram", "Found", "FoundItem", "FoundList", "GetFile", "Goodbye",
    "Greeting", "Hello", "HostGone", "InitialFile", "Inspect", "MakeDirectory", "Malformed", "Message", "NodeReport",
    "Number", "Open", "Opened", "Ping", "Pong", "ProcessExited", "ProcessInput", "ProcessOutput", "Proof", "PutFile",
    "ReadFile", "Refused", "RememberProgram", "Request", "Resize", "Role", "SignalForeground", "SignalProcess",
    "SignalSince", "Start", "Started", "State", "Status", "TakeOver", "Text", "Told", "ToldProcess", "Welcome",
    "Write",
]  # fmt: skip
