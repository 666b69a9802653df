"""Checks of the cluster tier with lost machines: a counting job of bench/soak on three nodes, whose sums must be exact afterwards. Each is a
scenario of bench/chaos --cluster; the others are run by `make chaos-cluster`."""
import sys
import tempfile

from tier_cluster import ROOT, LeftOut, expect, items

sys.path += [str(ROOT / "bench"), str(ROOT / "bench" / "soak")]
import cluster_job
import cluster_scenarios
from rounds import Round

NODES = 3
SCENARIOS = {"node-down-coordinator": "the coordinator's machine is lost; training continues, all pods come back on the others, the sums are exact",
             "cut-server": "another server's machine is cut off for a minute and healed; no split, the sums are exact"}
LONG = {"drain": "a server's machine is drained with kubectl; its rows are elsewhere before it is let go, the sums are exact",
        "api-server-stopped": "the API server is stopped for a minute; the job trains on, the sums are exact"}


def register(check, system, team):
    cluster_job.ClusterJob.system, cluster_job.ClusterJob.team = system, team

    def add(name, title):
        def run_scenario(run):
            if len(items("nodes")) < NODES:
                raise LeftOut(f"the cluster that is up has {len(items('nodes'))} nodes, and {NODES} are needed; tests/cluster/down ends it")
            chosen = cluster_scenarios.SCENARIOS[name]
            one = Round(name, chosen.shape, chosen.faults, make_job=cluster_job.ClusterJob)
            with tempfile.TemporaryDirectory(prefix="attune-tier-") as directory:
                one.run(run.build / "bin", directory)
            one.report()
            expect(one.measures, "no fault was carried out")
            expect(not one.violations, "; ".join(one.violations))
        run_scenario.__name__ = name.replace("-", "_")
        check(title, needs=["install"], long=(lambda run: None) if name in LONG else None)(run_scenario)
    for name, title in (SCENARIOS | LONG).items():
        add(name, title)
