"""Checks of the cluster tier: a pod of a running job is given another machine."""
import json

from tier_cluster import LeftOut, expect, get, items
from tier_job import Job

MOVED = "moved"


def nodes():
    """Machines that take pods and run some (kwok's do not)."""
    found = items("nodes")
    return [n["metadata"]["name"] for n in found if not n["spec"].get("unschedulable") and not n["spec"].get("taints")
            and any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"]["conditions"])
            and "kwok.x-k8s.io/node" not in n["metadata"].get("annotations", {})]


def register(check, namespace):
    moved = Job(MOVED, namespace)

    def pod(name):
        return get("pod", name, "-n", namespace) or {}

    @check("a worker is moved to another machine while it trains, and nothing else restarts", needs=["install"])
    def move_worker(run):
        machines = nodes()
        if len(machines) < 2:
            raise LeftOut(f"the cluster has one machine that takes pods: {machines}")
        moved.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 45}, "servers": {"replicas": 1}, "workers": {"replicas": 2}})
        moved.await_("two workers", 60, lambda state: (state.get("workers") or {}).get("ready") == 2)
        moved.trains_on()
        worker = f"{MOVED}-worker-0"
        others = {name: moved.uid(name) for name in (f"{MOVED}-worker-1", f"{MOVED}-server-0")}
        came_from = pod(worker)["spec"]["nodeName"]
        target = next(name for name in machines if name != came_from)
        said = moved.attune(run.build, "move", MOVED, "worker-0", "--to", target)
        expect(f"{worker} moved from {came_from} to {target}" in said, f"attune move says: {said}")
        successor = moved.status()["move"]["message"].split(" as ")[1].split(" ")[0]
        expect(pod(successor)["spec"]["nodeName"] == target, f"{successor} runs on {pod(successor)['spec']['nodeName']}")
        expect(not pod(worker), f"{worker} is still there")
        now = {name: moved.uid(name) for name in others}
        expect(now == others, f"others were made again: {others} -> {now}")
        expect("PodMoved" in moved.reasons(), "no Event says that it moved")
        expect((moved.status().get("workers") or {}).get("failed", 0) == 0, json.dumps(moved.status().get("workers")))
        moved.trains_on()

    @check("after it the job succeeds, and no item was done twice", needs=["move_worker"])
    def move_success(run):
        moved.await_success(120)
        progress = moved.status().get("progress") or {}
        expect(not progress.get("reprocessedItems"), f"items were repeated: {json.dumps(progress)}")
        moved.delete()
