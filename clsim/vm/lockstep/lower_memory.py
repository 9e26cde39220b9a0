"""Lowers pointers, loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clsim.clc import ir
from clsim.clc.types import Pointer, Type, Vector
from clsim.vm.dtypes import SIZES, code_of, width_of
from clsim.vm.lockstep.graph import AtomicItem, Load, Node, Place, Ptr, Seg, Store, Value
from clsim.vm.lockstep.lower_loops import LoopLowering
from clsim.vm.lockstep.promote import place_of


class MemoryLowering(LoopLowering):
    # ------------------------------------------------------------ pointers

    def address(self, value: Value) -> Node:
        """The 64-bit address that a pointer stands for."""
        assert isinstance(value, Ptr)
        if value.seg is None:
            return value.off
        if value.seg is self.null:
            base = self.b.zero("u8")
        else:
            base = self.b.make("address", "u8", (), value.seg.index)
        if value.seg.kind in ("local", "private"):
            self.has_dynamic_pointers = True
        return self.b.arith("add", "u8", base, self.b.convert(value.off, "u8"))

    def from_address(self, address: Node) -> Ptr:
        if address.op == "const" and address.attr == 0:
            return Ptr(self.null, self.b.x(0))
        self.has_dynamic_pointers = True
        return Ptr(None, address)

    def on_address(self, e: ir.Address) -> Value:
        return Ptr(self.by_memory[e.memory], self.b.x(0))

    def on_offset(self, e: ir.Offset) -> Value:
        pointer = self.expr(e.pointer)
        assert isinstance(pointer, Ptr)
        index = self.scalar(e.index)
        if pointer.seg is None:
            distance = self.b.convert(index, "u8")
            scaled = self.b.arith("mul", "u8", distance, self.b.const("u8", e.stride))
            return Ptr(None, self.b.arith("add", "u8", pointer.off, scaled))
        return Ptr(pointer.seg, self.b.xadd(pointer.off, self.b.xmul(self.b.convert(index, "x"), e.stride)))

    def on_pointerdifference(self, e: ir.PointerDifference) -> Value:
        a, b = self.expr(e.a), self.expr(e.b)
        assert isinstance(a, Ptr)
        assert isinstance(b, Ptr)
        if a.seg is b.seg and a.seg is not None:
            distance = self.b.convert(self.b.arith("sub", "x", a.off, b.off), "i8")
        else:
            distance = self.b.convert(self.b.arith("sub", "u8", self.address(a), self.address(b)), "i8")
        return self.b.arith("div", "i8", distance, self.b.const("i8", e.stride))

    # ------------------------------------------------------------ loads

    def on_load(self, e: ir.Load) -> Value:
        is_pointer = isinstance(e.type, Pointer)
        place = place_of(e.pointer)
        if place is not None and place[0] in self.promoted:
            return self._read_element(place, e.type)
        pointer = self.expr(e.pointer)
        assert isinstance(pointer, Ptr)
        parts = self.load(pointer, code_of(e.type), width_of(e.type), e.align, e.loc, e.volatile)
        if is_pointer:
            return self.from_address(parts[0])
        return parts if isinstance(e.type, Vector) else parts[0]

    def _read_element(self, place: tuple[ir.Memory, int], type_: Type) -> Value:
        memory, start = place
        if isinstance(type_, Pointer):
            value = self.env.get((memory, start))
            return Ptr(self.null, self.b.x(0)) if value is None else value
        code = code_of(type_)
        parts: list[Node] = []
        for k in range(width_of(type_)):
            value = self.env.get((memory, start + k * SIZES[code]))
            parts.append(value if isinstance(value, Node) else self.b.undef(code))
        return tuple(parts) if isinstance(type_, Vector) else parts[0]

    def load(
        self, pointer: Ptr, code: str, width: int, align: int, loc: ir.Loc, volatile: bool = False
    ) -> tuple[Node, ...]:
        """Read `width` components that follow each other."""
        seg, off = pointer.seg, pointer.off
        version = self.versions if seg is None else seg.version
        key = (seg, off, code, width, version)
        known = self.loads.get(key)
        if known is not None and not volatile and self.block.is_within(known[0]):
            return known[1]
        place = Place(loc, seg, SIZES[code] * width, align, False, code)
        self.places.append(place)
        nodes = []
        for k in range(width):
            node = self.b.pin(self.block, "load", code, (off,), (seg, len(self.places) - 1))
            item = Load(node, seg, off, k, place)
            node.attr = item
            self.emit(item)
            nodes.append(node)
        result = tuple(nodes)
        if code == "?":
            for n in result:
                n.lo, n.hi = 0, 1
        self.loads[key] = (self.block, result)
        return result

    # ------------------------------------------------------------ stores

    def do_store(self, s: ir.Store) -> None:
        value = self.expr(s.value)
        self.store_through(s.pointer, value, s.value.type, s.align, s.loc)

    def store_through(self, target: ir.Expr, value: Value, type_: Type, align: int, loc: ir.Loc) -> None:
        place = place_of(target)
        if place is not None and place[0] in self.promoted:
            self._write_element(place, value, code_of(type_))
            return
        pointer = self.expr(target)
        assert isinstance(pointer, Ptr)
        if isinstance(value, Ptr):
            parts: tuple[Node, ...] = (self.address(value),)
        else:
            parts = value if isinstance(value, tuple) else (value,)
        self.store(pointer, parts, code_of(type_), align, loc)

    def _write_element(self, place: tuple[ir.Memory, int], value: Value, code: str) -> None:
        memory, start = place
        if isinstance(value, Ptr):
            self.env[memory, start] = value
            return
        for k, part in enumerate(value if isinstance(value, tuple) else (value,)):
            self.env[memory, start + k * SIZES[code]] = part

    def store(self, pointer: Ptr, parts: tuple[Node, ...], code: str, align: int, loc: ir.Loc) -> None:
        place = Place(loc, pointer.seg, SIZES[code] * len(parts), align, True, code, reads=False)
        self.places.append(place)
        self.emit(Store(pointer.seg, pointer.off, parts, place))
        self._changed(pointer.seg)

    def _changed(self, seg: Seg | None) -> None:
        """Memory was written: later loads must read it again."""
        self.versions += 1
        if seg is None:
            for other in self.segs:
                other.version = self.versions
                other.is_stored = True
            return
        seg.version = self.versions
        seg.is_stored = True
        if seg.kind == "arg" and self.variant.aliased:
            for other in self.segs:
                if other.kind == "arg":
                    other.version = self.versions
                    other.is_stored = True

    def do_copymemory(self, s: ir.CopyMemory) -> None:
        parts = self._read_words(s.source, s.target, s.size, s.loc)
        self._write_words(s.target, parts, s.loc)

    def do_fillmemory(self, s: ir.FillMemory) -> None:
        place = place_of(s.target)
        if place is not None and place[0] in self.promoted:
            memory, start = place
            for at, code in self.promoted[memory].within(start, s.size):
                self.env[memory, at] = Ptr(self.null, self.b.x(0)) if code == "p" else self.b.zero(code)
            return
        parts: list[tuple[int, Value]] = [
            (at, self.b.zero(code)) for at, code in self._words(s.target, s.size)
        ]
        self._write_words(s.target, parts, s.loc)

    def _words(self, pointer: ir.Expr, size: int) -> list[tuple[int, str]]:
        """Cut a run of bytes into the largest words that its alignment allows."""
        assert isinstance(pointer.type, Pointer)
        word = 8
        while word > 1 and (size % word or pointer.type.pointee.align % word):
            word //= 2
        return [(at, f"u{word}") for at in range(0, size, word)]

    def _read_words(
        self, source: ir.Expr, target: ir.Expr, size: int, loc: ir.Loc
    ) -> list[tuple[int, Value]]:
        place = place_of(source)
        if place is not None and place[0] in self.promoted:
            memory, start = place
            result = []
            for at, code in self.promoted[memory].within(start, size):
                value = self.env.get((memory, at))
                if value is None:
                    value = self.b.undef("u8" if code == "p" else code)
                result.append((at - start, value))
            return result
        place = place_of(target)
        if place is not None and place[0] in self.promoted:
            memory, start = place
            words = [(at - start, code) for at, code in self.promoted[memory].within(start, size)]
        else:
            words = self._words(source, size)
        pointer = self.expr(source)
        assert isinstance(pointer, Ptr)
        assert isinstance(source.type, Pointer)
        align = source.type.pointee.align
        out: list[tuple[int, Value]] = []
        for at, code in words:
            raw = "u8" if code == "p" else code
            moved = self.moved(pointer, at)
            part: Value = self.load(moved, raw, 1, min(align, SIZES[raw]), loc)[0]
            if code == "p":
                assert isinstance(part, Node)
                part = self.from_address(part)
            out.append((at, part))
        return out

    def _write_words(self, target: ir.Expr, parts: Sequence[tuple[int, Value]], loc: ir.Loc) -> None:
        place = place_of(target)
        if place is not None and place[0] in self.promoted:
            memory, start = place
            for at, value in parts:
                self.env[memory, start + at] = value
            return
        pointer = self.expr(target)
        assert isinstance(pointer, Ptr)
        assert isinstance(target.type, Pointer)
        align = target.type.pointee.align
        for at, value in parts:
            node = self.address(value) if isinstance(value, Ptr) else value
            assert isinstance(node, Node)
            self.store(self.moved(pointer, at), (node,), node.code, min(align, SIZES[node.code]), loc)

    def moved(self, pointer: Ptr, distance: int) -> Ptr:
        if pointer.seg is None:
            return Ptr(None, self.b.arith("add", "u8", pointer.off, self.b.const("u8", distance)))
        return Ptr(pointer.seg, self.b.xadd(pointer.off, self.b.x(distance)))

    # ------------------------------------------------------------ built-ins that store, atomics

    def do_builtincall(self, s: ir.BuiltinCall) -> None:
        columns = []
        for a in s.args[:-1]:
            value = self.expr(a)
            assert not isinstance(value, Ptr)
            columns.append(value if isinstance(value, tuple) else (value,))
        pointer = s.args[-1]
        assert isinstance(pointer.type, Pointer)
        stored_type = pointer.type.pointee
        stored_code = code_of(stored_type)
        result_code = columns[0][0].code
        if s.result is not None:
            result_code = code_of(s.result.type)
        results, stored = [], []
        for row in zip(*columns, strict=True):
            both = self.b.make("pair", result_code, row, s.name)
            results.append(self.b.make("part", result_code, (both,), 0))
            stored.append(self.b.make("part", stored_code, (both,), 1))
        self.store_through(
            pointer,
            tuple(stored) if isinstance(stored_type, Vector) else stored[0],
            stored_type,
            stored_type.align,
            s.loc,
        )
        if s.result is not None:
            self.env[s.result] = tuple(results) if isinstance(s.result.type, Vector) else results[0]

    def do_atomic(self, s: ir.Atomic) -> None:
        pointer = self.expr(s.pointer)
        assert isinstance(pointer, Ptr)
        args: list[Any] = [self.expr(a) for a in s.args]
        code = code_of(s.type)
        place = Place(s.loc, pointer.seg, SIZES[code], SIZES[code], s.op != "load", code, s.op != "store")
        self.places.append(place)
        node = self.b.pin(self.block, "atomic", code, (pointer.off, *args))
        item = AtomicItem(node, s.op, pointer.seg, pointer.off, tuple(args), place)
        node.attr = item
        self.emit(item)
        self._changed(pointer.seg)
        if s.result is not None:
            self.env[s.result] = node
