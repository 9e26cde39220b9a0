"""From specifiers and declarators to types (OpenCL C 6.3, 6.7, C99 6.7)."""

from __future__ import annotations

from clsim.clc import ir, layout
from clsim.clc import syntax as ast
from clsim.clc.context import Context
from clsim.clc.rules import pointer
from clsim.clc.symbols import EnumConstant, Qualified, TypedefName
from clsim.clc.types import (
    DOUBLE,
    HALF,
    INT,
    VOID,
    Array,
    Opaque,
    Record,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
    vector,
)  # fmt: skip
from clsim.clc.words import COMBINATIONS, EVENT, SINGLE_WORD_TYPES

MAX_OBJECT_BYTES = 1 << 31
MAX_CONSTANT_BYTES = 1 << 24
"""A constant is part of the program, so it may not be as large as a buffer."""
INCOMPLETE = -1
"""The count of an array whose size its initialiser gives."""
_INCOMPLETE_SIZE = -1
_TYPE_ATTRIBUTES = frozenset({"packed", "aligned", "ext_vector_type", "vector_size", "endian"})
_FUNCTION_ATTRIBUTES = frozenset(
    {
        "reqd_work_group_size", "work_group_size_hint", "vec_type_hint", "intel_reqd_sub_group_size",
        "overloadable", "always_inline", "noinline", "pure", "const", "unused", "used", "nothrow",
        "convergent",
        "flatten", "deprecated", "visibility", "opencl_unroll_hint", "nosvm", "may_alias",
        "address_space", "warn_unused_result",
    }
)  # fmt: skip
_SPACES = {space.value: space for space in Space}


