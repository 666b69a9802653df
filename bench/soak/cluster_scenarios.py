"""Named faults of a cluster of three machines. The cluster tier runs four of them (tests/cluster/tier/tier_faults.py)."""
from cluster_faults import Drain, KillOperator, NodeCut, NodeDown, OperatorAwayThenNodeDown, Slow, StopDaemon
from local_job import Shape
from scenarios import Scenario


def counting(seconds, **more):
    """A job of about so long when nothing happens: longer than its faults, or its end would be measured."""
    shape = {"servers": 3, "workers": 3, "pause": 10, **more}
    return Shape(items=int(seconds * shape["workers"] * 1000 / (shape["pause"] + 5)), **shape)


SCENARIOS = {
    "node-down-coordinator": Scenario("the machine of the coordinator's server is lost", counting(110), [(3, NodeDown("coordinator"))]),
    "node-down-server": Scenario("the machine of another server is lost", counting(110), [(3, NodeDown("server"))]),
    "node-down-worker": Scenario("the machine of a worker is lost", counting(110), [(3, NodeDown("worker"))]),
    "node-down-operator": Scenario("the operator's machine is lost", counting(120), [(3, NodeDown("operator"))]),
    "node-down-coordinator-2": Scenario("2 servers; the machine of the coordinator's is lost", counting(110, servers=2), [(3, NodeDown("coordinator"))]),
    "node-down-coordinator-and-operator": Scenario("the operator is away and the coordinator's machine is lost", counting(120),
                                                   [(3, OperatorAwayThenNodeDown("coordinator", 40))]),
    "cut-coordinator": Scenario("the coordinator's machine is cut off for a minute and healed", counting(110), [(3, NodeCut("coordinator", 60))]),
    "cut-server": Scenario("another server's machine is cut off for a minute and healed", counting(110), [(3, NodeCut("server", 60))]),
    "cut-operator": Scenario("the operator's machine is cut off for a minute and healed", counting(110), [(3, NodeCut("operator", 60))]),
    "drain": Scenario("a server's machine is drained", counting(100), [(3, Drain("server"))]),
    "drain-coordinator": Scenario("the coordinator's machine is drained", counting(100), [(3, Drain("coordinator"))]),
    "api-server-stopped": Scenario("the API server does not answer", counting(90), [(3, StopDaemon("kube-apiserver", 60))]),
    "api-server-away-10-minutes": Scenario("the API server does not answer for 10 minutes", counting(1000), [(3, StopDaemon("kube-apiserver", 600))], long=True),
    "etcd-stopped": Scenario("etcd does not answer", counting(60), [(3, StopDaemon("etcd", 30))]),
    "operator-killed": Scenario("the operator's pod is gone at once", counting(30), [(3, KillOperator())]),
    "slow-node": Scenario("one machine has a slow link", counting(90), [(3, Slow("server", 20))]),
}
