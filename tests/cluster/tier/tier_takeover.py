"""Checks of the cluster tier: the operator is killed in the middle of what it does to a running job, and the next one finishes it."""
import os
import signal
import time

from tier_checkpoints import CLAIM
from tier_cluster import LeftOut, expect, get, items, kubectl, say, wait_until
from tier_job import Job
from tier_leader import leader, process_of
from tier_moves import nodes

TAKEN = "taken"
FROZEN_SECONDS = 60


def register(check, system, namespace):
    taken, frozen = Job(TAKEN, namespace), Job("frozen", namespace)

    def kill_operator():
        """The leader, as a machine that is gone: no time to finish anything."""
        wait_until("a leader", 40, lambda: leader(system))
        kubectl("delete", "pod", leader(system)["metadata"]["name"], "-n", system, "--grace-period=0", "--force", "--wait=false")

    def pods():
        return {p["metadata"]["name"]: p["metadata"]["uid"] for p in items("pods", "-n", namespace, "-l", f"attune.dev/job={TAKEN}")}

    def workers():
        return [name for name in pods() if "-worker-" in name]

    @check("the operator is killed in the middle of a resize, and the next one continues", needs=["kept_start"])
    def killed_in_resize(run):
        taken.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 150}, "servers": {"replicas": 2}, "model": {"claim": CLAIM},
                              "workers": {"replicas": 2, "resources": {"cpu": {"max": "2", "target": "500m"}}}})
        taken.await_("two workers", 90, lambda state: (state.get("workers") or {}).get("ready") == 2)
        taken.trains_on()
        before = pods()
        taken.patch({"workers": {"resources": {"cpu": {"target": "800m"}}}})
        kill_operator()
        def requested(name):
            return taken.container(name).get("resources", {}).get("requests", {}).get("cpu")
        taken.await_("the new size of both workers", 60, lambda state: [requested(name) for name in workers()] == ["800m", "800m"])
        expect(pods() == before, f"pods were made again: {before} -> {pods()}")

    @check("the operator is killed in the middle of a move, and the next one continues", needs=["killed_in_resize"])
    def killed_in_move(run):
        if len(nodes()) < 2:
            raise LeftOut(f"the cluster has one machine that takes pods: {nodes()}")
        kubectl("annotate", "tj", TAKEN, "-n", namespace, "--overwrite", "attune.dev/move=worker-0 id=1")
        taken.await_("a move that has begun", 60, lambda state: (state.get("move") or {}).get("state") == "Moving")
        kill_operator()
        taken.await_("the end of the move", 120, lambda state: (state.get("move") or {}).get("state") != "Moving")
        state = taken.status()
        expect(state["move"]["state"] == "Moved", f"it was {state['move']['state']}: {state['move'].get('message')}")
        expect(not (state.get("workers") or {}).get("failed"), f"workers failed: {state.get('workers')}")
        taken.trains_on()

    @check("the operator is killed while a job gives its machines back; it continues exactly in new pods", needs=["killed_in_resize"], long=lambda run: taken.delete())
    def killed_in_suspension(run):
        fraction = (taken.status().get("progress") or {}).get("fraction", 0)
        taken.patch({"suspend": True})
        taken.await_("a suspension that has begun", 60, lambda state: (state.get("suspension") or {}).get("state"))
        kill_operator()
        taken.await_("the suspension", 120, lambda state: (state.get("suspension") or {}).get("state") == "Suspended" and not pods())
        suspension = taken.status()["suspension"]
        say(f"    suspended at {100 * fraction:.0f} % with checkpoint {suspension['checkpoint']} in {suspension['directory']}")
        said = taken.attune(run.build, "resume", TAKEN)
        expect(f"continues from checkpoint {suspension['checkpoint']}" in said, f"attune resume says: {said}")
        kill_operator()
        taken.await_("two workers again", 120, lambda state: (state.get("workers") or {}).get("ready") == 2)
        taken.trains_on()
        expect(taken.status()["suspension"]["attempt"] == 1, f"attempt {taken.status()['suspension']}")
        expect((taken.status().get("progress") or {}).get("fraction", 0) >= 0.9 * fraction, "it began again")
        taken.await_success(200)
        taken.delete()

    class Frozen:
        """The leader of the moment does not run for a minute; the other replica acts meanwhile. Then it is continued, ends and is a standby."""
        def __enter__(self):
            self.pod = wait_until("a leader", 40, lambda: leader(system))
            self.restarts = self.pod["status"]["containerStatuses"][0]["restartCount"]
            self.process, self.began = process_of(self.pod), time.monotonic()
            os.kill(self.process, signal.SIGSTOP)

        def __exit__(self, *failure):
            try:
                time.sleep(max(0, FROZEN_SECONDS - (time.monotonic() - self.began)))
            finally:
                os.kill(self.process, signal.SIGCONT)
            name = self.pod["metadata"]["name"]

            def restarted():
                status = (get("pod", name, "-n", system) or {}).get("status", {}).get("containerStatuses", [{}])[0]
                return status.get("restartCount", 0) > self.restarts and status.get("ready")
            wait_until("the stopped one is a standby", 60, restarted)

    @check("the leader is stopped for a minute in the middle of a resize, then of a move, and continued: each is done once", needs=["kept_start"], long=lambda run: None)
    def frozen_for_a_minute(run):
        frozen.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 300}, "servers": {"replicas": 2}, "model": {"claim": CLAIM},
                               "workers": {"replicas": 2, "resources": {"cpu": {"max": "2", "target": "500m"}}}})
        frozen.await_("two workers", 90, lambda state: (state.get("workers") or {}).get("ready") == 2)
        frozen.trains_on()

        def pods_of():
            return {p["metadata"]["name"]: p["metadata"]["uid"] for p in items("pods", "-n", namespace, "-l", f"attune.dev/job={frozen.name}")}

        def requested(name):
            return frozen.container(name).get("resources", {}).get("requests", {}).get("cpu")
        before = pods_of()
        frozen.patch({"workers": {"resources": {"cpu": {"target": "800m"}}}})
        with Frozen():
            frozen.await_("the new size", FROZEN_SECONDS, lambda state: [requested(name) for name in before if "-worker-" in name] == ["800m", "800m"])
        frozen.trains_on()
        expect(pods_of() == before, f"pods were made again: {before} -> {pods_of()}")
        kubectl("annotate", "tj", frozen.name, "-n", namespace, "--overwrite", "attune.dev/move=worker-0 id=1")
        frozen.await_("a move that has begun", 60, lambda state: (state.get("move") or {}).get("state") == "Moving")
        with Frozen():
            frozen.await_("the end of the move", 2 * FROZEN_SECONDS, lambda state: (state.get("move") or {}).get("state") == "Moved")
            moved = pods_of()
        frozen.trains_on()
        expect(pods_of() == moved, f"the one that was stopped has changed something: {moved} -> {pods_of()}")
        expect(not (frozen.status().get("workers") or {}).get("failed"), f"workers failed: {frozen.status().get('workers')}")
        frozen.await_success(400)
        frozen.delete()
