"""Checks of the cluster tier: two replicas of the operator, of which one acts. The leader is killed, stopped and continued, and asked to end while
a job scales; the other one does what is left, and the one before does nothing more."""
import datetime
import os
import pathlib
import signal
import time

from tier_cluster import CheckFailed, expect, get, items, kubectl, say, wait_until
from tier_job import Job

LEASE = "attune-operator"
LED = "led"
LEASE_SECONDS = 15
BEYOND_LEASE_SECONDS = 3  # from the end of the Lease to the next act; a pod's time of creation has whole seconds


def leader(system):
    """The pod that sidecars reach; None while there is none."""
    found = [p for p in items("pods", "-n", system, "-l", f"attune.dev/leader={LEASE}") if "deletionTimestamp" not in p["metadata"]]
    return found[0] if len(found) == 1 else None


def lease(system):
    return (get("lease", LEASE, "-n", system) or {}).get("spec", {})


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def process_of(pod):
    """Of the operator in that pod, as this machine sees it."""
    uid = pod["metadata"]["uid"]
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            group = (directory / "cgroup").read_text()
            name = (directory / "comm").read_text()
        except OSError:
            continue
        if name.startswith("attune-operator"[:15]) and (uid in group or uid.replace("-", "_") in group):
            return int(directory.name)
    raise CheckFailed(f"no process of {pod['metadata']['name']}")


def register(check, system, namespace, scrape, metric):
    led = Job(LED, namespace)

    def standby():
        present = leader(system)
        return next((p for p in items("pods", "-n", system, "-l", "app.kubernetes.io/component=operator")
                     if present and p["metadata"]["uid"] != present["metadata"]["uid"] and "deletionTimestamp" not in p["metadata"]), None)

    def await_both():
        def both():
            waits = standby()
            ready = waits and any(c["type"] == "Ready" and c["status"] == "True" for c in waits["status"].get("conditions", []))
            holds = leader(system) and lease(system).get("holderIdentity", "").startswith(leader(system)["metadata"]["name"])
            return ready and holds
        wait_until("a leader and a standby", 90, both)
        return leader(system)

    def workers():
        return {p["metadata"]["name"]: p["metadata"] for p in items("pods", "-n", namespace, "-l", f"attune.dev/job={LED},attune.dev/role=worker")}

    def scale_after(what, workers_wanted):
        """Asks for one more worker after `what` was done to the leader; returns how long after the end of the Lease the other one made it."""
        before, ended = workers(), lease(system)
        what()
        led.patch({"workers": {"replicas": workers_wanted}})
        led.await_("another worker", LEASE_SECONDS + 30, lambda state: len(workers()) == workers_wanted)
        added = next(meta for name, meta in workers().items() if name not in before)
        beyond = seconds_of(added["creationTimestamp"]) - seconds_of(ended["renewTime"]) - LEASE_SECONDS
        say(f"    the next act {beyond:.1f} s after the end of the Lease, as it was last seen")
        # The Lease may have been renewed once more after it was read.
        expect(beyond <= BEYOND_LEASE_SECONDS + 2.4, f"{beyond:.1f} s beyond the Lease")
        expect(all(workers().get(name, {}).get("uid") == meta["uid"] for name, meta in before.items()), "a worker was made again")

    @check("of two replicas one leads, the other one stands by with its caches filled", needs=["install"])
    def two_replicas(run):
        chief = await_both()
        expect(metric(scrape(chief, 7411), "attune_operator_leader") == 1, "the leader does not say so")
        waits = scrape(standby(), 7411)
        expect(metric(waits, "attune_operator_leader") == 0, "the standby says that it leads")
        expect("attune_job_progress_ratio{" not in waits, "jobs are shown twice")
        expect((get("pdb", "attune", "-n", system) or {}).get("status", {}).get("disruptionsAllowed") == 1, "the budget allows no drain")

    @check("the leader is killed while a job scales; the standby acts as soon as the Lease has run out", needs=["two_replicas"])
    def leader_killed(run):
        led.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 210 if run.long else 150}, "workers": {"replicas": 1}})
        led.await_("a worker", 90, lambda state: (state.get("workers") or {}).get("ready") == 1)
        led.trains_on()
        chief, terms = await_both(), lease(system)["leaseTransitions"]
        scale_after(lambda: os.kill(process_of(chief), signal.SIGKILL), 2)
        await_both()
        expect(lease(system)["leaseTransitions"] == terms + 1, f"{lease(system)['leaseTransitions'] - terms} changes of the leader")
        led.await_("two workers", 60, lambda state: (state.get("workers") or {}).get("ready") == 2)

    @check("the leader is stopped while a job scales, and continued: another one has taken over, and it writes nothing more", needs=["leader_killed"])
    def leader_stopped(run):
        chief = await_both()
        name, process = chief["metadata"]["name"], process_of(chief)
        restarts = chief["status"]["containerStatuses"][0]["restartCount"]
        silent_until = time.monotonic() + (60 if run.long else 0)
        try:
            scale_after(lambda: os.kill(process, signal.SIGSTOP), 3)
            led.await_("the sidecars at the next leader", 30, lambda state: (state.get("workers") or {}).get("ready") == 3)
            wait_until("the end of the silence", 61, lambda: time.monotonic() >= silent_until)
            versions = {n: m["resourceVersion"] for n, m in workers().items()}
        finally:
            os.kill(process, signal.SIGCONT)

        def restarted():
            status = (get("pod", name, "-n", system) or {}).get("status", {}).get("containerStatuses", [{}])[0]
            return status.get("restartCount", 0) > restarts and status
        ended = wait_until("the end of the one that was stopped", 30, restarted)["lastState"]["terminated"]
        expect(ended["exitCode"] == 1, f"it ended with {ended['exitCode']}")
        said = kubectl("logs", name, "-n", system, "--previous", "--tail=20")
        expect("the Lease is lost" in said, f"it does not say why it ended: {said[-600:]}")
        expect(len(workers()) == 3 and set(workers()) == set(versions), f"workers: {sorted(workers())}")
        await_both()

    @check("the leader is asked to end; the standby leads at once and the job trains on", needs=["leader_stopped"])
    def leader_leaves(run):
        chief = await_both()
        began = time.time()
        kubectl("delete", "pod", chief["metadata"]["name"], "-n", system, "--wait=false")
        wait_until("another leader", 20, lambda: leader(system) and leader(system)["metadata"]["uid"] != chief["metadata"]["uid"])
        took = seconds_of(lease(system)["acquireTime"]) - began
        say(f"    another replica led {took:.1f} s after the request")
        expect(took < 5, f"it took {took:.1f} s; a release is taken within a second after what was in progress has ended")
        led.trains_on()

    @check("after it the job ends as usual", needs=["leader_leaves"], long=lambda run: led.delete())
    def leader_success(run):
        led.await_success(260)
        led.delete()
