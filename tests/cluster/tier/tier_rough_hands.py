"""Checks of the cluster tier: what administrators and admission do to a job that trains, without asking it."""
import json

from tier_cluster import expect, get, items, kubectl, wait_until
from tier_job import Job

LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"},
          "spec": {"limits": [{"type": "Container", "default": {"cpu": "1", "memory": "512Mi"}, "defaultRequest": {"cpu": "50m", "memory": "64Mi"}, "max": {"memory": "2Gi"}}]}}


def register(check, namespace):
    rough = Job("rough", namespace)

    @check("pods that admission has changed train; kubectl replace of their job changes what it says and nothing else", needs=["install"])
    def admission_changes_pods(run):
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(LIMITS))
        rough.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 300}, "servers": {"replicas": 1}, "workers": {"replicas": 1}, "runPolicy": {"drainSeconds": 5}})
        rough.trains_on()
        worker = get("pod", "rough-worker-0", "-n", namespace)["spec"]["containers"][0]
        expect(worker["resources"].get("limits", {}).get("memory"), f"the LimitRange has set nothing: {worker['resources']}")
        uids = {p["metadata"]["name"]: p["metadata"]["uid"] for p in items("pods", "-n", namespace, "-l", "attune.dev/job=rough")}
        manifest = rough.example()
        manifest["metadata"]["name"] = rough.name
        manifest["spec"].update({key: value for key, value in rough.spec().items() if key in ("goal", "servers", "runPolicy")})
        manifest["spec"]["workers"]["replicas"] = 2
        kubectl("replace", "-n", namespace, "-f", "-", text_in=json.dumps(manifest))
        rough.await_("two workers", 60, lambda state: (state.get("workers") or {}).get("ready") == 2)
        rough.trains_on()
        now = {p["metadata"]["name"]: p["metadata"]["uid"] for p in items("pods", "-n", namespace, "-l", "attune.dev/job=rough")}
        expect(all(now.get(name) == uid for name, uid in uids.items()), f"pods were made again: {uids} -> {now}")

    @check("a namespace that is deleted with a job that trains is gone within its pods' grace", needs=["admission_changes_pods"])
    def namespace_deleted(run):
        kubectl("delete", "namespace", namespace, "--wait=false")
        wait_until("the end of the namespace", 90, lambda: (not get("namespace", namespace), ", ".join(p["metadata"]["name"] for p in items("pods", "-n", namespace))))
