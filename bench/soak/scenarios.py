"""Named faults, each with the job that it is tried on. What is measured and its goal is said by the fault (faults.py)."""
from faults import (CutLink, CutPair, ExhaustMemory, FullDisk, Kill, KillSidecar, KillWorker, OperatorAway, PauseAll, Scale, SlowLinks, Stop, StopMachine, StopOperator, StopTogether, StopWorker,
                    StopWorkerMachine)
from local_job import Shape


class Scenario:
    """faults: [(seconds of calm before, fault)]. long: only when asked for by name or with --scenario everything."""

    def __init__(self, purpose, shape, faults, long=False, settles=True):
        self.purpose, self.shape, self.faults, self.long, self.settles = purpose, shape, faults, long, settles


def coordinator(kind, *seconds):
    return kind(*seconds, coordinator=True)


SCENARIOS = {
    "undisturbed": Scenario("nothing happens; what the others are to be compared with", Shape(items=4_000), []),
    "coordinator-stopped": Scenario("3 servers; only the coordinator's process is silent", Shape(), [(3, coordinator(Stop, 75))]),
    "coordinator-stopped-2": Scenario("the same with 2 servers", Shape(servers=2), [(3, coordinator(Stop, 75))]),
    "coordinator-machine": Scenario("everything in the coordinator's pod is silent", Shape(), [(3, coordinator(StopMachine, 75))]),
    "coordinator-killed": Scenario("the coordinator's process ends", Shape(), [(3, coordinator(Kill))]),
    "coordinator-killed-2": Scenario("the same with 2 servers", Shape(servers=2), [(3, coordinator(Kill))]),
    "coordinator-cut": Scenario("no packet reaches or leaves the coordinator's server, then it is healed", Shape(shared_memory=False, items=40_000), [(3, coordinator(CutLink, 60))]),
    "server-stopped": Scenario("another server is silent", Shape(), [(3, Stop(45, coordinator=False))]),
    "server-machine": Scenario("everything in another server's pod is silent", Shape(), [(3, StopMachine(45, coordinator=False))]),
    "server-killed": Scenario("another server ends", Shape(), [(3, Kill(coordinator=False))]),
    "server-cut": Scenario("no packet reaches or leaves another server, then it is healed", Shape(shared_memory=False, items=40_000), [(3, CutLink(60, coordinator=False))]),
    "worker-and-server-apart": Scenario("a worker and a server do not reach each other, the coordinator hears both; then it is healed",
                                        Shape(workers=3, shared_memory=False, items=40_000), [(3, CutPair(60))]),
    "worker-stopped": Scenario("a worker is silent", Shape(workers=3, items=40_000), [(3, StopWorker(45))]),
    "worker-machine": Scenario("everything in a worker's pod is silent", Shape(workers=3, items=40_000), [(3, StopWorkerMachine(45))]),
    "worker-killed": Scenario("a worker ends", Shape(workers=3), [(3, KillWorker())]),
    "worker-stopped-bsp": Scenario("a worker that the others wait for is silent", Shape(workers=3, mode="BSP"), [(3, StopWorker(45))]),
    "worker-out-of-memory": Scenario("a worker takes more memory than its limit", Shape(workers=3, items=12_000, memory="256Mi"), [(3, ExhaustMemory())]),
    "coordinator-and-worker-stopped": Scenario("two are silent at once", Shape(workers=3), [(3, StopTogether(("coordinator", "worker"), 40))]),
    "coordinator-and-operator-stopped": Scenario("two are silent at once", Shape(), [(3, StopTogether(("coordinator", "operator"), 40))]),
    "two-servers-stopped": Scenario("the coordinator's and another of three servers are silent at once", Shape(), [(3, StopTogether(("coordinator", "server"), 40))]),
    "sidecars-killed": Scenario("sidecars end", Shape(), [(2, KillSidecar(number=n)) for n in range(3)]),
    "whole-job-paused": Scenario("all processes of the job and the operator are stopped for a minute", Shape(), [(3, PauseAll(60))]),
    "one-server-paused": Scenario("1 server, 5 workers: the only server is silent for 13 s and finds everybody well",
                                  Shape(servers=1, workers=5, backups=0), [(3, Stop(13, coordinator=True))]),
    "operator-stopped": Scenario("the operator is silent", Shape(), [(3, StopOperator(45))]),
    "operator-away-then-server-lost": Scenario("a server is lost while the operator is away", Shape(items=40_000),
                                               [(3, OperatorAway(30, 30, Kill(coordinator=False)))]),
    "operator-away-then-coordinator-lost": Scenario("the coordinator is lost while the operator is away", Shape(items=40_000),
                                                    [(3, OperatorAway(30, 45, Kill(coordinator=True)))]),
    "eight-workers-lost": Scenario("eight workers end within a minute, three in turn", Shape(workers=3, items=40_000),
                                   [(6, KillWorker(number=n % 3)) for n in range(8)], settles=False),
    "workers-scaled": Scenario("workers come and go", Shape(workers=1, items=15_000), [(2, Scale("workers", n)) for n in (4, 1, 3, 2, 4, 1, 4, 2)]),
    "servers-scaled": Scenario("servers come and go", Shape(servers=2), [(2, Scale("servers", n)) for n in (4, 2, 3)]),
    "slow-links": Scenario("all links together have 2 Mbit/s", Shape(shared_memory=False), [(3, SlowLinks("2mbit", 30))]),
    "disk-full": Scenario("the disk of checkpoints has no room", Shape(checkpoint_seconds=3), [(6, FullDisk(10)), (6, FullDisk(3))]),
    "hibernated": Scenario("all processes are stopped for 10 minutes", Shape(items=20_000), [(3, PauseAll(600))], long=True),
    "operator-away-10-minutes": Scenario("the operator is away for 10 minutes, then a server is lost, then the operator comes back",
                                         Shape(items=270_000), [(3, OperatorAway(600, 5, Kill(coordinator=True)))], long=True),
}
