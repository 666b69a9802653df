"""Checks of the cluster tier with jobs of their own: servers that come, go and are lost, the pace, and the tuner at work. Each looks at what the
job's servers say they can do (status.abilities) and is left out, with that reason, when they cannot."""
import json

from tier_cluster import CheckFailed, LeftOut, expect, get, items, kubectl, say, wait_until

SAFE, TUNED = "safe", "tuned"


class Job:
    """One job of this file, looked at and steered with kubectl."""
    def __init__(self, name, namespace):
        self.name, self.namespace = name, namespace

    def apply(self, spec):
        manifest = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-n", self.namespace, "-f", "examples/word2vec/job.yaml"))
        manifest["metadata"]["name"] = self.name
        for key, value in spec.items():
            manifest["spec"].setdefault(key, {}).update(value)
        kubectl("apply", "-n", self.namespace, "-f", "-", text_in=json.dumps(manifest))

    def status(self):
        return (get("tj", self.name, "-n", self.namespace) or {}).get("status", {})

    def spec(self):
        return (get("tj", self.name, "-n", self.namespace) or {}).get("spec", {})

    def patch(self, spec):
        kubectl("patch", "tj", self.name, "-n", self.namespace, "--type=merge", "-p", json.dumps({"spec": spec}))

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
        self.await_("training goes on", 30, lambda state: (state.get("progress") or {}).get("itemsDone", 0) > done)

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
        kubectl("delete", "tj", self.name, "-n", self.namespace, "--wait=false")


def register(check, namespace):
    safe, tuned = Job(SAFE, namespace), Job(TUNED, namespace)

    @check("a job with backups trains", needs=["install"])
    def safe_start(run):
        safe.apply({"goal": {"epochs": 120}, "servers": {"replicas": 2, "backups": 1}})
        safe.await_("two servers and their abilities", 120,
                    lambda state: state.get("abilities") and (state.get("servers") or {}).get("ready") == 2)

    @check("servers join and leave while it trains", needs=["safe_start"])
    def safe_scale(run):
        safe.needs("elasticServers")
        for count in (3, 2, 3):
            safe.patch({"servers": {"replicas": count}})
            safe.await_(f"{count} servers", 90, lambda state: (state.get("servers") or {}).get("ready") == count
                        and (state.get("servers") or {}).get("replicas") == count)
        safe.trains_on()

    @check("a server that is lost is replaced and nothing is lost", needs=["safe_start"])
    def safe_server(run):
        safe.needs("elasticServers", "serverRecovery")
        host = safe.status().get("coordinator")
        victim = next(f"{SAFE}-server-{i}" for i in (1, 0) if f"{SAFE}-server-{i}" != host)
        before = safe.kill(victim)
        safe.await_(f"another {victim}", 90, lambda state: safe.uid(victim) not in (None, before))
        safe.await_("the recovery", 60, lambda state: (state.get("recovery") or {}).get("count", 0) >= 1)
        expect((safe.status().get("recovery") or {}).get("restoredRows", 0) == 0, "rows went back although there were copies")
        safe.trains_on()

    @check("the coordinator's server is lost and another takes over", needs=["safe_start"])
    def safe_coordinator(run):
        safe.needs("coordinatorFailover", "serverRecovery", "elasticServers")
        state = safe.status()
        host, term = state["coordinator"], state.get("coordinatorTerm", 0)
        before = safe.kill(host)
        safe.await_("another coordinator", 60, lambda now: now.get("coordinator") != host and now.get("coordinatorTerm", 0) > term)
        safe.await_(f"another {host}", 90, lambda now: safe.uid(host) not in (None, before))
        safe.trains_on()
        expect("CoordinatorAppointed" in safe.reasons(), "no Event tells who took over")

    @check("the pace is switched while it trains", needs=["safe_start"])
    def safe_pace(run):
        safe.needs("synchronizationModes")
        safe.patch({"synchronization": {"mode": "SSP", "staleness": 8}})
        safe.await_("SSP(8)", 60, lambda state: (state.get("synchronization") or {}).get("mode") == "SSP")
        safe.patch({"synchronization": {"mode": "Async", "staleness": None}})
        safe.await_("Async", 60, lambda state: (state.get("synchronization") or {}).get("mode") == "Async")
        safe.trains_on()

    @check("after all of that it succeeds", needs=["safe_start"])
    def safe_success(run):
        safe.await_success(600)
        safe.delete()

    @check("the tuner changes a job by itself, within its limits, and the job succeeds", needs=["install"])
    def tuner_at_work(run):
        tuned.apply({"goal": {"epochs": 80}, "servers": {"replicas": 1}, "workers": {"replicas": 1},
                     "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"max": 2}, "workers": {"max": 3}}})
        seen = set()

        def changed(state):
            spec = tuned.spec()
            seen.add((spec["servers"]["replicas"], spec["workers"]["replicas"]))
            return len(seen) > 1
        tuned.await_("another setting", 180, changed)
        tuned.await_success(600)
        state = tuned.status().get("tuning") or {}
        say(f"    {state.get('changes')} changes, at the end {state.get('servers')} servers, {state.get('workers')} workers: {state.get('message')}")
        expect(all(1 <= s <= 2 and 1 <= w <= 3 for s, w in seen), f"outside its limits: {seen}")
        reasons = tuned.reasons()
        expect("TuningTrial" in reasons or "TuningMove" in reasons, f"no Event tells what the tuner did: {sorted(set(reasons))}")
        tuned.delete()
