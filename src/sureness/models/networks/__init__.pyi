# Written by `make stubs` from the table in __init__.py.
from sureness.models.networks.batches import Batch as Batch
from sureness.models.networks.batches import Batches as Batches
from sureness.models.networks.batches import PairBatches as PairBatches
from sureness.models.networks.batches import SoftItems as SoftItems
from sureness.models.networks.batches import UserBatches as UserBatches
from sureness.models.networks.cdae import CDAENetwork as CDAENetwork
from sureness.models.networks.factors import BPRNetwork as BPRNetwork
from sureness.models.networks.factors import CMLNetwork as CMLNetwork
from sureness.models.networks.factors import FactorNetwork as FactorNetwork
from sureness.models.networks.factors import UBPRNetwork as UBPRNetwork
from sureness.models.networks.lightgcn import LightGCNNetwork as LightGCNNetwork
from sureness.models.networks.network import Network as Network
from sureness.models.networks.network import as_numpy as as_numpy
from sureness.models.networks.network import new_table as new_table
from sureness.models.networks.network import products as products
from sureness.models.networks.network import rows_of as rows_of
from sureness.models.networks.neumf import NeuMFNetwork as NeuMFNetwork
from sureness.models.networks.optimiser import DenseAdam as DenseAdam
from sureness.models.networks.optimiser import RowAdam as RowAdam
from sureness.models.networks.training import Trainer as Trainer
from sureness.models.networks.training import seeded as seeded
from sureness.models.networks.training import train_network as train_network
from sureness.models.networks.training import using_threads as using_threads

__all__ = [
    "BPRNetwork",
    "Batch",
    "Batches",
    "CDAENetwork",
    "CMLNetwork",
    "DenseAdam",
    "FactorNetwork",
    "LightGCNNetwork",
    "Network",
    "NeuMFNetwork",
    "PairBatches",
    "RowAdam",
    "SoftItems",
    "Trainer",
    "UBPRNetwork",
    "UserBatches",
    "as_numpy",
    "new_table",
    "products",
    "rows_of",
    "seeded",
    "train_network",
    "using_threads",
]
