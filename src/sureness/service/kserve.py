"""The Open Inference Protocol (KServe v2) for probabilities, so that its clients work unchanged."""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import Any

import msgspec

from sureness import __version__
from sureness._wording import counted
from sureness.service.engine import Engine
from sureness.service.messages import (
    InferAnswer,
    InferAsked,
    ModelAnswer,
    ProbabilitiesAsked,
    RefusedError,
    ServerAnswer,
    Tensor,
)

MODEL = "sureness"
"""What the model is called, whichever file is in force."""

INPUTS = {"score": "scores", "group": "groups", "user": "users", "segment": "segments", "history": "history"}


def server() -> ServerAnswer:
    """What this server is."""
    return ServerAnswer("sureness", __version__, [])


def model(engine: Engine) -> ModelAnswer:
    """What the map in force takes and gives."""
    inputs = [
        {"name": name, "datatype": datatype(name), "shape": [-1]}
        for name, ours in INPUTS.items()
        if ours == "scores" or ours in engine.map_takes
    ]
    outputs = [{"name": "probability", "datatype": "FP64", "shape": [-1]}]
    version = engine.map_artefact.version
    return ModelAnswer(name=MODEL, versions=[version], platform="sureness", inputs=inputs, outputs=outputs)


def datatype(name: str) -> str:
    """Of an input: numbers, or ids as text."""
    return "FP64" if name in ("score", "history") else "BYTES"


def check_model(name: str) -> None:
    """Refuse another model."""
    if name != MODEL:
        raise RefusedError(404, "model", f"the only model is {MODEL!r}, got {name!r:.80}")


def asked(request: InferAsked) -> ProbabilitiesAsked:
    """The question of a request."""
    columns: dict[str, Any] = {}
    for tensor in request.inputs:
        if tensor.name not in INPUTS:
            raise RefusedError(422, "request", f"inputs are {', '.join(INPUTS)}, got {tensor.name!r:.80}")
        columns[INPUTS[tensor.name]] = _flat(tensor)
    try:
        return msgspec.convert(columns, ProbabilitiesAsked)
    except msgspec.ValidationError as error:
        raise RefusedError(422, "request", f"the inputs do not fit: {error}") from None


def answer(engine: Engine, request: InferAsked, probabilities: list[float], notes: list[str]) -> InferAnswer:
    """Probabilities as a tensor of the shape of the scores."""
    shape = next(tensor.shape for tensor in request.inputs if tensor.name == "score")
    about = {"artefact": engine.map_artefact.name, "horizon": engine.map_artefact.horizon, "notes": " ".join(notes)}
    output = Tensor(name="probability", shape=shape, datatype="FP64", data=probabilities)
    version = engine.map_artefact.version
    return InferAnswer(model_name=MODEL, model_version=version, outputs=[output], id=request.id, parameters=about)


def _flat(tensor: Tensor) -> list[Any]:
    """The data of a tensor, which may be nested as its shape is."""
    data: list[Any] = list(tensor.data)
    if len(tensor.shape) == 2 and data and all(isinstance(row, list) for row in data):
        data = list(chain.from_iterable(data))
    if len(data) != prod(tensor.shape):
        raise RefusedError(
            422,
            "request",
            f"{tensor.name} must have {counted(prod(tensor.shape), 'value')}, as its shape says, got {len(data):,}",
        )
    return data
