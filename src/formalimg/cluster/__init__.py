"""The Ray engine: worker processes on the machines of a Ray cluster that generate and judge images for one run."""

from formalimg.cluster.distributed import DistributedJudge, DistributedModel
from formalimg.cluster.pool import WorkerPool, open_worker_pool
from formalimg.cluster.ray_cluster import ResourceRequest

__all__ = ["DistributedJudge", "DistributedModel", "ResourceRequest", "WorkerPool", "open_worker_pool"]
