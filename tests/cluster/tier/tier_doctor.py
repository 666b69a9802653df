"""Checks of the cluster tier: `attune doctor` names what is wrong with a cluster, and nothing when all is well."""
import json

from tier_cluster import ROOT, expect, get, inside, kubectl, say, wait_until

KIND = "clustertuningpolicies.attune.dev"


def examine(build):
    """The findings, and whether the exit code says that there is a problem."""
    context = kubectl("config", "current-context").strip()
    text = inside("sh", "-c", f"{build / 'bin' / 'attune'} doctor --context {context} -o json; echo $?", timeout=60)
    body, code = text.rstrip().rsplit("\n", 1)
    return json.loads(body)["findings"], code != "0"


def problems(findings):
    return {finding["subject"]: finding for finding in findings if finding["level"] == "problem"}


def register(check, system):
    def operator():
        return get("deployment", "attune", "-n", system)

    def rules():
        return get("clusterrole", "attune")["rules"]

    def set_rules(changed):
        kubectl("patch", "clusterrole", "attune", "--type=merge", "-p", json.dumps({"rules": changed}))

    @check("attune doctor finds no problem on a cluster where the chart was installed", needs=["install"])
    def doctor_healthy(run):
        findings, failed = examine(run.build)
        for finding in findings:
            say(f"    {finding['level']:8} {finding['subject']:20} {finding['seen']}")
        expect(not problems(findings) and not failed, f"problems: {problems(findings)}")
        seen = {finding["subject"]: finding["seen"] for finding in findings}
        expect("2 of 2 replicas ready" in seen["operator"] and "renewed" in seen["leader"], f"of the operator: {seen['operator']}; {seen['leader']}")
        expect("page answers" in seen["metrics"], f"of its metrics: {seen['metrics']}")

    @check("attune doctor names three planted faults: a kind that is missing, an operator scaled to 0, a right that was taken", needs=["install"])
    def doctor_faults(run):
        before, replicas = rules(), operator()["spec"]["replicas"]
        without = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb != "create"]} if "pods" in rule["resources"] else rule for rule in before]
        try:
            kubectl("delete", "crd", KIND, timeout=60)
            kubectl("scale", "deployment", "attune", "-n", system, "--replicas=0")
            set_rules(without)
            wait_until("the kind to be gone", 30, lambda: KIND.split(".")[0] not in kubectl("api-resources", "--api-group=attune.dev", "-o", "name"))
            found, failed = examine(run.build)
            named = problems(found)
            for finding in named.values():
                say(f"    {finding['subject']}: {finding['seen']}")
                say(f"        -> {finding['mend']}")
            expect(failed, "the exit code says that all is well")
            expect(set(named) == {"ClusterTuningPolicy", "operator", "operator rights"}, f"named were {sorted(named)}")
            expect(KIND in named["ClusterTuningPolicy"]["seen"], named["ClusterTuningPolicy"]["seen"])
            expect("is scaled to 0" in named["operator"]["seen"], named["operator"]["seen"])
            expect("may not: create pods" in named["operator rights"]["seen"], named["operator rights"]["seen"])
        finally:
            kubectl("apply", "--server-side", "--force-conflicts", "-f", ROOT / "crds" / "clustertuningpolicy.yaml")
            set_rules(before)
            kubectl("scale", "deployment", "attune", "-n", system, f"--replicas={replicas}")
            wait_until("the operator ready again", 120, lambda: operator().get("status", {}).get("readyReplicas", 0) == replicas)
        after, _ = examine(run.build)
        expect(not problems(after), f"after all was put back: {problems(after)}")
