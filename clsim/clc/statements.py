"""Lowering statements (OpenCL C 6.11, C99 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.diagnostics import Problem
from clsim.clc.local_declarations import LocalDeclarations
from clsim.clc.rules import promote
from clsim.clc.symbols import RecordValue
from clsim.clc.types import Record, Scalar, Void


class Statements(LocalDeclarations):
    """Statements."""

    _statement_rules: ClassVar[dict[type, Callable[..., None]]] = {}

    def statement(self, node: ast.Statement | ast.Declaration) -> None:
        """Lower a statement; an error in it is told and the next one goes on."""
        try:
            self._statement_rules[type(node)](self, node)
        except Problem as problem:
            self.diagnostics.report(problem)

    def block(self, node: ast.Statement | None) -> ir.Block:
        """A statement as a block of its own, in a scope of its own."""
        if node is None:
            return ()
        outer, self.out = self.out, []
        self.scopes.open()
        try:
            if isinstance(node, ast.Compound):
                for item in node.items:
                    self.statement(item)
            else:
                self.statement(node)
            return tuple(self.out)
        finally:
            self.scopes.close()
            self.out = outer

    def compound(self, node: ast.Compound) -> None:
        self.scopes.open()
        try:
            for item in node.items:
                self.statement(item)
        finally:
            self.scopes.close()

    def empty(self, node: ast.Empty) -> None:
        """Nothing to do."""

    def expression_statement(self, node: ast.ExpressionStatement) -> None:
        self.effect(node.a)

    # ------------------------------------------------------------ choice

    def if_statement(self, node: ast.If) -> None:
        try:
            test = self.condition(node.test)
        except Problem as problem:
            self.diagnostics.report(problem)
            self.block(node.then)
            self.block(node.otherwise)
            return
        then, otherwise = self.block(node.then), self.block(node.otherwise)
        if isinstance(test, ir.Const):
            self.out += then if test.value else otherwise
        elif then or otherwise:
            self.out.append(ir.If(test, then, otherwise, self.loc(node.pos)))

    def switch_statement(self, node: ast.Switch) -> None:
        value = self.rvalue(node.value)
        if not isinstance(value.type, Scalar) or not value.type.is_integer:
            self.fail(
                node.value.pos, f"statement requires expression of integer type ('{value.type}' invalid)"
            )
        type_ = promote(value.type)
        value = self.convert(value, type_)
        body = node.body
        if not isinstance(body, ast.Compound):
            body = ast.Compound(body.pos, [body], body.pos)
        cases: list[tuple[tuple[int, ...] | None, ir.Block]] = []
        seen: dict[int | None, int] = {}
        hoisted: list[ir.Statement] = []
        outer, self.out = self.out, []
        self.scopes.open()
        self.state.breakable += 1
        labels: tuple[int, ...] | None = ()
        try:
            for item in body.items:
                while isinstance(item, ast.Case):
                    self.end_case(cases, labels, hoisted)
                    labels = self.case_label(item, type_, seen)
                    item = item.body
                self.statement(item)
            self.end_case(cases, labels, hoisted)
        finally:
            self.state.breakable -= 1
            self.scopes.close()
            self.out = outer
        self.out += hoisted
        self.out.append(ir.Switch(value, tuple(cases), self.loc(node.pos)))

    def end_case(
        self,
        cases: list[tuple[tuple[int, ...] | None, ir.Block]],
        labels: tuple[int, ...] | None,
        hoisted: list[ir.Statement],
    ) -> None:
        """Close the case being written. Its declarations go before the switch, as later cases see them."""
        block: list[ir.Statement] = []
        for statement in self.out:
            named = isinstance(statement, ir.Declare) and not (
                isinstance(statement.what, ir.Var) and statement.what.is_temporary
            )
            (hoisted if named else block).append(statement)
        self.out = []
        if labels == ():
            return
        if cases and not cases[-1][1] and cases[-1][0] is not None and labels is not None:
            labels = cases.pop()[0] + labels  # type: ignore[operator]
        cases.append((labels, tuple(block)))

    def case_label(
        self, node: ast.Case, type_: Scalar, seen: dict[int | None, int]
    ) -> tuple[int, ...] | None:
        key: int | None = None
        if node.value is not None:
            value, _ = self.aside(node.value)
            if (
                not isinstance(value, ir.Const)
                or not isinstance(value.type, Scalar)
                or not value.type.is_integer
            ):
                self.fail(node.value.pos, "expression is not an integer constant expression")
            converted = self.convert(value, type_)
            assert isinstance(converted, ir.Const)
            key = int(converted.value)
        if key in seen:
            what = "multiple default labels in one switch" if key is None else f"duplicate case value '{key}'"
            self.fail(node.pos, what, (seen[key], "previous case defined here"))
        seen[key] = node.pos
        return None if key is None else (key,)

    def stray_case(self, node: ast.Case) -> None:
        if self.state.breakable > self.state.loops:
            self.not_yet(node.pos, "a case label inside a nested statement is")
        what = "case" if node.value is not None else "default"
        self.fail(node.pos, f"'{what}' statement not in switch statement")

    # ------------------------------------------------------------ loops

    def loop(
        self,
        test: ast.Expression | None,
        step: ast.Expression | None,
        body: ast.Statement,
        test_first: bool,
        pos: int,
    ) -> None:
        outer, self.out = self.out, []
        try:
            tested = None if test is None else self.condition(test)
            before = tuple(self.out)
        except Problem as problem:
            self.diagnostics.report(problem)
            tested, before = None, ()
        finally:
            self.out = outer
        outer, self.out = self.out, []
        try:
            if step is not None:
                self.effect(step)
            after = tuple(self.out)
        finally:
            self.out = outer
        self.state.loops += 1
        self.state.breakable += 1
        try:
            inside = self.block(body)
        finally:
            self.state.loops -= 1
            self.state.breakable -= 1
        if isinstance(tested, ir.Const) and not before:
            if tested.value:
                tested = None
            elif test_first:
                return
        self.out.append(ir.Loop(before, tested, inside, after, test_first, self.loc(pos)))

    def while_statement(self, node: ast.While) -> None:
        self.loop(node.test, None, node.body, True, node.pos)

    def do_statement(self, node: ast.DoWhile) -> None:
        self.loop(node.test, None, node.body, False, node.pos)

    def for_statement(self, node: ast.For) -> None:
        self.scopes.open()
        try:
            if isinstance(node.initial, ast.Declaration):
                self.statement(node.initial)
            elif node.initial is not None:
                self.effect(node.initial)
            self.loop(node.test, node.step, node.body, True, node.pos)
        finally:
            self.scopes.close()

    # ------------------------------------------------------------ jumps

    def jump_statement(self, node: ast.Jump) -> None:
        loc = self.loc(node.pos)
        if node.kind == "break":
            if not self.state.breakable:
                self.fail(node.pos, "'break' statement not in loop or switch statement")
            self.out.append(ir.Break(loc))
        elif node.kind == "continue":
            if not self.state.loops:
                self.fail(node.pos, "'continue' statement not in loop statement")
            self.out.append(ir.Continue(loc))
        else:
            self.return_statement(node, loc)

    def return_statement(self, node: ast.Jump, loc: ir.Loc) -> None:
        function = self.state.symbol
        result = function.result
        if node.value is None:
            if not isinstance(result, Void):
                self.fail(node.pos, f"non-void function '{function.name}' should return a value")
            self.out.append(ir.Return(None, loc))
            return
        value = self.any_value(node.value)
        if isinstance(result, Void):
            if value.type is not result:
                self.fail(node.pos, f"void function '{function.name}' should not return a value")
            self.out.append(ir.Return(None, loc))
        elif isinstance(result, Record):
            if not isinstance(value, RecordValue) or value.type is not result:
                self.fail(
                    node.pos,
                    f"returning '{value.type}' from a function with incompatible result type '{result}'",
                )
            target = self.state.result_pointer
            assert target is not None
            self.copy_record(ir.Read(target, target.type), value, node.pos)
            self.out.append(ir.Return(None, loc))
        else:
            plain = self.must_be_value(value, node.value.pos)
            self.out.append(ir.Return(self.implicit(plain, result, node.value.pos, "return"), loc))


Statements._statement_rules = {
    ast.ExpressionStatement: Statements.expression_statement,
    ast.Empty: Statements.empty,
    ast.Compound: Statements.compound,
    ast.If: Statements.if_statement,
    ast.While: Statements.while_statement,
    ast.DoWhile: Statements.do_statement,
    ast.For: Statements.for_statement,
    ast.Switch: Statements.switch_statement,
    ast.Case: Statements.stray_case,
    ast.Jump: Statements.jump_statement,
    ast.Declaration: Statements.declaration,
}