class TypeNames(Context):
    """Builds types."""

    def qualified(self, named: ast.TypeName) -> Qualified:
        return self.declared(self.base(named.specifiers), named.declarator)

    # ------------------------------------------------------------ specifiers

    def base(self, specifiers: ast.Specifiers) -> Qualified:
        """The type of the specifiers, with their qualifiers and address space."""
        if specifiers.record is not None:
            out = Qualified(self.record(specifiers.record, specifiers.attributes))
        elif specifiers.enum is not None:
            self.enumeration(specifiers.enum)
            out = Qualified(INT)
        elif specifiers.typeof is not None:
            what = specifiers.typeof
            out = (
                self.qualified(what)
                if isinstance(what, ast.TypeName)
                else Qualified(self.type_of_expression(what))
            )
        else:
            out = self.named(specifiers)
        for attribute in specifiers.attributes:
            self.type_attribute(attribute, out)
        qualifiers = specifiers.qualifiers
        if "const" in qualifiers:
            out.const = True
        if "volatile" in qualifiers:
            out.volatile = True
        if specifiers.space:
            space = _SPACES[specifiers.space]
            if out.space not in (None, space):
                self.fail(specifiers.pos, "multiple address spaces specified for type")
            out.space = space
        return out

    def named(self, specifiers: ast.Specifiers) -> Qualified:
        words = specifiers.words
        if not words:
            if specifiers.qualifiers & {"read_only", "write_only", "read_write"}:
                self.fail(specifiers.pos, "access qualifier without an image type")
            self.fail(specifiers.pos, "type specifier missing")
        if len(words) == 1:
            word = words[0]
            type_ = SINGLE_WORD_TYPES.get(word)
            if type_ is not None:
                return self.checked(type_, specifiers.pos)
            symbol = self.names.get(word)
            if isinstance(symbol, TypedefName):
                m = symbol.meaning
                return Qualified(m.type, m.const, m.volatile, m.space, m.restrict)
        combined = COMBINATIONS.get(tuple(sorted(words)))
        if combined is None:
            self.fail(specifiers.pos, f"'{' '.join(words)}' is not a type")
        return self.checked(combined, specifiers.pos)

    def checked(self, type_: Type, pos: int) -> Qualified:
        elem = type_.elem if isinstance(type_, Vector) else type_
        if elem is DOUBLE and not self.target.has_double:
            self.fail(pos, f"use of type '{type_}' requires cl_khr_fp64 support")
        if elem is HALF and isinstance(type_, Vector) and not self.target.has_half:
            self.fail(pos, f"use of type '{type_}' requires cl_khr_fp16 support")
        if isinstance(type_, Opaque) and type_ is not EVENT:
            self.not_yet(pos, f"type '{type_}' is")
        return Qualified(type_)

    def type_attribute(self, attribute: ast.Attribute, out: Qualified) -> None:
        name = attribute.name
        if name in ("ext_vector_type", "vector_size"):
            self.vector_attribute(attribute, out)
        elif name == "endian":
            self.not_yet(attribute.pos, "attribute 'endian' is")
        elif name not in _TYPE_ATTRIBUTES and name not in _FUNCTION_ATTRIBUTES:
            self.warn(attribute.pos, f"unknown attribute '{name}' ignored")

    def vector_attribute(self, attribute: ast.Attribute, out: Qualified) -> None:
        if (
            attribute.name != "ext_vector_type"
            or len(attribute.args) != 1
            or not isinstance(out.type, Scalar)
        ):
            self.not_yet(attribute.pos, f"this use of attribute '{attribute.name}' is")
        arg = attribute.args[0]
        count = 0 if isinstance(arg, ast.TypeName) else self.constant_integer(arg, "vector width")
        if count not in (2, 3, 4, 8, 16):
            self.fail(attribute.pos, f"a vector cannot have {count} components in OpenCL C")
        out.type = vector(out.type, count)

    def aligned(self, attributes: list[ast.Attribute]) -> int:
        """The alignment that attributes ask for, 0 if none does."""
        out = 0
        for attribute in attributes:
            if attribute.name != "aligned":
                continue
            if not attribute.args:
                out = max(out, 16)
                continue
            arg = attribute.args[0]
            if isinstance(arg, ast.TypeName):
                self.fail(attribute.pos, "'aligned' attribute requires an integer constant")
            value = self.constant_integer(arg, "alignment")
            if value <= 0 or value & (value - 1) or value > 1 << 12:
                self.fail(arg.pos, "requested alignment is not a power of 2 (up to 4096)")
            out = max(out, value)
        return out

    # ------------------------------------------------------------ records and enums

    def record(self, specifier: ast.RecordSpecifier, outer: list[ast.Attribute]) -> Record:
        kind = "union" if specifier.is_union else "struct"
        scopes = self.scopes
        if specifier.members is None:
            known = scopes.tags.get(specifier.tag)
            if known is None:
                known = Record(specifier.tag, (), _INCOMPLETE_SIZE, 1, specifier.is_union)
                scopes.declare_tag(specifier.tag, known)
        else:
            known = scopes.tag_here(specifier.tag) if specifier.tag else None
            if known is None:
                known = Record(specifier.tag or "(anonymous)", (), _INCOMPLETE_SIZE, 1, specifier.is_union)
                if specifier.tag:
                    scopes.declare_tag(specifier.tag, known)
            elif isinstance(known, Record) and known.size != _INCOMPLETE_SIZE:
                self.fail(specifier.pos, f"redefinition of '{specifier.tag}'")
        if not isinstance(known, Record) or known.is_union != specifier.is_union:
            self.fail(specifier.pos, f"use of '{specifier.tag}' with tag type that does not match: {kind}")
        if specifier.members is not None:
            attributes = specifier.attributes + outer
            for attribute in attributes:
                self.type_attribute(attribute, Qualified(VOID))
            packed = any(a.name == "packed" for a in attributes)
            layout.complete(known, self.members(specifier), packed, self.aligned(attributes))
            if known.size > MAX_OBJECT_BYTES:
                self.fail(specifier.pos, f"structure '{known.name}' is too large")
        return known

    def members(self, specifier: ast.RecordSpecifier) -> list[tuple[str, Type, int, bool]]:
        out: list[tuple[str, Type, int, bool]] = []
        seen: set[str] = set()
        for declaration in specifier.members or ():
            base = self.base(declaration.specifiers)
            if base.space not in (None, Space.PRIVATE) and not all(
                d.pointers for d in declaration.declarators
            ):
                self.fail(declaration.pos, "field may not be qualified with an address space")
            if not declaration.declarators and isinstance(base.type, Record):
                out.append(("", base.type, 0, False))
                continue
            for declarator in declaration.declarators:
                if declarator.bits is not None:
                    self.fail(declarator.pos, "bit-fields are not supported in OpenCL")
                type_ = self.declared(base, declarator).type
                self.complete(type_, declarator.pos, "field")
                if declarator.name in seen:
                    self.fail(declarator.pos, f"duplicate member '{declarator.name}'")
                seen.add(declarator.name)
                attributes = declarator.attributes + declaration.specifiers.attributes
                packed = any(a.name == "packed" for a in declarator.attributes)
                out.append((declarator.name, type_, self.aligned(attributes), packed))
        return out

    def enumeration(self, specifier: ast.EnumSpecifier) -> None:
        if specifier.members is None:
            if self.scopes.tags.get(specifier.tag) != "enum":
                self.fail(specifier.pos, f"use of undeclared enum '{specifier.tag}'")
            return
        if specifier.tag:
            if self.scopes.tag_here(specifier.tag) is not None:
                self.fail(specifier.pos, f"redefinition of '{specifier.tag}'")
            self.scopes.declare_tag(specifier.tag, "enum")
        value = 0
        for pos, name, expression in specifier.members:
            if expression is not None:
                value = self.constant_integer(expression, "enumerator value")
            if not -(1 << 31) <= value < 1 << 32:
                self.not_yet(pos, f"an enumerator value of more than 32 bits ({value}) is")
            if self.scopes.here(name) is not None:
                self.fail(pos, f"redefinition of '{name}'")
            self.scopes.declare(name, EnumConstant(value, pos))
            value += 1

    # ------------------------------------------------------------ declarators

    def declared(self, base: Qualified, declarator: ast.Declarator) -> Qualified:
        """The type that a declarator makes of the specifiers' type."""
        out = Qualified(base.type, base.const, base.volatile, base.space, base.restrict)
        for part in declarator.pointers:
            type_ = pointer(out.type, out.space or self.default_space(), out.const, out.volatile)
            out = Qualified(
                type_,
                "const" in part.qualifiers,
                "volatile" in part.qualifiers,
                _SPACES[part.space] if part.space else None,
                "restrict" in part.qualifiers,
            )
        for suffix in reversed(declarator.suffixes):
            if isinstance(suffix, ast.FunctionPart):
                self.fail(suffix.pos, "pointers to functions are not allowed in OpenCL C")
            out.type = Array(out.type, self.array_count(suffix, out.type))
        for attribute in declarator.attributes:
            self.type_attribute(attribute, out)
        return self.declared(out, declarator.inner) if declarator.inner is not None else out

    def default_space(self) -> Space:
        """The space that a pointer points to where none is written."""
        return Space.PRIVATE

    def array_count(self, part: ast.ArrayPart, elem: Type) -> int:
        self.complete(elem, part.pos, "array element")
        if part.size is None:
            return INCOMPLETE
        value, statements = self.aside(part.size)
        if statements or not isinstance(value, ir.Const):
            self.fail(part.size.pos, "variable length arrays are not supported in OpenCL")
        count = self.constant_integer(part.size, "array size")
        if count < 0:
            self.fail(part.size.pos, "array size is negative")
        if count * elem.size > MAX_OBJECT_BYTES:
            self.fail(part.size.pos, f"array is too large ({count} elements)")
        return count

    def complete(self, type_: Type, pos: int, what: str) -> None:
        """Refuse a type that no object can have."""
        if isinstance(type_, Void):
            self.fail(pos, f"{what} has incomplete type 'void'")
        if isinstance(type_, Record) and type_.size == _INCOMPLETE_SIZE:
            self.fail(pos, f"{what} has incomplete type '{type_}'")
        if isinstance(type_, Array) and type_.count == INCOMPLETE:
            self.fail(pos, f"{what} has incomplete type '{type_.elem}[]'")

    def parameter_type(self, specifiers: ast.Specifiers, declarator: ast.Declarator) -> Qualified:
        """A parameter's type: an array becomes a pointer."""
        out = self.declared(self.base(specifiers), declarator)
        if isinstance(out.type, Array):
            space = out.space or self.default_space()
            return Qualified(pointer(out.type.elem, space, out.const, out.volatile))
        self.complete(out.type, declarator.pos, "parameter")
        if out.space not in (None, Space.PRIVATE):
            self.fail(declarator.pos, "parameter may not be qualified with an address space")
        if out.type is HALF and not self.target.has_half:
            self.fail(
                declarator.pos,
                "declaring function parameter of type 'half' is not allowed without cl_khr_fp16",
            )
        return out
