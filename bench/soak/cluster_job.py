"""A counting job on the test cluster (tests/cluster), with the questions that a round asks (rounds.py). Its workers run attune-tally from a
volume of this machine, into which they also write their journals; servers and workers are spread over the nodes."""
import json, os, pathlib, shutil, sys, time

import account
from local_job import JobEnded

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cluster" / "tier"))
import tier_cluster as cluster
from tier_cluster import CheckFailed, command, get, items, kubectl

JOB, CLAIM = "chaos", "chaos"
MODEL = "/var/lib/attune/model"  # where the claim is mounted in pods
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {claim}}}
spec:
  capacity: {{storage: 10Gi}}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: {claim}
  hostPath: {{path: {path}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {claim}, namespace: {namespace}}}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: {claim}
  volumeName: {claim}
  resources: {{requests: {{storage: 10Gi}}}}
"""


def spread(role):
    return [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
             "labelSelector": {"matchLabels": {"attune.dev/job": JOB, "attune.dev/role": role}}}]


class ClusterJob:
    """system, team: namespaces of the operator and of the job."""
    BLOCKS, ROWS_PER_BLOCK = 64, 16
    system, team = "attune-chaos-system", "attune-chaos"

    def __init__(self, bin_directory, directory, shape):
        self.name, self.shape, self.bin = JOB, shape, bin_directory
        self.volume = pathlib.Path(directory) / "volume"
        self.journals = str(self.volume / "journals")
        for path in (self.volume, self.volume / "journals"):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o777)  # pods run as a user of no rights here
        os.chmod(directory, 0o755)
        shutil.copy(f"{bin_directory}/attune-tally", self.volume / "attune-tally")
        kubectl("apply", "-f", "-", text_in=VOLUME.format(path=self.volume, claim=CLAIM, namespace=self.team))
        kubectl("apply", "-n", self.team, "-f", "-", text_in=json.dumps(self._manifest()))

    def _manifest(self):
        shape = self.shape
        arguments = [f"--items={shape.items}", f"--pause={shape.pause}", f"--journal={MODEL}/journals", f"--blocks={self.BLOCKS}",
                     f"--rows-per-block={self.ROWS_PER_BLOCK}"]
        worker = {"name": "worker", "image": "attune/word2vec:dev", "command": [f"{MODEL}/attune-tally"], "args": arguments,
                  "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
        server = {"name": "server", "image": "attune/server:dev", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
        return {"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": JOB},
                "spec": {"goal": {"epochs": 1}, "runPolicy": {"backoffLimit": 1000}, "model": {"claim": CLAIM},
                         "synchronization": {"mode": shape.mode} | ({"staleness": 8} if shape.mode == "SSP" else {}),
                         "servers": {"replicas": shape.servers, "max": 6, "backups": shape.backups,
                                     "template": {"spec": {"topologySpreadConstraints": spread("server"), "containers": [server]}}},
                         "workers": {"replicas": shape.workers, "max": 8,
                                     "template": {"spec": {"topologySpreadConstraints": spread("worker"), "containers": [worker]}}}}}

    # --- where things are

    def job(self):
        return get("tj", JOB, "-n", self.team) or {}

    def status(self):
        """The last one known while the API does not answer."""
        try:
            self.last_status = self.job().get("status", {})
        except CheckFailed:
            pass
        return getattr(self, "last_status", {})

    def pod_nodes(self, role=None):
        """{pod: node} of those that are not on their way out."""
        selector = f"attune.dev/job={JOB}" + (f",attune.dev/role={role}" if role else "")
        return {p["metadata"]["name"]: p["spec"].get("nodeName") for p in items("pods", "-n", self.team, "-l", selector)
                if "deletionTimestamp" not in p["metadata"]}

    def coordinator_node(self):
        return self.pod_nodes("server")[self.status()["coordinator"]]

    # --- what a round asks

    def wait_until(self, what, condition, timeout):
        cluster.wait_until(what, timeout, condition)

    def sleep(self, seconds):
        time.sleep(seconds)
        if self.ended():
            raise JobEnded(self.status().get("phase"))

    def ended(self):
        return self.status().get("phase") in ("Succeeded", "Failed")

    def last_step(self):
        return account.last_step(self.journals)

    def settled_state(self):
        try:
            job = self.job()
            state, spec = job.get("status", {}), job.get("spec", {})
            if state.get("phase") in ("Succeeded", "Failed"):
                return ""
            for role in ("servers", "workers"):
                found, wanted = state.get(role) or {}, spec[role]["replicas"]
                if found.get("ready", 0) != wanted or found.get("replicas", 0) != wanted:
                    return f"{found.get('ready', 0)} of {wanted} {role} ready"
        except (CheckFailed, KeyError) as problem:
            return f"the API does not answer: {problem}"
        return next((c["message"] for c in state.get("conditions", []) if c["type"] == "Reconfiguring" and c["status"] == "True"), "")

    def await_end(self, seconds):
        deadline = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > deadline:
                return False
            time.sleep(1)
        return True

    def result(self):
        state = self.status()
        failed = next((c["message"] for c in state.get("conditions", []) if c["type"] == "Failed" and c["status"] == "True"), "")
        return {"outcome": state.get("phase"), "message": failed, "reprocessedItems": (state.get("progress") or {}).get("reprocessedItems", 0),
                "restoredRows": (state.get("recovery") or {}).get("restoredRows", 0)}

    def violations(self):
        result = self.result()
        if result["outcome"] != "Succeeded":
            return [f"the job did not succeed: {result['outcome']}: {result['message']}"]
        restored = result["restoredRows"]
        found = [f"{restored} rows went back although every row has a copy"] if restored and self.shape.backups else []
        return found + self.account().violations

    def outcome(self):
        return "sums exact"

    def account(self):
        return account.Account(account.read_journals(self.journals), account.read_sums(self.journals), self.shape.items, self.BLOCKS,
                               self.ROWS_PER_BLOCK, self.result()["reprocessedItems"])

    def growth(self):
        return []

    def keep_logs(self, directory):
        cluster.save_logs(pathlib.Path(directory) / "cluster", [self.system, self.team])

    def end(self):
        self.status()
        kubectl("delete", "tj", JOB, "-n", self.team, "--wait=false", check=False)
        mine = ["pods", "-n", self.team, "-l", f"attune.dev/job={JOB}"]
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and items(*mine):
            time.sleep(1)
        for pod in items(*mine):  # of a node that never came back
            kubectl("patch", "pod", pod["metadata"]["name"], "-n", self.team, "--type=merge", "-p", '{"metadata":{"finalizers":null}}', check=False)
            kubectl("delete", "pod", pod["metadata"]["name"], "-n", self.team, "--grace-period=0", "--force", "--wait=false", check=False)
        # Waited for: the next job's are of the same names.
        kubectl("delete", "pvc", CLAIM, "-n", self.team, "--timeout=60s", check=False, timeout=90)
        kubectl("delete", "pv", CLAIM, "--timeout=60s", check=False, timeout=90)


def install(bin_directory, examples=("word2vec",)):
    """Images on all nodes, also those of these examples, namespaces and chart; a second call does nothing that is done already."""
    archives = ROOT / "build" / "images"
    names = ["operator", "sidecar", "server", *examples]
    command("docker/build-images", archives, *names, timeout=1800, env={"PROGRAMS": str(bin_directory)})
    command(cluster.HERE / "load-image", *[archives / f"{name}.tar" for name in names], timeout=300)
    for namespace in (ClusterJob.system, ClusterJob.team):
        if not get("namespace", namespace):
            kubectl("create", "namespace", namespace)
    if not get("deployment", "attune", "-n", ClusterJob.system):
        cluster.inside("helm", "install", "attune", "charts/attune", "-n", ClusterJob.system, "--set", "jobs.statusSeconds=2", timeout=60)
    cluster.await_kinds("trainingjobs.attune.dev")
    kubectl("rollout", "status", "deployment", "-n", ClusterJob.system, "--timeout=60s", timeout=90)
    await_leader(ClusterJob.system)


def uninstall():
    cluster.inside("helm", "uninstall", "attune", "-n", ClusterJob.system, "--ignore-not-found", check=False)
    kubectl("delete", "namespace", ClusterJob.system, ClusterJob.team, "--ignore-not-found", "--timeout=60s", check=False, timeout=90)
    kubectl("delete", "crd", "trainingjobs.attune.dev", "--ignore-not-found", check=False)


def leader(system):
    """The pod of the replica that acts; None while there is none."""
    found = [p for p in items("pods", "-n", system, "-l", "attune.dev/leader=attune-operator") if "deletionTimestamp" not in p["metadata"]]
    return found[0] if len(found) == 1 else None


def operator_node(system):
    """Of the leader."""
    present = leader(system)
    return present and present["spec"].get("nodeName")


def await_leader(system, other_than=None):
    """The first one in a namespace begins after some 18 s."""
    cluster.wait_until("a leader", 60, lambda: leader(system) and leader(system)["metadata"]["uid"] != other_than)


def move_operator(system, node):
    """Every replica to nodes but that one. True when the leader had to move."""
    present = leader(system)
    led_there = present is not None and present["spec"].get("nodeName") == node
    there = [p["metadata"]["name"] for p in items("pods", "-n", system, "-l", "app.kubernetes.io/component=operator")
             if p["spec"].get("nodeName") == node]
    if not there:
        return False
    kubectl("cordon", node)
    try:
        kubectl("delete", "pod", "-n", system, *there, timeout=90)
        kubectl("rollout", "status", "deployment", "-n", system, "--timeout=60s", timeout=90)
        await_leader(system, present["metadata"]["uid"] if led_there else None)
    finally:
        kubectl("uncordon", node)
    return led_there
