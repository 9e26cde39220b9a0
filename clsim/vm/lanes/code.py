"""Statements of the lockstep tier: one Python function a kernel, run once a chunk of work-groups."""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.clc.types import Pointer, Scalar, Space, Vector
from clsim.vm import builtins
from clsim.vm.dtypes import SIZES, code_of, width_of
from clsim.vm.lanes import run
from clsim.vm.lanes.analysis import Unsupported, may_jump, statements
from clsim.vm.lanes.values import (
    Expressions,
    Place,
    Target,
    Value,
    element_of,
    slot_scatter,
)

_MAX_INDENT = 60


class _Scope:
    """A stretch of code under one mask. `kind`: function, if, loop (masked), body, switch."""

    __slots__ = ("kind", "mask", "number")

    def __init__(self, kind: str, mask: str, number: int) -> None:
        self.kind = kind
        self.mask = mask
        self.number = number


class Writer(Expressions):
    """Writes `run(C, A)`: C is the chunk, A the bound arguments in the order of the parameters."""

    def __init__(self, module: ir.Module, kernel: ir.Function) -> None:
        super().__init__(module, kernel)
        self.lines: list[str] = []
        self.indent = 1
        self.scopes: list[_Scope] = []
        self.scope_count = 0
        self.declared: dict[ir.Var, int] = {}
        self.python_loops: list[tuple[str, ir.Block | None, int]] = []
        self.results: list[tuple[ir.Var | None, str, int]] = []
        self.local_memories: list[ir.Memory] = []

    def write(self) -> Any:
        """The compiled function, whose last argument holds local and constant memories."""
        kernel = self.kernel
        for k, parameter in enumerate(kernel.parameters):
            if parameter.record is not None:
                raise Unsupported("a record by value")
            self._bind_parameter(parameter, f"A[{k}]")
        self._bind_memories()
        root = self._enter("function", "m0")
        head = ["m0 = None"]
        body_start = len(self.lines)
        self.results.append((None, kernel.name, 0))
        self._block(kernel.body)
        self.scopes.pop()
        del root
        opening = ["def run(C, A, L):", *(f"  {line}" for line in (*self._opening, *head, *self.prelude))]
        source = "\n".join([*opening, *self._vars(), *self.lines[body_start:], "  return None"])
        try:
            exec(compile(source, f"<lockstep {kernel.name}>", "exec"), self.pool)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise Unsupported(f"too deep for Python: {error}") from None
        self.source = source
        return self.pool["run"]

    def _vars(self) -> list[str]:
        """Registers get a value of their type first, for lanes that read before they write."""
        lines = []
        for function in self.facts.functions:
            for s in statements(function.body):
                targets = [s.what] if isinstance(s, ir.Declare) and isinstance(s.what, ir.Var) else []
                targets += [v for v in (getattr(s, "var", None), getattr(s, "result", None)) if v is not None]
                for var in targets:
                    if var in self._names and not isinstance(var.type, Pointer):
                        lines += [f"  {v.text} = {self.zero(v.code, v.uniform)}" for v in self.register(var)]
        return list(dict.fromkeys(lines))

    def _bind_parameter(self, parameter: ir.Parameter, text: str) -> None:
        if not hasattr(self, "_opening"):
            self._opening: list[str] = []
        type_ = parameter.var.type
        if isinstance(type_, Pointer):
            name = self.fresh("M")
            self._opening.append(f"{name} = {text}")
            self.memory_names[parameter] = name
            self.pointers[parameter.var] = Target(parameter)
            if self.facts.assignments.get(parameter.var):
                raise Unsupported("an argument pointer that moves")
            return
        if not isinstance(type_, Scalar | Vector):
            raise Unsupported(f"an argument of type {type_}")
        values = self.register(parameter.var)
        for k, value in enumerate(values):
            item = f"{text}[{k}]" if len(values) > 1 else text
            if not value.uniform:
                item = self.array(Value(item, value.code, True))
            self._opening.append(f"{value.text} = {item}")
        if not self.facts.assignments.get(parameter.var):
            self.alias[parameter.var] = [Value(v.text, v.code, v.uniform, fixed=True) for v in values]

    def _bind_memories(self) -> None:
        for memory in self.module.constants:
            self._bind_shared(memory)
        for function in self.facts.functions:
            for memory in function.memories:
                if memory.space is Space.LOCAL:
                    self._bind_shared(memory)
                elif memory.space is Space.PRIVATE and memory in self.facts.slots:
                    self.memory_names[memory] = self.fresh("S")
                elif memory.space is Space.PRIVATE:
                    raise Unsupported(f"the private object {memory.name}")

    def _bind_shared(self, memory: ir.Memory) -> None:
        name = self.fresh("M")
        self.memory_names[memory] = name
        self._opening.append(f"{name} = L[{len(self.local_memories)}]")
        self.local_memories.append(memory)

    # ------------------------------------------------------------ lines and masks

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.indent + line)

    def _enter(self, kind: str, mask: str) -> _Scope:
        self.scope_count += 1
        scope = _Scope(kind, mask, self.scope_count)
        self.scopes.append(scope)
        self.mask = mask
        return scope

    def _leave(self) -> None:
        self.scopes.pop()
        self.mask = self.scopes[-1].mask

    def _suite(self, block: ir.Block) -> None:
        self.indent += 1
        if self.indent > _MAX_INDENT:
            raise Unsupported("control flow nested very deep")
        self._block(block)
        self.emit("pass")
        self.indent -= 1

    def _block(self, block: ir.Block) -> None:
        """Statements; after one that may end some lanes, the rest runs only if any are left."""
        opened = 0
        for position, s in enumerate(block):
            method = getattr(self, "_do_" + type(s).__name__.lower(), None)
            if method is None:
                raise Unsupported(type(s).__name__)
            method(s)
            if isinstance(s, ir.Break | ir.Continue | ir.Return):
                break
            jumps = isinstance(s, ir.If | ir.Loop | ir.Switch) and may_jump((s,), out_of_loop=False)
            if jumps and position + 1 < len(block):
                self.emit(f"if ANY({self.mask}):")
                self.indent += 1
                opened += 1
                if self.indent > _MAX_INDENT:
                    raise Unsupported("control flow nested very deep")
        if opened:
            self.emit("pass")
        self.indent -= opened

    # ------------------------------------------------------------ registers

    def _do_declare(self, s: ir.Declare) -> None:
        if isinstance(s.what, ir.Memory):
            if s.what.space is Space.PRIVATE:
                element = element_of(s.what.type)
                zero = self.zero(code_of(element))
                if isinstance(element, Vector):
                    zero = "(" + f"{zero}, " * element.width + ")"
                self.emit(f"{self.memory_names[s.what]} = [{zero}] * {s.what.size // element.size}")
            return
        self.declared[s.what] = self.scopes[-1].number
        self.alias.pop(s.what, None)

    def _do_assign(self, s: ir.Assign) -> None:
        if isinstance(s.var.type, Pointer):
            if self.facts.assignments[s.var] != 1:
                raise Unsupported("a pointer that moves")
            target = self.pointer(s.value)
            parts = []
            for value, stride in target.parts:
                if value.known is None and not value.fixed:
                    name = self.fresh("o")
                    self.emit(f"{name} = {value.text}")
                    value = Value(name, value.code, value.uniform, value.positive)
                parts.append((value, stride))
            self.pointers[s.var] = Target(target.memory, tuple(parts))
            return
        values = self.components(s.value)
        if self.facts.assignments[s.var] == 1 and all(v.fixed for v in values):
            self.alias[s.var] = [self.hoist(v) for v in values]
            return
        self._set(s.var, values)

    def _set(self, var: ir.Var, values: list[Value]) -> None:
        """Assigns in the lanes of the mask; all of them where the variable is this scope's own."""
        targets = self.register(var)
        own = self.declared.get(var) == self.scopes[-1].number
        texts = []
        for target, value in zip(targets, values, strict=True):
            text = value.text if target.uniform else self.array(value)
            if not target.uniform and not own:
                text = f"SEL({self.mask}, {text}, {target.text})"
            texts.append(text)
        if len(targets) == 1:
            self.emit(f"{targets[0].text} = {texts[0]}")
        else:
            self.emit(f"{', '.join(t.text for t in targets)} = {', '.join(texts)}")

    # ------------------------------------------------------------ memory

    def _do_store(self, s: ir.Store) -> None:
        if isinstance(s.value.type, Pointer):
            raise Unsupported("a pointer in memory")
        self._store(self.pointer(s.pointer), self.components(s.value), s.value.type, s.loc)

    def _store(self, where: Target, values: list[Value], type_: Any, loc: ir.Loc) -> None:
        code, width = code_of(type_), width_of(type_)
        texts = [self.array(v) for v in values]
        if where.memory in self.facts.slots:
            self._slot_store(where, texts, code, width, loc)
            return
        index = self.index(where, SIZES[code])
        place = self.place(where, loc, code, width, True)
        at = index.text if index.uniform else self.array(index)
        memory = self.memory_names[where.memory]
        self.emit(f"ST(C, {memory}, {at}, ({''.join(t + ', ' for t in texts)}), {self.mask}, {place})")

    def _slot_store(self, where: Target, texts: list[str], code: str, width: int, loc: ir.Loc) -> None:
        assert isinstance(where.memory, ir.Memory)
        stride = element_of(where.memory.type).size
        index = self.index(where, stride)
        name = self.memory_names[where.memory]
        count = where.memory.size // stride
        value = texts[0] if width == 1 else f"({', '.join(texts)})"
        if index.known is not None and 0 <= index.known < count and len(self.scopes) == 1:
            item = f"{name}[{index.known}]"
            if width == 1:
                self.emit(
                    f"{item} = SEL({self.mask}, {value}, {item})" if self._may_mask() else f"{item} = {value}"
                )
                return
        place = self.place(where, loc, code, width, True)
        at = index.text if index.uniform else self.array(index)
        self.emit(f"{self.constant(slot_scatter)}(C, {name}, {at}, {value}, {self.mask}, {place})")

    def _may_mask(self) -> bool:
        """Whether the outermost mask can ever be other than all lanes."""
        return self.kernel.name in self.facts.divergent or len(self.scopes) > 1

    def _do_fillmemory(self, s: ir.FillMemory) -> None:
        where = self.pointer(s.target)
        if where.memory not in self.facts.slots:
            raise Unsupported("filling memory that is not private")
        assert isinstance(where.memory, ir.Memory)
        element = element_of(where.memory.type)
        first = self.index(where, element.size)
        if first.known is None or s.size % element.size:
            raise Unsupported("filling a part of an object")
        zero = self.zero(code_of(element))
        for k in range(first.known, first.known + s.size // element.size):
            texts = [zero] * width_of(element)
            at = Value(str(k), "i8", True, True, True, k)
            self._slot_store(
                Target(where.memory, ((at, element.size),)), texts, code_of(element), width_of(element), s.loc
            )

    def _do_builtincall(self, s: ir.BuiltinCall) -> None:
        function = builtins.storing(s.name)
        pointer = s.args[-1]
        if function is None or not isinstance(pointer.type, Pointer):
            raise Unsupported(f"the built-in {s.name}")
        pointee = pointer.type.pointee
        lists = [self.components(a) for a in s.args[:-1]]
        width = width_of(pointee)
        result, stored = self.fresh("r"), self.fresh("r")
        code = code_of(pointee)
        kept_result, kept_stored = [], []
        for k in range(width):
            args = ", ".join(self.array(x[0] if len(x) == 1 else x[k]) for x in lists)
            self.emit(f"{result}_{k}, {stored}_{k} = {self.constant_of(function)}({args})")
            kept_result.append(Value(f"{result}_{k}", code_of(s.result.type) if s.result else code, False))
            kept_stored.append(Value(f"{stored}_{k}.astype(T_{code})", code, False))
        self._store(self.pointer(pointer), kept_stored, pointee, s.loc)
        if s.result is not None:
            self._set(s.result, kept_result)

    def _do_atomic(self, s: ir.Atomic) -> None:
        if s.result is not None or s.op not in ("add", "sub", "min", "max", "and", "or", "xor"):
            raise Unsupported("an atomic operation whose old value is used")
        where, code = self.pointer(s.pointer), code_of(s.type)
        index = self.index(where, SIZES[code])
        place = self.place(where, s.loc, code, 1, True)
        value = self.array(self.one(s.args[0]))
        at = index.text if index.uniform else self.array(index)
        memory = self.memory_names[where.memory]
        function = self.constant_of(run.atomic)
        self.emit(f"{function}(C, {memory}, {at}, {s.op!r}, {value}, {self.mask}, {place})")

    def _do_barrier(self, s: ir.Barrier) -> None:
        if not s.fence_only and self._may_mask():
            self.emit(f"C.barrier({self._somewhere(s.loc)}, {self.mask})")

    def _somewhere(self, loc: ir.Loc) -> str:
        """A place in the source that no memory belongs to."""
        return self.constant(Place(loc, "", "u1", 0, False))

    # ------------------------------------------------------------ control flow

    def _do_if(self, s: ir.If) -> None:
        test = self.test(s.test)
        if test.uniform:
            self.emit(f"if {test.text}:")
            self._suite(s.then)
            if s.otherwise:
                self.emit("else:")
                self._suite(s.otherwise)
            return
        name, outer = self.fresh("m"), self.mask
        other = self.fresh("m")
        if s.otherwise and not test.text.isidentifier():
            held = self.fresh("c")
            self.emit(f"{held} = {test.text}")
            test = Value(held, "?", False)
        self.emit(f"{name} = BOTH({outer}, {test.text})")
        if s.otherwise:
            self.emit(f"{other} = WITHOUT({outer}, {test.text})")
        for mask, block in ((name, s.then), (other, s.otherwise)):
            if not block:
                continue
            self.emit(f"if ANY({mask}):")
            self._enter("if", mask)
            self.indent += 1
            self.emit(f"if {mask}.all(): {mask} = None")
            self.indent -= 1
            self._suite(block)
            self._leave()

    def _do_loop(self, s: ir.Loop) -> None:
        divergent = self.facts.loop_is_divergent(s, self._is_masked())
        (self._masked_loop if divergent else self._uniform_loop)(s)

    def _is_masked(self) -> bool:
        return len(self.scopes) > 1

    def _counter(self, s: ir.Loop) -> str:
        name = self.fresh("n")
        self.emit(f"{name} = 0")
        return name

    def _limit(self, counter: str, s: ir.Loop) -> None:
        self.emit(f"{counter} += 1")
        self.emit(f"if {counter} > C.loop_limit: C.hit_limit({self._somewhere(s.loc)}, {self.mask}); break")

    def _uniform_loop(self, s: ir.Loop) -> None:
        counter, first = self._counter(s), self.fresh("f")
        if not s.test_first:
            self.emit(f"{first} = True")
        self.emit("while True:")
        self.indent += 1
        self._limit(counter, s)
        if not s.test_first:
            self.emit(f"if {first}: {first} = False")
            self.emit("else:")
            self.indent += 1
        self._block(s.before)
        if s.test is not None:
            self.emit(f"if not {self.test(s.test).text}: break")
        self.emit("pass")
        if not s.test_first:
            self.indent -= 1
        self.python_loops.append(("loop", s.after, len(self.scopes)))
        self._block(s.body)
        self.python_loops.pop()
        if not (s.body and isinstance(s.body[-1], ir.Break | ir.Continue | ir.Return)):
            self._block(s.after)
        self.emit("pass")
        self.indent -= 1

    def _masked_loop(self, s: ir.Loop) -> None:
        live, body = self.fresh("m"), self.fresh("m")
        counter, first = self._counter(s), self.fresh("f")
        self.emit(f"{live} = {self.mask}")
        if not s.test_first:
            self.emit(f"{first} = True")
        self._enter("loop", live)
        self.emit("while True:")
        self.indent += 1
        self._limit(counter, s)
        if not s.test_first:
            self.emit(f"if {first}: {first} = False")
            self.emit("else:")
            self.indent += 1
        self.python_loops.append(("masked", None, len(self.scopes)))
        self._block(s.before)
        if s.test is not None:
            test = self.test(s.test)
            text = test.text if not test.uniform else f"T_b({test.text})"
            self.emit(f"{live} = BOTH({live}, {text})")
            self.emit(f"if not ANY({live}): break")
        self.emit("pass")
        if not s.test_first:
            self.indent -= 1
        self.emit(f"{body} = {live}")
        self._enter("body", body)
        self._block(s.body)
        self._leave()
        self.emit(f"if not ANY({live}): break")
        self._block(s.after)
        self.python_loops.pop()
        self.indent -= 1
        self._leave()

    def _do_switch(self, s: ir.Switch) -> None:
        value = self.one(s.value)
        held = self.fresh("c")
        self.emit(f"{held} = {self.array(value)}")
        kinds = dict(enumerate(s.cases))
        matches = {}
        for k, (labels, _) in kinds.items():
            if labels is not None:
                tests = " | ".join(f"({held} == {self.constant(_case(value.code, x))})" for x in labels)
                matches[k] = self.fresh("c")
                self.emit(f"{matches[k]} = {tests}")
        live = self.fresh("m")
        outer = self.fresh("m")
        self.emit(f"{outer} = {self.mask}")
        self.emit(f"{live} = T_b(False)")
        self._enter("switch", live)
        self.python_loops.append(("masked", None, len(self.scopes)))
        for k, (labels, block) in kinds.items():
            entering = matches[k] if labels is not None else None
            if entering is None:
                others = " | ".join(matches.values())
                entering = f"~({others})" if others else "T_b(True)"
            self.emit(f"{live} = {live} | BOTH({outer}, {entering})")
            self.emit(f"if ANY({live}):")
            self._suite(block)
        self.python_loops.pop()
        self._leave()

    def _shrink(self, until: tuple[str, ...]) -> None:
        """Takes the lanes of the present mask out of all masks up to the nearest scope of a kind."""
        gone = self.fresh("g")
        self.emit(f"{gone} = {self.mask}")
        done = set()
        for scope in reversed(self.scopes):
            if scope.mask not in done:
                self.emit(f"{scope.mask} = {self._minus}({scope.mask}, {gone})")
                done.add(scope.mask)
            if scope.kind in until:
                break

    @property
    def _minus(self) -> str:
        self.pool["MINUS"] = _minus
        return "MINUS"

    def _do_break(self, s: ir.Break) -> None:
        kind, _, _ = self.python_loops[-1]
        if kind == "loop":
            self.emit("break")
        else:
            self._shrink(("loop", "switch"))

    def _do_continue(self, s: ir.Continue) -> None:
        loops = [x for x in self.python_loops if x[0] == "loop"]
        if self.python_loops[-1][0] == "loop":
            after = loops[-1][1]
            kept, self.python_loops = self.python_loops, self.python_loops[:-1]
            self._block(after or ())
            self.python_loops = kept
            self.emit("continue")
        else:
            self._shrink(("body",))

    # ------------------------------------------------------------ functions

    def _do_call(self, s: ir.Call) -> None:
        function = self.module.functions[s.function]
        for parameter, argument in zip(function.parameters, s.args, strict=True):
            self._pass(parameter.var, argument)
        depth = len(self.scopes)
        mask = self.fresh("m")
        self.emit(f"{mask} = {self.mask}")
        result = self.fresh("r")
        returns = [r for r in statements(function.body) if isinstance(r, ir.Return)]
        tail = len(returns) == 1 and function.body and function.body[-1] is returns[0]
        varies = s.function in self.facts.returns_varying
        if not returns or tail or varies or s.function in self.facts.divergent:
            kind = "masked"
        else:
            kind = "python"
        self._enter("function", mask)
        if s.result is not None:
            code = code_of(s.result.type)
            for k in range(width_of(s.result.type)):
                self.emit(f"{result}_{k} = {self.zero(code, not varies)}")
        self.results.append((s.result, result, 1 if kind == "python" else 0))
        loops, self.python_loops = self.python_loops, []
        if kind == "python":
            self.emit("while True:")
            self.indent += 1
            self._block(function.body)
            self.emit("break")
            self.indent -= 1
        else:
            self._block(function.body)
        self.python_loops = loops
        self.results.pop()
        self._leave()
        assert len(self.scopes) == depth
        if s.result is not None:
            code = code_of(s.result.type)
            values = [Value(f"{result}_{k}", code, not varies) for k in range(width_of(s.result.type))]
            self._set(s.result, values)

    def _pass(self, var: ir.Var, argument: ir.Expr) -> None:
        if isinstance(var.type, Pointer):
            if self.facts.assignments.get(var):
                raise Unsupported("a pointer parameter that moves")
            target = self.pointer(argument)
            parts = []
            for value, stride in target.parts:
                if value.known is None:
                    name = self.fresh("o")
                    self.emit(f"{name} = {self.hoist(value).text}")
                    value = Value(name, value.code, value.uniform, value.positive)
                parts.append((value, stride))
            self.pointers[var] = Target(target.memory, tuple(parts))
            return
        values = self.components(argument)
        if not self.facts.assignments.get(var) and all(v.fixed for v in values):
            self.alias[var] = [self.hoist(v) for v in values]
            return
        self.alias.pop(var, None)
        for register, value in zip(self.register(var), values, strict=True):
            self.emit(f"{register.text} = {value.text if register.uniform else self.array(value)}")

    def _do_return(self, s: ir.Return) -> None:
        var, name, python = self.results[-1]
        if s.value is not None and var is not None:
            for k, value in enumerate(self.components(s.value)):
                if self._function_varies(name):
                    self.emit(f"{name}_{k} = SEL({self.mask}, {self.array(value)}, {name}_{k})")
                else:
                    self.emit(f"{name}_{k} = {value.text}")
        elif s.value is not None:
            for value in self.components(s.value):
                self.emit(value.text)
        if python:
            if self.python_loops:
                raise Unsupported("a return inside a loop of a function")
            self.emit("break")
        elif len(self.results) == 1 and not self._is_masked():
            self.emit("return None")
        else:
            self._shrink(("function",))

    def _function_varies(self, name: str) -> bool:
        var = self.results[-1][0]
        return var is not None and var in self.facts.varying


def _case(code: str, value: int) -> Any:
    from clsim.vm.dtypes import SCALAR_TYPES, wrap

    return SCALAR_TYPES[code](wrap(code, value))


def _minus(mask: Any, gone: Any) -> Any:
    """The mask without lanes that are gone; None means all lanes."""
    if gone is None:
        return False if mask is None else mask & False
    return ~gone if mask is None else mask & ~gone
