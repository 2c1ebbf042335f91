"""The OpenAPI document, out of the table of operations and the types of their messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sureness import __version__
from sureness.service import messages

REFUSALS = {
    400: "The body is not JSON.", 401: "A key is needed.", 404: "It is not known.",
    408: "The body did not arrive in time.", 413: "The body is too large.", 422: "It cannot be answered, and why.",
    429: "Too many requests wait.",
}  # fmt: skip
_ALWAYS = (401, 429)
_WITH_BODY = (400, 408, 413, 422)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one path: what it takes, who answers, and what it says of itself."""

    method: str
    path: str
    handler: Callable[..., Awaitable[object]]
    summary: str
    answer: type
    asked: type | None = None  # the body
    query: type | None = None
    refusals: tuple[int, ...] = ()
    is_open: bool = False  # needs no key
    tag: str = "lists"
    examples: Callable[[Any], dict[str, Any]] = lambda _: {}  # of an engine: by what they show
    parameters: Callable[[Any], dict[str, Any]] = lambda _: {}  # of an engine: an example of each part of the path
    problem: type = messages.Complaint

    @property
    def name(self) -> str:
        """By which generated clients call it."""
        return f"{'protocol_' if self.tag == 'protocol' else ''}{self.handler.__name__}"

    @property
    def statuses(self) -> tuple[int, ...]:
        """With which it refuses."""
        if self.is_open:
            return self.refusals
        body = _WITH_BODY if self.asked is not None else ()
        query = (422,) if self.query is not None else ()
        return tuple(sorted({*_ALWAYS, *body, *query, *self.refusals}))


def document(operations: Sequence[Operation], engine: object, *, with_keys: bool) -> dict[str, Any]:
    """The document, with examples that the artefact in force can answer."""
    kinds = {kind for each in operations for kind in (each.asked, each.query, each.answer, each.problem) if kind}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    references, components = messages.schemas(ordered)
    schemas = dict(zip(ordered, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        path = each.path.replace(":path}", "}")
        paths.setdefault(path, {})[each.method.lower()] = _described(each, schemas, components, engine, with_keys)
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "sureness",
            "version": __version__,
            "description": "Calibrated probabilities, lists and pages of a saved recommender.",
        },
        "paths": paths,
        "components": {"schemas": components},
    }
    if with_keys:
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return found


def _described(
    operation: Operation, schemas: dict[type, dict[str, Any]], components: dict[str, Any], engine: object,
    with_keys: bool,
) -> dict[str, Any]:  # fmt: skip
    responses = {
        "200": {"description": "The answer.", "content": _json(schemas[operation.answer])},
    }
    for status in operation.statuses:
        content = _json(schemas[operation.problem])
        responses[str(status)] = {"description": REFUSALS[status], "content": content}
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": responses,
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}, "example": example}
        for name, example in operation.parameters(engine).items()
    ]
    if operation.query is not None:
        fields = components[operation.query.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in fields.get("required", ()), "schema": _present(schema)}
            for name, schema in fields["properties"].items()
        ]
    if parameters:
        found["parameters"] = parameters
    if operation.asked is not None:
        content = _json(schemas[operation.asked])
        content["application/json"]["examples"] = {
            name: {"value": value} for name, value in operation.examples(engine).items()
        }
        found["requestBody"] = {"required": True, "content": content}
    if with_keys and not operation.is_open:
        found["security"] = [{"key": []}]
    return found


def _present(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a parameter that is given; there is no null in a query string."""
    found = {name: value for name, value in schema.items() if name != "default"}
    if "anyOf" in found and len(others := [each for each in found["anyOf"] if each != {"type": "null"}]) == 1:
        return {**others[0]}
    return found


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
