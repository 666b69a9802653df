"""Checks of the cluster tier: jobs that wait in queues of Kueue, its own controller and CRDs installed from its Go module."""
import json

from tier_cluster import HERE, command, expect, get, kubectl, say, wait_until
from tier_checkpoints import CLAIM, make_models_claim
from tier_job import Job

QUOTA = {"cpu": "1", "memory": "8Gi"}


def register(check, namespace):
    first, second = Job("queued", namespace), Job("next", namespace)
    third = Job("third", namespace)

    def apply(*objects):
        for each in objects:
            kubectl("apply", "-f", "-", text_in=json.dumps({"apiVersion": "kueue.x-k8s.io/v1beta2", **each}))

    def queue_with(quota, node_labels):
        resources = [{"name": name, "nominalQuota": amount} for name, amount in quota.items()]
        apply({"kind": "ResourceFlavor", "metadata": {"name": "tier"}, "spec": {"nodeLabels": node_labels}},
              {"kind": "ClusterQueue", "metadata": {"name": "tier"},
               "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": list(quota), "flavors": [{"name": "tier", "resources": resources}]}]}},
              {"kind": "LocalQueue", "metadata": {"name": "research", "namespace": namespace}, "spec": {"clusterQueue": "tier"}})

    def run_queued(job, run, millicores, workers=2, **more):
        template = job.example()["spec"]["workers"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{millicores}m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}
        server = {"spec": {"containers": [{"name": "server", "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}}}]}}
        job.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 300}, "servers": {"replicas": 1, "template": server},
                            "workers": {"replicas": workers, "template": template}, "model": {"claim": CLAIM}, **more},
                labels={"kueue.x-k8s.io/queue-name": "research"})

    def workload(job):
        found = [w for w in (get("workloads.kueue.x-k8s.io", "-n", namespace) or {"items": []})["items"] if w["metadata"]["name"].startswith(f"trainingjob-{job.name}-")]
        return found[0] if found else {}

    def said(job, kind):
        """By Kueue, or to it."""
        found = next((c for c in workload(job).get("status", {}).get("conditions", []) if c["type"] == kind), {})
        return found.get("status"), found.get("message", "")

    def pods(job):
        return (get("pods", "-n", namespace, "-l", f"attune.dev/job={job.name}") or {"items": []})["items"]

    def is_queued(job):
        reason = next((c for c in job.status().get("conditions", []) if c["type"] == "Suspended"), {})
        return reason.get("status") == "True" and reason.get("reason") == "Queued", reason.get("message", "")

    @check("Kueue admits a job into its quota; a second one waits in its own words, and takes its turn", needs=["install"], long=lambda run: None)
    def queue_admits(run):
        command(HERE / "build", "kueue", timeout=1800)
        command(HERE / "kueue-up", timeout=240)
        make_models_claim(namespace)
        kubectl("label", "nodes", "--all", "pool=tier", "--overwrite")
        wait_until("Kueue's webhooks", 60, lambda: (not_refused(lambda: queue_with(QUOTA, {"pool": "tier"})), ""))
        run_queued(first, run, 300, tuning={"mode": "Auto", "paused": True, "servers": {"max": 1}, "workers": {"max": 3}})
        first.await_("it is admitted and trains", 90, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > 0)
        expect(said(first, "Admitted")[0] == "True", f"it trains and is not admitted: {workload(first)}")
        wait_until("pods are ready, and Kueue knows", 60, lambda: (said(first, "PodsReady")[0] == "True", said(first, "PodsReady")[1]))
        expect(all(p["spec"].get("nodeSelector", {}).get("pool") == "tier" for p in pods(first)), "its pods may run on machines of no flavor")
        run_queued(second, run, 300)
        _, message = wait_until("the second one waits", 60, lambda: (is_queued(second)[0] and "insufficient" in is_queued(second)[1] and is_queued(second), is_queued(second)[1]))
        say(f"    {message}")
        expect(not pods(second), "it has pods without a place")

    @check("scaled within its place while it trains; its place is taken back and given to the next; it continues from its checkpoint", needs=["queue_admits"], long=lambda run: None)
    def queue_evicts(run):
        before = workload(first)["metadata"]["uid"]
        first.patch({"workers": {"replicas": 3}})  # 3 x 310m and 60m, as tuning may choose
        first.await_("three workers", 60, lambda state: (state.get("workers") or {}).get("ready") == 3)
        expect(workload(first)["metadata"]["uid"] == before, "it asked for another place")
        first.trains_on()
        done = (first.status().get("progress") or {}).get("itemsDone", 0)
        kubectl("patch", "workload", workload(first)["metadata"]["name"], "-n", namespace, "--type=merge", "-p", '{"spec":{"active":false}}')
        wait_until("it has given its pods back", 90, lambda: (not pods(first) and is_queued(first)[0], first.text()))
        record = first.status()["suspension"]
        expect(record.get("directory"), f"it went without a checkpoint: {record}")
        wait_until("its quota is free", 30, lambda: (said(first, "QuotaReserved")[0] == "False", said(first, "QuotaReserved")[1]))
        second.await_("the next one trains", 90, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > 0)
        kubectl("patch", "workload", workload(first)["metadata"]["name"], "-n", namespace, "--type=merge", "-p", '{"spec":{"active":true}}')
        second.delete()
        first.await_("another attempt", 120, lambda state: state["suspension"].get("attempt") == 1)
        expect((first.status().get("progress") or {}).get("itemsDone", 0) >= done, "it has begun again")
        first.trains_on()

    @check("a job that has ended leaves its quota to others, and Kueue uninstalled stops none that trains", needs=["queue_evicts"], long=lambda run: None)
    def queue_ends(run):
        first.patch({"runPolicy": {"activeDeadlineSeconds": 1}})
        wait_until("its end", 60, lambda: (first.status().get("phase") == "Failed", first.text()))
        wait_until("Kueue knows", 30, lambda: (said(first, "Finished")[0] == "True", said(first, "Finished")[1]))
        first.delete()
        run_queued(third, run, 100, workers=1)
        third.await_("another one trains in its place", 90, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > 0)
        command(HERE / "kueue-up", "down", timeout=120)
        third.trains_on()
        third.delete()

    def not_refused(act):
        try:
            act()
            return True
        except Exception as refusal:
            say(f"    {str(refusal)[-200:]}")
            return False
