"""What every part of the lowering shares: diagnostics, scopes, and the block that is being written."""

from __future__ import annotations

from typing import NoReturn

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.diagnostics import Diagnostics
from clsim.clc.ir import Loc
from clsim.clc.options import Options
from clsim.clc.rules import pointer
from clsim.clc.source import Sources
from clsim.clc.symbols import FunctionState, FunctionSymbol, NoValue, Place, Qualified, RecordValue, Scopes
from clsim.clc.target import Target
from clsim.clc.types import VOID, Space, Type

NO_VALUE = NoValue(VOID)


class Context:
    """The root of the lowering classes. The methods that raise here are defined further down the chain."""

    def __init__(
        self,
        sources: Sources,
        diagnostics: Diagnostics,
        target: Target,
        options: Options,
        standard: tuple[int, int],
    ) -> None:
        self.sources = sources
        self.diagnostics = diagnostics
        self.target = target
        self.options = options
        self.standard = standard
        self.single_precision = "-cl-single-precision-constant" in options.flags
        self.scopes = Scopes()
        self.names = self.scopes.names
        self.out: list[ir.Statement] = []
        self.functions: dict[str, ir.Function] = {}
        self.defined: dict[str, FunctionSymbol] = {}
        self.constants: list[ir.Memory] = []
        self.strings: dict[bytes, ir.Memory] = {}
        self.state = FunctionState(FunctionSymbol("", VOID, (), False, -1), set())

    # ------------------------------------------------------------ diagnostics

    def fail(self, pos: int, message: str, note: tuple[int, str] | None = None) -> NoReturn:
        self.diagnostics.fail(pos, message, note)

    def not_yet(self, pos: int, what: str) -> NoReturn:
        self.diagnostics.fail(pos, f"{what} not supported by clsim yet")

    def warn(self, pos: int, message: str, note: tuple[int, str] | None = None) -> None:
        self.diagnostics.warn(pos, message, note)

    def loc(self, pos: int) -> Loc:
        return self.sources.loc(pos)

    # ------------------------------------------------------------ writing statements

    def temporary(self, type_: Type) -> ir.Var:
        """A fresh register, declared here."""
        self.state.temporaries += 1
        var = ir.Var(f"t{self.state.temporaries}", type_, True)
        self.out.append(ir.Declare(var))
        return var

    def keep(self, value: ir.Expr) -> ir.Read:
        """The value, computed now and held in a temporary."""
        var = self.temporary(value.type)
        self.out.append(ir.Assign(var, value))
        return ir.Read(var, var.type)

    def private_memory(self, name: str, type_: Type, pos: int, align: int = 0) -> ir.Memory:
        """A fresh private memory object, declared here."""
        memory = ir.Memory(
            name, type_, Space.PRIVATE, type_.size, max(align, type_.align), None, self.loc(pos)
        )
        self.state.memories.append(memory)
        self.out.append(ir.Declare(memory))
        return memory

    def address(self, memory: ir.Memory) -> ir.Address:
        return ir.Address(memory, pointer(memory.type, memory.space))

    # ------------------------------------------------------------ defined further down

    def rvalue(self, node: ast.Expression) -> ir.Expr:
        """The value of an expression that is neither void nor a record; what it does is emitted first."""
        raise NotImplementedError

    def any_value(self, node: ast.Expression) -> ir.Expr | RecordValue | NoValue:
        """The value of an expression of any type."""
        raise NotImplementedError

    def place(self, node: ast.Expression) -> Place:
        """The object that an lvalue names."""
        raise NotImplementedError

    def effect(self, node: ast.Expression) -> None:
        """Do what an expression does and drop its value."""
        raise NotImplementedError

    def aside(self, node: ast.Expression) -> tuple[ir.Expr | RecordValue | NoValue, list[ir.Statement]]:
        """An operand that may not be evaluated: its value and what it does."""
        raise NotImplementedError

    def constant_integer(self, node: ast.Expression, what: str) -> int:
        raise NotImplementedError

    def type_of_expression(self, node: ast.Expression) -> Type:
        raise NotImplementedError

    def qualified(self, named: ast.TypeName) -> Qualified:
        raise NotImplementedError
