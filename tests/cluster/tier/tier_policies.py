"""Checks of the cluster tier: a platform team says by policies what tuning may do, and edits them under running jobs."""
import json

from tier_cluster import ROOT, CheckFailed, expect, get, items, kubectl, say, wait_until
from tier_job import Job

ROOM_MILLICORES = 450  # of the namespace: four pods of 100m with their sidecars' 10m each


def working_hours(job, build):
    """What docs/policies.md begins with, in a namespace whose operator has no right beyond it: no scaling in certain hours, the tuner obeys, the
    reason is read, and the policy is edited while the job trains."""
    def policy(windows):
        kubectl("apply", "-n", job.namespace, "-f", "-", text_in=json.dumps({
            "apiVersion": "attune.dev/v1alpha1", "kind": "TuningPolicy", "metadata": {"name": "working-hours"},
            "spec": {"mode": {"allowed": ["Recommend", "Auto"]}, "windows": windows}}))

    def mode():
        return (job.training().get("policy") or {}).get("mode", "none yet")
    policy([{"schedule": "* 00:00-24:00 Europe/Berlin", "mode": "Recommend"}])  # hours that it is now, whenever this runs
    job.patch({"tuning": {"mode": "Auto", "windowSeconds": 2, "workers": {"max": 3}, "servers": {"max": 2}}})
    wait_until("the window in force", 10, lambda: (mode() == "Recommend", mode()))
    before = job.spec()
    job.await_("a recommendation", 120, lambda state: "recommends" in (state.get("tuning") or {}).get("message", ""))
    after = job.spec()
    expect([after[role]["replicas"] for role in ("servers", "workers")] == [before[role]["replicas"] for role in ("servers", "workers")], "it was scaled in working hours")
    why = job.attune(build, "policy", "explain", job.name)
    for line in why.splitlines()[:5]:
        say(f"    {line}")
    expect("tuning Recommend by TuningPolicy" in why and "00:00-24:00 Europe/Berlin" in why, f"attune policy explain says:\n{why}")
    policy([])
    wait_until("the edited policy in force", 10, lambda: (mode() == "Auto", mode()))
    job.await_("a change by the tuner", 120, lambda state: [job.spec()[role]["replicas"] for role in ("servers", "workers")] != [before[role]["replicas"] for role in ("servers", "workers")])


def register(check, namespace):
    # Its namespace is its own: what other jobs request, and when they end, is no matter of what is checked here.
    bounded = Job("bounded", namespace)

    def apply(kind, name, spec):
        metadata = {"name": name} if kind == "ClusterTuningPolicy" else {"name": name, "namespace": namespace}
        kubectl("apply", "-f", "-", text_in=json.dumps({"apiVersion": "attune.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}))

    def requested():
        """Millicores that the pods request which the job's spec asks for; amounts are whole cores or millicores."""
        def millicores(text):
            return int(text[:-1]) if text.endswith("m") else int(float(text) * 1000)

        def pod(role):
            found = get("pod", f"{bounded.name}-{role}-0", "-n", namespace)["spec"]
            return sum(millicores(c.get("resources", {}).get("requests", {}).get("cpu", "0")) for c in found["containers"] + found.get("initContainers", []))
        now = bounded.spec()
        return now["servers"]["replicas"] * pod("server") + now["workers"]["replicas"] * pod("worker")

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

    @check("the admission policy of docs/examples refuses manifests by its rules", needs=["install"])
    def admission(run):
        sample = ROOT / "docs" / "examples" / "admission.yaml"
        kubectl("label", "namespace", namespace, "attune.dev/bounded=true", "--overwrite")
        kubectl("apply", "-f", sample)

        def refusal(change):
            manifest = bounded.example()
            for part, value in change.items():
                manifest["spec"].setdefault(part, {}).update(value)
            try:
                kubectl("apply", "-n", namespace, "--dry-run=server", "-f", "-", text_in=json.dumps(manifest))
            except CheckFailed as problem:
                return str(problem)
            return ""
        limited = bounded.example()["spec"]["workers"]["template"]
        for container in limited["spec"]["containers"]:
            container.setdefault("resources", {}).setdefault("limits", {})["memory"] = "1Gi"
        fine = {"runPolicy": {"activeDeadlineSeconds": 600}, "workers": {"template": limited}}
        # It takes the API server a moment to enforce a new one.
        wait_until("the policy", 60, lambda: ("jobs here end" in refusal({"workers": {"template": limited}}), "not enforced"))
        expect("at most 32" in refusal({**fine, "workers": {"template": limited, "replicas": 40}}), "40 workers were accepted")
        expect(refusal(fine) == "", f"refused: {refusal(fine)}")
        kubectl("delete", "-f", sample)
        kubectl("label", "namespace", namespace, "attune.dev/bounded-")

    @check("policies hold a running job to a mode, to bounds and to the cpu of its namespace, and are edited while it trains", needs=["policy_kinds"])
    def policies_in_force(run):
        selector = {"namespaces": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
        apply("ClusterTuningPolicy", "watch-first", {"selector": selector, "mode": {"allowed": ["Recommend"]}})
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
        apply("TuningPolicy", "small", {"resources": {"perNamespace": {"cpu": f"{ROOM_MILLICORES}m"}}, "limits": {"concurrentChangesPerNamespace": 1}})
        # Both kinds are watched apart: the bound is in force before anything may change.
        bounded.await_("both policies", 10, lambda state: "small" in (state.get("policy") or {}).get("policies", ""))
        apply("ClusterTuningPolicy", "watch-first", {"selector": selector, "mode": {"allowed": ["Auto"]}})
        bounded.await_("mode Auto", 10, lambda state: (state.get("policy") or {}).get("mode") == "Auto")
        seen = set()

        def changed(state):
            now = bounded.spec()
            seen.add((now["servers"]["replicas"], now["workers"]["replicas"]))
            expect(requested() <= ROOM_MILLICORES, f"more than the namespace may request: {seen}")
            return len(seen) > 1
        bounded.await_("another setting", 120, changed)
        apply("TuningPolicy", "small", {"knobs": {"workers": {"max": 1}}, "onViolation": "ShrinkNow"})
        bounded.await_("one worker", 30, lambda state: bounded.spec()["workers"]["replicas"] == 1)
        apply("ClusterTuningPolicy", "watch-first", {"selector": selector, "knobs": {"workers": {"min": 3}}})
        bounded.await_("a conflict that names both", 30, lambda state: all(n in (state.get("policy") or {}).get("conflict", "") for n in ("watch-first", "small")))
        wait_until("the policy's conflict", 30, lambda: ((get("tuningpolicy", "small", "-n", namespace) or {}).get("status") or {}).get("conflicts"))
        say(f"    {in_force().get('conflict')}")
        say("    " + kubectl("get", "tp,ctp", "-n", namespace).strip().replace("\n", "\n    "))
        kubectl("delete", "ctp", "watch-first")
        kubectl("delete", "tp", "small", "-n", namespace)
        bounded.await_("no policy", 10, lambda state: not state.get("policy"))
        bounded.trains_on()
        bounded.delete()
