"""Checks of the cluster tier with jobs of their own: servers that come, go and are lost, the pace, and the tuner at work. Each looks at what the
job's servers say they can do (status.abilities) and is left out, with that reason, when they cannot."""
from tier_cluster import expect, say
from tier_job import Job

SAFE, TUNED, GROWN, FILLED = "safe", "tuned", "grown", "filled"


def register(check, namespace):
    safe, tuned, grown, filled = (Job(name, namespace) for name in (SAFE, TUNED, GROWN, FILLED))

    @check("a job with backups trains", needs=["install"])
    def safe_start(run):
        # A length in time, so that slow machines come to the end and fast ones do not come too early.
        safe.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 150}, "servers": {"replicas": 2, "backups": 1},
                             "workers": {"resources": {"cpu": {"max": "64"}}}})
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
        safe.lose_server()
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
        safe.await_another(host, before)
        safe.trains_on()
        expect("CoordinatorAppointed" in safe.reasons(), "no Event says who took over")

    @check("the pace is switched while it trains", needs=["safe_start"])
    def safe_pace(run):
        safe.needs("synchronizationModes")
        safe.patch({"synchronization": {"mode": "SSP", "staleness": 8}})
        safe.await_("SSP(8)", 60, lambda state: (state.get("synchronization") or {}).get("mode") == "SSP")
        safe.patch({"synchronization": {"mode": "Async", "staleness": None}})
        safe.await_("Async", 60, lambda state: (state.get("synchronization") or {}).get("mode") == "Async")
        safe.trains_on()

    @check("workers are resized in place while it trains", needs=["safe_start"])
    def safe_resize(run):
        worker = f"{SAFE}-worker-0"
        before = safe.await_(f"{worker} runs", 60, lambda state: safe.container(worker).get("started") and safe.container(worker))
        safe.attune(run.build, "scale", SAFE, "worker-cpu=200m")
        safe.await_("200m of cpu", 60, lambda state: safe.container(worker).get("resources", {}).get("requests", {}).get("cpu") == "200m")
        after = safe.container(worker)
        expect((after["containerID"], after["restartCount"]) == (before["containerID"], before["restartCount"]),
               f"{worker} was restarted by a resize")
        safe.await_("the Event", 20, lambda state: "PodResized" in safe.reasons())
        safe.trains_on()

    @check("a size that no machine has is reported, and training continues", needs=["safe_resize"])
    def safe_infeasible(run):
        safe.patch({"workers": {"resources": {"cpu": {"target": "64"}}}})
        safe.await_("ResizeInfeasible", 60, lambda state: "ResizeInfeasible" in safe.reasons())
        expect("64" in safe.condition("Reconfiguring"), f"the condition does not name the size: {safe.condition('Reconfiguring')}")
        safe.trains_on()
        safe.patch({"workers": {"resources": {"cpu": {"target": "100m"}}}})
        safe.await_("100m of cpu", 60, lambda state: safe.container(f"{SAFE}-worker-0")["resources"]["requests"]["cpu"] == "100m")

    @check("after all of that it succeeds", needs=["safe_start"], long=lambda run: safe.delete())
    def safe_success(run):
        safe.await_success(240)
        safe.expect_page()
        safe.delete()

    @check("the tuner changes a job whose spec a controller keeps, within its limits; the spec stays as it is, and the job succeeds", needs=["install"])
    def tuner_at_work(run):
        tuned.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 100}, "servers": {"replicas": 1}, "workers": {"replicas": 1},
                             "security": {"transport": "Encrypted"},
                             "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"max": 2}, "workers": {"max": 3}}})
        seen = set()

        def changed(state):
            tuned.keep({"servers": {"replicas": 1}, "workers": {"replicas": 1}})
            chosen = {s["field"]: int(s["value"]) for s in state.get("settings", []) if s["field"].endswith("replicas")}
            seen.add((chosen.get("spec.servers.replicas", 1), chosen.get("spec.workers.replicas", 1)))
            return len(seen) > 1
        tuned.await_("another setting", 180, changed)
        tuned.await_("its pods", 60, lambda state: (state["servers"]["replicas"], state["workers"]["replicas"]) != (1, 1))
        tuned.await_success(240)
        tuned.expect_page()
        state = tuned.status().get("tuning") or {}
        say(f"    {state.get('changes')} changes, at the end {state.get('servers')} servers, {state.get('workers')} workers: {state.get('message')}")
        expect(all(1 <= s <= 2 and 1 <= w <= 3 for s, w in seen), f"outside its limits: {seen}")
        spec = tuned.spec()
        expect(spec["servers"]["replicas"] == 1 and spec["workers"]["replicas"] == 1, "the spec was written")
        reasons = tuned.reasons()
        expect("TuningTrial" in reasons or "TuningMove" in reasons, f"no Event says what the tuner did: {sorted(set(reasons))}")
        tuned.delete()

    @check("workers with tiny limits are given cores by the tuner, through pods/resize", needs=["install"])
    def tuner_resizes(run):
        template = grown.example()["spec"]["workers"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "100m", "memory": "1Gi"}}
        grown.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 300}, "servers": {"replicas": 1},
                              "workers": {"replicas": 1, "template": template, "resources": {"cpu": {"min": "100m", "max": "1"}}},
                              "tuning": {"mode": "InPlaceOnly", "windowSeconds": 2}})
        worker = f"{GROWN}-worker-0"
        limit = grown.await_("more than 100m of cpu", 150, lambda state: grown.given_cpu(worker) not in (None, "100m") and grown.given_cpu(worker))
        expect(grown.container(worker)["restartCount"] == 0, f"{worker} was restarted")
        say(f"    from 100m to {limit}: {(grown.status().get('tuning') or {}).get('message')}")
        expect("PodResized" in grown.reasons() or grown.await_("the Event", 20, lambda state: "PodResized" in grown.reasons()), "no Event")
        grown.delete()

    @check("the memory of a server that grows is raised before it is used up", needs=["install"])
    def memory_is_raised(run):
        template = filled.example()["spec"]["workers"]["template"]
        worker = template["spec"]["containers"][0]
        worker["args"] = ["--dim=512", "--min-count=1"]  # every word takes 8 KiB in two tables, and rare ones come late
        worker["resources"] = {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"cpu": "200m", "memory": "1Gi"}}
        filled.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 400},
                               "servers": {"replicas": 1, "resources": {"memory": {"target": "160Mi", "max": "1Gi"}}},
                               "workers": {"replicas": 1, "template": template},
                               "tuning": {"mode": "Auto", "windowSeconds": 2, "servers": {"pinned": 1}, "workers": {"pinned": 1}}})
        server = f"{FILLED}-server-0"
        filled.await_("more memory", 200, lambda state: "MemoryRaised" in filled.reasons())
        filled.await_("its limit", 30, lambda state: filled.container(server)["resources"]["limits"]["memory"] not in ("160Mi", None))
        container = filled.container(server)
        expect(container["restartCount"] == 0 and not (filled.status().get("servers") or {}).get("failed"), f"{server} was restarted")
        say(f"    from 160Mi to {container['resources']['limits']['memory']}")
        filled.trains_on()
        filled.delete()
