"""ALS in Spark, calibrated there, and lists of personal length written to Parquet.

Needs pip install 'sureness[spark]' and Java 17:

    python examples/spark_als.py lists.parquet
"""

from __future__ import annotations

import os
import sys

from pyspark.ml.recommendation import ALS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import sureness as sn
from sureness.spark import apply, fit, lists


def simulated_log(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """What was taken in two periods; read yours with spark.read.parquet."""
    world = sn.simulate(sn.SimulatorSettings(n_users=400, n_items=120, exposure_rate=0.5))
    split = sn.by_ratio(sn.Interactions.from_matrix(world.train + world.held_out), seed=0)
    first, second = (spark.createDataFrame(part.table().to_arrow()) for part in (split.train, split.validation))
    return first, second


def main(output: str) -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # tasks run in this Python, which has sureness
    spark = SparkSession.builder.appName("sureness").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", 4)  # for a small log; clusters have hundreds
    log, later = simulated_log(spark)

    als = ALS(userCol="user_id", itemCol="item_id", rank=8, implicitPrefs=True, seed=0, maxIter=5)
    ratings = log.select(sf.col("user_id").cast("int"), sf.col("item_id").cast("int"), sf.lit(1.0).alias("rating"))
    model = als.fit(ratings)
    best = model.recommendForAllUsers(100).select("user_id", sf.explode("recommendations").alias("best"))
    candidates = best.select("user_id", sf.col("best.item_id"), sf.col("best.rating").alias("score"))
    candidates = candidates.join(log, ["user_id", "item_id"], "left_anti").cache()  # what was taken is not shown again

    taken = later.select("user_id", "item_id", sf.lit(1).alias("label"))
    labelled = candidates.join(taken, ["user_id", "item_id"], "left").fillna(0, ["label"])
    history = log.groupBy("user_id").agg(sf.count("*").alias("history"))  # items that ALS was trained on
    labelled = labelled.join(history, "user_id", "left").fillna(0, ["history"])
    calibrator = fit(labelled, sn.ListCalibrator())
    shown = apply(labelled, calibrator).filter("label = 0")  # what was taken later is not shown again either
    lists(shown).write.mode("overwrite").parquet(output)
    calibrator.save(f"{output}.json")  # opens on any machine: sn.load

    made = spark.read.parquet(output)
    sizes = made.select("user_id", "list_size").distinct()
    mean = sizes.agg(sf.avg("list_size")).first()[0]
    print(f"{made.count():,} items for {sizes.count():,} users, {mean:.1f} on average")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
