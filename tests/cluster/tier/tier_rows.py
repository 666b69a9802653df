"""Check of the cluster tier: a job announces its rows (docs/examples/ahead.cpp) and says what happens to one of them, while it loses a worker, a
machine is cut off, its servers change and a checkpoint is written; its sum says that nothing was lost."""
import json
import re
import shutil
import time

from tier_checkpoints import CLAIM, make_models_claim
from tier_cluster import HERE, STATE, LeftOut, command, expect, get, kubectl, say
from tier_job import Job
from tier_moves import apart_if_possible, nodes, server_template

NAME = "announced"
PROGRAM = "attune_shown_ahead"
NUMBERS, EPOCHS = 40_000_000, 6
NUMBERS_PER_ITEM = 100  # kBatch of the example
CUT_SECONDS = 10


def manifest():
    # The image has the libraries, the claim the program.
    worker = {"name": "worker", "image": "attune/word2vec:dev", "command": [f"/var/lib/attune/model/{PROGRAM}"], "args": [str(NUMBERS)],
              "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": NAME},
            "spec": {"rowManagement": "Always", "goal": {"epochs": EPOCHS}, "model": {"claim": CLAIM}, "checkpoint": {"intervalSeconds": 15},
                     "servers": {"replicas": 2, "max": 3, "backups": 1, "template": server_template()},
                     "workers": {"replicas": 2, "template": apart_if_possible({"spec": {"containers": [worker]}}, NAME)}}}


def register(check, namespace):
    job = Job(NAME, namespace)

    def near(state):
        rows = state.get("rows") or {}
        return rows.get("fetched", 0) + rows.get("replicated", 0)

    def cut_off():
        """The machine of a worker, and not that of the coordinator."""
        def machine(pod):
            return (get("pod", pod, "-n", namespace) or {}).get("spec", {}).get("nodeName")
        coordinator = machine(job.training()["coordinator"])
        node = next((n for n in (machine(f"{NAME}-worker-0"), machine(f"{NAME}-worker-1")) if n and n != coordinator), None)
        expect(node, "both workers are on the coordinator's machine")
        number = node.removeprefix("node")
        command(HERE / "cut", number)
        time.sleep(CUT_SECONDS)
        command(HERE / "cut", number, "heal")
        say(f"    {node} was cut off for {CUT_SECONDS} s")

    def one_row(run):
        """Every process of the job says what happens to it, and both workers use it."""
        said = json.loads(job.attune(run.build, "explain", NAME, "--row", "counts:17", "--seconds", "3", "-o", "json"))
        pods = {pod["pod"]: pod for pod in said["pods"]}
        expect(sorted(pods) == [f"{NAME}-{role}-{index}" for role in ("server", "worker") for index in (0, 1)], f"others answered: {said}")
        for index in (0, 1):
            expect(any("read by the program" in event for event in pods[f"{NAME}-worker-{index}"]["events"]), f"worker {index} did not read it: {said}")
        say("    " + "; ".join(f"{name}: {len(pod['events'])} events" for name, pod in sorted(pods.items())))

    def scale(servers):
        job.patch({"servers": {"replicas": servers}})
        job.await_(f"{servers} servers", 60, lambda state: (state.get("servers") or {}).get("ready") == servers and
                   (state.get("servers") or {}).get("replicas") == servers)

    @check("a job that announces its rows loses a worker, a link and a server, and its sum fits", needs=["install"])
    def rows_announced(run):
        if len(nodes()) < 2:
            raise LeftOut("one machine is up, and two are needed")
        make_models_claim(namespace)
        shutil.copy(run.build / "tests" / PROGRAM, STATE / "models" / PROGRAM)
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(manifest()))
        job.await_("rows that are there when they are pulled", 90, lambda state: near(state) > 0.5)
        say("    " + " ".join(re.findall(r"^(?:Rows|Copies): .*$", job.attune(run.build, "describe", NAME), re.MULTILINE)))
        one_row(run)
        job.await_another(f"{NAME}-worker-1", job.kill(f"{NAME}-worker-1"))
        job.trains_on()
        cut_off()
        job.trains_on()
        scale(3)
        scale(2)
        job.await_("a checkpoint", 60, lambda state: (state.get("checkpoint") or {}).get("rows", 0) > 0)
        job.await_success(180)
        state = job.status()
        counted = state["result"]["metrics"]["counted"]
        again = NUMBERS_PER_ITEM * (state["progress"].get("reprocessedItems") or 0)
        expect(0 <= counted - NUMBERS * EPOCHS <= again, f"{counted:.0f} numbers were counted of {NUMBERS * EPOCHS}, and at most {again} of them again")
        say(f"    counted {counted - NUMBERS * EPOCHS:.0f} numbers twice, of {again} in items that were processed again")
        job.delete()
