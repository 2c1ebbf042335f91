"""Calibrators and recommenders as models of MLflow: logged, registered and served like those of other libraries.

What is stored is the saved file (`sn.load` opens it) and not a pickle, so it can be read by another version of Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from sureness import __version__
from sureness.calibration.maps import ProbabilityMap
from sureness.errors import SettingError, missing_extra
from sureness.jobs.applying import apply, columns_read
from sureness.recommender.confident import ConfidentRecommender
from sureness.saving.objects import load
from sureness.sources.base import id_maps
from sureness.tables.columns import Columns
from sureness.tables.frames import as_frame, in_kind_of
from sureness.tables.reading import require_columns

if TYPE_CHECKING:
    import pandas as pd

Served: TypeAlias = ProbabilityMap | ConfidentRecommender
"""What can be a model of MLflow."""

_TYPES = {pl.String: "string", pl.Float64: "double", pl.Boolean: "boolean"}  # of MLflow; all else is a whole number


def save_model(model: Served, path: str | PathLike[str], **options: Any) -> None:
    """Write a fitted calibrator or recommender as an MLflow model, a folder.

    Parameters
    ----------
    model : ProbabilityMap or ConfidentRecommender
        A fitted one.
    path : path
        The folder, which must not exist or be empty.
    **options
        Of `mlflow.pyfunc.save_model`, such as ``metadata`` or ``pip_requirements``. Without them, the signature says
        which columns the model reads and gives, and this version of sureness is the only requirement.
    """
    _store(_pyfunc().save_model, model, {"path": str(path)}, options)


def log_model(model: Served, name: str, **options: Any) -> Any:
    """Log a fitted calibrator or recommender to the active run of MLflow.

    Parameters
    ----------
    model : ProbabilityMap or ConfidentRecommender
        A fitted one.
    name : str
        The name of the model in MLflow.
    **options
        Of `mlflow.pyfunc.log_model`, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is what `load_model`, `mlflow.pyfunc.load_model` and ``mlflow models serve`` take.
    """
    return _store(_pyfunc().log_model, model, {"name": name}, options)


def load_model(model_uri: str) -> Served:
    """The calibrator or recommender itself, with all its methods; `mlflow.pyfunc.load_model` gives its `predict` only.

    Parameters
    ----------
    model_uri : str
        Such as ``models:/confidence/3``, ``runs:/<run>/confidence`` or the folder of `save_model`.
    """
    found: Served = _pyfunc().load_model(model_uri).get_raw_model()
    return found


class Answers:
    """The model as MLflow calls it: tables in, tables out.

    A calibrator reads a column ``score``, and ``segment`` or its fields where its maps differ by them; it gives one
    column, ``probability``. A map for lists reads ``user_id``, the group whose candidates it compares, and ``history``
    and its traits if it was fitted with them: a table must hold all candidates of a group, or the best ones. A
    recommender reads ``user_id`` and gives the lists of these users.
    """

    def __init__(self, model: Served) -> None:
        self.model = model

    def get_raw_model(self) -> Served:
        """The calibrator or recommender itself."""
        return self.model

    def predict(self, table: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Probabilities, in the order of the rows; or lists, in the order of the users."""
        if isinstance(self.model, ConfidentRecommender):
            users = as_frame(table)
            require_columns(users.lazy(), ["user_id"], "the table")
            return in_kind_of(table, self.model.recommend(users["user_id"]))
        reads = columns_read(self.model)
        columns = Columns(segment="segment" if "segment" in reads else None)
        rows = table[[name for name in reads if name in table]]  # without a probability that it may have
        return apply(self.model, rows, columns=columns).frame[["probability"]]


def _load_pyfunc(path: str) -> Answers:
    """What MLflow calls to open a model."""
    return Answers(load(path))


def _store(store: Any, model: Served, place: dict[str, str], options: dict[str, Any]) -> Any:
    if not isinstance(model, ProbabilityMap | ConfidentRecommender):
        raise SettingError(
            f"model must be a fitted calibrator or a ConfidentRecommender, got a {type(model).__name__}; open a saved "
            "one with sn.load"
        )
    with TemporaryDirectory() as folder:
        saved = Path(folder) / f"model.{'json' if model.saved_as == 'json' else 'sureness'}"
        model.save(saved)
        usual = {
            "signature": _signature(model),
            "pip_requirements": [f"sureness=={__version__}"],
            "metadata": _about(model),
        }
        return store(loader_module=__name__, data_path=str(saved), **place, **(usual | options))


def _signature(model: Served) -> Any:
    """The columns that go in and come out."""
    if isinstance(model, ConfidentRecommender):
        users, _ = id_maps(model.source)
        return _schemas({"user_id": users.ids.dtype}, dict(model.recommend([]).schema))
    return _schemas(columns_read(model), {"probability": pl.Float64()})


def _schemas(reads: Mapping[str, pl.DataType | None], gives: Mapping[str, pl.DataType | None]) -> Any:
    from mlflow.models.signature import ModelSignature
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType

    def kind_of(kind: pl.DataType | None) -> Any:
        return AnyType() if kind is None else _TYPES.get(type(kind), "long")

    schemas = (Schema([ColSpec(kind_of(kind), name) for name, kind in columns.items()]) for columns in (reads, gives))
    return ModelSignature(*schemas)


def _about(model: Served) -> dict[str, str]:
    fitted = model if isinstance(model, ProbabilityMap) else model.map_
    return {"estimand": fitted.estimand_, "meaning": fitted.meaning}


def _pyfunc() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError as error:
        raise missing_extra("MLflow", "mlflow", "mlflow") from error
    return mlflow.pyfunc
