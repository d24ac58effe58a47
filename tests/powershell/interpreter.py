"""Runs scripts over the syntax tree of tree-sitter's grammar, and remembers what was walked through.

Scopes are dynamic, names know no case, a pipeline of one value is that value, and a name that was never set is an error
(`Set-StrictMode -Version 3.0`): the traps that such scripts fall into.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from powershell.syntax import Walked, named, parts, syntax, word
from powershell.values import (
    STATIC,
    PowerShellError,
    Table,
    arithmetic,
    assign_member,
    call,
    collapsed,
    compare,
    enumerated,
    formatted,
    integer,
    member,
    number,
    text,
    truth,
)

ESCAPES = {"`n": "\n", '`"': '"', "``": "`", "`$": "$"}
SUFFIXES = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}


class BreakLoop(Exception):
    """`break`."""


class ReturnValue(Exception):
    """`return`."""

    def __init__(self, outputs: list[Any]) -> None:
        self.outputs = outputs


@dataclass
class Call:
    """A cmdlet as it was called: bound parameters by lower-case name, and what came down the pipeline."""

    name: str
    parameters: dict[str, Any]
    positional: list[Any]
    inputs: list[Any] | None


Cmdlet = Callable[[Call], list[Any]]


class Interpreter:
    """One session: global scope, functions, cmdlets, and files that can be dot-sourced."""

    def __init__(self, cmdlets: Mapping[str, Cmdlet], files: Mapping[str, str], walked: Walked) -> None:
        self.cmdlets = {name.lower(): cmdlet for name, cmdlet in cmdlets.items()}
        self.files = files
        self.walked = walked
        self.scopes: list[dict[str, Any]] = [{"true": True, "false": False, "null": None, "psscriptroot": "C:\\f"}]
        self.functions: dict[str, tuple[str, Node]] = {}
        self.script = ""

    def run(self, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """A script file, in the scope that there is."""
        before, self.script = self.script, name
        try:
            root = syntax(self.files[name])
            block = named(root, "param_block")
            if block is not None:
                self._bind(block, dict(parameters or {}), [])
            body = named(root, "statement_list")
            return [] if body is None else self._statements(body)
        except ReturnValue as returned:
            return returned.outputs
        finally:
            self.script = before

    # Statements: each yields what it sends down the pipeline.

    def _statements(self, node: Node) -> list[Any]:
        outputs: list[Any] = []
        for child in parts(node):
            if child.type == "empty_statement":
                continue
            self.walked.ran.add((self.script, *child.start_point))
            outputs += self._statement(child)
        return outputs

    def _block(self, node: Node) -> list[Any]:
        body = named(node, "statement_list")
        return [] if body is None else self._statements(body)

    def _statement(self, node: Node) -> list[Any]:
        handler = getattr(self, f"_{node.type}", None)
        if handler is None:
            raise PowerShellError(f"{self.script}:{node.start_point[0] + 1}: {node.type} is not known")
        result: list[Any] = handler(node)
        return result

    def _function_statement(self, node: Node) -> list[Any]:
        name, block = named(node, "function_name"), named(node, "script_block")
        assert name is not None
        assert block is not None
        self.functions[word(name).lower()] = (self.script, block)
        return []

    def _condition(self, node: Node) -> bool:
        test = named(node, "pipeline") or named(node, "while_condition")
        assert test is not None
        if test.type == "while_condition":
            inner = named(test, "pipeline")
            assert inner is not None
            test = inner
        return truth(self._value(test))

    def _if_statement(self, node: Node) -> list[Any]:
        more = named(node, "elseif_clauses")
        for clause in [node, *(parts(more) if more is not None else [])]:
            met = self._condition(clause)
            self.walked.outcomes.add((self.script, *clause.start_point, met))
            if met:
                return self._own_block(clause)
        last = named(node, "else_clause")
        return [] if last is None else self._own_block(last)

    def _own_block(self, node: Node) -> list[Any]:
        block = named(node, "statement_block")
        assert block is not None
        return self._block(block)

    def _foreach_statement(self, node: Node) -> list[Any]:
        variable, source = named(node, "variable"), named(node, "pipeline")
        assert variable is not None
        assert source is not None
        outputs: list[Any] = []
        for one in enumerated(self._value(source)):
            self._set(variable, one)
            try:
                outputs += self._own_block(node)
            except BreakLoop:
                break
        return outputs

    def _while_statement(self, node: Node) -> list[Any]:
        outputs: list[Any] = []
        for _ in range(10_000):
            if not self._condition(node):
                return outputs
            try:
                outputs += self._own_block(node)
            except BreakLoop:
                return outputs
        raise AssertionError(f"{self.script}:{node.start_point[0] + 1}: a loop without an end")

    def _do_statement(self, node: Node) -> list[Any]:
        outputs: list[Any] = []
        for _ in range(10_000):
            outputs += self._own_block(node)
            if not self._condition(node):
                return outputs
        raise AssertionError(f"{self.script}:{node.start_point[0] + 1}: a loop without an end")

    def _try_statement(self, node: Node) -> list[Any]:
        clauses, last = named(node, "catch_clauses"), named(node, "finally_clause")
        try:
            return self._own_block(node)
        except PowerShellError as problem:
            if clauses is None:
                raise
            caught = self.scopes[-1].get("_")
            self.scopes[-1]["_"] = problem
            try:
                return self._own_block(parts(clauses)[0])
            finally:
                self.scopes[-1]["_"] = caught
        finally:
            if last is not None:
                self._own_block(last)

    def _flow_control_statement(self, node: Node) -> list[Any]:
        keyword = word(node.children[0]).lower()
        argument = named(node, "pipeline")
        if keyword == "break":
            raise BreakLoop
        if keyword == "return":
            raise ReturnValue([] if argument is None else enumerated(self._value(argument)))
        assert keyword == "throw", keyword
        if argument is None:
            problem = self._get("_")
            assert isinstance(problem, PowerShellError)
            raise problem
        raise PowerShellError(text(self._value(argument)))

    # Pipelines.

    def _pipeline(self, node: Node) -> list[Any]:
        first = parts(node)[0]
        if first.type == "assignment_expression":
            self._assign(first)
            return []
        return enumerated(self._value(node))

    def _value(self, node: Node) -> Any:
        """A pipeline as a value: an expression alone keeps its array, commands' outputs are collapsed."""
        (chain,) = parts(node)
        stages = parts(chain)
        if len(stages) == 1 and stages[0].type != "command":
            return self._expression(stages[0])
        flowing: list[Any] | None = None
        for stage in stages:
            flowing = self._command(stage, flowing) if stage.type == "command" else enumerated(self._expression(stage))
        return collapsed(flowing or [])

    def _assign(self, node: Node) -> None:
        target, operator, source = parts(node)
        value = self._value(source)
        leaf = target
        while len(parts(leaf)) == 1 and leaf.type not in {"variable", "member_access"}:
            leaf = parts(leaf)[0]
        assert word(operator) == "=", "only plain assignment is used"
        if leaf.type == "variable":
            self._set(leaf, value)
        else:
            owner, name = parts(leaf)
            assign_member(self._expression(owner), word(name), value)

    def _command(self, node: Node, inputs: list[Any] | None) -> list[Any]:
        operator = named(node, "command_invokation_operator")
        if operator is not None:
            assert word(operator) == "."
            path = named(node, "command_name_expr")
            assert path is not None
            return self.run(text(self._expression(parts(path)[0])).rsplit("\\", 1)[-1])
        head = named(node, "command_name")
        assert head is not None
        name = word(head)
        parameters, positional = self._arguments(named(node, "command_elements"))
        if name.lower() in self.functions:
            return self._function(name.lower(), parameters, positional)
        if name.lower() in {"where-object", "foreach-object"}:
            return self._each(name.lower(), positional[0], inputs or [])
        if name.lower() not in self.cmdlets:
            raise AssertionError(f"{self.script}:{node.start_point[0] + 1}: there is no cmdlet {name}")
        return self.cmdlets[name.lower()](Call(name, parameters, positional, inputs))

    def _arguments(self, node: Node | None) -> tuple[dict[str, Any], list[Any]]:
        parameters: dict[str, Any] = {}
        positional: list[Any] = []
        waiting: str | None = None
        for child in [] if node is None else parts(node):
            if child.type == "command_argument_sep":
                continue
            if child.type == "command_parameter":
                if waiting is not None:
                    parameters[waiting] = True
                waiting = word(child).lstrip("-").rstrip(":").lower()
                continue
            if word(child).startswith("@") and not word(child).startswith(("@(", "@{")):
                for key, value in self._get(word(child)[1:]).pairs():
                    parameters[key.lower()] = value
                continue
            value = word(child) if child.type == "generic_token" else self._expression(child)
            if waiting is None:
                positional.append(value)
            else:
                parameters[waiting] = value
                waiting = None
        if waiting is not None:
            parameters[waiting] = True
        return parameters, positional

    def _function(self, name: str, parameters: dict[str, Any], positional: list[Any]) -> list[Any]:
        script, block = self.functions[name]
        before, self.script = self.script, script
        self.scopes.append({})
        try:
            declared = named(block, "param_block")
            if declared is not None:
                self._bind(declared, parameters, positional)
            elif parameters or positional:
                raise PowerShellError(f"{name} takes no parameters")
            body = named(block, "script_block_body")
            return [] if body is None else self._block(body)
        except ReturnValue as returned:
            return returned.outputs
        finally:
            self.scopes.pop()
            self.script = before

    def _bind(self, block: Node, parameters: dict[str, Any], positional: list[Any]) -> None:
        declared = named(block, "parameter_list")
        left = list(positional)
        for one in [] if declared is None else parts(declared):
            if one.type != "script_parameter":
                continue
            variable, default = named(one, "variable"), named(one, "script_parameter_default")
            assert variable is not None
            name = word(variable)[1:].lower()
            attributes = word(one).lower()
            if name in parameters:
                value = parameters.pop(name)
            elif left and "[switch]" not in attributes:
                value = left.pop(0)
            elif default is not None:
                value = self._expression(parts(default)[0])
            else:
                value = False if "[switch]" in attributes else None
            if "mandatory" in attributes and (value is None or value in ("", [])):
                raise PowerShellError(f"cannot bind an empty argument to the parameter '{name}'")
            self.scopes[-1][name] = enumerated(value) if "[object[]]" in attributes else value
        if parameters or left:
            raise PowerShellError(f"no parameter for {[*parameters, *left]}")

    def _each(self, name: str, block: Any, inputs: list[Any]) -> list[Any]:
        outputs: list[Any] = []
        body = named(named(block, "script_block"), "script_block_body")
        for one in inputs:
            before = self.scopes[-1].get("_")
            self.scopes[-1]["_"] = one
            try:
                found = self._block(body)
            finally:
                self.scopes[-1]["_"] = before
            if name == "foreach-object":
                outputs += found
            elif truth(collapsed(found)):
                outputs.append(one)
        return outputs

    # Names.

    def _get(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name.lower() in scope:
                return scope[name.lower()]
        raise PowerShellError(f"the variable '${name}' cannot be retrieved because it has not been set")

    def _set(self, node: Node, value: Any) -> None:
        self.scopes[-1][word(node)[1:].lower()] = value

    # Expressions.

    def _expression(self, node: Node) -> Any:
        inside = parts(node)
        handler = EXPRESSIONS.get(node.type)
        if handler is not None:
            return handler(self, node)
        if node.type.endswith(("_expression", "_expr")) or node.type in {"command_name_expr", "argument_expression"}:
            if len(inside) == 1:
                return self._expression(inside[0])
            return self._operation(node)
        raise PowerShellError(f"{self.script}:{node.start_point[0] + 1}: {node.type} is not known")

    def _operation(self, node: Node) -> Any:
        kind = node.type.replace("_argument", "")
        if kind == "array_literal_expression":
            return [self._expression(child) for child in parts(node)]
        left, right = parts(node)[0], parts(node)[-1]
        operator = word(next(child for child in node.children[1:] if child != right)).lower()
        if operator in {"-and", "-or"}:
            met = truth(self._expression(left))
            return truth(self._expression(right)) if met is (operator == "-and") else met
        one, other = self._expression(left), self._expression(right)
        if operator == "-f":
            return formatted(one, enumerated(other))
        if operator == "..":
            first, last = integer(one), integer(other)
            return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))
        if kind == "comparison_expression":
            return compare(operator, one, other)
        return arithmetic(operator, one, other)

    def _unary(self, node: Node) -> Any:
        (inner,) = parts(node)
        if inner.type == "cast_expression":
            return self._expression(inner)
        operator, value = word(node.children[0]).lower(), self._expression(inner)
        return not truth(value) if operator in {"-not", "!"} else -number(value)

    def _cast(self, node: Node) -> Any:
        kind, value = parts(node)
        assert word(kind).lower() == "[int]", word(kind)
        return integer(self._expression(value))

    def _variable(self, node: Node) -> Any:
        name = word(node)[1:].strip("{}")
        return {"env:programdata": "C:\\ProgramData"}[name.lower()] if ":" in name else self._get(name)

    def _member(self, node: Node) -> Any:
        owner, name = parts(node)
        if owner.type == "type_literal":
            return STATIC[word(owner).strip("[]").lower(), word(name).lower()]
        return member(self._expression(owner), word(name))

    def _method(self, node: Node) -> Any:
        owner, name, given = parts(node)
        listed = named(given, "argument_expression_list")
        arguments = [] if listed is None else [self._expression(one) for one in parts(listed)]
        return call(self._expression(owner), word(name), arguments)

    def _element(self, node: Node) -> Any:
        owner, place = (self._expression(child) for child in parts(node))
        if isinstance(owner, Table):
            return owner[place]
        if isinstance(place, list):
            return [owner[one] for one in place if -len(owner) <= one < len(owner)]
        if not isinstance(owner, list) or not -len(owner) <= place < len(owner):
            raise PowerShellError(f"no element {place}")
        return owner[place]

    def _array(self, node: Node) -> list[Any]:
        body = named(node, "statement_list")
        return [] if body is None else self._statements_unmarked(body)

    def _statements_unmarked(self, node: Node) -> list[Any]:
        outputs: list[Any] = []
        for child in parts(node):
            outputs += self._statement(child)
            self.walked.ran.add((self.script, *child.start_point))
        return outputs

    def _hash(self, node: Node) -> Table:
        result = Table()
        body = named(node, "hash_literal_body")
        for entry in [] if body is None else parts(body):
            key, value = parts(entry)
            found = parts(key)[0]
            name = word(found) if found.type == "simple_name" else text(self._expression(found))
            result[name] = self._value(value)
        return result

    def _string(self, node: Node) -> str:
        (inner,) = parts(node)
        if inner.type == "verbatim_string_characters":
            return word(inner)[1:-1].replace("''", "'")
        raw = word(inner)
        result, at, start = "", 1, inner.start_byte
        for part in parts(inner):
            result += self._escaped(raw.encode()[at : part.start_byte - start].decode())
            body = named(part, "statement_list") if part.type == "sub_expression" else None
            result += text(collapsed(self._statements_unmarked(body)) if body is not None else self._variable(part))
            at = part.end_byte - start
        return result + self._escaped(raw.encode()[at:].decode().rstrip()[:-1])

    def _escaped(self, raw: str) -> str:
        for written, meant in ESCAPES.items():
            raw = raw.replace(written, meant)
        return raw

    def _integer(self, node: Node) -> int:
        digits = word(node).lower()
        suffix = next((one for one in SUFFIXES if digits.endswith(one)), "")
        return int(digits.removesuffix(suffix)) * SUFFIXES.get(suffix, 1)

    def _parenthesised(self, node: Node) -> Any:
        (inner,) = parts(node)
        return self._value(inner)


EXPRESSIONS: dict[str, Callable[[Interpreter, Node], Any]] = {
    "variable": Interpreter._variable,
    "member_access": Interpreter._member,
    "invokation_expression": Interpreter._method,
    "element_access": Interpreter._element,
    "array_expression": Interpreter._array,
    "hash_literal_expression": Interpreter._hash,
    "string_literal": Interpreter._string,
    "integer_literal": Interpreter._integer,
    "real_literal": lambda _, node: float(word(node)),
    "parenthesized_expression": Interpreter._parenthesised,
    "expression_with_unary_operator": Interpreter._unary,
    "cast_expression": Interpreter._cast,
    "script_block_expression": lambda _, node: node,
}
