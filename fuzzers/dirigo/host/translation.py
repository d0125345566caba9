"""A translation unit of host code: what it defines, before anything runs.

Invariant: nothing is evaluated here; a definition keeps the nodes from which its types and defaults follow
when it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzers.dirigo.host.syntax import Macro, Node, macros, tree
from fuzzers.dirigo.host.values import Function, Parameter

NESTS = frozenset({"namespace_definition", "linkage_specification", "declaration_list"})
CONDITIONS = frozenset({"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"})
IGNORED = frozenset(
    {
        *("preproc_include", "preproc_def", "preproc_function_def", "preproc_call", "comment", ";"),
        *("using_declaration", "namespace_alias_definition", "namespace_identifier", "string_literal"),
        *("template_instantiation", "static_assert_declaration", "empty_statement", "identifier"),
    }
)
DEVICE_ONLY = re.compile(r"\b(__device__|__constant__|__shared__|__managed__)\b")
DEFINED = frozenset({"__CUDACC__", "__cplusplus", "WITH_CUDA", "USE_CUDA"})


@dataclass(frozen=True)
class Binding:
    """What PYBIND11_MODULE or `functions=` offers to Python: the C++ function, and its arguments' names
    and defaults where they are given. pybind11 knows no defaults of C++: `defaults` is for who calls from
    C++."""

    name: str
    function: str
    arguments: tuple[tuple[str, Node | None], ...] = ()
    defaults: bool = False


@dataclass
class Translation:
    """What the sources of one extension define. Functions and kernels of one name in order of definition."""

    functions: dict[str, list[Function]] = field(default_factory=dict)
    kernels: dict[str, list[Function]] = field(default_factory=dict)
    qualified: dict[str, str] = field(default_factory=dict)
    """A kernel's name to the name with its namespaces."""
    variables: dict[str, Node] = field(default_factory=dict)
    """`__constant__` and `__device__` variables."""
    structures: dict[str, Node] = field(default_factory=dict)
    declarations: list[Node] = field(default_factory=list)
    """Globals, aliases and enums of the host, in order."""
    macros: dict[str, Macro] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    """Functions that are declared and perhaps not defined."""


def translation(sources: Sequence[str]) -> Translation:
    """The sources as one program, as the linker sees them."""
    found = Translation()
    roots = [tree(source) for source in sources]
    for root in roots:
        found.macros |= macros(root)
    for root in roots:
        for node, namespaces in _pieces(root, (), found.macros):
            _add(found, node, namespaces, ())
    return found


def _pieces(
    node: Node, namespaces: tuple[str, ...], known: Mapping[str, Macro]
) -> Iterator[tuple[Node, tuple[str, ...]]]:
    for child in node.children:
        if child.kind == "preproc_ifdef":
            yield from _pieces(_chosen(child, known), namespaces, known)
        elif child.kind == "namespace_definition":
            name = child.get("name")
            inner = namespaces if name is None else (*namespaces, name.text)
            yield from _pieces(child, inner, known)
        elif child.kind in NESTS or child.kind in CONDITIONS:
            yield from _pieces(child, namespaces, known)
        elif child.kind not in IGNORED:
            yield child, namespaces


def _chosen(node: Node, known: Mapping[str, Macro]) -> Node:
    """The branch of an #ifdef that the compiler takes."""
    name = node.get("name")
    there = name is not None and (name.text in known or name.text in DEFINED)
    wanted = there if "#ifdef" in node.tokens else not there
    other = node.get("alternative")
    if wanted:
        kept = tuple(child for child in node.children if child is not other and child is not name)
        return Node(node.kind, node.text, node.line, kept)
    return other or Node(node.kind, node.text, node.line)


def _add(
    found: Translation,
    node: Node,
    namespaces: tuple[str, ...],
    templates: tuple[tuple[str, Node | None], ...],
) -> None:
    if node.kind == "template_declaration":
        given = node.get("parameters")
        own = tuple(_templates(given)) if given is not None else ()
        for child in node.children[1:]:
            _add(found, child, namespaces, own)
    elif node.kind == "function_definition":
        _add_function(found, node, namespaces, templates)
    elif node.kind in ("struct_specifier", "class_specifier"):
        name = node.get("name")
        if name is not None and node.get("body") is not None:
            found.structures[name.text] = node
    elif node.kind == "declaration":
        _add_declaration(found, node, namespaces, templates)
    elif node.kind in ("type_definition", "alias_declaration", "enum_specifier"):
        found.declarations.append(node)


