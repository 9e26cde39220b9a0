"""Lowering functions and program-scope declarations (OpenCL C 6.7.1, 6.9, 6.11)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.diagnostics import Problem
from clsim.clc.rules import holds_pointer, pointer
from clsim.clc.statements import Statements
from clsim.clc.symbols import FunctionState, FunctionSymbol, OverloadSet, Qualified, Symbol, Variable
from clsim.clc.types import BOOL, HALF, VOID, Array, Opaque, Pointer, Record, Space, Type, Vector, Void
from clsim.clc.words import ACCESS, COMBINATIONS

_KERNEL_SPACES = (Space.GLOBAL, Space.LOCAL, Space.CONSTANT)
_NOT_FOR_KERNELS = frozenset({"size_t", "ptrdiff_t", "intptr_t", "uintptr_t"})


class Functions(Statements):
    """Functions and the program."""

    def external(self, node: ast.Declaration | ast.FunctionDefinition) -> None:
        """Lower one external declaration; its errors are told here."""
        try:
            if isinstance(node, ast.FunctionDefinition):
                self.function_definition(node)
            else:
                self.external_declaration(node)
        except Problem as problem:
            self.diagnostics.report(problem)

    # ------------------------------------------------------------ declarations

    def external_declaration(self, node: ast.Declaration) -> None:
        base = self.base(node.specifiers)
        for declarator in node.declarators:
            try:
                if "typedef" in node.specifiers.qualifiers:
                    self.typedef(base, declarator, node.specifiers)
                elif self.function_part(declarator) is not None:
                    self.declare_function(base, node.specifiers, declarator)
                else:
                    self.program_variable(base, node.specifiers, declarator)
            except Problem as problem:
                self.diagnostics.report(problem)

    def program_variable(
        self, base: Qualified, specifiers: ast.Specifiers, declarator: ast.Declarator
    ) -> None:
        declared = self.declared(base, declarator)
        name, pos, initial = declarator.name, declarator.pos, declarator.initial
        old = self.scopes.here(name)
        if old is not None:
            self.fail(pos, f"redefinition of '{name}'", (old.pos, "previous definition is here"))
        if declared.space is not Space.CONSTANT:
            if self.standard >= (2, 0) and declared.space in (None, Space.GLOBAL):
                self.not_yet(pos, "a program-scope variable in global memory is")
            self.fail(pos, "program scope variable must reside in constant address space")
        type_ = declared.type if initial is None else self.completed(declared.type, initial)
        symbol = Variable(name, type_, pos, True, declared.volatile)
        if "extern" in specifiers.qualifiers and initial is None:
            self.not_yet(pos, "an extern variable is")
        self.scopes.declare(name, symbol)
        self.constant_variable(symbol, initial, self.aligned(declarator.attributes + specifiers.attributes))

    @staticmethod
    def function_part(declarator: ast.Declarator) -> ast.FunctionPart | None:
        inner = declarator
        while inner.inner is not None and not inner.inner.pointers and not inner.suffixes:
            inner = inner.inner
        first = inner.suffixes[0] if inner.suffixes and inner.inner is None else None
        return first if isinstance(first, ast.FunctionPart) else None

    def declare_function(
        self, base: Qualified, specifiers: ast.Specifiers, declarator: ast.Declarator
    ) -> tuple[FunctionSymbol, list[tuple[Qualified, ast.Specifiers, ast.Declarator]]]:
        """Enter a function's name; check it against an earlier declaration."""
        part = self.function_part(declarator)
        assert part is not None
        name, pos = declarator.name, declarator.pos
        if part.variadic:
            if name == "printf":
                return FunctionSymbol(name, VOID, (), False, pos), []
            self.fail(pos, "variadic functions are not allowed in OpenCL C")
        overloadable = any(a.name == "overloadable" for a in specifiers.attributes + declarator.attributes)
        result = self.result_type(base, declarator, part)
        is_kernel = "kernel" in specifiers.qualifiers
        parameters = [(self.parameter_type(s, d), s, d) for s, d in part.parameters]
        if is_kernel:
            self.check_kernel(name, result, parameters, pos)
        types = tuple(q.type for q, _, _ in parameters)
        symbol = FunctionSymbol(name, result, types, is_kernel, pos)
        old: Symbol | None = self.scopes.names.get(name)
        if overloadable or isinstance(old, OverloadSet):
            return self.overload(symbol, old), parameters
        if old is not None:
            if not isinstance(old, FunctionSymbol):
                self.fail(
                    pos, f"redefinition of '{name}' as different kind of symbol",
                    (old.pos, "previous definition is here"),
                )  # fmt: skip
            if old.result != result or old.parameters != types:
                self.fail(pos, f"conflicting types for '{name}'", (old.pos, "previous declaration is here"))
            old.is_kernel = old.is_kernel or is_kernel
            return old, parameters
        if name == "main":
            self.warn(pos, "a function called 'main' has no meaning in OpenCL C")
        self.scopes.declare(name, symbol)
        return symbol, parameters

    def overload(self, symbol: FunctionSymbol, old: Symbol | None) -> FunctionSymbol:
        """Enter one of several functions of a name; in the IR each has a name of its own."""
        if old is None:
            old = OverloadSet(symbol.name, symbol.pos)
            self.scopes.declare(symbol.name, old)
        if not isinstance(old, OverloadSet) or symbol.is_kernel:
            self.fail(
                symbol.pos, f"redefinition of '{symbol.name}' must have the 'overloadable' attribute",
                (old.pos, "previous declaration is here"),
            )  # fmt: skip
        for known in old.members:
            if known.parameters == symbol.parameters:
                if known.result != symbol.result:
                    self.fail(symbol.pos, f"conflicting types for '{symbol.name}'")
                return known
        number = len(old.members)
        while f"{symbol.name}_{number}" in self.scopes.names:
            number += 1
        symbol.name = f"{symbol.name}_{number}"
        # Nothing else of the program may take the name that the member has in the IR.
        self.scopes.declare(symbol.name, symbol)
        old.members.append(symbol)
        return symbol

    def result_type(self, base: Qualified, declarator: ast.Declarator, part: ast.FunctionPart) -> Type:
        bare = ast.Declarator(declarator.pos, "", declarator.pointers)
        if len(declarator.suffixes) > 1:
            self.fail(declarator.pos, "function cannot return function or array type")
        result = self.declared(base, bare).type
        if isinstance(result, Array):
            self.fail(declarator.pos, f"function cannot return array type '{result}'")
        if result is HALF and not self.target.has_half:
            self.fail(
                declarator.pos,
                "declaring function return value of type 'half' is not allowed without cl_khr_fp16",
            )
        if isinstance(result, Record):
            self.complete(result, declarator.pos, "result")
        if isinstance(result, Opaque):
            self.not_yet(declarator.pos, f"a function that returns '{result}' is")
        return result

    # ------------------------------------------------------------ kernels

    def check_kernel(
        self,
        name: str,
        result: Type,
        parameters: list[tuple[Qualified, ast.Specifiers, ast.Declarator]],
        pos: int,
    ) -> None:
        if not isinstance(result, Void):
            self.diagnostics.error(pos, "kernel must have void return type")
        for qualified, specifiers, declarator in parameters:
            problem = self.kernel_parameter_problem(qualified.type, specifiers)
            if problem:
                self.diagnostics.error(declarator.pos, problem)

    def kernel_parameter_problem(self, type_: Type, specifiers: ast.Specifiers) -> str:
        """Why a kernel cannot take this type, or ''."""
        if isinstance(type_, Pointer):
            if isinstance(type_.pointee, Pointer):
                return "kernel parameter cannot be declared as a pointer to a pointer"
            if type_.space not in _KERNEL_SPACES:
                return (
                    "pointer arguments to kernel functions must reside in '__global', '__constant' or"
                    " '__local' address space"
                )
            if isinstance(type_.pointee, Record) and holds_pointer(type_.pointee):
                return "struct kernel parameters may not contain pointers"
            return ""
        if type_ is BOOL or isinstance(type_, (Opaque, Void)):
            return f"'{type_}' cannot be used as the type of a kernel parameter"
        if type_ is HALF and not self.target.has_half:
            return "'half' cannot be used as the type of a kernel parameter without cl_khr_fp16"
        if specifiers.words and specifiers.words[0] in _NOT_FOR_KERNELS:
            return f"'{specifiers.words[0]}' cannot be used as the type of a kernel parameter"
        if isinstance(type_, Record) and holds_pointer(type_):
            return "struct kernel parameters may not contain pointers"
        return ""

    def attributes(self, found: list[ast.Attribute]) -> ir.Attributes:
        out = ir.Attributes()
        for attribute in found:
            if attribute.name in ("reqd_work_group_size", "work_group_size_hint"):
                sizes = self.group_size(attribute)
                if attribute.name == "reqd_work_group_size":
                    out.required_work_group_size = sizes
                else:
                    out.work_group_size_hint = sizes
            elif attribute.name == "vec_type_hint" and attribute.args:
                named = attribute.args[0]
                if not isinstance(named, ast.TypeName):
                    self.fail(attribute.pos, "invalid attribute argument: expecting a vector or scalar type")
                out.vec_type_hint = str(self.qualified(named).type)
        return out

    def group_size(self, attribute: ast.Attribute) -> tuple[int, int, int]:
        values = [
            0 if isinstance(a, ast.TypeName) else self.constant_integer(a, "attribute argument")
            for a in attribute.args
        ]
        if len(values) != 3:
            self.fail(attribute.pos, f"'{attribute.name}' attribute requires exactly 3 arguments")
        if min(values) <= 0:
            self.fail(attribute.pos, f"'{attribute.name}' attribute must be greater than 0")
        return values[0], values[1], values[2]

    # ------------------------------------------------------------ definitions

    def function_definition(self, node: ast.FunctionDefinition) -> None:
        base = self.base(node.specifiers)
        if self.function_part(node.declarator) is None:
            self.fail(node.declarator.pos, "expected ';' after top level declarator")
        if "typedef" in node.specifiers.qualifiers:
            self.fail(node.pos, "function definition declared 'typedef'")
        symbol, parameters = self.declare_function(base, node.specifiers, node.declarator)
        if symbol.defined:
            self.fail(
                node.declarator.pos, f"redefinition of '{symbol.name}'",
                (symbol.pos, "previous definition is here"),
            )  # fmt: skip
        symbol.defined = True
        self.defined[symbol.name] = symbol
        symbol.pos = node.declarator.pos
        self.state = FunctionState(symbol, node.taken, node.subscripted)
        self.out = []
        self.scopes.open()
        try:
            attributes = self.attributes(node.specifiers.attributes + node.declarator.attributes)
            made = [self.parameter(q, s, d) for q, s, d in parameters]
            if isinstance(symbol.result, Record):
                hidden = ir.Var("result", pointer(symbol.result, Space.PRIVATE))
                self.state.result_pointer = hidden
                made.insert(0, ir.Parameter(hidden, str(hidden.type), Space.PRIVATE))
            for item in node.body.items:
                self.statement(item)
            result = VOID if isinstance(symbol.result, Record) else symbol.result
            self.functions[symbol.name] = ir.Function(
                symbol.name, tuple(made), result, tuple(self.out), symbol.is_kernel, attributes,
                tuple(self.state.memories), self.loc(node.declarator.pos),
            )  # fmt: skip
        finally:
            while self.scopes.depth:
                self.scopes.close()
            self.out = []

    def parameter(
        self, qualified: Qualified, specifiers: ast.Specifiers, declarator: ast.Declarator
    ) -> ir.Parameter:
        name, type_, pos = declarator.name, qualified.type, declarator.pos
        if not name:
            self.fail(pos, "parameter name omitted")
        old = self.scopes.here(name)
        if old is not None:
            self.fail(pos, f"redefinition of parameter '{name}'", (old.pos, "previous declaration is here"))
        symbol = Variable(name, type_, pos, qualified.const, qualified.volatile)
        self.scopes.declare(name, symbol)
        record: Record | None = None
        if isinstance(type_, Record):
            record = type_
            var = ir.Var(name, pointer(type_, Space.PRIVATE))
            symbol.pointer = ir.Read(var, var.type)
        else:
            var = ir.Var(name, type_)
            if self.lives_in_memory(name, type_):
                symbol.memory = self.private_memory(name, type_, pos)
                self.out.append(
                    ir.Store(self.address(symbol.memory), ir.Read(var, type_), type_.align, self.loc(pos))
                )
            else:
                symbol.var = var
        space = type_.space if isinstance(type_, Pointer) else Space.PRIVATE
        access = next((ACCESS[q] for q in specifiers.qualifiers if q in ACCESS), "none")
        return ir.Parameter(
            var, self.type_spelling(specifiers, declarator, type_), space,
            self.parameter_qualifiers(type_, declarator), access, record=record,
        )  # fmt: skip

    @staticmethod
    def parameter_qualifiers(type_: Type, declarator: ast.Declarator) -> frozenset[str]:
        """The qualifiers that clGetKernelArgInfo tells: of what a pointer points to, and restrict."""
        if not isinstance(type_, Pointer):
            return frozenset()
        out = {name for name in ("const", "volatile") if getattr(type_, name)}
        if type_.space is Space.CONSTANT:
            out.add("const")
        if declarator.pointers and "restrict" in declarator.pointers[-1].qualifiers:
            out.add("restrict")
        return frozenset(out)

    def type_spelling(self, specifiers: ast.Specifiers, declarator: ast.Declarator, type_: Type) -> str:
        """The type's name as declared, without qualifiers and white space (clGetKernelArgInfo)."""
        if specifiers.record is not None:
            kind = "union" if specifiers.record.is_union else "struct"
            base = f"{kind} {specifiers.record.tag}"
        elif specifiers.enum is not None:
            base = f"enum {specifiers.enum.tag}"
        else:
            combined = COMBINATIONS.get(tuple(sorted(specifiers.words)))
            base = str(combined) if combined is not None else "".join(specifiers.words)
        stars = len(declarator.pointers) + sum(isinstance(s, ast.ArrayPart) for s in declarator.suffixes[:1])
        return base + "*" * stars if isinstance(type_, (Pointer, Vector)) or not stars else base

    # ------------------------------------------------------------ the end

    def check_calls(self) -> None:
        """Refuse calls of functions without a body."""
        for symbol in list(self.scopes.names.values()):
            if isinstance(symbol, FunctionSymbol) and symbol.called_at >= 0 and not symbol.defined:
                self.diagnostics.error(
                    symbol.called_at, f"undefined function '{symbol.name}' is called",
                    (symbol.pos, "declared here"),
                )  # fmt: skip
