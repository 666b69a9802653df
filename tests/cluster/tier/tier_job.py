"""A job of the cluster tier: started by `attune run` on the cluster, looked at and steered with kubectl."""
import json

from tier_cluster import ROOT, LeftOut, expect, get, inside, items, kubectl, say, start_inside, wait_until

PAGES = ROOT / "build" / "cluster-pages"


class Job:
    """One job. The process that follows it ends with the job, at the latest when the tier does."""
    def __init__(self, name, namespace):
        self.name, self.namespace = name, namespace

    def example(self):
        return json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-n", self.namespace, "-f", "examples/word2vec/job.yaml"))

    def run(self, build, spec, *words, labels=None):
        """Starts `attune run` on the cluster, which applies the job and follows it; what it says and its page lie in PAGES."""
        manifest = self.example()
        manifest["metadata"]["name"] = self.name
        manifest["metadata"].setdefault("labels", {}).update(labels or {})
        for key, value in spec.items():
            manifest["spec"].setdefault(key, {}).update(value)
        PAGES.mkdir(parents=True, exist_ok=True)
        file = PAGES / f"{self.name}.json"
        file.write_text(json.dumps(manifest))
        self.page().unlink(missing_ok=True)
        context = kubectl("config", "current-context").strip()
        self.follower = start_inside(PAGES / f"{self.name}.log", build / "bin" / "attune", "run", file, "--context", context, "-n", self.namespace,
                                     "--report", self.page(), "--plain", *words)
        wait_until(f"{self.name}: the job", 30, lambda: get("tj", self.name, "-n", self.namespace) or self.ended())

    def page(self):
        return PAGES / f"{self.name}.html"

    def ended(self):
        code = self.follower.poll()
        expect(code is None, f"attune run of {self.name} ended with {code}: " + (PAGES / f"{self.name}.log").read_text()[-800:])

    def expect_page(self):
        """`attune run` ends by itself once the job has, and leaves a page with curves."""
        wait_until(f"{self.name}: the end of attune run", 30, lambda: self.follower.poll() is not None)
        expect(self.follower.returncode == 0, f"attune run of {self.name} ended with {self.follower.returncode}")
        expect("<polyline" in self.page().read_text(), f"no curves in {self.page()}")
        say(f"    page: {self.page().relative_to(ROOT)}")

    def status(self):
        return (get("tj", self.name, "-n", self.namespace) or {}).get("status", {})

    def spec(self):
        return (get("tj", self.name, "-n", self.namespace) or {}).get("spec", {})

    def patch(self, spec):
        kubectl("patch", "tj", self.name, "-n", self.namespace, "--type=merge", "-p", json.dumps({"spec": spec}))

    def keep(self, spec):
        """As a GitOps controller does, again and again."""
        part = {"apiVersion": "attune.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": self.name}, "spec": spec}
        kubectl("apply", "--server-side", "--field-manager=kustomize-controller", "-n", self.namespace, "-f", "-", text_in=json.dumps(part))

    def attune(self, build, *words):
        context = kubectl("config", "current-context").strip()
        return inside(build / "bin" / "attune", *words, "--context", context, "-n", self.namespace)

    def container(self, pod):
        """What the kubelet says of the container that does the role's work."""
        found = (get("pod", pod, "-n", self.namespace) or {}).get("status", {}).get("containerStatuses", [])
        return next((c for c in found if c["name"] == pod.split("-")[1]), {})

    def given_cpu(self, pod):
        return self.container(pod).get("resources", {}).get("limits", {}).get("cpu")

    def text(self):
        state = self.status()
        progress = state.get("progress") or {}
        return f"{state.get('phase', '?')}, {100 * progress.get('fraction', 0):.0f} %, loss {progress.get('loss', '-')}"

    def training(self):
        state = self.status()
        expect(state.get("phase") not in ("Succeeded", "Failed"),
               f"job {self.name} is already {state.get('phase')}: {self.condition('Failed')}")
        return state

    def condition(self, kind):
        found = next((c for c in self.status().get("conditions", []) if c["type"] == kind), {})
        return found.get("message", "")

    def await_(self, what, seconds, probe):
        def look():
            return probe(self.training()), self.text()
        return wait_until(f"{self.name}: {what}", seconds, look)

    def trains_on(self):
        done = (self.training().get("progress") or {}).get("itemsDone", 0)
        self.await_("training continues", 30, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > done)

    def needs(self, *abilities):
        can = self.training().get("abilities") or {}
        missing = [a for a in abilities if not can.get(a)]
        if missing:
            raise LeftOut(f"the servers of this build cannot do it (status.abilities: {', '.join(missing)})")

    def uid(self, pod):
        return (get("pod", pod, "-n", self.namespace) or {}).get("metadata", {}).get("uid")

    def kill(self, pod):
        """As a machine that is gone: no time to say anything."""
        uid = self.uid(pod)
        kubectl("delete", "pod", pod, "-n", self.namespace, "--grace-period=0", "--force", "--wait=false")
        return uid

    def await_another(self, pod, before):
        """`before`: the uid of the one that was lost."""
        self.await_(f"another {pod}", 90, lambda state: self.uid(pod) not in (None, before))

    def lose_server(self):
        """Of two or more, one that does not run the coordinator; returns when another process has its place."""
        host = self.status().get("coordinator")
        victim = next(pod for pod in (f"{self.name}-server-1", f"{self.name}-server-0") if pod != host)
        self.await_another(victim, self.kill(victim))

    def reasons(self):
        events = items("events.events.k8s.io", "-n", self.namespace)
        return [e["reason"] for e in events if e.get("regarding", {}).get("name") == self.name]

    def await_success(self, seconds):
        def done():
            state = self.status()
            expect(state.get("phase") != "Failed", f"job {self.name} failed: {self.condition('Failed')}")
            return state.get("phase") == "Succeeded", self.text()
        wait_until(f"{self.name}: success", seconds, done, every=2)

    def delete(self):
        kubectl("delete", "tj", self.name, "-n", self.namespace, "--wait=false", "--ignore-not-found")

    def is_gone(self):
        left = [o["metadata"]["name"] for kind in ("tj", "pods") for o in items(kind, "-n", self.namespace)
                if o["metadata"]["name"].split("-")[0] == self.name]
        return not left, "left: " + ", ".join(left)
