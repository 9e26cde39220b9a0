"""Parsing statements and whole programs (OpenCL C 6.9, 6.11, C99 6.8 and 6.9).

After an error the parser goes on with the next statement or the next declaration.
"""

from __future__ import annotations

from collections.abc import Iterator

from clsim.clc import syntax as ast
from clsim.clc.declaration_parser import DeclarationParser
from clsim.clc.diagnostics import Problem
from clsim.clc.lexer import END, NAME_START
from clsim.clc.words import KEYWORDS, RESERVED


class Parser(DeclarationParser):
    """The statement rules and the program."""

    def program(self) -> Iterator[ast.Declaration | ast.FunctionDefinition]:
        """The external declarations, one at a time: what is known of types grows as they are used."""
        while self.spellings[self.i] != END:
            start = self.i
            try:
                if self.accept(";"):
                    continue
                yield self.external_declaration()
            except Problem as problem:
                self.diagnostics.report(problem)
                self.nesting = 0
                del self.types[1:]
                self.skip_declaration(start)

    def external_declaration(self) -> ast.Declaration | ast.FunctionDefinition:
        pos = self.pos
        word = self.spellings[self.i]
        if word == "_Static_assert":
            self.fail("_Static_assert is not supported by clsim yet")
        if word == "}":
            self.fail("extraneous closing brace ('}')")
        if not self.starts_type(word):
            self.fail(self.unknown_type())
        specifiers = self.specifiers()
        out = ast.Declaration(pos, specifiers, [])
        if self.accept(";"):
            return out
        declarator = self.declarator()
        if not declarator.name:
            self.fail("expected identifier or '('", declarator.pos)
        if self.spellings[self.i] == "{" and declarator.suffixes:
            return self.function_definition(pos, specifiers, declarator)
        self.declarators(out, declarator)
        return out

    def function_definition(
        self, pos: int, specifiers: ast.Specifiers, declarator: ast.Declarator
    ) -> ast.FunctionDefinition:
        self.declare_name(declarator.name, "")
        scope: dict[str, str] = {}
        first = declarator.suffixes[0]
        if isinstance(first, ast.FunctionPart):
            for _, parameter in first.parameters:
                if self.type_kind(parameter.name):
                    scope[parameter.name] = ""
        self.taken, self.subscripted = set(), set()
        self.types.append(scope)
        body = self.compound()
        self.types.pop()
        return ast.FunctionDefinition(pos, specifiers, declarator, body, self.taken, self.subscripted)

    def skip_declaration(self, start: int) -> None:
        """Behind the `;` or the closing brace that ends the declaration which began at token `start`."""
        self.i = max(self.i, start)
        depth = 0
        for spelling in self.spellings[start : self.i]:
            depth += (spelling == "{") - (spelling == "}")
        if self.i == start:
            self.i += 1
        while self.spellings[self.i] != END:
            spelling = self.spellings[self.i]
            self.i += 1
            if spelling == "{":
                depth += 1
            elif spelling == "}":
                depth -= 1
                if depth <= 0 and self.spellings[self.i] != ";":
                    return
            elif spelling == ";" and depth <= 0:
                return

    # ------------------------------------------------------------ statements

    def compound(self) -> ast.Compound:
        pos = self.expect("{")
        self.enter()
        self.types.append({})
        items: list[ast.Statement | ast.Declaration] = []
        spellings = self.spellings
        while spellings[self.i] != "}":
            if spellings[self.i] == END:
                self.fail("expected '}'")
            nesting, scopes = self.nesting, len(self.types)
            try:
                items.append(self.block_item())
            except Problem as problem:
                self.diagnostics.report(problem)
                self.nesting = nesting
                del self.types[scopes:]
                self.skip_statement()
        self.types.pop()
        self.nesting -= 1
        self.i += 1
        return ast.Compound(pos, items, self.positions[self.i - 1])

    def skip_statement(self) -> None:
        """Behind the next `;`, or before the brace that closes the block."""
        depth = 0
        while self.spellings[self.i] != END:
            spelling = self.spellings[self.i]
            if spelling == "}":
                if depth == 0:
                    return
                depth -= 1
                self.i += 1
                if depth == 0:
                    return
                continue
            self.i += 1
            if spelling == "{":
                depth += 1
            elif spelling == ";" and depth == 0:
                return

    def block_item(self) -> ast.Statement | ast.Declaration:
        word = self.spellings[self.i]
        if not self.starts_type(word):
            return self.statement()
        if word in ("__attribute__", "__attribute"):
            start = self.i
            self.attributes()
            is_declaration = self.starts_type(self.spellings[self.i])
            self.i = start
            if not is_declaration:
                return self.statement()
        return self.declaration()

    def statement(self) -> ast.Statement:
        word = self.spellings[self.i]
        if word not in KEYWORDS:
            if word == "{":
                return self.compound()
            if word == ";":
                self.i += 1
                return ast.Empty(self.positions[self.i - 1])
            if word[:1] in NAME_START and self.spellings[self.i + 1] == ":":
                self.fail("labels are not supported by clsim yet")
            return self.expression_statement()
        rule = _STATEMENTS.get(word)
        if rule is None:
            if word in RESERVED:
                self.fail(f"'{word}' is {RESERVED[word]}")
            if word == "else":
                self.fail("expected expression")
            return self.expression_statement()
        self.enter()
        out: ast.Statement = rule(self)
        self.nesting -= 1
        return out

    def expression_statement(self) -> ast.Statement:
        pos = self.pos
        a = self.expression()
        self.expect(";", " after expression")
        return ast.ExpressionStatement(pos, a)

    def attributed(self) -> ast.Statement:
        for attribute in self.attributes():
            if attribute.name not in ("opencl_unroll_hint", "nounroll"):
                self.diagnostics.warn(attribute.pos, f"unknown attribute '{attribute.name}' ignored")
        if self.accept(";"):
            return ast.Empty(self.positions[self.i - 1])
        return self.statement()

    def condition(self, what: str) -> ast.Expression:
        self.expect("(", f" after '{what}'")
        test = self.expression()
        self.expect(")")
        return test

    def if_statement(self) -> ast.Statement:
        pos = self.expect("if")
        test = self.condition("if")
        then = self.scoped()
        return ast.If(pos, test, then, self.scoped() if self.accept("else") else None)

    def scoped(self) -> ast.Statement:
        """The body of a statement: declarations may not stand there without braces."""
        word = self.spellings[self.i]
        if self.starts_type(word) and word not in ("__attribute__", "__attribute"):
            self.fail("expected expression")
        return self.statement()

    def while_statement(self) -> ast.Statement:
        pos = self.expect("while")
        test = self.condition("while")
        return ast.While(pos, test, self.scoped())

    def do_statement(self) -> ast.Statement:
        pos = self.expect("do")
        body = self.scoped()
        self.expect("while", " in do/while loop")
        test = self.condition("while")
        self.expect(";", " after do/while statement")
        return ast.DoWhile(pos, body, test)

    def for_statement(self) -> ast.Statement:
        pos = self.expect("for")
        self.expect("(", " after 'for'")
        self.types.append({})
        initial: ast.Declaration | ast.Expression | None = None
        if self.starts_type(self.spellings[self.i]):
            initial = self.declaration()
        elif not self.accept(";"):
            initial = self.expression()
            self.expect(";", " in 'for' statement specifier")
        test = None if self.spellings[self.i] == ";" else self.expression()
        self.expect(";", " in 'for' statement specifier")
        step = None if self.spellings[self.i] == ")" else self.expression()
        self.expect(")")
        body = self.scoped()
        self.types.pop()
        return ast.For(pos, initial, test, step, body)

    def switch_statement(self) -> ast.Statement:
        pos = self.expect("switch")
        value = self.condition("switch")
        return ast.Switch(pos, value, self.scoped())

    def case_statement(self) -> ast.Statement:
        pos = self.expect("case")
        value = self.conditional()
        if self.spellings[self.i] == "...":
            self.fail("a case range is not supported by clsim yet")
        self.expect(":", " after 'case'")
        return ast.Case(pos, value, self.labelled())

    def default_statement(self) -> ast.Statement:
        pos = self.expect("default")
        self.expect(":", " after 'default'")
        return ast.Case(pos, None, self.labelled())

    def labelled(self) -> ast.Statement:
        """The statement behind a label; before a closing brace an empty one."""
        if self.spellings[self.i] == "}":
            return ast.Empty(self.pos)
        return self.scoped()

    def jump_statement(self) -> ast.Statement:
        pos = self.pos
        kind = self.spellings[self.i]
        self.i += 1
        value = None
        if kind == "return" and self.spellings[self.i] != ";":
            value = self.expression()
        self.expect(";", f" after {kind} statement")
        return ast.Jump(pos, kind, value)


_STATEMENTS = {
    "if": Parser.if_statement,
    "while": Parser.while_statement,
    "do": Parser.do_statement,
    "for": Parser.for_statement,
    "switch": Parser.switch_statement,
    "case": Parser.case_statement,
    "default": Parser.default_statement,
    "break": Parser.jump_statement,
    "continue": Parser.jump_statement,
    "return": Parser.jump_statement,
    "__attribute__": Parser.attributed,
    "__attribute": Parser.attributed,
}
