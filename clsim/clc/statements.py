"""Lowering statements and declarations inside functions (OpenCL C 6.7, 6.11, C99 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.constants import to_bytes
from clsim.clc.diagnostics import Problem
from clsim.clc.initialisers import Initialisers
from clsim.clc.rules import promote
from clsim.clc.symbols import Qualified, RecordValue, TypedefName, Variable
from clsim.clc.typenames import INCOMPLETE, MAX_CONSTANT_BYTES
from clsim.clc.types import HALF, Array, Opaque, Record, Scalar, Space, Type, Vector, Void
from clsim.clc.words import SINGLE_WORD_TYPES


class Statements(Initialisers):
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

    # ------------------------------------------------------------ declarations

    def declare_function(
        self, base: Qualified, specifiers: ast.Specifiers, declarator: ast.Declarator
    ) -> object:
        raise NotImplementedError

    def declaration(self, node: ast.Declaration) -> None:
        base = self.base(node.specifiers)
        for declarator in node.declarators:
            try:
                if "typedef" in node.specifiers.qualifiers:
                    self.typedef(base, declarator, node.specifiers)
                elif (
                    any(isinstance(s, ast.FunctionPart) for s in declarator.suffixes) and not declarator.inner
                ):
                    self.declare_function(base, node.specifiers, declarator)
                else:
                    self.local_variable(base, declarator, node.specifiers)
            except Problem as problem:
                self.diagnostics.report(problem)

    def typedef(self, base: Qualified, declarator: ast.Declarator, specifiers: ast.Specifiers) -> None:
        name = declarator.name
        if any(isinstance(s, ast.FunctionPart) for s in declarator.suffixes):
            self.fail(declarator.pos, "pointers to functions are not allowed in OpenCL C")
        meaning = self.declared(base, declarator)
        builtin = SINGLE_WORD_TYPES.get(name)
        if builtin is not None:
            if meaning.type is not builtin:
                self.fail(
                    declarator.pos,
                    f"typedef redefinition with different types ('{meaning.type}' vs '{builtin}')",
                )
            return
        if self.aligned(declarator.attributes + ([] if specifiers.record else specifiers.attributes)):
            self.not_yet(declarator.pos, "attribute 'aligned' on a typedef is")
        old = self.scopes.here(name)
        if old is not None:
            if not isinstance(old, TypedefName) or old.meaning.type != meaning.type:
                self.fail(
                    declarator.pos, f"redefinition of '{name}'", (old.pos, "previous definition is here")
                )
            return
        self.scopes.declare(name, TypedefName(meaning, declarator.pos, name))

    def local_variable(self, base: Qualified, declarator: ast.Declarator, specifiers: ast.Specifiers) -> None:
        declared = self.declared(base, declarator)
        name, pos, initial = declarator.name, declarator.pos, declarator.initial
        old = self.scopes.here(name)
        if old is not None:
            self.fail(pos, f"redefinition of '{name}'", (old.pos, "previous definition is here"))
        self.check_storage(specifiers, declared, pos)
        type_ = declared.type
        symbol = Variable(name, type_, pos, declared.const, declared.volatile)
        if initial is not None:
            symbol.type = type_ = self.completed(type_, initial)
        if declared.space is Space.CONSTANT:
            self.scopes.declare(name, symbol)
            self.constant_variable(
                symbol, initial, self.aligned(declarator.attributes + specifiers.attributes)
            )
            return
        self.check_object_type(type_, pos)
        self.complete(type_, pos, f"variable '{name}'")
        if declared.space is Space.LOCAL:
            self.scopes.declare(name, symbol)
            self.work_group_variable(
                symbol, initial, self.aligned(declarator.attributes + specifiers.attributes)
            )
            return
        align = self.aligned(declarator.attributes + ([] if specifiers.record else specifiers.attributes))
        if self.lives_in_memory(name, type_):
            self.scopes.declare(name, symbol)
            symbol.memory = self.private_memory(name, type_, pos, align)
            if initial is not None:
                target = self.address(symbol.memory)
                self.initialise_memory(target, type_, initial, pos)
            return
        symbol.var = ir.Var(name, type_)
        self.scopes.declare(name, symbol)
        if isinstance(type_, Opaque):
            if initial is not None and not isinstance(initial, ast.InitList):
                self.implicit_event(initial)
            return
        self.out.append(ir.Declare(symbol.var))
        if initial is not None:
            value = self.value_initialiser(type_, initial, pos)
            self.out.append(ir.Assign(symbol.var, value, self.loc(pos)))
            if declared.const and not declared.volatile and isinstance(value, ir.Const):
                symbol.constant = value

    def lives_in_memory(self, name: str, type_: Type) -> bool:
        """Whether a variable must have an address: an aggregate, or one that is pointed to or indexed."""
        if isinstance(type_, (Array, Record)) or name in self.state.taken:
            return True
        return isinstance(type_, Vector) and name in self.state.subscripted

    def implicit_event(self, initial: ast.Expression) -> None:
        """The initialiser of an event: another event or 0; only what it does matters."""
        value = self.rvalue(initial)
        if not isinstance(value.type, Opaque) and not (isinstance(value, ir.Const) and value.value == 0):
            self.fail(
                initial.pos, f"initializing 'event_t' with an expression of incompatible type '{value.type}'"
            )

    def check_storage(self, specifiers: ast.Specifiers, declared: Qualified, pos: int) -> None:
        qualifiers = specifiers.qualifiers
        if "static" in qualifiers:
            self.fail(pos, "variables in function scope cannot be declared static")
        for word in ("register", "auto"):
            if word in qualifiers and self.standard < (2, 0):
                version = "{}.{}".format(*self.standard)
                self.fail(
                    pos, f"OpenCL C version {version} does not support the '{word}' storage class specifier"
                )
        if "extern" in qualifiers:
            self.fail(pos, "'extern' inside a function is not supported by clsim yet")
        if declared.space is Space.GLOBAL:
            self.fail(pos, "variables in function scope cannot be declared in the global address space")
        if "kernel" in qualifiers:
            self.fail(pos, "'kernel' attribute only applies to functions")

    def check_object_type(self, type_: Type, pos: int) -> None:
        elem = type_
        while isinstance(elem, Array):
            elem = elem.elem
        if elem is HALF and not self.target.has_half:
            self.fail(pos, "declaring variable of type 'half' is not allowed without cl_khr_fp16")
        if isinstance(type_, Array) and type_.count == INCOMPLETE:
            self.fail(pos, "definition of variable with array type needs an explicit size or an initializer")

    def work_group_variable(
        self, symbol: Variable, initial: ast.Expression | ast.InitList | None, align: int
    ) -> None:
        pos = symbol.pos
        if not self.state.symbol.is_kernel:
            self.fail(pos, "non-kernel function variable cannot be declared in local address space")
        if self.scopes.depth > 1:
            self.fail(
                pos,
                "variables in the local address space can only be declared in the outermost scope of a kernel"
                " function",
            )
        if initial is not None:
            self.fail(pos, "'__local' variable cannot have an initializer")
        type_ = symbol.type
        memory = ir.Memory(
            symbol.name, type_, Space.LOCAL, type_.size, max(align, type_.align), None, self.loc(pos)
        )
        self.state.memories.append(memory)
        symbol.memory = memory

    def constant_variable(
        self, symbol: Variable, initial: ast.Expression | ast.InitList | None, align: int
    ) -> None:
        """Data in the constant address space, at program or kernel scope."""
        pos = symbol.pos
        symbol.const = True
        if initial is None:
            self.fail(pos, "variable in constant address space must be initialized")
        self.check_object_type(symbol.type, pos)
        self.complete(symbol.type, pos, f"variable '{symbol.name}'")
        type_ = symbol.type
        if type_.size > MAX_CONSTANT_BYTES:
            self.fail(pos, f"constant '{symbol.name}' has {type_.size} bytes, more than {MAX_CONSTANT_BYTES}")
        symbol.memory = self.constant_memory(symbol.name, type_, bytes(type_.size), align, pos)
        if not isinstance(type_, Scalar) or isinstance(initial, ast.InitList):
            symbol.memory.initial = self.initial_bytes(type_, initial)
            return
        value, statements = self.aside(initial)
        value = self.implicit(self.must_be_value(value, initial.pos), type_, initial.pos, "initialise")
        if statements or not isinstance(value, ir.Const):
            self.fail(initial.pos, "initializer element is not a compile-time constant")
        symbol.constant = value
        symbol.memory.initial = to_bytes(value.value, type_)


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
