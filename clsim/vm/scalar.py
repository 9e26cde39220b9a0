"""The scalar tier: each function of a kernel becomes a Python function that runs one work-item.

It is slow, simple and right: the yardstick of the lockstep tier, and what runs kernels that lockstep
cannot (locks and compare-and-swap loops). A function with barriers becomes a generator that yields its
place at each one, so that a work-group advances barrier by barrier.

Values: Python ints and bools, NumPy scalars for floats, tuples of components for vectors, and
(segment, byte offset) for pointers.
"""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.clc.recursion import deep_recursion
from clsim.clc.types import Pointer, Scalar, Space
from clsim.clc.walk import blocks
from clsim.vm import builtins
from clsim.vm.dtypes import SCALAR_TYPES, code_of, width_of
from clsim.vm.printf import format_pieces, parse
from clsim.vm.scalar_expr import ExpressionWriter
from clsim.vm.scalar_ops import uniform


class ScalarProgram:
    """Generated code for a kernel and all functions that it calls.

    `run(memory, item, shared, arguments)` runs one work-item; it is a generator function where
    `has_barrier`. `shared` maps local and program-scope memory objects to their pointers.
    """

    def __init__(self, module: ir.Module, kernel: ir.Function) -> None:
        self.module = module
        self.kernel = kernel
        self._pool: dict[str, Any] = {}
        self._with_barrier: dict[str, bool] = {}
        lines: list[str] = []
        self._written: set[str] = set()
        with deep_recursion():
            self._write(kernel, lines)
        exec(compile("\n".join(lines), f"<scalar {kernel.name}>", "exec"), self._pool)
        self.run = self._pool[f"f_{kernel.name}"]
        self.has_barrier = self.function_has_barrier(kernel.name)

    def _write(self, function: ir.Function, lines: list[str]) -> None:
        if function.name in self._written:
            return
        self._written.add(function.name)
        writer = _FunctionWriter(self, function)
        text = writer.write()
        for name in writer.called:
            self._write(self.module.functions[name], lines)
        lines.extend(text)

    def constant(self, value: Any) -> str:
        """A name in the generated code's globals for any object."""
        name = f"K{len(self._pool)}"
        self._pool[name] = value
        return name

    def function_has_barrier(self, name: str) -> bool:
        if name not in self._with_barrier:
            self._with_barrier[name] = _has_barrier(self.module.functions[name].body, self)
        return self._with_barrier[name]


def _has_barrier(block: ir.Block, program: ScalarProgram) -> bool:
    for s in block:
        if isinstance(s, ir.Barrier) and not s.fence_only:
            return True
        if isinstance(s, ir.Call) and program.function_has_barrier(s.function):
            return True
        if any(_has_barrier(inner, program) for inner in blocks(s)):
            return True
    return False


