"""A second reading of a line of bash, by tree-sitter, compared with ours.

It knows less: it takes words behind a redirection for more targets of it, and loses commands after some here-documents.
So it never adds anything; where it differs, the line is not analysed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from hermitty.policy.syntax.commands import ArithmeticCommand, Conditional, Simple
from hermitty.policy.syntax.script import Script
from hermitty.policy.syntax.tree import walk

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SHELLS = frozenset(("bash", "sh"))
# Commands that tree-sitter gives a shape of their own, in which words are not arguments.
_SHAPED = frozenset(("[", "declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"))
# Between the children of these stand only blanks.
_STRUCTURE = frozenset(
    (
        *("program", "command", "pipeline", "list", "redirected_statement", "negated_command", "subshell", "do_group"),
        *("compound_statement", "if_statement", "elif_clause", "else_clause", "while_statement", "for_statement"),
        *("c_style_for_statement", "case_statement", "case_item", "function_definition", "file_redirect"),
        *("herestring_redirect", "command_name", "declaration_command", "unset_command", "test_command", "array"),
        *("command_substitution", "process_substitution", "variable_assignments"),
    )
)
_CONTENT = frozenset(
    (
        *("word", "raw_string", "string", "string_content", "ansi_c_string", "translated_string", "concatenation"),
        *("number", "comment", "simple_expansion", "expansion", "variable_name", "special_variable_name", "subscript"),
        *("arithmetic_expansion", "binary_expression", "unary_expression", "postfix_expression", "ternary_expression"),
        *("parenthesized_expression", "test_operator", "regex", "extglob_pattern", "brace_expression"),
        *("variable_assignment", "file_descriptor", "heredoc_redirect", "heredoc_start", "heredoc_body"),
        *("heredoc_content", "heredoc_end"),
    )
)
_BLANK = b" \t\n"


@dataclass(slots=True)
class _Found:
    """Where the names of commands and their arguments begin, in bytes."""

    names: set[int] = field(default_factory=set)
    arguments: set[int] = field(default_factory=set)


# The scanner of tree-sitter-bash looks characters up in a table of bytes, and crashes on others. These have the same
# length, and are part of a word like those that they stand for.
_ASCII = bytes(code if code < 128 else ord(".") for code in range(256))


def disagreement(line: str, script: Script) -> str | None:
    """Return how tree-sitter reads a line in another way; None if it agrees, or does not know the shell."""
    if script.shell not in _SHELLS or script.problems:
        return None
    source = line.encode("utf-8", "surrogatepass").translate(_ASCII)
    tree = _parser().parse(source)
    if tree.root_node.has_error:
        return "the second parser does not understand the line"
    theirs = _Found()
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if reason := _strange(node, source):
            return reason
        _collect(node, theirs, source)
        pending += node.children
    ours = _ours(script, line)
    if ours.names != theirs.names:
        return "the second parser finds other commands"
    if ours.arguments != theirs.arguments:
        return "the second parser finds other arguments"
    return None


@cache
def _parser() -> "Parser":
    # Loaded on first use: most programs that import hermitty judge no command.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _strange(node: "Node", source: bytes) -> str | None:
    if not node.is_named:
        return None
    if node.type not in _STRUCTURE and node.type not in _CONTENT:
        return f"the second parser finds an unknown `{node.type}`"
    if node.type == "file_redirect" and len(node.children_by_field_name("destination")) > 1:
        return "the second parser finds several targets of a redirection"
    if node.type in _STRUCTURE:
        at = node.start_byte
        for child in node.children:
            if _is_text(source[at : child.start_byte]):
                return "the second parser leaves something out"
            at = child.end_byte
        if node.children and _is_text(source[at : node.end_byte]):
            return "the second parser leaves something out"
    return None


def _is_text(gap: bytes) -> bool:
    return bool(gap.replace(b"\\\n", b"").strip(_BLANK))


def _collect(node: "Node", found: _Found, source: bytes) -> None:
    if node.type in ("declaration_command", "unset_command", "test_command"):
        found.names.add(node.start_byte)
    elif node.type == "compound_statement":
        if source.startswith(b"((", node.start_byte):
            found.names.add(node.start_byte)
    elif node.type in ("command", "heredoc_redirect"):
        arguments = [child.start_byte for child in node.children_by_field_name("argument")]
        name = node.child_by_field_name("name")
        if name is not None and name.text == b"time":
            if arguments and source[arguments[0] : arguments[0] + 3].split() == [b"-p"]:
                del arguments[0]
            found.names |= set(arguments[:1])
            del arguments[:1]
        elif name is not None:
            found.names.add(name.start_byte)
        found.arguments |= set(arguments)


def _ours(script: Script, line: str) -> _Found:
    found = _Found()
    for node in walk(script):
        if isinstance(node, Conditional | ArithmeticCommand):
            found.names.add(node.start)
        elif isinstance(node, Simple) and node.words:
            found.names.add(node.words[0].start)
            if node.words[0].source not in _SHAPED:
                found.arguments |= {word.start for word in node.words[1:]}
    if not line.isascii():
        found = _Found(_in_bytes(line, found.names), _in_bytes(line, found.arguments))
    return found


def _in_bytes(line: str, offsets: Iterable[int]) -> set[int]:
    ends = [0, *accumulate(len(char.encode("utf-8", "surrogatepass")) for char in line)]
    return {ends[offset] for offset in offsets}
