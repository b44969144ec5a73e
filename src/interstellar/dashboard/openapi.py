"""The description of the interface of a served model, in OpenAPI 3.1, from its typed values."""

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, assert_never, get_args, get_origin

from interstellar.dashboard.questions import (
    LinkQuestion,
    Links,
    PartnerQuestion,
    Partners,
    Refusal,
    Way,
    hints_of,
)

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def describe_interface(way: Way, name: str, version: str) -> dict[str, Any]:
    """Return the description of a model that can be asked in one way."""
    match way:
        case Way.PREDICT:
            operation = _describe(LinkQuestion, Links)
        case Way.ALIGN:
            operation = _describe(PartnerQuestion, Partners)
        case _:
            assert_never(way)
    return {
        "openapi": "3.1.0",
        "info": {"title": f"interstellar: {name}", "version": version},
        "paths": {f"/{way}": {"get": {"operationId": str(way), **operation}}},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _describe(question: type, answers: type) -> dict[str, Any]:
    refusals = {"400": "What is wrong with the question.", "503": "Too many questions wait."}
    return {
        "summary": (question.__doc__ or "").split(". ")[0],
        "parameters": list(_parameters(question)),
        "responses": {
            "200": _response("The answers, best first.", answers),
            **{status: _response(said, Refusal) for status, said in refusals.items()},
        },
    }


def _response(said: str, kind: type) -> dict[str, Any]:
    content = {"application/json": {"schema": schema_of(kind)}}
    return {"description": said, "content": content}


def _parameters(question: type) -> Iterator[dict[str, Any]]:
    assert is_dataclass(question)
    default_by_name = {f.name: f.default for f in fields(question)}
    for name, (kind, said) in hints_of(question).items():
        default = default_by_name[name]
        schema = _without_null(schema_of(kind))
        if default not in (MISSING, None):
            schema["default"] = default
        yield {
            "name": name,
            "in": "query",
            "required": default is MISSING,
            "description": said,
            "schema": schema,
        }


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type."""
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if get_origin(kind) in (Union, UnionType):
        return {"type": [_PLAIN[part] for part in get_args(kind)]}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": schema_of(get_args(kind)[0])}
    if issubclass(kind, StrEnum):
        return {"type": "string", "enum": [str(member) for member in kind]}
    properties = {
        name: schema_of(plain) | ({"description": said} if said else {})
        for name, (plain, said) in hints_of(kind).items()
    }
    return {"type": "object", "properties": properties, "required": list(properties)}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of what an address can hold: what is not given is left out there."""
    match schema.get("type"):
        case [kind, "null"]:
            return schema | {"type": kind}
        case _:
            return schema
