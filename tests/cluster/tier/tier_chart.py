"""Checks of the cluster tier: every variant of the chart's templates, as the real API server would take it, and the names of images."""
import json
import re
import shutil
import tempfile

from tier_cluster import await_kinds, HERE, command, expect, get, inside, kubectl, say, wait_until

NAMESPACE = "attune-tier-variants"
MONITORS = {"monitoring.labels.release": "stack", "monitoring.serviceMonitor.enabled": True, "monitoring.podMonitor.enabled": True,
            "monitoring.rules.enabled": True}
DIGEST = "sha256:" + 64 * "a"

# What values there are that add, leave out or change an object; each is rendered and given to the API server.
VARIANTS = {
    "as it is": {},
    "one namespace": {"watch.namespace": NAMESPACE},
    "one namespace, no ClusterRole": {"watch.namespace": NAMESPACE, "rbac.clusterScope": False},
    "fewest rights": {"rbac.nodes": False, "rbac.clusterPolicies": False, "rbac.queues": False, "rbac.aggregate": False},
    "roles and account of others": {"rbac.create": False, "serviceAccount.create": False, "serviceAccount.name": "default"},
    "one replica": {"replicas": 1},
    "no network policies": {"networkPolicy.enabled": False, "networkPolicy.jobs.enabled": False},
    "metrics for some": {"networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.a": "b", "networkPolicy.jobs.metricsFrom[0].podSelector.matchLabels.a": "b"},
    "telemetry in TLS": {"telemetry.tls.secretName": "certificate"},
    "a registry with digests and Secrets": {
        "global.registry": "registry.example.com:5000/team", "image.digest": DIGEST, "serverImage.digest": DIGEST, "sidecarImage.digest": DIGEST,
        "test.training.image.digest": DIGEST, "imagePullSecrets[0].name": "registry", "jobs.imagePullSecrets[0].name": "registry"},
    "claims": {"jobs.defaultModelClaim": "models", "tuner.history.claim": "history", "jobs.reconcileThreads": 4},
    "placement of the operator": {
        "nodeSelector.pool": "system", "tolerations[0].key": "system", "tolerations[0].operator": "Exists", "priorityClassName": "system-cluster-critical",
        "podLabels.team": "platform", "podAnnotations.note": "text", "serviceAccount.annotations.note": "text",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key": "pool",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator": "Exists"},
    "no tests, no end of pods": {"test.training.enabled": False, "uninstall.releasePods": False},
    "dashboards": {"monitoring.dashboards.enabled": True},
    "other names": {"fullnameOverride": "trainer", "nameOverride": "trainer"},
    "kinds that go with the release": {"crds.keep": False},
}


def render(values, *more, **options):
    words = [word for name, value in values.items()
             for word in (("--set" if isinstance(value, (bool, int)) else "--set-string"), f"{name}={json.dumps(value) if isinstance(value, (bool, int)) else value}")]
    return inside("helm", "template", "variant", "charts/attune", "-n", NAMESPACE, "--kube-version", "1.34.4", *words, *more, **options)


def dry_run(values):
    """How many objects the API server would take. Fails with what it says about the others."""
    account = render(values, "-s", "templates/serviceaccount.yaml", check=False)  # admission asks for those of pods
    if account.strip():
        kubectl("apply", "-n", NAMESPACE, "-f", "-", text_in=account)
    return len(kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-n", NAMESPACE, "-f", "-", text_in=render(values), timeout=90).splitlines())


def register(check):
    @check("images are named by registry, tag and digest as the values say")
    def image_names(run):
        def operator(**values):
            text = render({name.replace("__", "."): value for name, value in values.items()}, "-s", "templates/deployment.yaml")
            return re.findall(r'(?:image: "|--server-image=|--sidecar-image=)([^"\s]+)', text)
        for values, names in (({}, ["attune/operator:dev", "attune/server:dev", "attune/sidecar:dev"]),
                              ({"image__tag": "1.2.3"}, ["attune/operator:1.2.3", "attune/server:1.2.3", "attune/sidecar:1.2.3"]),
                              ({"global__registry": "r.io/a/", "serverImage__registry": "other", "sidecarImage__tag": "x"},
                               ["r.io/a/attune/operator:dev", "other/attune/server:dev", "r.io/a/attune/sidecar:x"]),
                              ({"global__registry": "r.io", "image__digest": DIGEST, "serverImage": "docker.io/me/server:1", "sidecarImage": "me/sidecar:1"},
                               [f"r.io/attune/operator@{DIGEST}", "docker.io/me/server:1", "r.io/me/sidecar:1"])):
            expect(operator(**values) == names, f"{values}: {operator(**values)} instead of {names}")

    @check("the API server would take every variant of the chart's templates")
    def chart_variants(run):
        if not get("namespace", NAMESPACE):
            kubectl("create", "namespace", NAMESPACE)
        wait_until("the namespace's account", 15, lambda: get("serviceaccount", "default", "-n", NAMESPACE))
        # A job of a kind that is not there yet cannot be tried.
        kinds_were_there = get("crd", "trainingjobs.attune.dev")
        kubectl("apply", "--server-side", "-f", "crds")
        await_kinds("trainingjobs.attune.dev")
        try:
            counts = {name: dry_run(values) for name, values in VARIANTS.items()}
            if shutil.which("go"):
                counts["monitors and rules"] = with_monitors(lambda: dry_run(MONITORS))
            else:
                say("    without Go, which fetches the kinds of the Prometheus Operator, its objects are left out")
        finally:
            kubectl("delete", "namespace", NAMESPACE, "--wait=false")
            if not kinds_were_there:
                kubectl("delete", "-f", "crds", "--timeout=30s")
        say(f"    {len(counts)} variants, {sum(counts.values())} objects")
        expect(counts["fewest rights"] < counts["as it is"] and counts["dashboards"] == counts["as it is"] + 3, f"objects: {counts}")


def with_monitors(act):
    """With the kinds of the Prometheus Operator, of its own Go module."""
    module = "github.com/prometheus-operator/prometheus-operator"
    place = json.loads(command("go", "-C", HERE / "monitors", "mod", "download", "-json", module, timeout=120))["Dir"]
    with tempfile.TemporaryDirectory() as kinds:
        for name in ("servicemonitors", "podmonitors", "prometheusrules"):
            shutil.copy(f"{place}/example/prometheus-operator-crd/monitoring.coreos.com_{name}.yaml", kinds)
        kubectl("apply", "--server-side", "-f", kinds)
        try:
            await_kinds(*[f"{kind}.monitoring.coreos.com" for kind in ("prometheusrules", "servicemonitors", "podmonitors")])
            return act()
        finally:
            kubectl("delete", "-f", kinds, "--timeout=30s")
