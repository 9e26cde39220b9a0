"""Lowering declarations inside functions: types, variables, local and constant data (OpenCL C 6.7)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.constants import to_bytes
from clsim.clc.diagnostics import Problem
from clsim.clc.initialisers import Initialisers
from clsim.clc.symbols import Qualified, TypedefName, Variable
from clsim.clc.typenames import INCOMPLETE, MAX_CONSTANT_BYTES
from clsim.clc.types import HALF, Array, Opaque, Record, Scalar, Space, Type, Vector
from clsim.clc.words import SINGLE_WORD_TYPES


class LocalDeclarations(Initialisers):
    """Declarations inside functions."""

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
        self.scopes.declare(name, TypedefName(meaning, declarator.pos))

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
