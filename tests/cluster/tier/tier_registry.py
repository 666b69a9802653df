"""Checks of the cluster tier: images and chart come from a registry that asks for a password, which Debian's docker-registry is, in the cluster's network."""
import base64
import json
import pathlib
import shutil
import tempfile

from tier_cluster import HERE, ROOT, STATE, command, expect, get, inside, items, kubectl, say, start_inside, wait_until
from tier_job import PAGES, Job

HOST = "10.99.0.10:5000"
REGISTRY = f"{HOST}/team"
CHART = f"oci://{REGISTRY}/charts/attune"
USER, PASSWORD = "tier", "tier-only"
PASSWORD_HASH = "$2b$05$attunetierattunetierae8RUUQHmD3EvqrA.OEBG5m8JyERxaWN."
CONFIG = """
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {place}/data}}}}
http: {{addr: "{host}"}}
auth: {{htpasswd: {{realm: tier, path: {place}/passwords}}}}
"""
OLD = "0.0.1"  # the chart as an earlier version


class Registry:
    def __init__(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="attune-registry-"))
        (self.place / "config.yml").write_text(CONFIG.format(place=self.place, host=HOST))
        (self.place / "passwords").write_text(f"{USER}:{PASSWORD_HASH}\n")
        self.login = {"auths": {HOST: {"auth": base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}}}
        (self.place / "login.json").write_text(json.dumps(self.login))
        PAGES.mkdir(parents=True, exist_ok=True)
        self.process = start_inside(PAGES / "registry.log", "docker-registry", "serve", self.place / "config.yml")
        wait_until("the registry", 15, lambda: inside("curl", "-sS", "--max-time", "2", "-u", f"{USER}:{PASSWORD}", f"http://{HOST}/v2/", check=False).strip() == "{}")
        # Nodes reach it without TLS, which their container runtime learns from a file.
        for node in STATE.glob("node*"):
            hosts = node / "registries" / HOST
            hosts.mkdir(parents=True, exist_ok=True)
            (hosts / "hosts.toml").write_text(f'server = "http://{HOST}"\n[host."http://{HOST}"]\n  capabilities = ["pull", "resolve"]\n')

    def environment(self, **more):
        login = self.place / "login.json"
        return {"REGISTRY_AUTH_FILE": str(login), "HELM_REGISTRY_CONFIG": str(login), "PLAIN_HTTP": "1", **more}

    def push(self, version):
        words = ["make", "-s", "push", f"REGISTRY={REGISTRY}", f"CHART_VERSION={version}"]
        return inside(*words, env=self.environment(), timeout=120)

    def values(self):
        return ROOT / "build" / "images" / f"values-{REGISTRY.replace(':', '-').replace('/', '-')}.yaml"

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        shutil.rmtree(self.place)


