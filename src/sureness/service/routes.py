"""The operations of the service: for each a handler that asks a question, and what the document says of it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from sureness.errors import IdError
from sureness.service import kserve, messages
from sureness.service.engine import Engine
from sureness.service.messages import RefusedError
from sureness.service.openapi import Operation
from sureness.service.questions import Budget, LiveLists, PageLists, Probabilities, Question, UserLists, Users
from sureness.service.serving import Service


async def user_list(service: Service, request: Request, query: messages.ListQuery) -> messages.ListAnswer:
    engine, cut = service.engine, messages.cut_of(query)
    engine.policy(cut)
    question = UserLists(engine, [request.path_params["id"]], cut, query.explain)
    try:
        found = await service.answer(messages.ListsAnswer, question, "lists")
    except IdError as error:
        raise RefusedError.of(error, 404) from None
    return messages.ListAnswer(artefact=found.artefact, notes=found.notes, list=found.lists[0])


async def lists(service: Service, request: Request, asked: messages.ListsAsked) -> messages.ListsAnswer:
    engine, cut = service.engine, messages.cut_of(asked)
    engine.policy(cut)
    _check_one(asked)
    question: Question
    if asked.user_ids is not None:
        question = UserLists(engine, asked.user_ids, cut, asked.explain)
    else:
        question = LiveLists(engine, asked.groups or [], cut, asked.explain)
    return await service.answer(messages.ListsAnswer, question, "lists")


async def probabilities(
    service: Service, request: Request, asked: messages.ProbabilitiesAsked
) -> messages.ProbabilitiesAnswer:
    return await service.answer(messages.ProbabilitiesAnswer, Probabilities(service.engine, asked), "probabilities")


async def pages(service: Service, request: Request, asked: messages.PagesAsked) -> messages.PagesAnswer:
    _check_one(asked)
    return await service.answer(messages.PagesAnswer, PageLists(service.engine, asked), "pages")


async def budgets(service: Service, request: Request, asked: messages.BudgetAsked) -> messages.BudgetAnswer:
    return await service.answer(messages.BudgetAnswer, Budget(service.engine, asked))


async def users(service: Service, request: Request, query: messages.UsersQuery) -> messages.UsersAnswer:
    return await service.answer(messages.UsersAnswer, Users(service.engine, query))


async def promise(service: Service, request: Request, _: None) -> messages.PromiseAnswer:
    tables, coming, cautions = service.engine.promise
    return messages.PromiseAnswer(
        artefact=service.engine.artefact, notes=list(cautions), tables=list(tables), coming=list(coming)
    )


async def artefacts(service: Service, request: Request, _: None) -> messages.ArtefactsAnswer:
    return service.artefacts.answer()


async def reload(service: Service, request: Request, _: None) -> messages.ArtefactsAnswer:
    await service.artefacts.reload()
    return service.artefacts.answer()


async def live(service: Service, request: Request, _: None) -> messages.State:
    return messages.State("live")


async def ready(service: Service, request: Request, _: None) -> messages.State:
    return messages.State("ready")  # files are loaded and warm before the port is open


async def server(service: Service, request: Request, _: None) -> messages.ServerAnswer:
    return kserve.server()


async def model(service: Service, request: Request, _: None) -> messages.ModelAnswer:
    kserve.check_model(request.path_params["model"])
    return kserve.model(service.engine)


async def model_ready(service: Service, request: Request, _: None) -> messages.State:
    kserve.check_model(request.path_params["model"])
    return messages.State("ready")


async def infer(service: Service, request: Request, asked: messages.InferAsked) -> messages.InferAnswer:
    kserve.check_model(request.path_params["model"])
    engine = service.engine
    reply = await service.ask(Probabilities(engine, kserve.asked(asked)))
    return kserve.answer(engine, asked, reply.answer, list(reply.notes))


def _check_one(asked: messages.ListsAsked | messages.PagesAsked) -> None:
    if (asked.user_ids is None) == (asked.groups is None):
        raise RefusedError(
            422, "request", "give either user_ids, of users of the recommender, or groups, with live scores"
        )


def _first_user(engine: Engine) -> Any:
    return engine.ids[0].at([0])[0]


def _live_example(engine: Engine) -> dict[str, Any]:
    low, high = engine.usual_scores
    scores = [round(high - (high - low) * place / 16, 6) for place in range(12)]
    return {"user_id": "somebody new", "scores": scores, "history": 3}


def _lists_examples(engine: Engine) -> dict[str, Any]:
    return {
        "users": {"user_ids": [_first_user(engine)]},
        "users, another utility": {"user_ids": [_first_user(engine)], "utility": "ndcg", "max_size": 10},
        "live scores": {"groups": [_live_example(engine)]},
    }


def _pages_examples(engine: Engine) -> dict[str, Any]:
    return {"live scores": {"slots": 5, "groups": [{**_live_example(engine), "domains": ["books", "films"] * 6}]}}


def _scores_example(engine: Engine) -> dict[str, Any]:
    scores = _live_example(engine)["scores"]
    found: dict[str, Any] = {"scores": scores}
    if "groups" in engine.map_takes:
        found |= {"groups": ["a query"] * len(scores), "history": [3] * len(scores)}
    return found


def _infer_example(engine: Engine) -> dict[str, Any]:
    names = {ours: name for name, ours in kserve.INPUTS.items()}
    inputs = [
        {"name": names[ours], "shape": [len(data)], "datatype": kserve.datatype(names[ours]), "data": data}
        for ours, data in _scores_example(engine).items()
    ]
    return {"scores": {"id": "1", "inputs": inputs}}


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        method="GET", path="/v1/users/{id:path}/list", handler=user_list, query=messages.ListQuery,
        answer=messages.ListAnswer, refusals=(404,), summary="The list of one user",
        parameters=lambda engine: {"id": str(_first_user(engine))},
    ),
    Operation(
        method="POST", path="/v1/lists", handler=lists, asked=messages.ListsAsked, answer=messages.ListsAnswer,
        summary="Lists of many users, or from live scores of anybody", examples=_lists_examples,
    ),
    Operation(
        method="POST", path="/v1/probabilities", handler=probabilities, asked=messages.ProbabilitiesAsked,
        answer=messages.ProbabilitiesAnswer, summary="Probabilities of scores",
        examples=lambda engine: {"scores": _scores_example(engine)},
    ),
    Operation(
        method="POST", path="/v1/pages", handler=pages, asked=messages.PagesAsked, answer=messages.PagesAnswer,
        summary="Pages whose slots domains share", examples=_pages_examples,
    ),
    Operation(
        method="POST", path="/v1/budgets", handler=budgets, asked=messages.BudgetAsked, answer=messages.BudgetAnswer,
        summary="A budget of items, shared by the users that the service has looked at",
        examples=lambda engine: {"five items each": {"items_per_user": 5}},
    ),
    Operation(
        method="GET", path="/v1/users", handler=users, query=messages.UsersQuery, answer=messages.UsersAnswer,
        summary="Users in numbers, sorted", tag="service",
    ),
    Operation(
        method="GET", path="/v1/promise", handler=promise, answer=messages.PromiseAnswer,
        summary="Whether the promise was kept, as a backtest found it", tag="service",
    ),
    Operation(
        method="GET", path="/v1/artefacts", handler=artefacts, answer=messages.ArtefactsAnswer,
        summary="The files in force", tag="service",
    ),
    Operation(
        method="POST", path="/v1/reload", handler=reload, answer=messages.ArtefactsAnswer, refusals=(422,),
        summary="Put changed files in force now", tag="service",
    ),
    Operation(
        method="GET", path="/health/live", handler=live, answer=messages.State, is_open=True, tag="service",
        summary="Whether the process is there",
    ),
    Operation(
        method="GET", path="/health/ready", handler=ready, answer=messages.State, is_open=True, tag="service",
        summary="Whether it is warm",
    ),
    Operation(
        method="GET", path="/v2", handler=server, answer=messages.ServerAnswer, is_open=True, tag="protocol",
        summary="Open Inference Protocol: the server",
    ),
    Operation(
        method="GET", path="/v2/health/live", handler=live, answer=messages.State, is_open=True,
        tag="protocol", summary="Open Inference Protocol: whether the server is there",
    ),
    Operation(
        method="GET", path="/v2/health/ready", handler=ready, answer=messages.State, is_open=True,
        tag="protocol", summary="Open Inference Protocol: whether the server is warm",
    ),
    Operation(
        method="GET", path="/v2/models/{model}", handler=model, answer=messages.ModelAnswer, refusals=(404,),
        tag="protocol", summary="Open Inference Protocol: what the model takes and gives",
        parameters=lambda engine: {"model": kserve.MODEL}, problem=messages.ProtocolComplaint,
    ),
    Operation(
        method="GET", path="/v2/models/{model}/ready", handler=model_ready, answer=messages.State,
        refusals=(404,), tag="protocol", summary="Open Inference Protocol: whether the model is warm",
        parameters=lambda engine: {"model": kserve.MODEL}, problem=messages.ProtocolComplaint,
    ),
    Operation(
        method="POST", path="/v2/models/{model}/infer", handler=infer, asked=messages.InferAsked,
        answer=messages.InferAnswer, refusals=(404,), tag="protocol",
        summary="Open Inference Protocol: probabilities of scores",
        parameters=lambda engine: {"model": kserve.MODEL}, examples=_infer_example, problem=messages.ProtocolComplaint,
    ),
)  # fmt: skip
