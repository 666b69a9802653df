"""Checks of the cluster tier: a pod of a running job is given another machine, on request and because the job needs it."""
import json

from tier_cluster import HERE, LeftOut, command, expect, get, items, kubectl, say
from tier_job import Job

MOVED, APART, SLOWED = "moved", "apart", "slowed"
SLOW_LINK = "20mbit"  # far less than the job would send


def nodes():
    """Machines that take pods and run some (kwok's do not)."""
    found = items("nodes")
    return [n["metadata"]["name"] for n in found if not n["spec"].get("unschedulable") and not n["spec"].get("taints")
            and any(c["type"] == "Ready" and c["status"] == "True" for c in n["status"]["conditions"])
            and "kwok.x-k8s.io/node" not in n["metadata"].get("annotations", {})]


def prefer(template, node):
    """Where its pods are made, if there is room: as a template may say it, and less than a move asks for."""
    term = {"weight": 100, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}}
    template["spec"].setdefault("affinity", {})["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    return template


def server_template():
    return {"spec": {"containers": [{"name": "server", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}}


def apart_if_possible(template, job):
    """One worker on each machine where there is room, as a template may say it."""
    template["spec"]["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                                                      "labelSelector": {"matchLabels": {"attune.dev/job": job, "attune.dev/role": "worker"}}}]
    return template


def burner(name, namespace, node):
    """Uses all the CPU that this machine gives it, and is given most of it."""
    container = {"name": "burner", "image": "attune.local/pause:1", "imagePullPolicy": "Never", "command": ["/burn"],
                 "resources": {"requests": {"cpu": "1500m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
                 "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "restartPolicy": "Never", "containers": [container],
                     "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}}}


def register(check, namespace):
    moved, apart, slowed = Job(MOVED, namespace), Job(APART, namespace), Job(SLOWED, namespace)

    def pod(name):
        return get("pod", name, "-n", namespace) or {}

    @check("a worker is moved to another machine while it trains, and nothing else restarts", needs=["install"])
    def move_worker(run):
        machines = nodes()
        if len(machines) < 2:
            raise LeftOut(f"the cluster has one machine that takes pods: {machines}")
        moved.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 100}, "servers": {"replicas": 1}, "workers": {"replicas": 2}})
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

    @check("the only server is moved, too: one more holds its rows meanwhile, and leaves", needs=["move_worker"])
    def move_only_server(run):
        server, more = f"{MOVED}-server-0", f"{MOVED}-server-1"
        came_from = pod(server)["spec"]["nodeName"]
        said = moved.attune(run.build, "move", MOVED, "server-0")
        expect(f"{server} moved from {came_from} to " in said, f"attune move says: {said}")
        expect(pod(server)["spec"]["nodeName"] != came_from, f"{server} runs on {came_from} again")
        moved.await_(f"{more} to leave", 30, lambda state: not pod(more) and (state.get("servers") or {}).get("ready") == 1)
        state = moved.status()
        expect(not (state.get("servers") or {}).get("failed") and not (state.get("recovery") or {}).get("count"),
               f"rows were lost: {json.dumps(state.get('servers'))} {json.dumps(state.get('recovery'))}")
        moved.trains_on()

    @check("after it the job succeeds, and no item was done twice", needs=["move_worker", "move_only_server"], long=lambda run: moved.delete())
    def move_success(run):
        moved.await_success(120)
        progress = moved.status().get("progress") or {}
        expect(not progress.get("reprocessedItems"), f"items were repeated: {json.dumps(progress)}")
        moved.delete()

    def nodes_of(job, role):
        found = items("pods", "-n", namespace, "-l", f"attune.dev/job={job.name},attune.dev/role={role}")
        return sorted(p["spec"].get("nodeName", "?") for p in found if "deletionTimestamp" not in p["metadata"])

    def rate(job):
        return (job.status().get("progress") or {}).get("rate") or 0

    @check("servers behind a slow link are moved to the workers' machine by the tuner, and training is faster", needs=["install"])
    def servers_follow(run):
        machines = nodes()
        if len(machines) < 2:
            raise LeftOut(f"the cluster has one machine that takes pods: {machines}")
        far, near = machines[0], machines[1]
        command(HERE / "shape", far.rsplit("-", 1)[-1].removeprefix("node"), SLOW_LINK)
        try:
            apart.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 240},
                                  "servers": {"replicas": 2, "template": prefer(server_template(), far)},
                                  "workers": {"replicas": 2, "template": prefer(apart.example()["spec"]["workers"]["template"], near)},
                                  "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"pinned": 2}, "workers": {"pinned": 2},
                                             "findings": {"straggler": "Report"}}})
            apart.await_("training", 90, lambda state: rate(apart) > 0)
            expect(nodes_of(apart, "server") == [far, far] and nodes_of(apart, "worker") == [near, near],
                   f"servers on {nodes_of(apart, 'server')}, workers on {nodes_of(apart, 'worker')}")
            apart.await_("a finding that is acted on", 60, lambda state: "FindingActedOn" in apart.reasons())
            slow = rate(apart)
            apart.await_("servers beside the workers", 120, lambda state: nodes_of(apart, "server") == [near, near])
            apart.await_("twice the rate", 60, lambda state: rate(apart) > 2 * slow)
            say(f"    {slow:.0f} -> {rate(apart):.0f} samples a second; workers on {nodes_of(apart, 'worker')}")
            expect("PodMoved" in apart.reasons(), "no Event says that a server moved")
        finally:
            command(HERE / "shape", far.rsplit("-", 1)[-1].removeprefix("node"), "off")

    @check("what the spec asks of placement is carried out on running pods, one at a time", needs=["servers_follow"])
    def pods_are_spread(run):
        said = apart.attune(run.build, "spread", APART, "--only", "workers")
        expect("workers Any -> Spread" in said, f"attune spread says: {said}")
        apart.await_("workers on two machines", 90, lambda state: len(set(nodes_of(apart, "worker"))) == 2)
        apart.attune(run.build, "pack", APART)
        apart.await_("all pods on one machine", 120, lambda state: len(set(nodes_of(apart, "worker") + nodes_of(apart, "server"))) == 1)
        apart.trains_on()
        apart.delete()

    @check("a worker on a machine that is busy with something else is moved to another one by the tuner", needs=["install"])
    def straggler_moves(run):
        machines = nodes()
        if len(machines) < 2:
            raise LeftOut(f"the cluster has one machine that takes pods: {machines}")
        template = apart_if_possible(slowed.example()["spec"]["workers"]["template"], SLOWED)
        slowed.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 240},
                               "servers": {"replicas": 1},
                               "workers": {"replicas": 3, "template": template},
                               "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"pinned": 1}, "workers": {"pinned": 3}}})
        slowed.await_("training", 90, lambda state: rate(slowed) > 0)
        on = nodes_of(slowed, "worker")
        alone = min(set(on), key=on.count)
        expect(on.count(alone) == 1 and len(on) == 3, f"workers run on {on}")
        victim = next(p["metadata"]["name"] for p in items("pods", "-n", namespace, "-l", f"attune.dev/job={SLOWED},attune.dev/role=worker")
                      if p["spec"].get("nodeName") == alone)
        kubectl("create", "-f", "-", text_in=json.dumps(burner("burner", namespace, alone)))
        try:
            slowed.await_("a finding that is acted on", 120, lambda state: "FindingActedOn" in slowed.reasons())
            slowed.await_("the move", 60, lambda state: (state.get("move") or {}).get("state") == "Moved")
            move = slowed.status()["move"]
            expect(move["pod"] == victim and move["from"] == alone and move["to"] != alone, json.dumps(move))
            say(f"    {move['message']}")
            slowed.trains_on()
        finally:
            kubectl("delete", "pod", "burner", "-n", namespace, "--ignore-not-found", "--wait=false")
        slowed.delete()
