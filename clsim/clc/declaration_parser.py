"""Parsing declarations (OpenCL C 6.5 to 6.8, C99 6.7): specifiers, declarators, initialisers, attributes."""

from __future__ import annotations

from clsim.clc import syntax as ast
from clsim.clc.expression_parser import ExpressionParser
from clsim.clc.lexer import END, NAME_START
from clsim.clc.words import (
    COMBINING,
    KEYWORDS,
    QUALIFIERS,
    RESERVED,
    SINGLE_WORD_TYPES,
    SPACES,
    TYPEOF,
    VECTOR_NAMES,
)  # fmt: skip

_POINTER_QUALIFIERS = frozenset({"const", "volatile", "restrict"})
_ATTRIBUTE = ("__attribute__", "__attribute")


class DeclarationParser(ExpressionParser):
    """The declaration rules."""

    # ------------------------------------------------------------ specifiers

    def specifiers(self) -> ast.Specifiers:
        """Specifiers and qualifiers, in any order."""
        out = ast.Specifiers(self.pos)
        spellings = self.spellings
        has_type = False
        while True:
            word = spellings[self.i]
            if word in QUALIFIERS:
                self.qualifier(out, QUALIFIERS[word])
            elif word in COMBINING:
                if has_type and not out.words:
                    self.fail(f"cannot combine '{word}' with the type before it")
                out.words.append(word)
                has_type = True
                self.i += 1
            elif word in SINGLE_WORD_TYPES:
                if has_type:
                    return out
                out.words.append(word)
                has_type = True
                self.i += 1
            elif word in SPACES:
                self.address_space(out, SPACES[word])
            elif word in ("struct", "union"):
                out.record = self.record()
                has_type = True
            elif word == "enum":
                out.enum = self.enumeration()
                has_type = True
            elif word in _ATTRIBUTE:
                out.attributes += self.attributes()
            elif word in TYPEOF:
                out.typeof = self.type_of()
                has_type = True
            elif word == "__extension__":
                self.i += 1
            elif word in RESERVED:
                self.fail(f"'{word}' is {RESERVED[word]}")
            elif not has_type and word not in KEYWORDS and self.type_kind(word):
                out.words.append(word)
                has_type = True
                self.i += 1
            elif not has_type and self.looks_like_type(word):
                self.fail(f"unknown type name '{word}'")
            else:
                return out

    def looks_like_type(self, word: str) -> bool:
        """Whether an unknown name stands where only a type can: before `*` or another name."""
        following = self.spellings[self.i + 1] if word != END else ""
        is_name = word[:1] in NAME_START and word not in KEYWORDS
        return is_name and (following == "*" or (following[:1] in NAME_START and following not in KEYWORDS))

    def qualifier(self, out: ast.Specifiers, name: str) -> None:
        if name in out.qualifiers and name not in ("const", "volatile", "restrict", "inline"):
            self.diagnostics.warn(self.pos, f"duplicate '{name}' declaration specifier")
        out.qualifiers.add(name)
        self.i += 1

    def address_space(self, out: ast.Specifiers, name: str) -> None:
        if name == "generic":
            self.fail("the generic address space is not supported by clsim yet")
        if out.space and out.space != name:
            self.fail("multiple address spaces specified for type")
        out.space = name
        self.i += 1

    def type_of(self) -> ast.Expression | ast.TypeName:
        self.i += 1
        self.expect("(")
        what = self.type_name() if self.starts_type(self.spellings[self.i]) else self.expression()
        self.expect(")")
        return what

    def record(self) -> ast.RecordSpecifier:
        is_union = self.spellings[self.i] == "union"
        pos = self.pos
        self.i += 1
        attributes = self.attributes()
        tag = self.tag()
        members: list[ast.Declaration] | None = None
        if self.spellings[self.i] == "{":
            members = self.members()
            attributes += self.attributes()
        elif not tag:
            self.fail("declaration of anonymous struct must be a definition")
        return ast.RecordSpecifier(pos, is_union, tag, members, attributes)

    def tag(self) -> str:
        word = self.spellings[self.i]
        if word[:1] in NAME_START and word not in KEYWORDS:
            self.i += 1
            return word
        return ""

    def members(self) -> list[ast.Declaration]:
        self.expect("{")
        self.enter()
        out: list[ast.Declaration] = []
        while not self.accept("}"):
            if self.accept(";"):
                continue
            if not self.starts_type(self.spellings[self.i]):
                self.fail(self.unknown_type())
            specifiers = self.specifiers()
            declarators: list[ast.Declarator] = []
            while self.spellings[self.i] != ";":
                declarator = self.declarator()
                if self.accept(":"):
                    declarator.bits = self.conditional()
                declarator.attributes += self.attributes()
                declarators.append(declarator)
                if not self.accept(","):
                    break
            self.expect(";", " at end of declaration list")
            out.append(ast.Declaration(specifiers.pos, specifiers, declarators))
        self.nesting -= 1
        return out

    def enumeration(self) -> ast.EnumSpecifier:
        pos = self.expect("enum")
        self.attributes()
        tag = self.tag()
        if self.spellings[self.i] != "{":
            if not tag:
                self.fail("expected identifier or '{'")
            return ast.EnumSpecifier(pos, tag, None)
        self.i += 1
        members: list[tuple[int, str, ast.Expression | None]] = []
        while not self.accept("}"):
            at = self.pos
            name = self.tag()
            if not name:
                self.fail("expected identifier")
            self.declare_name(name, "")
            members.append((at, name, self.conditional() if self.accept("=") else None))
            if not self.accept(","):
                self.expect("}")
                break
        self.attributes()
        return ast.EnumSpecifier(pos, tag, members)

    # ------------------------------------------------------------ attributes

    def attributes(self) -> list[ast.Attribute]:
        """Any number of `__attribute__((...))`."""
        out: list[ast.Attribute] = []
        while self.spellings[self.i] in _ATTRIBUTE:
            self.i += 1
            self.expect("(")
            self.expect("(")
            while self.spellings[self.i] != ")":
                if self.accept(","):
                    continue
                out.append(self.attribute())
            self.expect(")")
            self.expect(")")
        return out

    def attribute(self) -> ast.Attribute:
        pos = self.pos
        name = self.spellings[self.i]
        if name[:1] not in NAME_START:
            self.fail("expected identifier")
        self.i += 1
        if name[:2] == name[-2:] == "__" and len(name) > 4:
            name = name[2:-2]
        args: list[ast.Expression | ast.TypeName] = []
        if self.accept("(") and not self.accept(")"):
            while True:
                is_type = self.starts_type(self.spellings[self.i])
                args.append(self.type_name() if is_type else self.assignment())
                if not self.accept(","):
                    break
            self.expect(")")
        return ast.Attribute(pos, name, args)

    # ------------------------------------------------------------ declarators

    def declarator(self) -> ast.Declarator:
        """A declarator; the name may be missing (parameters, type names)."""
        self.enter()
        out = ast.Declarator(self.pos)
        while self.spellings[self.i] == "*":
            out.pointers.append(self.pointer_part())
        if self.spellings[self.i] in _ATTRIBUTE:
            out.attributes += self.attributes()
        out.pos = self.pos
        word = self.spellings[self.i]
        if word == "^":
            self.fail("blocks are not supported by clsim yet")
        if word == "(" and self.opens_inner_declarator():
            self.i += 1
            out.inner = self.declarator()
            out.name = out.inner.name
            out.pos = out.inner.pos
            self.expect(")")
        elif word[:1] in NAME_START and (word not in KEYWORDS or word in SINGLE_WORD_TYPES):
            out.name = word
            self.i += 1
        while True:
            if self.spellings[self.i] == "[":
                out.suffixes.append(self.array_part())
            elif self.spellings[self.i] == "(":
                out.suffixes.append(self.function_part())
            else:
                break
        out.attributes += self.attributes()
        self.nesting -= 1
        return out

    def opens_inner_declarator(self) -> bool:
        following = self.spellings[self.i + 1]
        if following in ("*", "(", "^"):
            return True
        return following[:1] in NAME_START and not self.starts_type(following)

    def pointer_part(self) -> ast.PointerPart:
        part = ast.PointerPart(self.expect("*"), set(), "")
        while True:
            word = self.spellings[self.i]
            if QUALIFIERS.get(word) in _POINTER_QUALIFIERS:
                part.qualifiers.add(QUALIFIERS[word])
            elif word in SPACES:
                if part.space and part.space != SPACES[word]:
                    self.fail("multiple address spaces specified for type")
                part.space = SPACES[word]
            else:
                return part
            self.i += 1

    def array_part(self) -> ast.ArrayPart:
        pos = self.expect("[")
        while self.spellings[self.i] in QUALIFIERS:
            self.i += 1
        size = None if self.spellings[self.i] == "]" else self.assignment()
        self.expect("]")
        return ast.ArrayPart(pos, size)

    def function_part(self) -> ast.FunctionPart:
        part = ast.FunctionPart(self.expect("("), [], False)
        if self.spellings[self.i] == "void" and self.spellings[self.i + 1] == ")":
            self.i += 2
            return part
        if self.accept(")"):
            return part
        self.types.append({})
        while True:
            if self.accept("..."):
                part.variadic = True
                break
            if not self.starts_type(self.spellings[self.i]):
                self.fail(self.unknown_type())
            specifiers = self.specifiers()
            declarator = self.declarator()
            self.declare_name(declarator.name, "")
            part.parameters.append((specifiers, declarator))
            if not self.accept(","):
                break
        self.types.pop()
        self.expect(")")
        return part

    def unknown_type(self) -> str:
        word = self.spellings[self.i]
        if word == "pipe":
            return "pipes are not supported by clsim yet"
        if word[:1] in NAME_START and word not in KEYWORDS:
            return f"unknown type name '{word}'"
        return "expected a type" if word == END else f"expected a type, not '{word}'"

    def type_name(self) -> ast.TypeName:
        pos = self.pos
        specifiers = self.specifiers()
        declarator = self.declarator()
        if declarator.name:
            self.fail("expected ')'", declarator.pos)
        return ast.TypeName(pos, specifiers, declarator)

    def declare_name(self, name: str, kind: str) -> None:
        """Enter a name: a type, or one that hides a type of an outer scope."""
        if name and (kind or any(name in scope for scope in self.types)):
            self.types[-1][name] = kind

    def declare_type(self, specifiers: ast.Specifiers, declarator: ast.Declarator) -> None:
        plain = not (declarator.pointers or declarator.inner or declarator.suffixes)
        of_vector = any(w in VECTOR_NAMES or self.type_kind(w) == "vector" for w in specifiers.words)
        by_attribute = any(
            a.name in ("ext_vector_type", "vector_size")
            for a in declarator.attributes + specifiers.attributes
        )
        self.declare_name(declarator.name, "vector" if plain and (of_vector or by_attribute) else "type")

    # ------------------------------------------------------------ declarations

    def declaration(self) -> ast.Declaration:
        """A declaration with its `;`."""
        pos = self.pos
        specifiers = self.specifiers()
        out = ast.Declaration(pos, specifiers, [])
        if self.accept(";"):
            return out
        self.declarators(out, self.declarator())
        return out

    def declarators(self, out: ast.Declaration, declarator: ast.Declarator) -> None:
        """The rest of a declaration, from behind its first declarator."""
        is_typedef = "typedef" in out.specifiers.qualifiers
        while True:
            if not declarator.name:
                self.fail("expected identifier or '('", declarator.pos)
            if is_typedef:
                self.declare_type(out.specifiers, declarator)
            else:
                self.declare_name(declarator.name, "")
            if self.accept("="):
                declarator.initial = self.initialiser()
            out.declarators.append(declarator)
            if not self.accept(","):
                break
            declarator = self.declarator()
        self.expect(";", " at end of declaration")

    def initialiser(self) -> ast.Expression | ast.InitList:
        return self.initialiser_list() if self.spellings[self.i] == "{" else self.assignment()

    def initialiser_list(self) -> ast.InitList:
        out = ast.InitList(self.expect("{"), [])
        self.enter()
        while not self.accept("}"):
            designators: list[str | ast.Expression] = []
            while self.spellings[self.i] in (".", "["):
                if self.accept("."):
                    name = self.spellings[self.i]
                    if name[:1] not in NAME_START:
                        self.fail("expected identifier")
                    designators.append(name)
                    self.i += 1
                else:
                    self.i += 1
                    designators.append(self.conditional())
                    if self.spellings[self.i] == "...":
                        self.fail("a range designator is not supported by clsim yet")
                    self.expect("]")
            if designators:
                self.expect("=")
            out.items.append((designators, self.initialiser()))
            if not self.accept(","):
                self.expect("}")
                break
        self.nesting -= 1
        return out
