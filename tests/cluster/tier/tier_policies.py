"""Checks of the cluster tier: a platform team says by policies what tuning may do, and edits them under running jobs."""
import json

from tier_cluster import expect, get, items, kubectl, say, wait_until
from tier_job import Job

BOUNDED = "bounded"
PODS = 4  # of the job and its room: with the sidecars' 10m each below 500m


def register(check, namespace):
    bounded = Job(BOUNDED, namespace)

    def apply(kind, name, spec):
        metadata = {"name": name} if kind == "ClusterTuningPolicy" else {"name": name, "namespace": namespace}
        kubectl("apply", "-f", "-", text_in=json.dumps({"apiVersion": "attune.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}))

    def requested_by_others():
        """Millicores of all pods of other jobs of the namespace; amounts are whole cores or millicores."""
        def millicores(text):
            return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)
        others = [p for p in items("pods", "-n", namespace) if p["metadata"].get("labels", {}).get("attune.dev/job") != BOUNDED]
        containers = [c for p in others for c in p["spec"]["containers"] + p["spec"].get("initContainers", [])]
        return sum(millicores(c.get("resources", {}).get("requests", {}).get("cpu", "0")) for c in containers)

    def in_force():
        return bounded.training().get("policy") or {}

    @check("a policy with a typo is refused, and kubectl explain teaches its fields", needs=["install"])
    def policy_kinds(run):
        text = kubectl("explain", "ctp.spec.limits")
        expect("trialsPerHour" in text, f"kubectl explain says: {text[:400]}")
        try:
            apply("TuningPolicy", "typo", {"mode": {"allowed": ["Sometimes"]}})
        except Exception as refusal:
            expect("Sometimes" in str(refusal), f"the message does not name it: {refusal}")
            return
        raise AssertionError("mode Sometimes was accepted")

    @check("policies hold a running job to a mode, to bounds and to the cpu of its namespace, and are edited while it trains", needs=["policy_kinds"])
    def policies_in_force(run):
        apply("ClusterTuningPolicy", "watch-first", {"mode": {"allowed": ["Recommend"]}})
        template = bounded.example()["spec"]["workers"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}
        bounded.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 400}, "servers": {"replicas": 1},
                                "workers": {"replicas": 1, "template": template},
                                "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"max": 3}, "workers": {"max": 6}}})
        bounded.await_("the policy in its status", 60, lambda state: (state.get("policy") or {}).get("mode") == "Recommend")
        bounded.await_("a recommendation", 120, lambda state: "recommends" in (state.get("tuning") or {}).get("message", ""))
        spec = bounded.spec()
        expect((spec["servers"]["replicas"], spec["workers"]["replicas"]) == (1, 1), f"something was changed under Recommend: {spec}")
        wait_until("the policy counts its job", 30, lambda: ((get("clustertuningpolicy", "watch-first") or {}).get("status") or {}).get("jobs"))
        # Beside what other jobs of the namespace request four pods of 110m fit.
        others = requested_by_others()
        apply("TuningPolicy", "small", {"resources": {"perNamespace": {"cpu": f"{others + PODS * 110 + 10}m"}}, "limits": {"concurrentChangesPerNamespace": 1}})
        apply("ClusterTuningPolicy", "watch-first", {"mode": {"allowed": ["Auto"]}})
        bounded.await_("mode Auto", 10, lambda state: (state.get("policy") or {}).get("mode") == "Auto")
        seen = set()

        def changed(state):
            now = bounded.spec()
            seen.add((now["servers"]["replicas"], now["workers"]["replicas"]))
            return len(seen) > 1
        bounded.await_("another setting", 120, changed)
        if requested_by_others() == others:
            expect(all(s + w <= PODS for s, w in seen), f"more than the namespace may request: {seen}")
        apply("TuningPolicy", "small", {"knobs": {"workers": {"max": 1}}, "onViolation": "ShrinkNow"})
        bounded.await_("one worker", 30, lambda state: bounded.spec()["workers"]["replicas"] == 1)
        apply("ClusterTuningPolicy", "watch-first", {"knobs": {"workers": {"min": 3}}})
        bounded.await_("a conflict that names both", 30, lambda state: all(n in (state.get("policy") or {}).get("conflict", "") for n in ("watch-first", "small")))
        wait_until("the policy's conflict", 30, lambda: ((get("tuningpolicy", "small", "-n", namespace) or {}).get("status") or {}).get("conflicts"))
        say(f"    {in_force().get('conflict')}")
        say("    " + kubectl("get", "tp,ctp", "-n", namespace).strip().replace("\n", "\n    "))
        kubectl("delete", "ctp", "watch-first")
        kubectl("delete", "tp", "small", "-n", namespace)
        bounded.await_("no policy", 10, lambda state: not state.get("policy"))
        bounded.trains_on()
        bounded.delete()