def register(check, namespace, images):
    job = Job("pulled", namespace)
    shared = {}

    def helm(*words, timeout=90):
        return inside("helm", *words, "-n", namespace, env=shared["registry"].environment(), timeout=timeout)

    def release(action, version, *words):
        return helm(action, "registry", CHART, "--version", version, "--plain-http", "-f", shared["registry"].values(), "--set", f"watch.namespace={namespace}",
                    "--set", "crds.enabled=false", "--set", "replicas=1", "--set", "jobs.statusSeconds=2", "--set", "imagePullSecrets[0].name=registry",
                    "--set", "jobs.imagePullSecrets[0].name=registry", "--set", "test.training.seconds=5", "--set", "uninstall.releasePods=false",
                    "--wait", "--timeout", "60s", *words)

    def uids():
        return {p["metadata"]["name"]: p["metadata"]["uid"] for p in items("pods", "-n", namespace, "-l", f"attune.dev/job={job.name}")}

    def operator():
        return get("deployment", "registry-attune", "-n", namespace)

    def trains_untouched(before):
        job.trains_on()
        expect(uids() == before, f"pods were made again: {before} -> {uids()}")

    @check("make push puts images and chart into a registry, and says their digests", needs=["uninstall"])
    def registry_push(run):
        command("scripts/install-packages", "registry", timeout=300)  # outside: the cluster's network need not reach a package mirror
        shared["registry"] = Registry()
        said = shared["registry"].push(OLD)
        for image in images:
            expect(f"{REGISTRY}/attune/{image}:dev@sha256:" in said, f"no digest of {image}:\n{said}")
        expect(f"{CHART} sha256:" in said, f"no chart:\n{said}")
        again = shared["registry"].push("0.1.0")
        digests = [[line for line in text.splitlines() if "/attune/" in line and "@" in line] for text in (said, again)]
        expect(digests[0] == digests[1], f"the same images have other digests: {digests}")

    @check("helm installs chart and images by digest from a registry that asks for a password", needs=["registry_push"])
    def registry_install(run):
        if not get("crd", "trainingjobs.attune.dev"):
            kubectl("apply", "--server-side", "-f", "crds")
        kubectl("create", "namespace", namespace)
        kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
        login = json.dumps(shared["registry"].login)
        kubectl("create", "secret", "generic", "registry", "-n", namespace, "--type=kubernetes.io/dockerconfigjson", f"--from-literal=.dockerconfigjson={login}")
        release("install", OLD)
        expect("@sha256:" in operator()["spec"]["template"]["spec"]["containers"][0]["image"], "the operator's image has no digest")

    @check("helm test trains a job, whose images come from there, too, and reads its condition", needs=["registry_install"])
    def registry_test(run):
        said = inside("sh", "-c", f"helm test registry -n {namespace} --timeout 80s 2>&1", timeout=100)
        expect("Phase:          Succeeded" in said and "Phase:          Failed" not in said, said)
        expect("Succeeded" in said and "items done" in said, f"the test does not say how the job went:\n{said}")
        expect(not items("tj", "-n", namespace), "the job of the test is still there")

    @check("helm upgrade and rollback leave a job that trains as it is", needs=["registry_install"])
    def registry_upgrade(run):
        manifest = job.example()
        manifest["metadata"]["name"] = job.name
        worker = manifest["spec"]["workers"]["template"]["spec"]["containers"][0]
        worker["image"] = f"{REGISTRY}/attune/word2vec:dev"
        manifest["spec"].update({"goal": {"epochs": 100_000, "maxDurationSeconds": 600}, "servers": {"replicas": 1}, "runPolicy": {"drainSeconds": 5}})
        manifest["spec"]["workers"]["replicas"] = 1
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(manifest))
        job.await_("it trains", 60, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > 0)
        for pod in items("pods", "-n", namespace, "-l", f"attune.dev/job={job.name}"):
            expect(all(c["image"].startswith(REGISTRY) for c in pod["spec"]["containers"] + pod["spec"]["initContainers"]), f"images from elsewhere: {pod['spec']}")
            expect({"name": "registry"} in pod["spec"]["imagePullSecrets"], "no Secret to pull with")
        before = uids()
        for step, version in ((lambda: release("upgrade", "0.1.0", "--set", "podLabels.step=two"), "0.1.0"),
                              (lambda: helm("rollback", "registry", "1", "--wait", "--timeout", "60s"), OLD)):
            step()
            found = operator()["metadata"]["labels"]["helm.sh/chart"]
            expect(found == f"attune-{version}", f"the chart is {found}")
            trains_untouched(before)

    @check("helm uninstall leaves nothing of the release", needs=["registry_install"])
    def registry_uninstall(run):
        job.delete()
        wait_until("the end of the job", 60, job.is_gone)
        helm("uninstall", "registry", "--wait", "--timeout", "60s")
        kinds = "deployments,replicasets,services,serviceaccounts,roles,rolebindings,configmaps,networkpolicies,poddisruptionbudgets,jobs,tj"
        mine = [f"{o['kind']} {o['metadata']['name']}" for o in items(kinds, "-n", namespace) if "registry-attune" in o["metadata"]["name"]]
        mine += [f"{o['kind']} {o['metadata']['name']}" for kind in ("clusterrole", "clusterrolebinding") for o in items(kind, "-l", "app.kubernetes.io/instance=registry")]
        wait_until("the end of its pods", 30, lambda: (not items("pods", "-n", namespace), ""))
        expect(not mine, f"left: {mine}")
        expect(get("crd", "trainingjobs.attune.dev"), "the kinds are gone")
        shared["registry"].end()
