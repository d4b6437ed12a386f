"""Going through a tree of nodes, and moving one to other offsets.

Text in backquotes and in here-documents that lose their tabs is read on its own and put back in place with `relocate`.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Node = Any  # any of the dataclasses of a line
N = TypeVar("N")


def children(node: Node) -> Iterator[Node]:
    """Iterate over the nodes directly inside of one."""
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            for item in value:
                if isinstance(item, tuple):
                    yield from item
                elif dataclasses.is_dataclass(item):
                    yield item
        elif dataclasses.is_dataclass(value):
            yield value


def walk(node: Node) -> Iterator[Node]:
    """Iterate over a node and everything inside of it, from left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def relocate(node: N, at: Callable[[int], int]) -> N:
    """Return the same tree with every offset mapped."""

    def move(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(move(item) for item in value)
        return relocate(value, at) if dataclasses.is_dataclass(value) else value

    fields = {field.name: move(getattr(node, field.name)) for field in dataclasses.fields(node)}  # type: ignore[arg-type]
    start, end = fields["start"], fields["end"]
    fields["start"], fields["end"] = at(start), at(end - 1) + 1 if end > start else at(end)
    return type(node)(**fields)
