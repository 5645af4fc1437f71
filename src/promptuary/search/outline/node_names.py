"""Which names a node of a syntax tree defines, in all of the grammars. Pure."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from promptuary.search.outline.definition import Role

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST_NAME: Final = 1_000
_DEEPEST: Final = 64
"""Declarators and qualifications whose inner node is examined."""

_DEFINING = frozenset(
    [
        "function_declaration",
        "generator_function_declaration",
        "function_signature",
        "class_declaration",
        "abstract_class_declaration",
        "method_definition",
        "method_signature",
        "abstract_method_signature",
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
        "internal_module",
        "method_declaration",
        "method_elem",
        "type_spec",
        "type_alias",
        "function_item",
        "function_signature_item",
        "struct_item",
        "union_item",
        "enum_item",
        "trait_item",
        "impl_item",
        "mod_item",
        "type_item",
        "macro_definition",
        "constructor_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "function_definition",
        "struct_specifier",
        "class_specifier",
        "enum_specifier",
        "union_specifier",
        "namespace_definition",
        "concept_definition",
        "method",
        "singleton_method",
        "class",
        "module",
    ]
)
_CONSTANTS = frozenset(
    [
        "const_item",
        "static_item",
        "associated_type",
        "enum_variant",
        "const_spec",
        "var_spec",
        "enum_constant",
        "enumerator",
        "enum_assignment",
        "preproc_def",
        "preproc_function_def",
        "alias_declaration",
        "annotation_type_element_declaration",
        "property_signature",
        "variable_declarator",
        "public_field_definition",
        "field_definition",
        "field_declaration",
        "declaration",
        "type_definition",
    ]
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "function", "generator_function"})
_UNNAMED_DECLARATORS = frozenset({"parenthesized_declarator", "reference_declarator", "attributed_declarator"})
_MEMBER = re.compile(r"[\w$]+(?:\.#?[\w$]+){1,20}")

ABOVE = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "decorator"})
"""The nodes that belong to the definition right below them."""

FUNCTIONS = frozenset(
    [
        *("function_declaration", "generator_function_declaration", "method_definition", "method_declaration"),
        *("function_item", "function_definition", "constructor_declaration", "method", "singleton_method"),
        *("closure_expression", "lambda_expression", "func_literal", "static_initializer"),
        *_FUNCTION_VALUES,
    ]
)
"""The nodes with code that runs: names inside them cannot be referred to from elsewhere."""

WRAPPERS = {
    "export_statement": True,
    "ambient_declaration": True,
    "expression_statement": True,
    "template_declaration": True,
    "field_declaration": True,
    "constant_declaration": True,
    "lexical_declaration": False,
    "variable_declaration": False,
    "type_declaration": False,
    "const_declaration": False,
    "var_declaration": False,
}
"""The statements around what defines a name, and whether each is shown whole even if it defines several."""


class Named(NamedTuple):
    """A name and the node that has it."""

    name: str
    role: Role


def names_of(node: "Node", parent: str, data: bytes) -> Iterator[Named]:
    """Yield the names that ``node`` defines, below a node of the kind ``parent``."""
    kind = node.type
    if kind in _DEFINING:
        if kind.endswith("_specifier") and node.child_by_field_name("body") is None:
            return  # uses the type, does not define it
        if name := _name(node, data):
            yield Named(_receiver(node, data) + name, "definition")
    elif kind in _CONSTANTS:
        yield from _constants(node, data)
    elif kind == "assignment_expression":
        yield from _assigned_function(node, data)
    elif kind == "assignment":
        left = node.child_by_field_name("left")
        if left is not None and left.type in {"constant", "scope_resolution"}:
            yield Named(_qualified(left, data), "constant")
    elif kind == "property_identifier" and parent == "enum_body":
        yield Named(_text(node, data), "constant")


def _constants(node: "Node", data: bytes) -> Iterator[Named]:
    value = node.child_by_field_name("value")
    if value is not None and value.type in _FUNCTION_VALUES:
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        if name is not None:
            yield Named(_text(name, data), "definition")
        return
    if node.type in {"declaration", "field_declaration", "type_definition"} and node.child_by_field_name("declarator"):
        yield from _declared(node, data)
        return
    for name in (*node.children_by_field_name("name"), *node.children_by_field_name("property")):
        if not name.type.endswith("_pattern"):
            yield Named(_text(name, data), "constant")


def _declared(node: "Node", data: bytes) -> Iterator[Named]:
    """Yield what a declaration of C, C++ or Java declares; a type without a name is defined by the declared one."""
    made = node.child_by_field_name("type")
    nameless = (
        node.type == "type_definition"
        and made is not None
        and made.child_by_field_name("body") is not None
        and made.child_by_field_name("name") is None
    )
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type == "variable_declarator":
            continue  # in Java: it is examined separately
        inner, is_function = _innermost(declarator)
        if is_function and node.type != "type_definition":
            yield Named(_qualified(inner, data), "declaration")
        else:
            yield Named(_qualified(inner, data), "definition" if nameless else "constant")


def _assigned_function(node: "Node", data: bytes) -> Iterator[Named]:
    """Yield the name of ``A.prototype.b = function …`` and ``exports.b = …`` in JavaScript."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or right.type not in _FUNCTION_VALUES or left.type != "member_expression":
        return
    written = _text(left, data)
    if _MEMBER.fullmatch(written):
        name = written.replace(".prototype.", ".").removeprefix("module.").removeprefix("exports.")
        yield Named(name, "definition")