class _FunctionWriter(ExpressionWriter):
    """Writes one function. Inside, `M` is the memory, `I` the work-item, `S` the shared objects."""

    def __init__(self, program: ScalarProgram, function: ir.Function) -> None:
        super().__init__(program.constant)
        self.program = program
        self.function = function
        self.called: list[str] = []
        self._jumps: list[tuple[str, ir.Block | None, str]] = []
        """Enclosing loops and switches: kind, what `continue` runs first, flag for a switch."""

    def write(self) -> list[str]:
        function = self.function
        params = [self._name(p.var) for p in function.parameters]
        self._emit(f"def f_{function.name}({', '.join(['M', 'I', 'S', *params])}):", 0)
        if self.program.function_has_barrier(function.name):
            self._emit("if False: yield None")
        private = [m for m in function.memories if m.space is Space.PRIVATE]
        for memory in private:
            self._new_private(memory)
        if private:
            self._emit("try:")
            self._suite(function.body)
            self._emit("finally:")
            for memory in private:
                self._emit(f"  M.forget({self._name(memory)})")
        else:
            self._block(function.body)
            self._emit("pass")
        return self._lines

    def _new_private(self, memory: ir.Memory) -> None:
        initial = self._const(memory.initial)
        label = repr(memory.name)
        space = self._const(memory.space)
        self._emit(f"{self._name(memory)} = M.new_object({memory.size}, {label}, {space}, {initial})")

    # ------------------------------------------------------------ statements

    def _block(self, block: ir.Block) -> None:
        for s in block:
            getattr(self, "_do_" + type(s).__name__.lower())(s)

    def _suite(self, block: ir.Block) -> None:
        self._indent += 1
        self._block(block)
        self._emit("pass")
        self._indent -= 1

    def _do_declare(self, s: ir.Declare) -> None:
        if isinstance(s.what, ir.Memory):
            if s.what.space is Space.PRIVATE:
                self._emit(f"M.forget({self._name(s.what)})")
                self._new_private(s.what)
        else:
            self._emit(f"{self._name(s.what)} = {self._zero(s.what.type)}")

    def _do_assign(self, s: ir.Assign) -> None:
        self._emit(f"{self._name(s.var)} = {self._expr(s.value)}")

    def _do_store(self, s: ir.Store) -> None:
        value, type_ = self._expr(s.value), s.value.type
        if isinstance(type_, Pointer):
            value = f"(M.address({value}),)"
        elif isinstance(type_, Scalar):
            value = f"({value},)"
        pointer, loc = self._expr(s.pointer), self._const(s.loc)
        self._emit(f"M.store({pointer}, {value}, {code_of(type_)!r}, {s.align}, {loc})")

    def _do_copymemory(self, s: ir.CopyMemory) -> None:
        target, source = self._expr(s.target), self._expr(s.source)
        self._emit(f"M.copy({target}, {source}, {s.size}, {self._const(s.loc)})")

    def _do_fillmemory(self, s: ir.FillMemory) -> None:
        self._emit(f"M.fill({self._expr(s.target)}, {s.size}, {self._const(s.loc)})")

    def _do_call(self, s: ir.Call) -> None:
        self.called.append(s.function)
        args = ", ".join(["M", "I", "S", *map(self._expr, s.args)])
        call = f"f_{s.function}({args})"
        if self.program.function_has_barrier(s.function):
            call = f"(yield from {call})"
        self._emit(f"{self._name(s.result)} = {call}" if s.result else call)

    def _do_builtincall(self, s: ir.BuiltinCall) -> None:
        function = builtins.storing(s.name)
        assert function is not None, s.name
        *values, pointer = s.args
        assert isinstance(pointer.type, Pointer)
        target = pointer.type.pointee
        width = width_of(target)
        codes = tuple(code_of(v.type) for v in values)
        result_code = code_of(s.result.type) if s.result else codes[0]
        helper = self._const(_storing(function, codes, result_code, code_of(target)))
        args = ", ".join(self._components(v) for v in values)
        name, stored = self._fresh(), self._fresh()
        self._emit(f"{name}, {stored} = {helper}({width}, ({args},))")
        place, loc = self._expr(pointer), self._const(s.loc)
        self._emit(f"M.store({place}, {stored}, {code_of(target)!r}, {target.align}, {loc})")
        if s.result:
            self._emit(f"{self._name(s.result)} = {name}{'' if width > 1 else '[0]'}")

    def _do_atomic(self, s: ir.Atomic) -> None:
        args = "".join(self._expr(a) + ", " for a in s.args)
        code = code_of(s.type)
        call = f"M.atomic({s.op!r}, {code!r}, {self._expr(s.pointer)}, ({args}), {self._const(s.loc)})"
        self._emit(f"{self._name(s.result)} = {call}" if s.result else call)

    def _do_barrier(self, s: ir.Barrier) -> None:
        if not s.fence_only:
            self._emit(f"yield {self._const(s.loc)}")

    def _do_printf(self, s: ir.Printf) -> None:
        pieces = self._const(parse(s.template))
        args = []
        for a in s.args:
            if isinstance(a, bytes):
                args.append(repr(a.decode("latin-1")))
            elif isinstance(a.type, Pointer):
                args.append(f"(M.address({self._expr(a)}),)")
            else:
                args.append(self._components(a))
        text = f"{self._const(format_pieces)}({pieces}, ({''.join(a + ', ' for a in args)}))"
        self._emit(f"M.printer.add(I.order, {text})")

    def _do_if(self, s: ir.If) -> None:
        self._emit(f"if {self._expr(s.test)}:")
        self._suite(s.then)
        if s.otherwise:
            self._emit("else:")
            self._suite(s.otherwise)

    def _do_loop(self, s: ir.Loop) -> None:
        counter, first = self._fresh(), self._fresh()
        self._emit(f"{counter} = 0")
        if not s.test_first:
            self._emit(f"{first} = True")
        self._emit("while True:")
        self._indent += 1
        self._emit(f"{counter} += 1")
        self._emit(f"if {counter} > I.loop_limit: I.hit_limit({self._const(s.loc)}); break")
        if not s.test_first:
            self._emit(f"if {first}: {first} = False")
            self._emit("else:")
            self._indent += 1
        self._block(s.before)
        if s.test is not None:
            self._emit(f"if not {self._expr(s.test)}: break")
        if not s.test_first:
            self._emit("pass")
            self._indent -= 1
        self._jumps.append(("loop", s.after, ""))
        self._block(s.body)
        self._jumps.pop()
        self._block(s.after)
        self._indent -= 1

    def _do_switch(self, s: ir.Switch) -> None:
        value, entry, go_on = self._fresh(), self._fresh(), self._fresh()
        self._emit(f"{value} = {self._expr(s.value)}; {go_on} = False")
        default = len(s.cases)
        table: dict[int, int] = {}
        for k, (values, _) in enumerate(s.cases):
            if values is None:
                default = k
            else:
                table.update(dict.fromkeys(values, k))
        self._emit(f"{entry} = {self._const(table)}.get({value}, {default})")
        self._emit("while True:")
        self._jumps.append(("switch", None, go_on))
        self._indent += 1
        for k, (_, body) in enumerate(s.cases):
            self._emit(f"if {entry} <= {k}:")
            self._suite(body)
        self._emit("break")
        self._indent -= 1
        self._jumps.pop()
        if any(kind == "loop" for kind, _, _ in self._jumps):
            self._emit(f"if {go_on}:")
            self._indent += 1
            self._do_continue(None)
            self._indent -= 1

    def _do_break(self, s: ir.Break) -> None:
        self._emit("break")

    def _do_continue(self, s: ir.Continue | None) -> None:
        kind, after, flag = self._jumps[-1]
        if kind == "switch":
            self._emit(f"{flag} = True; break")
            return
        jumps, self._jumps = self._jumps, self._jumps[:-1]
        self._block(after or ())
        self._jumps = jumps
        self._emit("continue")

    def _do_return(self, s: ir.Return) -> None:
        self._emit(f"return {self._expr(s.value)}" if s.value is not None else "return")


def _storing(function: Any, codes: tuple[str, ...], result: str, stored: str) -> Any:
    """Apply a built-in with two results to component tuples."""

    def apply(width: int, args: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        rows = [
            function(*(SCALAR_TYPES[c](a[k]) for c, a in zip(codes, args, strict=True))) for k in range(width)
        ]
        return tuple(uniform(r[0], result) for r in rows), tuple(uniform(r[1], stored) for r in rows)

    return apply
