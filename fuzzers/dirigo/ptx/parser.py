"""From PTX text to records.

Invariant: every statement of a body is understood or `Unreadable` is raised with it: a statement that is
passed over would be an instruction that does not happen. Only debug sections and comments are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fuzzers.dirigo.ptx.model import Function, Instruction, Module, Variable
from fuzzers.dirigo.ptx.operands import Unreadable, operands, register, variables

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DEBUG = re.compile(r"\.section\s+\S+\s*\{.*?\}", re.DOTALL)
IGNORED = re.compile(r"\.(version|target|address_size|file)\b[^\n]*")
FUNCTION = re.compile(
    r"(?P<linkage>(?:\.(?:visible|weak|extern|common)\s+)*)\.(?P<kind>entry|func)\s*"
    r"(?:\((?P<results>[^)]*)\))?\s*(?P<name>[\w$]+)\s*(?:\((?P<params>[^)]*)\))?(?P<rest>[^{;]*)(?P<end>[{;])"
)
LOC = re.compile(r"\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+(?P<rest>[^\n]*)")
INLINED = re.compile(r"inlined_at\s+(?P<file>\d+)\s+(?P<line>\d+)")
FILES = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
STATEMENT = re.compile(
    r"\s*(?:(?P<open>\{)|(?P<close>\})|(?P<loc>\.loc\b[^\n]*)|(?P<label>[\w$]+):(?!:)"
    r"|(?P<directive>\.[a-z]\w*[^;]*;)|(?P<code>(?:@!?[\w%$]+\s+)?[a-z][^;]*;))"
)
WORD = re.compile(r"(?<![\w$%@])[A-Za-z_$][\w$]*")
GUARD = re.compile(r"@(!?)([\w%$]+)\s+")
REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*);", re.DOTALL)


def parse(text: str, source: str = "kernel.cu") -> Module:
    """A module of PTX; `source` is the name that its own lines carry. Raises Unreadable."""
    files = {int(number) for number, path in FILES.findall(text) if path.rpartition("/")[2] == source}
    text = IGNORED.sub("", DEBUG.sub("", COMMENT.sub("", text)))
    functions: dict[str, Function] = {}
    declared: set[str] = set()
    outside: list[str] = []
    at = 0
    while found := FUNCTION.search(text, at):
        outside.append(text[at : found.start()])
        at = found.end()
        if found["end"] == ";":
            declared.add(found["name"])
            continue
        end = _closing(text, at)
        functions[found["name"]] = _function(found, text[at:end], files)
        at = end + 1
    outside.append(text[at:])
    held = {each.name: each for piece in outside for line in piece.split(";") for each in variables(line)}
    return Module(functions, held, frozenset(declared - set(functions)))


def _closing(text: str, at: int) -> int:
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    raise Unreadable("a body that does not end")


@dataclass
class _Body:
    """What the statements of one body have said so far."""

    files: set[int]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    held: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)
    scopes: list[int] = field(default_factory=lambda: [0])
    opened: int = 0
    line: int = 0

    def open(self, text: str) -> None:
        self.opened += 1
        self.scopes.append(self.opened)

    def close(self, text: str) -> None:
        self.scopes.pop()

    def loc(self, text: str) -> None:
        """The line is that of the source's own file: of the callee where it is ours, else of where it was
        inlined. Merged code gets line 0 from the compiler: there the line before stays."""
        found = LOC.match(text)
        if found is None:
            raise Unreadable(text)
        places = [(found["file"], found["line"]), *INLINED.findall(found["rest"])]
        own = [int(line) for file, line in places if int(file) in self.files]
        self.line = next(filter(None, own), self.line)

    def label(self, text: str) -> None:
        self.labels[text] = len(self.body)

    def directive(self, text: str) -> None:
        if found := REGISTERS.match(text):
            for name in found[2].split(","):
                bare = name.strip()
                if "<" not in bare and not bare.startswith("%"):
                    self.bare.add(bare)
                    bare = f"%{bare}"
                self.registers[re.sub(r"<\d+>|\d+$", "", bare)] = found[1]
        elif text.startswith(".branchtargets"):
            last = next(reversed(self.labels))
            self.tables[last] = tuple(re.findall(r"[\w$]+", text.removeprefix(".branchtargets")))
        elif text.startswith(".param"):
            self.held |= {f"{each.name}@{self.scopes[-1]}": each for each in variables(text.rstrip(";"))}
        elif not text.startswith((".pragma", ".callprototype", ".maxn", ".reqn", ".minn")):
            self.held |= {each.name: each for each in variables(text.rstrip(";"))}

    def code(self, text: str) -> None:
        text = text.rstrip(";").strip()
        guard = None
        if found := GUARD.match(text):
            guard = register(self._register(found[2]), negated=bool(found[1]))
            text = text[found.end() :]
        name, _, rest = text.partition(" ") if " " in text else (text, "", "")
        scoped = self._scoped(rest)
        self.body.append(Instruction(name, operands(scoped), guard, self.line))

    def _scoped(self, text: str) -> str:
        """Call parameters carry their scope, because every call of a body names its own `param0`; registers
        that inline assembly names without a % get one."""
        if len(self.scopes) == 1:
            return text
        scope = f"@{self.scopes[-1]}"
        own = {name.removesuffix(scope) for name in self.held if name.endswith(scope)}
        return WORD.sub(lambda m: f"{m[0]}{scope}" if m[0] in own else self._register(m[0]), text)

    def _register(self, word: str) -> str:
        return f"%{word}" if word in self.bare else word


def _function(found: re.Match[str], text: str, files: set[int]) -> Function:
    said = _Body(files)
    handlers: Mapping[str, Callable[[str], None]] = {
        "open": said.open,
        "close": said.close,
        "loc": said.loc,
        "label": said.label,
        "directive": said.directive,
        "code": said.code,
    }
    for kind, statement in _statements(re.sub(r"\s*\n\s*", "\n", text.replace("\t", " "))):
        handlers[kind](statement)
    return Function(
        found["name"],
        found["kind"] == "entry",
        tuple(each for piece in (found["params"] or "").split(",") for each in variables(piece)),
        tuple(each for piece in (found["results"] or "").split(",") for each in variables(piece)),
        tuple(said.body),
        said.labels,
        said.held,
        said.registers,
        said.tables,
    )


def _statements(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    end = len(text.rstrip())
    while at < end:
        found = STATEMENT.match(text, at)
        if found is None or found.lastgroup is None:
            raise Unreadable(text[at : at + 60].strip())
        yield found.lastgroup, re.sub(r"\s+", " ", found[found.lastgroup])
        at = found.end()
