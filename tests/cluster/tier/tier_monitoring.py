"""Checks of the cluster tier: a real Prometheus finds the operator and the sidecars of a job as the chart's monitors say, every query of the
dashboards returns data of that job, and the series pass promtool."""
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tier_cluster import ROOT, CheckFailed, expect, get, inside, items, kubectl, say, start_inside, wait_until
from tier_job import PAGES, Job

sys.path.insert(0, str(ROOT / "tests/monitoring"))
import catalog
import draw

ADDRESS = "127.0.0.1:19090"
# Debian's Prometheus asks no Kubernetes: Prometheus.discover does what the ServiceMonitor and the PodMonitor of the chart say.
CONFIG = """
global: {{scrape_interval: 2s, evaluation_interval: 2s}}
rule_files: [{place}/alerts.yaml]
scrape_configs:
  - {{job_name: attune, honor_labels: true, file_sd_configs: [{{files: [{place}/operator.json], refresh_interval: 1s}}]}}
  - {{job_name: attune-jobs, honor_labels: true, file_sd_configs: [{{files: [{place}/jobs.json], refresh_interval: 1s}}]}}
"""
# Alerts wait for minutes, tests do not.
WAIT = "2s"
EMPTY_IS_FINE = {"Changes of setting", "What the last change gave"}  # there is none while nothing changes


def ask(path, **arguments):
    words = [word for name, value in arguments.items() for word in ("--data-urlencode", f"{name}={value}")]
    answer = json.loads(inside("curl", "-sS", "--max-time", "10", "-G", f"http://{ADDRESS}/api/v1/{path}", *words, timeout=20))
    expect(answer["status"] == "success", f"{path} {arguments}: {answer}")
    return answer["data"]


def values(query):
    return [float(result["value"][1]) for result in ask("query", query=query)["result"]]


def concrete(query, job):
    """The query of a panel, with its variables as this job would choose them."""
    query = re.sub(r"^label_values\((.*), \w+\)$", r"\1", query)
    return query.replace("$namespace", job.namespace).replace("$job", job.name)


def firing():
    return {alert["labels"]["alertname"] for alert in ask("alerts")["alerts"] if alert["state"] == "firing"}


def scrape_unless_gone(scrape, pod, port):
    """What a pod exports; None: it has left. The tuner adds and removes servers all the time: one that has just been made has
    some time to listen, one that leaves owes no answer."""
    name, namespace, uid = (pod["metadata"][word] for word in ("name", "namespace", "uid"))

    def look():
        now = get("pod", name, "-n", namespace)
        if not now or now["metadata"]["uid"] != uid or "deletionTimestamp" in now["metadata"]:
            return [None]
        try:
            return [scrape(now, port)]
        except (CheckFailed, KeyError) as failed:  # no address yet, or no one who listens
            return False, str(failed)[-200:]
    return wait_until(f"{name} to answer", 30, look)[0]


class Prometheus:
    """One for the checks of this file. It reads a copy of the alerts that wait for seconds."""
    def __init__(self, system):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="attune-prometheus-"))
        self.system = system
        (self.place / "alerts.yaml").write_text(re.sub(r"^( +for:) \w+$", rf"\1 {WAIT}", catalog.ALERTS.read_text(), flags=re.MULTILINE))
        config = self.place / "prometheus.yaml"
        config.write_text(CONFIG.format(place=self.place))
        self.discover()
        binaries = pathlib.Path(subprocess.run([ROOT / "tests/monitoring/binaries"], check=True, capture_output=True, text=True).stdout.strip())
        self.promtool = binaries / "promtool"
        PAGES.mkdir(parents=True, exist_ok=True)
        self.process = start_inside(PAGES / "prometheus.log", binaries / "prometheus", f"--config.file={config}", f"--web.listen-address={ADDRESS}",
                                    f"--storage.tsdb.path={self.place}/data")

    def discover(self):
        """Endpoints of the Services of the ServiceMonitor's labels by the name of their port, and pods of the PodMonitor's by theirs."""
        replicas = [(f"{address['ip']}:{port['port']}", address["targetRef"]["name"])
                    for found in items("endpoints", "-n", self.system, "-l", "attune.dev/metrics=replicas")
                    for subset in found.get("subsets", []) for port in subset["ports"] if port["name"] == "http-metrics" for address in subset.get("addresses", [])]
        sidecars = [(f"{pod['status']['podIP']}:{port['containerPort']}", pod["metadata"]["name"])
                    for pod in items("pods", "-A", "-l", "attune.dev/job") if pod["status"].get("podIP")
                    for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
                    for port in container.get("ports", []) if port.get("name") == "metrics"]
        for name, found in (("operator", replicas), ("jobs", sidecars)):
            draft = self.place / f"{name}.json.new"
            draft.write_text(json.dumps([{"targets": [address], "labels": {"pod": pod}} for address, pod in found]))
            draft.rename(self.place / f"{name}.json")

    def is_ready(self):
        return "Ready" in inside("curl", "-s", "--max-time", "5", f"http://{ADDRESS}/-/ready", check=False, timeout=10)

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        shutil.rmtree(self.place, ignore_errors=True)