def _text(node: "Node", data: bytes) -> str:
    return data[node.start_byte : min(node.end_byte, node.start_byte + _LONGEST_NAME)].decode("utf-8", "replace")


def _name(node: "Node", data: bytes) -> str:
    """Return the name that ``node`` defines, or an empty text."""
    found = node.child_by_field_name("name") or (node.child_by_field_name("type") if node.type == "impl_item" else None)
    if found is not None:
        return _qualified(found, data)
    declarator = node.child_by_field_name("declarator")
    return _qualified(_innermost(declarator)[0], data) if declarator is not None else ""


def _innermost(declarator: "Node") -> "tuple[Node, bool]":
    """Return the name inside of a declarator of C or C++, and whether that is a function."""
    is_function = False
    for _ in range(_DEEPEST):
        is_function = is_function or declarator.type == "function_declarator"
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in _UNNAMED_DECLARATORS and declarator.named_child_count:
            is_function = is_function and declarator.type != "parenthesized_declarator"  # a pointer to one
            inner = declarator.named_children[0]
        if inner is None:
            break
        declarator = inner
    return declarator, is_function


def _qualified(node: "Node", data: bytes) -> str:
    """Return a name as ``a.b.c``, without the arguments of templates."""
    parts = []
    for _ in range(_DEEPEST):
        if node.type not in {"qualified_identifier", "scoped_type_identifier", "scoped_identifier", "scope_resolution"}:
            break
        scope, name = node.child_by_field_name("scope") or node.child_by_field_name("path"), None
        if scope is not None:
            parts.append(_unqualified(scope, data))
        name = node.child_by_field_name("name")
        if name is None:
            break
        node = name
    parts.append(_unqualified(node, data))
    return ".".join(parts)


def _unqualified(node: "Node", data: bytes) -> str:
    """Return one part of a qualified name: of ``Vec<T>`` it is ``Vec``."""
    if node.type in {"template_type", "template_function", "generic_type", "template_method"}:
        node = node.child_by_field_name("name") or node.child_by_field_name("type") or node
    written = _text(node, data)
    return written if node.type == "operator_name" else written.replace("::", ".")


def _receiver(node: "Node", data: bytes) -> str:
    """Return ``Type.`` for a Go method, which is written outside its type."""
    receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
    text = _text(receiver, data) if receiver is not None else ""
    words = re.findall(r"\w+", text.partition("[")[0])
    return f"{words[-1]}." if words else ""
