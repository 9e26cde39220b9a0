"""Calls: of the program's own functions, and of the built-in ones of the table (OpenCL C 6.9, 6.15)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.builtins import (
    IN_IR_AS,
    NOT_YET,
    TABLE,
    WORK_ITEM,
    WRITES_LAST,
    NoMatch,
    better,
    rank,
    resolve,
)
from clsim.clc.context import NO_VALUE
from clsim.clc.expressions import Expressions
from clsim.clc.symbols import FunctionSymbol, NoValue, OverloadSet, RecordValue
from clsim.clc.types import BOOL, FLOAT, INT, UINT, Array, Pointer, Record, Scalar, Type, Void
from clsim.clc.values import c_type

_COMPARISONS = {
    "isequal": "eq", "isnotequal": "ne", "isgreater": "gt", "isgreaterequal": "ge", "isless": "lt",
    "islessequal": "le",
}  # fmt: skip


class Calls(Expressions):
    """Calls of functions."""

    def special_call(self, name: str, node: ast.Call, wanted: bool) -> ir.Expr | NoValue | None:
        """A built-in that the table cannot type; None if there is no such name."""
        raise NotImplementedError

    def call_value(self, node: ast.Call) -> ir.Expr | RecordValue | NoValue:
        return self.call(node, True)

    def call_effect(self, node: ast.Call) -> None:
        self.call(node, False)

    def call(self, node: ast.Call, wanted: bool) -> ir.Expr | RecordValue | NoValue:
        callee = node.callee
        if not isinstance(callee, ast.Name):
            self.fail(node.pos, "called object is not a function")
        symbol = self.names.get(callee.name)
        if isinstance(symbol, FunctionSymbol):
            return self.user_call(symbol, node, wanted)
        name = callee.name
        if isinstance(symbol, OverloadSet):
            chosen = self.choose_overload(symbol, node)
            if chosen is not None:
                return self.user_call(chosen, node, wanted)
        elif symbol is not None:
            type_ = getattr(symbol, "type", INT)
            self.fail(node.pos, f"called object type '{type_}' is not a function or function pointer")
        if name in TABLE and not (name == "ctz" and self.standard < (2, 0)):
            return self.table_call(name, node)
        if name in WORK_ITEM:
            return self.work_item_call(name, node)
        value = self.special_call(name, node, wanted)
        if value is not None:
            return value
        if name in NOT_YET:
            self.not_yet(node.pos, f"function '{name}' is")
        return self.fail(node.pos, f"implicit declaration of function '{name}' is invalid in OpenCL")

    # ------------------------------------------------------------ the program's functions

    def choose_overload(self, functions: OverloadSet, node: ast.Call) -> FunctionSymbol | None:
        """The member that fits the arguments best; None where only a built-in of the name can."""
        types = tuple(self.type_of_argument(argument) for argument in node.args)
        ranked = [
            (tuple(map(_rank, types, member.parameters)), member)
            for member in functions.members
            if len(member.parameters) == len(types)
        ]
        fitting = [(ranks, member) for ranks, member in ranked if -1 not in ranks]
        best = [m for r, m in fitting if not any(better(other, r) for other, _ in fitting)]
        exact = any(not any(ranks) for ranks, _ in fitting)
        if functions.name in TABLE and not exact:
            # The built-in functions of this name are overloads as well.
            return None
        if len(best) == 1:
            return best[0]
        listed = ", ".join(f"'{t}'" for t in types)
        if fitting:
            self.fail(node.pos, f"call to '{functions.name}' is ambiguous (arguments {listed})")
        return self.fail(
            node.pos,
            f"no matching function for call to '{functions.name}' (arguments {listed})",
            (functions.pos, f"'{functions.name}' declared here"),
        )

    def type_of_argument(self, node: ast.Expression) -> Type:
        """The type an argument has once an array has become a pointer; nothing is done."""
        type_ = self.type_of_expression(node)
        if isinstance(type_, Array):
            outer, self.out = self.out, []
            memories = len(self.state.memories)
            type_ = self.rvalue(node).type
            self.out = outer
            del self.state.memories[memories:]
        return type_

    def user_call(
        self, symbol: FunctionSymbol, node: ast.Call, wanted: bool
    ) -> ir.Expr | RecordValue | NoValue:
        count, expected = len(node.args), len(symbol.parameters)
        if count != expected:
            self.fail(
                node.pos,
                self.wrong_arguments(expected, count),
                (symbol.pos, f"'{symbol.name}' declared here"),
            )
        symbol.called_at = node.pos
        args: list[ir.Expr] = []
        for argument, type_ in zip(node.args, symbol.parameters, strict=True):
            if isinstance(type_, Record):
                args.append(self.record_argument(argument, type_))
            else:
                args.append(self.implicit(self.rvalue(argument), type_, argument.pos, "pass"))
        loc = self.loc(node.pos)
        result = symbol.result
        if isinstance(result, Record):
            memory = self.private_memory(f"{symbol.name}_result", result, node.pos)
            target = self.address(memory)
            self.out.append(ir.Call(None, symbol.name, (target, *args), loc))
            return RecordValue(result, self.address(memory))
        if isinstance(result, Void):
            self.out.append(ir.Call(None, symbol.name, tuple(args), loc))
            return NO_VALUE
        if not wanted:
            self.out.append(ir.Call(None, symbol.name, tuple(args), loc))
            return NO_VALUE
        var = self.temporary(result)
        self.out.append(ir.Call(var, symbol.name, tuple(args), loc))
        return ir.Read(var, result)

    def record_argument(self, node: ast.Expression, type_: Record) -> ir.Expr:
        value = self.any_value(node)
        if not isinstance(value, RecordValue) or value.type is not type_:
            self.fail(node.pos, f"passing '{value.type}' to parameter of incompatible type '{type_}'")
        memory = self.private_memory("argument", type_, node.pos)
        self.copy_record(self.address(memory), value, node.pos)
        return self.address(memory)

    @staticmethod
    def wrong_arguments(expected: int, count: int) -> str:
        few_or_many = "few" if count < expected else "many"
        return f"too {few_or_many} arguments to function call, expected {expected}, have {count}"

    # ------------------------------------------------------------ table functions

    def work_item_call(self, name: str, node: ast.Call) -> ir.Expr:
        result, takes_dimension, since = WORK_ITEM[name]
        if self.standard < since:
            self.fail(node.pos, f"implicit declaration of function '{name}' is invalid in OpenCL")
        args = self.arguments(node, 1 if takes_dimension else 0)
        args = [self.implicit(a, UINT, n.pos, "pass") for a, n in zip(args, node.args, strict=True)]
        return ir.Builtin(name, result, tuple(args), self.loc(node.pos))

    def arguments(self, node: ast.Call, count: int) -> list[ir.Expr]:
        """The values of exactly `count` arguments."""
        if len(node.args) != count:
            self.fail(
                node.pos,
                self.wrong_arguments(count, len(node.args)),
            )
        return [self.rvalue(a) for a in node.args]

    def table_call(self, name: str, node: ast.Call) -> ir.Expr:
        args = [self.rvalue(a) for a in node.args]
        types = tuple(c_type(a) for a in args)
        try:
            chosen = resolve(name, types, self.target.has_double, self.target.has_half)
        except NoMatch as problem:
            listed = ", ".join(f"'{t}'" for t in types)
            if problem.ambiguous:
                self.fail(node.pos, f"call to '{name}' is ambiguous (arguments {listed})")
            self.fail(node.pos, f"no matching function for call to '{name}' (arguments {listed})")
        args = [
            self.convert(self.convert(a, p), w)
            for a, p, w in zip(args, chosen.parameters, chosen.wide, strict=True)
        ]
        name = IN_IR_AS.get(name, name)
        loc = self.loc(node.pos)
        if name in WRITES_LAST:
            var = self.temporary(chosen.result)
            self.out.append(ir.BuiltinCall(var, name, tuple(args), loc))
            return ir.Read(var, chosen.result)
        return self.simplified(name, chosen.result, args, loc)

    def simplified(self, name: str, result: Type, args: list[ir.Expr], loc: ir.Loc) -> ir.Expr:
        """A pure built-in, or the plain operators that say the same."""
        if name == "mul24":
            return ir.Binary("mul", result, args[0], args[1])
        if name == "mad24":
            return ir.Binary("add", result, ir.Binary("mul", result, args[0], args[1]), args[2])
        if name == "divide":
            return ir.Binary("div", result, args[0], args[1], loc)
        if name == "recip":
            return ir.Binary("div", result, self.convert(ir.Const(FLOAT, 1.0), result), args[0], loc)
        if name in _COMPARISONS:
            compared = BOOL if isinstance(result, Scalar) else result
            return ir.Compare(_COMPARISONS[name], compared, args[0], args[1])
        return ir.Builtin(name, result, tuple(args), loc)


def _rank(argument: Type, parameter: Type) -> int:
    """How well an argument fits a parameter of a function of the program; -1 if not at all."""
    if not isinstance(parameter, Pointer) or not isinstance(argument, Pointer):
        return rank(argument, parameter)
    if argument.space is not parameter.space or (argument.const and not parameter.const):
        return -1
    if argument.pointee == parameter.pointee:
        return int(argument.const != parameter.const)
    return 2 if isinstance(parameter.pointee, Void) else -1