def register(check, system, namespace, scrape):
    watched = Job("watched", namespace)
    started = []

    @check("Prometheus scrapes a live job; every query of the dashboards returns data", needs=["install"])
    def dashboards_have_data(run):
        template = watched.example()["spec"]["workers"]["template"]
        template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "400m", "memory": "1Gi"}}
        watched.run(run.build, {"goal": {"epochs": 100_000, "maxDurationSeconds": 400}, "servers": {"replicas": 1}, "runPolicy": {"drainSeconds": 5},
                                "workers": {"replicas": 2, "template": template}, "tuning": {"mode": "Auto", "windowSeconds": 2, "workers": {"max": 2}}})
        began = time.time()
        prometheus = Prometheus(system)
        started.append(prometheus)
        wait_until("Prometheus", 30, prometheus.is_ready)
        watched.trains_on()
        missing = {}

        def all_return():
            watched.training()
            prometheus.discover()
            missing.clear()
            for board, title, query in catalog.panels():
                found = values(concrete(query, watched))
                if title not in EMPTY_IS_FINE and not any(math.isfinite(value) for value in found):
                    missing[f"{board}: {title}"] = query
            return not missing, f"{len(missing)} panels without data"
        try:
            wait_until("data for every panel", 120, all_return, every=3)
        except Exception:
            for panel, query in missing.items():
                say(f"    {panel}: {query}")
            raise
        draw.draw(ask, {"namespace": watched.namespace, "job": watched.name}, began, time.time(), PAGES)
        say(f"    {len(list(catalog.panels()))} queries; pictures: build/cluster-pages/dashboard-*.svg")

    @check("what is scraped passes promtool", needs=["dashboards_have_data"])
    def series_pass_promtool(run):
        pods = [(pod, 7402) for pod in items("pods", "-n", namespace, "-l", f"attune.dev/job={watched.name}")]
        pods += [(pod, 7411) for pod in items("pods", "-n", system, "-l", "app.kubernetes.io/component=operator")]
        passed = set()
        for pod, port in pods:
            name = pod["metadata"]["name"]
            text = scrape_unless_gone(scrape, pod, port)
            if text is None:
                continue
            done = subprocess.run([started[0].promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
            passed.add(pod["metadata"]["labels"].get("attune.dev/role", "operator"))
        expect(passed == {"server", "worker", "operator"}, f"only of these roles a pod was scraped: {sorted(passed)}")

    def leave(run):
        watched.delete()
        while started:
            started.pop().end()

    @check("alerts fire for a quota that is used up and an operator that is gone, and clear", needs=["dashboards_have_data"], long=leave)
    def alerts_fire_and_clear(run):
        prometheus = started[0]

        def alert(name, fires, seconds):
            def look():
                prometheus.discover()
                found = firing()
                return (name in found) == fires, ", ".join(sorted(found)) or "none fires"
            wait_until(f"{name} to {'fire' if fires else 'clear'}", seconds, look)
        before = firing()
        expect(not before & {"AttuneOperatorAbsent", "AttuneOperatorWithoutLeader", "AttuneJobBlocked"}, f"firing before anything is wrong: {before}")
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-more-pods"}, "spec": {"hard": {"pods": "1"}}}
        kubectl("apply", "-n", namespace, "-f", "-", text_in=json.dumps(quota))
        watched.patch({"workers": {"replicas": 3}})
        alert("AttuneJobBlocked", True, 60)
        alert("AttuneJobDegraded", True, 60)  # two workers of three
        kubectl("delete", "resourcequota", "no-more-pods", "-n", namespace)
        alert("AttuneJobBlocked", False, 90)
        alert("AttuneJobDegraded", False, 60)

        kubectl("scale", "deployment", "-n", system, "-l", "app.kubernetes.io/component=operator", "--replicas=0")
        alert("AttuneOperatorAbsent", True, 60)
        kubectl("scale", "deployment", "-n", system, "-l", "app.kubernetes.io/component=operator", "--replicas=2")
        alert("AttuneOperatorAbsent", False, 60)
        alert("AttuneOperatorWithoutLeader", False, 30)
        watched.trains_on()
        leave(run)
