"""Checks of the cluster tier: what administrators and admission do to a job that trains, without asking it."""
import json

from tier_cluster import await_kinds, expect, get, inside, items, kubectl, wait_until
from tier_job import Job

LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "defaults"},
          "spec": {"limits": [{"type": "Container", "default": {"cpu": "1", "memory": "512Mi"}, "defaultRequest": {"cpu": "50m", "memory": "64Mi"}, "max": {"memory": "2Gi"}}]}}


def register(check, system, namespace):
    rough = Job("rough", namespace)

    def start(run):
        rough.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 300}, "servers": {"replicas": 1}, "workers": {"replicas": 1}, "runPolicy": {"drainSeconds": 5}})
        rough.trains_on()

    @check("pods that admission has changed train; kubectl replace of their job changes what it says and nothing else", needs=["install"])
    def admission_changes_pods(run):
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(LIMITS))
        start(run)
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

    def operators():
        """How often each operator was started, by the uid of its pod."""
        return {pod["metadata"]["uid"]: sum(c["restartCount"] for c in pod["status"].get("containerStatuses", []))
                for pod in items("pods", "-n", system, "-l", "app.kubernetes.io/component=operator")}

    @check("the kind is removed under a job that trains: all of the job ends; when it is back the same operators train jobs of it",
           needs=["admission_changes_pods"], long=lambda run: None)
    def kind_removed(run):
        before = operators()
        expect(before, "no pod of the operator was found")
        kubectl("delete", "crd", "trainingjobs.attune.dev", "--wait=false")

        def left():
            kind = get("crd", "trainingjobs.attune.dev")
            pods = [p["metadata"]["name"] for p in items("pods", "-n", namespace)]
            return not kind and not pods, f"{'the kind' if kind else 'not the kind'}, {', '.join(pods) or 'no pods'}"
        wait_until("the end of the kind and of the job's pods", 90, left)
        inside("helm", "upgrade", "attune", "charts/attune", "-n", system, "--reuse-values", timeout=60)
        await_kinds("trainingjobs.attune.dev")
        start(run)
        expect(operators() == before, f"operators were started again: {before} -> {operators()}")

    @check("a namespace that is deleted with a job that trains is gone within its pods' grace", needs=["admission_changes_pods"])
    def namespace_deleted(run):
        kubectl("delete", "namespace", namespace, "--wait=false")
        wait_until("the end of the namespace", 90, lambda: (not get("namespace", namespace), ", ".join(p["metadata"]["name"] for p in items("pods", "-n", namespace))))
