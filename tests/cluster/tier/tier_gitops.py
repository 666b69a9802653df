"""Checks of the cluster tier: what docs/gitops.md gives to GitOps controllers, held against the real API server."""
import json
import re

import yaml

from tier_cluster import ROOT, command, expect, get, kubectl, wait_until, HERE
from tier_job import Job

RULE = "attune-health-rule"
WAITED_FOR = {"Ready": (False, True), "Succeeded": (False, True), "Failed": (True, False), "Progressing": (False, False), "Suspended": (False, False)}


def flux_rule():
    """The expressions as the page shows them, of the object that an API server gives to its own."""
    page = (ROOT / "docs/gitops.md").read_text()
    block = re.search(r"```yaml\n(# A Kustomization of Flux\n.*?)```", page, re.DOTALL)
    rule, = yaml.safe_load(block.group(1))["spec"]["healthCheckExprs"]
    expect((rule["apiVersion"], rule["kind"]) == ("attune.dev/v1alpha1", "TrainingJob"), f"the rule is for {rule}")
    return {name: re.sub(r"(?<![\w.])status\.", "object.status.", rule[name]) for name in ("failed", "current")}


def policy(namespace, rule):
    """Refuses a status that is only tried, and says what the expressions make of it: Flux and the API server evaluate the same language."""
    said = "'failed=' + string({failed}) + ' current=' + string({current})".format(**rule)
    names = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": RULE}}
    selector = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [{"apiGroups": ["attune.dev"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["trainingjobs/status"]}]}
    return [names | {"kind": "ValidatingAdmissionPolicy", "spec": {
                "failurePolicy": "Fail", "matchConstraints": selector, "matchConditions": [{"name": "asked-here", "expression": "request.dryRun"}], "validations": [{"expression": "false", "messageExpression": said}]}},
            names | {"kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": RULE, "validationActions": ["Deny"]}}]


def register(check, namespace):
    kept = Job("kept-healthy", namespace)

    @check("what Flux waits for is what the job's conditions say: the expressions of docs/gitops.md", needs=["install"])
    def flux_health(run):
        manifest = kept.example()
        manifest["metadata"]["name"] = kept.name
        manifest["spec"]["suspend"] = True  # nothing is made
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(manifest))
        wait_until("a status", 30, lambda: kept.status().get("conditions"))
        objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": policy(namespace, flux_rule())})
        kubectl("apply", "-f", "-", text_in=objects)
        try:
            def verdict(conditions):
                now = get("tj", kept.name, "-n", namespace)["status"]["conditions"]
                changed = [dict(c, status=conditions.get(c["type"], "False")) for c in now]
                added = [dict(now[0], type=kind, status=value) for kind, value in conditions.items() if kind not in {c["type"] for c in now}]
                said = command("sh", "-c", '"$@" 2>&1', "sh", HERE / "kubectl", "patch", "tj", kept.name, "-n", namespace, "--subresource=status", "--type=merge",
                               "--dry-run=server", "-p", json.dumps({"status": {"conditions": changed + added}}), check=False)
                found = re.search(r"failed=(true|false) current=(true|false)", said)
                return found and tuple(word == "true" for word in found.groups())

            wait_until("the rule in force", 30, lambda: verdict({"Suspended": "True"}) is not None)
            for kind, waited_for in WAITED_FOR.items():
                expect(verdict({kind: "True"}) == waited_for, f"{kind}: (failed, current) is {verdict({kind: 'True'})}, not {waited_for}")
        finally:
            kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", RULE, "--ignore-not-found")
            kept.delete()
