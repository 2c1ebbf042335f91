"""Maps of users as a DataFrame: one row per user, and what all users share."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import polars as pl

from sureness._printing import fields_repr
from sureness.calibration.horizon import Horizon
from sureness.calibration.maps import ProbabilityMap
from sureness.calibration.per_user import PerUserCalibrator
from sureness.calibration.user_model import UserModel
from sureness.data.ids import IdMap
from sureness.spark.frames import created, fetched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class UserMaps:
    """The maps of users that `fit_per_user` found.

    `table` is cached; write it where it is kept, or release it with ``maps.table.unpersist()``.
    """

    table: DataFrame  # the columns of PerUserCalibrator.table
    shared: PerUserCalibrator  # knows no user, and answers for all who are not in the table
    model: UserModel
    horizon: Horizon

    __repr__ = fields_repr

    def local(self) -> PerUserCalibrator:
        """All maps on the driver, as a calibrator for one machine: some 80 bytes per user."""
        learned = fetched(self.table).sort("user_id")
        users = IdMap.of(learned["user_id"])
        return PerUserCalibrator.of_model(self.shared, self.model, self.horizon, users, learned)

    def save(self, path: str | PathLike[str]) -> None:
        """Write all maps to one file, which `sureness.load` opens anywhere; they pass through the driver."""
        self.local().save(path)


def joined_maps(frame: DataFrame, own: ProbabilityMap | UserMaps) -> DataFrame:
    """What is known of each user, as a DataFrame of the session of another one."""
    if isinstance(own, UserMaps):
        return own.table
    return created(frame.sparkSession, own.table())


def mean_user(
    calibrator: PerUserCalibrator, model: UserModel, horizon: Horizon, means: dict[str, Any], ids: pl.DataType
) -> PerUserCalibrator:
    """A calibrator that knows no user and answers for everybody with the means of all."""
    learned = pl.DataFrame({name: [value] for name, value in means.items()})
    return PerUserCalibrator.of_model(calibrator, model, horizon, IdMap.of(pl.Series([], dtype=ids)), learned)
