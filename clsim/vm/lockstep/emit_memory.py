"""Python text for loads, stores, atomics, barriers and printf."""

from __future__ import annotations

import numpy as np

from clsim.vm import builtins
from clsim.vm.dtypes import SIZES, is_float
from clsim.vm.lockstep.access import Plan
from clsim.vm.lockstep.emit_expr import ExpressionEmitter
from clsim.vm.lockstep.graph import AtomicItem, BarrierItem, Block, Load, Node, Place, PrintItem, Seg, Store

_UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


class MemoryEmitter(ExpressionEmitter):
    def mask(self, block: Block) -> str:
        """The variable with a block's active lanes, or 'None' where all are."""
        raise NotImplementedError

    def place(self, place: Place) -> int:
        """Index of a place in the table that goes with the code."""
        return self.place_numbers[place]

    place_numbers: dict[Place, int]

    # ------------------------------------------------------------ loads

    def do_load(self, item: Load, block: Block) -> None:
        node, plan = item.node, self.planner.plans[item][0]
        self.open(block)
        text = self._load_text(item, plan, block)
        if self._pays_to_pack(item, plan):
            text = f"({text}).copy('K')"
            self.packed.add(node)
        name = self.take(block)
        self.close(f"{name} = {text}")
        self.names[node] = name
        if plan.kind == "view" and item.seg is not None and node not in self.packed:
            self.outstanding.setdefault(item.seg, []).append(node)
        if self.variant.recording:
            self.record(item, plan, block)

    def _pays_to_pack(self, item: Load, plan: Plan) -> bool:
        """Whether to copy a view once, since its operations spread it over more lanes.

        Replicated memory keeps the elements of one lane far apart: NumPy's inner loops over such a view are
        as short as the number of groups. A packed copy makes them as long as the view.
        """
        if plan.kind != "view" or item.seg is None or item.seg.kind not in ("local", "private"):
            return False
        node = item.node
        wider = [u for u in self.schedule.users.get(node, ()) if node.axes != u.axes]
        return node.axes & (node.axes - 1) != 0 and len(wider) > 1

    def _load_text(self, item: Load, plan: Plan, block: Block) -> str:
        place, k = self.place(item.place), item.component
        code = item.node.code
        if plan.kind == "address":
            method = "load_address" if item.node.axes else "load_address_one"
            text = f"C.{method}({self.use(plan.node)}, {place}, {k}, {self.mask(block)})"
        else:
            assert item.seg is not None
            seg = item.seg.index
            if plan.kind == "scalar":
                return self._load_scalar(item, plan, place, block)
            if plan.kind == "gather":
                text = f"C.gather({seg}, {code!r}, {self.use(plan.node)}, {place}, {k}, {self.mask(block)})"
            elif plan.kind == "bytes":
                text = f"C.load_bytes({seg}, {self.use(plan.node)}, {place}, {k}, {self.mask(block)})"
            else:
                text = self.name(plan.node)
                if not plan.node.attr.is_safe:
                    slow = f"C.load_miss({seg}, {text}, {place}, {k}, {self.mask(block)})"
                    text = f"{text} if {text}.__class__ is ndarray else {slow}"
        return text

    def _load_scalar(self, item: Load, plan: Plan, place: int, block: Block) -> str:
        assert item.seg is not None
        code, seg, k = item.node.code, item.seg.index, item.component
        size = SIZES[code]
        offset = self.name(plan.node)
        flat = self.need(f"F{seg}{code.replace('?', 'b')}", f"C.flat({seg}, {code!r})")
        limit = self.need(f"N{seg}", f"C.segments[{seg}].size")
        index = f"({offset} + {k * size})" if k else offset
        shift = size.bit_length() - 1
        index = f"{index} >> {shift}" if shift else index
        fast = f"{flat}[{index}]" if is_float(code) else f"{flat}.item({index})"
        test = f"0 <= {offset} <= {limit} - {item.place.size}"
        align = max(size, item.place.align)  # a packed struct's members may lie between elements
        if align > 1:
            test += f" and not {offset} & {align - 1}"
        slow = f"C.load_one({seg}, {offset}, {place}, {k}, {self.mask(block)})"
        return f"{fast} if {test} else {slow}"

    # ------------------------------------------------------------ stores

    def do_store(self, item: Store, block: Block) -> None:
        plans = self.planner.plans[item]
        mask = self.mask(block)
        kind = plans[0].kind
        self.open(block)
        if kind in ("bytes", "address") or (kind == "gather" and len(plans) > 1):
            self._store_generally(item, plans, block, mask)
        elif kind == "gather":
            self._store_gather(item, plans[0], block, mask)
        elif kind == "view":
            self._store_views(item, plans, block, mask)
        else:
            self._store_scalars(item, plans, block, mask)
        if self.variant.recording:
            self.record(item, plans[0], block)

    def _store_generally(self, item: Store, plans: tuple[Plan, ...], block: Block, mask: str) -> None:
        values = "".join(self.typed(v) + ", " for v in item.values)
        place, where = self.place(item.place), self.use(plans[0].node)
        for other in plans[1:]:
            self.use(other.node)  # only the first component's place is needed
        if plans[0].kind == "address":
            text = f"C.store_address({where}, ({values}), {place}, {mask})"
        else:
            assert item.seg is not None
            if plans[0].kind == "gather":
                where = f"{where} * {SIZES[item.place.code]}"
            text = f"C.store_bytes({item.seg.index}, {where}, ({values}), {place}, {mask})"
        self._before_write(item.seg, block)
        self.close(text)

    def _store_gather(self, item: Store, plan: Plan, block: Block, mask: str) -> None:
        assert item.seg is not None
        where = f"{item.seg.index}, {item.place.code!r}, {self.use(plan.node)}"
        text = f"C.scatter({where}, {self.typed(item.values[0])}, {self.place(item.place)}, {mask})"
        self._before_write(item.seg, block)
        self.close(text)

    def _store_scalars(self, item: Store, plans: tuple[Plan, ...], block: Block, mask: str) -> None:
        """A store whose place is the same for all lanes; where they differ, the last active one wins."""
        assert item.seg is not None
        seg, code = item.seg.index, item.place.code
        size = SIZES[code]
        which = "writable" if item.seg.kind in ("arg", "const") else "flat"
        flat = self.need(f"{which[0]}{seg}{code.replace('?', 'b')}", f"C.{which}({seg}, {code!r})")
        offset = self.name(plans[0].node)
        for other in plans[1:]:
            self.use(other.node)
        values = []
        for value in item.values:
            text = self.typed(value)
            values.append(f"C.last({text}, {mask})" if value.axes else text)
        self._before_write(item.seg, block)
        indent = ""
        if mask != "None":
            self.write(block, f"if some({mask}):")
            indent = "  "
        stored = self.fresh("t")
        self.write(block, f"{indent}{stored} = {', '.join(values)},")
        test = f"0 <= {offset} <= {flat}.nbytes - {item.place.size}"
        align = max(size, item.place.align)  # a packed struct's members may lie between elements
        if align > 1:
            test += f" and not {offset} & {align - 1}"
        shift = size.bit_length() - 1
        index = f"{offset} >> {shift}" if shift else offset
        end = f"({index}) + {len(values)}"
        self.write(block, f"{indent}if {test}: {flat}[{index} : {end}] = {stored}")
        slow = f"C.store_bytes({seg}, {offset}, {stored}, {self.place(item.place)}, {mask})"
        self.write(block, f"{indent}else: {slow}")
        self.close()

    def _store_views(self, item: Store, plans: tuple[Plan, ...], block: Block, mask: str) -> None:
        assert item.seg is not None
        is_safe = plans[0].node.attr.is_safe
        views = [self.name(plan.node) for plan in plans]
        alone = len(plans) == 1
        if alone and is_safe and mask == "None" and not item.values[0].axes & ~plans[0].axes:
            direct = self._direct(views[0], item.values[0], block)
            if direct:
                self._before_write(item.seg, block)
                self.close(direct)
                return
        # More than one component, or a slow path beside: each value is computed before anything is written.
        values = [self.typed(v) if alone and is_safe else self._typed_name(v) for v in item.values]
        if alone:
            self._before_write(item.seg, block)
        else:
            self._before_write(item.seg, block, keep=item.values)
        reduced = self._reduced_mask(item, plans[0], block, mask)
        pad = ""
        if not is_safe:
            self.write(block, f"if {views[0]}.__class__ is ndarray:")
            pad = "  "
        for plan, view, value, node in zip(plans, views, values, item.values, strict=True):
            self.write(block, pad + self._view_line(item.seg, plan, view, value, node, mask, reduced))
        if not is_safe:
            everything = "".join(v + ", " for v in values)
            where = f"{item.seg.index}, {views[0]}, ({everything})"
            self.write(block, f"else: C.store_miss({where}, {self.place(item.place)}, {mask})")
        self.close()

    def _typed_name(self, node: Node) -> str:
        self.settle(node)
        return self.typed(node)

    def _reduced_mask(self, item: Store, plan: Plan, block: Block, mask: str) -> str:
        """The mask without axes along which all lanes lead to one place."""
        extra = block.mask_axes & ~plan.axes
        if mask == "None" or not extra or any(v.axes & ~plan.axes for v in item.values):
            return mask
        axes = tuple(a for a in range(len(self.analysis.axes)) if extra >> a & 1)
        reduced = self.fresh("m")
        self.write(block, f"{reduced} = reduce_mask({mask}, {axes})")
        return reduced

    def _view_line(
        self, seg: Seg, plan: Plan, view: str, value: str, node: Node, mask: str, reduced: str
    ) -> str:
        if node.axes & ~plan.axes:
            return f"C.store_conflict({view}, {value}, {mask})"
        if mask == "None":
            return f"{view}[...] = {value}"
        own = seg.kind in ("local", "private") and self._is_injective(plan.node)
        writer = "write_masked_rows" if own else "write_masked"
        return f"{writer}({view}, {value}, {reduced})"

    def _direct(self, view: str, value: Node, block: Block) -> str | None:
        """An operation that writes its result where it is stored, without an array between."""
        if not value.axes or value in self.names or value.uses != 1 or value.home is not block:
            return None
        if value.op in _UFUNCS and value.code not in ("?", "x"):
            function = self.constant(_UFUNCS[value.op], ("ufunc", value.op))
        elif value.op == "div" and is_float(value.code):
            function = self.constant(np.divide, ("ufunc", "div"))
        elif value.op == "call" and isinstance(builtins.elementwise(value.attr), np.ufunc):
            function = self._function(value.attr)
        else:
            return None
        return f"{function}({', '.join(map(self.typed, value.args))}, out={view})"

    def _is_injective(self, view: Node) -> bool:
        """Whether different lanes of a replicated object's view lead to different places."""
        span = view.args[1]
        steps = []
        for name, c in zip(span.attr.axes, span.args, strict=False):
            if c.op != "const" or name[0] == "g":
                return False
            steps.append((abs(c.attr), self.analysis.local_size(name)))
        reach = SIZES[view.code]
        for step, count in sorted(steps):
            if step < reach:
                return False
            reach = step * (count - 1) + reach
        return True

    def _before_write(self, seg: Seg | None, block: Block, keep: tuple[Node, ...] = ()) -> None:
        """Copy what was read from memory that is about to change and is still wanted."""
        for other in self._overlapping(seg):
            for node in self.outstanding.pop(other, ()):
                if self.pending(node) > 0 or node in keep:
                    name = self.names[node]
                    self.write(block, f"{name} = {name}.copy()")
                    self.versions[node] = self.versions.get(node, 0) + 1

    def _overlapping(self, seg: Seg | None) -> list[Seg]:
        if seg is not None and not (seg.kind == "arg" and self.variant.aliased):
            return [seg]
        return [s for s in self.graph.segs if seg is None or s.kind == "arg"]

    # ------------------------------------------------------------ others

    def do_atomic(self, item: AtomicItem, block: Block) -> None:
        mask = self.mask(block)
        plan = self.planner.plans[item][0]
        self._before_write(item.seg, block)
        wanted = item.node.uses > 0
        self.open(block)
        where = self.use(plan.node)
        args = "".join(self.typed(a) + ", " for a in item.args)
        rest = f"({args}), {self.place(item.place)}, {mask}, {wanted}"
        if item.seg is None:
            text = f"C.atomic_address({item.name!r}, {where}, {rest})"
        else:
            text = f"C.atomic({item.name!r}, {item.seg.index}, {where}, {rest})"
        if wanted:
            name = self.take(block)
            if not item.node.axes:
                text = f"uniform({text}, {item.node.code!r})"
            self.names[item.node] = name
            text = f"{name} = {text}"
        self.close(text)
        if self.variant.recording:
            self.record(item, plan, block)

    def do_barrier(self, item: BarrierItem, block: Block) -> None:
        local = block.mask_axes & ~self.analysis.group_axes
        mask = self.mask(block)
        if block.box is not None:
            self.write(block, f"C.barrier_in_box({self.loc(item.loc)}, {mask})")
        elif local and mask != "None":
            self.write(block, f"C.barrier({self.loc(item.loc)}, {mask})")

    def loc(self, loc: object) -> int:
        raise NotImplementedError

    def do_print(self, item: PrintItem, block: Block) -> None:
        mask = self.mask(block)
        self.open(block)
        args = []
        for a in item.args:
            args.append(repr(a) if isinstance(a, str) else f"({''.join(self.use(n) + ', ' for n in a)})")
        pieces = self.constant(item.pieces)
        self.close(f"C.printf({pieces}, ({''.join(a + ', ' for a in args)}), {mask})")

    def record(self, item: Load | Store | AtomicItem, plan: Plan, block: Block) -> None:
        raise NotImplementedError
