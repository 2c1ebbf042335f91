"""The application: routes around the operations, errors as JSON, metrics, the document, the explorer."""

from __future__ import annotations

import hashlib
import mimetypes
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from sureness.errors import SurenessError
from sureness.service import messages
from sureness.service.messages import RefusedError
from sureness.service.metrics import CONTENT_TYPE
from sureness.service.openapi import Operation, document
from sureness.service.routes import OPERATIONS
from sureness.service.serving import Service, ServiceSettings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
_ANSWER = {**_SAFE, "Cache-Control": "no-store"}


def build(settings: ServiceSettings) -> Starlette:
    """The application, with its files loaded and warm.

    Parameters
    ----------
    settings : ServiceSettings
    """
    service = Service(settings)
    routes = [Route(each.path, _endpoint(service, each), methods=[each.method]) for each in OPERATIONS]
    routes += [
        Route("/metrics", _metrics(service)),
        Route("/openapi.json", _openapi(service)),
        Route("/pictures/{id:path}", _picture(service)),
        *_explorer(),
    ]
    app = Starlette(
        routes=routes, lifespan=service.living, exception_handlers={HTTPException: _no_route, Exception: _mistake}
    )
    app.state.service = service
    return app


def _endpoint(service: Service, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    route, method, answered = operation.path.replace(":path}", "}"), operation.method, service.metrics.answered

    async def answer(request: Request) -> Response:
        started = time.perf_counter()
        try:
            if not operation.is_open:
                service.check_key(request)
            asked: Any = None
            if operation.asked is not None:
                asked = messages.decode(await service.body(request), operation.asked)
            elif operation.query is not None:
                asked = messages.converted(request.query_params.multi_items(), operation.query)
            found = messages.encode(await operation.handler(service, request, asked))
            response = Response(found, headers=_ANSWER, media_type="application/json")
        except RefusedError as refused:
            response = _refused(refused, operation.problem)
        except ClientDisconnect:
            response = Response(status_code=400)  # nobody reads it
        except SurenessError as error:
            response = _refused(RefusedError.of(error), operation.problem)
        answered(route, method, response.status_code, time.perf_counter() - started)
        return response

    return answer


def _refused(refused: RefusedError, problem: type = messages.Complaint) -> Response:
    body = messages.encode(messages.problem_of(refused, problem))
    return Response(body, refused.status, {**_ANSWER, **(refused.headers or {})}, "application/json")


def _no_route(request: Request, error: Exception) -> Response:
    """404 and 405, which the router finds."""
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}"
    sentence = f"{what:.200} is not a route of this service; /openapi.json lists them"
    headers = dict(error.headers or {})
    return _refused(RefusedError(error.status_code, "route", sentence, headers))


def _mistake(request: Request, error: Exception) -> Response:
    """A mistake of ours; the traceback goes to standard error."""
    traceback.print_exception(error, file=sys.stderr)
    return _refused(RefusedError(500, "error", "the service made a mistake, which is in its log"))


def _metrics(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def metrics(request: Request) -> Response:
        try:
            service.check_key(request)
        except RefusedError as refused:
            return _refused(refused)
        engine, known = service.engine, service.engine.survey.known
        n_known = max(1, len(known.sizes))
        now = {
            "waiting_requests": service.worker.n_waiting, "users": len(engine.ids[0]), "items": len(engine.ids[1]),
            "artefact_loaded_timestamp_seconds": service.artefacts.loaded_at.timestamp(),
            "artefact_refused": float(service.artefacts.problem is not None),
            "unsure_users_ratio": float(known.unsure.sum()) / n_known,
            "list_size_mean": float(known.sizes.sum()) / n_known,
        }  # fmt: skip
        return Response(service.metrics.text(now), headers=_ANSWER, media_type=CONTENT_TYPE)

    return metrics


def _openapi(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def openapi(request: Request) -> Response:
        found = document(OPERATIONS, service.engine, with_keys=bool(service.settings.keys))
        return Response(messages.encode(found), headers=_ANSWER, media_type="application/json")

    return openapi


def _picture(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def picture(request: Request) -> Response:
        found = service.engine.items.picture(request.path_params["id"])
        if found is None:
            return _refused(RefusedError(404, "ids", "there is no picture of this item"))
        path, kind = found
        return FileResponse(path, media_type=kind, headers={**_SAFE, "Cache-Control": "max-age=3600"})

    return picture


def _explorer() -> Sequence[Route]:
    """The pages of the explorer, out of memory."""
    found = []
    for file in files("sureness.service").joinpath("explorer").iterdir():
        if not file.is_file():
            continue
        content, kind = file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        found.append(_static("/" if file.name == "index.html" else f"/explorer/{file.name}", content, kind))
    return found


def _static(path: str, content: bytes, kind: str) -> Route:
    tag = f'"{hashlib.blake2b(content, digest_size=8).hexdigest()}"'
    headers = {**_SAFE, "Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": tag}

    async def page(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return Route(path, page)
