"""Checks of the cluster tier: a job without backups whose rows travel in TLS. A server that is lost goes back to the last
checkpoint; a new job with another number of servers continues from it."""
import tempfile

from tier_cluster import STATE, command, expect, inside, kubectl, say
from tier_job import Job

KEPT, RESUMED, CLAIM = "kept", "resumed", "models"

# A volume that the pods of both nodes share: they are on one machine. Restricted pods mount it by a claim.
VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {{name: attune-tier-models}}
spec:
  capacity: {{storage: 10Gi}}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: attune-tier
  hostPath: {{path: {path}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {claim}, namespace: {namespace}}}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: attune-tier
  volumeName: attune-tier-models
  resources: {{requests: {{storage: 10Gi}}}}
"""


def make_models_claim(namespace):
    """Of one namespace; made once, however many checks ask for it."""
    directory = STATE / "models"
    directory.mkdir(exist_ok=True)
    directory.chmod(0o777)  # pods run as no particular user
    kubectl("apply", "-f", "-", text_in=VOLUME.format(path=directory, claim=CLAIM, namespace=namespace))


def make_secrets(job):
    """The commands of docs/security.md."""
    uid = kubectl("get", "tj", job.name, "-n", job.namespace, "-o", "jsonpath={.metadata.uid}")
    with tempfile.TemporaryDirectory() as directory:
        script = f"""
            cd {directory}
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=authority" -keyout ca.key -out ca.crt
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=job" -keyout tls.key -out job.csr
            printf 'subjectAltName=DNS:%s\n' "{uid}" > job.ext
            openssl x509 -req -in job.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile job.ext -out tls.crt"""
        command("bash", "-ec", script)
        kubectl("create", "secret", "generic", f"{job.name}-tls", "-n", job.namespace,
                *(f"--from-file={directory}/{file}" for file in ("tls.crt", "tls.key", "ca.crt")))
        kubectl("create", "secret", "generic", f"{job.name}-token", "-n", job.namespace, f"--from-literal=token={uid}")


def spec(job, servers, seconds, more_checkpoint=None):
    """`seconds` of training, those before a checkpoint that is resumed included."""
    return {"goal": {"epochs": 100_000, "maxDurationSeconds": seconds}, "servers": {"replicas": servers, "backups": 0}, "model": {"claim": CLAIM},
            "checkpoint": {"intervalSeconds": 5, **(more_checkpoint or {})},
            "security": {"tlsSecret": f"{job.name}-tls", "tokenSecret": f"{job.name}-token"}}


def register(check, namespace):
    kept, resumed = Job(KEPT, namespace), Job(RESUMED, namespace)

    @check("a job with TLS, a token and checkpoints on a claim trains", needs=["install"])
    def kept_start(run):
        make_models_claim(namespace)
        kept.run(run.build, spec(kept, 2, 110))
        make_secrets(kept)
        kept.await_("two servers and their abilities", 120,
                    lambda state: state.get("abilities") and (state.get("servers") or {}).get("ready") == 2)
        # The first may be cut before there are tables, and then has no row that could come back.
        kept.await_("a checkpoint with rows by the clock", 60, lambda state: (state.get("checkpoint") or {}).get("rows", 0) > 0)
        kept.trains_on()

    @check("a lost server's rows go back to the last checkpoint", needs=["kept_start"])
    def kept_server(run):
        kept.needs("serverRecovery", "checkpoints")
        kept.lose_server()
        kept.await_("rows of the checkpoint", 60, lambda state: (state.get("recovery") or {}).get("restoredRows", 0) > 0)
        expect("RowsRestored" in kept.reasons(), "no Event says what went back")
        kept.trains_on()

    @check("a checkpoint that was asked for is resumed by another number of servers", needs=["kept_start"], long=lambda run: kept.delete())
    def kept_resume(run):
        kept.needs("checkpoints")
        context = kubectl("config", "current-context").strip()
        say("    " + inside(run.build / "bin" / "attune", "checkpoint", KEPT, "--context", context, "-n", namespace, timeout=90).strip())
        written = kept.status()["checkpoint"]
        loss = kept.status()["progress"]["loss"]
        kept.await_success(180)
        kept.expect_page()
        kept.delete()
        resumed.run(run.build, spec(resumed, 3, 160, {"resumeFrom": written["directory"]}))
        make_secrets(resumed)
        resumed.await_("three servers", 120, lambda state: (state.get("servers") or {}).get("ready") == 3)
        first = resumed.await_("a loss", 60, lambda state: (state.get("progress") or {}).get("loss"))
        say(f"    loss at the checkpoint {loss:.4f}, first loss after it {first:.4f}")
        expect(first < 1.3 * loss, f"it began again: loss {first}, at the checkpoint {loss}")
        resumed.await_success(180)
        resumed.expect_page()
        resumed.delete()
