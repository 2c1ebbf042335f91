# Written by `make stubs` from the table in __init__.py.
from sureness.models.base import FactorRecommender as FactorRecommender
from sureness.models.base import Recommender as Recommender
from sureness.models.base import checked_validation as checked_validation
from sureness.models.base import need_torch as need_torch
from sureness.models.bpr import BPR as BPR
from sureness.models.bpr import UBPR as UBPR
from sureness.models.bpr import UBPRSettings as UBPRSettings
from sureness.models.catalogue import make_recommender as make_recommender
from sureness.models.catalogue import model_names as model_names
from sureness.models.catalogue import model_type as model_type
from sureness.models.catalogue import recommended as recommended
from sureness.models.cdae import CDAE as CDAE
from sureness.models.cdae import CDAESettings as CDAESettings
from sureness.models.checkpoints import HISTORY as HISTORY
from sureness.models.checkpoints import CheckpointFile as CheckpointFile
from sureness.models.checkpoints import TrainingState as TrainingState
from sureness.models.checkpoints import fingerprint as fingerprint
from sureness.models.checkpoints import run_identity as run_identity
from sureness.models.cml import CML as CML
from sureness.models.cml import CMLSettings as CMLSettings
from sureness.models.lightgcn import LightGCN as LightGCN
from sureness.models.lightgcn import LightGCNSettings as LightGCNSettings
from sureness.models.networks.batches import Batch as Batch
from sureness.models.networks.batches import SoftItems as SoftItems
from sureness.models.networks.network import Network as Network
from sureness.models.networks.training import Trainer as Trainer
from sureness.models.neumf import NeuMF as NeuMF
from sureness.models.neumf import NeuMFSettings as NeuMFSettings
from sureness.models.settings import Setting as Setting
from sureness.models.settings import Settings as Settings
from sureness.models.settings import Space as Space
from sureness.models.tuning import Tuning as Tuning
from sureness.models.tuning import tune as tune

__all__ = [
    "BPR",
    "Batch",
    "CDAE",
    "CDAESettings",
    "CML",
    "CMLSettings",
    "CheckpointFile",
    "FactorRecommender",
    "HISTORY",
    "LightGCN",
    "LightGCNSettings",
    "Network",
    "NeuMF",
    "NeuMFSettings",
    "Recommender",
    "Setting",
    "Settings",
    "SoftItems",
    "Space",
    "Trainer",
    "TrainingState",
    "Tuning",
    "UBPR",
    "UBPRSettings",
    "checked_validation",
    "fingerprint",
    "make_recommender",
    "model_names",
    "model_type",
    "need_torch",
    "recommended",
    "run_identity",
    "tune",
]