def _add_function(
    found: Translation,
    node: Node,
    namespaces: tuple[str, ...],
    templates: tuple[tuple[str, Node | None], ...],
) -> None:
    function = function_of(node, templates)
    if function is None:
        return
    if function.name in ("PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT"):
        for binding in _bindings(node):
            found.bindings[binding.name] = binding
    elif "__global__" in node.text.partition("{")[0]:
        found.kernels.setdefault(function.name, []).append(function)
        found.qualified[function.name] = "::".join((*namespaces, function.name))
    else:
        found.functions.setdefault(function.name, []).append(function)
        found.declared.add(function.name)


def _add_declaration(
    found: Translation,
    node: Node,
    namespaces: tuple[str, ...],
    templates: tuple[tuple[str, Node | None], ...],
) -> None:
    head = node.text.partition("{")[0]
    declarator = _function_declarator(node)
    if declarator is not None:
        name = declarator.get("declarator")
        if name is not None:
            found.declared.add(name.text.rpartition("::")[2])
    elif DEVICE_ONLY.search(head):
        for child in node.walk():
            if child.kind == "identifier":
                found.variables[child.text] = node
                break
    else:
        if (structure := node.first("struct_specifier")) is not None:
            _add(found, structure, namespaces, templates)
        found.declarations.append(node)


def _templates(node: Node) -> Iterator[tuple[str, Node | None]]:
    """Template parameters' names and defaults."""
    for child in node.children:
        name = child.get("name") or child.get("declarator") or child.first("type_identifier", "identifier")
        default = child.get("default_type") or child.get("default_value")
        yield (name.text if name is not None else "", default)


def _function_declarator(node: Node) -> Node | None:
    """The function_declarator of a definition or declaration, through pointers and references."""
    found = node.get("declarator")
    while found is not None and found.kind in ("pointer_declarator", "reference_declarator"):
        found = found.first("function_declarator", "pointer_declarator", "reference_declarator")
    return found if found is not None and found.kind == "function_declarator" else None


def function_of(node: Node, templates: tuple[tuple[str, Node | None], ...] = ()) -> Function | None:
    """The function that a function_definition defines; None where it is none that can be called."""
    declarator = _function_declarator(node)
    if declarator is None:
        return None
    name = declarator.get("declarator")
    return Function(
        name.text.rpartition("::")[2] if name is not None else "",
        parameters_of(declarator.get("parameters")),
        node.get("body"),
        None,
        templates,
        node.line,
        node.get("type"),
    )


def parameters_of(node: Node | None) -> tuple[Parameter, ...]:
    """The parameters of a parameter_list."""
    if node is None:
        return ()
    found = []
    for child in node.children:
        if child.kind not in ("parameter_declaration", "optional_parameter_declaration"):
            if child.kind == "variadic_parameter_declaration":
                found.append(Parameter("", None, None, None, variadic=True))
            continue
        if child.text == "void":
            continue
        declarator = child.get("declarator")
        found.append(
            Parameter(declared_name(declarator), child.get("type"), declarator, child.get("default_value"))
        )
    return tuple(found)


def declared_name(node: Node | None) -> str:
    """The name inside a declarator."""
    while node is not None:
        if node.kind in ("identifier", "field_identifier", "type_identifier"):
            return node.text
        inner = node.get("declarator")
        node = (
            inner
            if inner is not None
            else next((c for c in node.children if c.kind.endswith(("declarator", "identifier"))), None)
        )
    return ""


def _bindings(node: Node) -> Iterator[Binding]:
    """The `m.def` calls of a module definition."""
    for call in node.walk():
        called, given = call.get("function"), call.get("arguments")
        if call.kind != "call_expression" or called is None or given is None:
            continue
        if called.kind != "field_expression" or not called.text.replace(" ", "").endswith(".def"):
            continue
        if len(given.children) >= 2 and given.children[0].kind == "string_literal":
            name = given.children[0].text.strip('"')
            function = re.sub(r"<.*", "", given.children[1].text.lstrip("& ")).strip().rpartition("::")[2]
            yield Binding(name, function, tuple(_keywords(given.children[2:])))


def _keywords(nodes: Sequence[Node]) -> Iterator[tuple[str, Node | None]]:
    for node in nodes:
        left = node.get("left") if node.kind == "assignment_expression" else node
        if left is None or left.kind != "call_expression" or not re.match(r"(\w+::)*arg\b", left.text):
            continue
        strings = [n.text.strip('"') for n in left.walk() if n.kind == "string_literal"]
        if strings:
            yield strings[0], node.get("right") if left is not node else None
