"""Scripts as trees of tree-sitter's grammar, and which of their statements and branches there are."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import tree_sitter_powershell
from tree_sitter import Language, Node, Parser

from powershell.values import PowerShellError

PARSER = Parser(Language(tree_sitter_powershell.language()))
STATEMENTS = {"pipeline", "if_statement", "foreach_statement", "while_statement", "do_statement", "try_statement"}
STATEMENTS |= {"flow_control_statement", "function_statement"}


@dataclass
class Walked:
    """Statements that ran and outcomes of conditions, by script and place."""

    ran: set[tuple[str, int, int]] = field(default_factory=set)
    outcomes: set[tuple[str, int, int, bool]] = field(default_factory=set)


@functools.cache
def syntax(script: str) -> Node:
    """The tree; a script that the grammar does not accept is an error."""
    root = PARSER.parse(script.encode()).root_node
    if root.has_error:
        raise PowerShellError("the grammar does not accept the script")
    return root


def named(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)


@functools.cache
def parts(node: Node) -> list[Node]:
    """What a node is made of, without comments, which may stand anywhere."""
    return [child for child in node.named_children if child.type != "comment"]


@functools.cache
def word(node: Node) -> str:
    assert node.text is not None
    return node.text.decode()


def branches(name: str, script: str) -> tuple[set[tuple[str, int, int]], set[tuple[str, int, int, bool]]]:
    """All statements of a script, and both outcomes of all its conditions."""
    ran: set[tuple[str, int, int]] = set()
    outcomes: set[tuple[str, int, int, bool]] = set()

    def visit(node: Node) -> None:
        if node.type in STATEMENTS and node.parent is not None and node.parent.type == "statement_list":
            ran.add((name, *node.start_point))
        if node.type in {"if_statement", "elseif_clause"}:
            outcomes.update({(name, *node.start_point, True), (name, *node.start_point, False)})
        for child in node.named_children:
            visit(child)

    visit(syntax(script))
    return ran, outcomes
