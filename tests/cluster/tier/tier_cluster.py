"""The cluster as the tier sees it: commands with deadlines, kubectl, waiting for conditions, and what to keep on failure."""
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent  # tests/cluster
ROOT = HERE.parent.parent
STATE = pathlib.Path(os.environ.get("ATTUNE_CLUSTER_STATE", "/var/lib/attune-cluster"))


class CheckFailed(Exception):
    """A check did not hold; the text says what was expected and what was found."""


class LeftOut(Exception):
    """A check that cannot be made here; the text says why. Not a failure."""


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def command(*arguments, timeout=60, text_in=None, check=True, env=None):
    """Runs a program and returns its standard output. Never waits longer than `timeout` seconds."""
    words = [str(a) for a in arguments]
    try:
        done = subprocess.run(words, input=text_in, capture_output=True, text=True, timeout=timeout, cwd=ROOT,
                              env={**os.environ, **(env or {})})
    except subprocess.TimeoutExpired:
        raise CheckFailed(f"'{' '.join(words)}' did not end within {timeout} s") from None
    if check and done.returncode != 0:
        *before, last = (done.stderr or done.stdout).strip().splitlines()[-15:] or ["and said nothing"]
        # The last line says what failed most often; it stands beside the check's name, also where a report keeps single lines only.
        raise CheckFailed("\n".join([f"'{' '.join(words)}' ended with {done.returncode}: {last}", *before]))
    return done.stdout


def kubectl(*arguments, **options):
    return command(HERE / "kubectl", *arguments, **options)


def inside(*arguments, **options):
    """Runs a program in the cluster's network, with KUBECONFIG set and kubectl and helm on the path."""
    return command(HERE / "run", *arguments, **options)


followers = []


def start_inside(log, *arguments):
    """Starts a program in the cluster's network that continues beside the checks; what it prints goes to `log`."""
    with open(log, "w") as file:
        process = subprocess.Popen([str(a) for a in (HERE / "run", *arguments)], stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT)
    followers.append(process)
    return process


def end_followers():
    for process in followers:
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=20)


def get(*arguments):
    """An object or list as JSON; None when it does not exist."""
    text = kubectl("get", *arguments, "-o", "json", "--ignore-not-found")
    return json.loads(text) if text.strip() else None


def items(*arguments):
    found = get(*arguments)
    return found["items"] if found else []


def wait_until(what, seconds, probe, every=0.5):
    """Calls `probe` until it returns something true, and returns that. A probe may return (False, "where it stands"): new
    words are printed, and the last ones are part of the failure."""
    began, last = time.monotonic(), ""
    while True:
        result = probe()
        done, where = result if isinstance(result, tuple) else (result, "")
        if done:
            return done
        if where != last and where:
            say(f"    {what}: {where}")
            last = where
        if time.monotonic() - began > seconds:
            raise CheckFailed(f"waited {seconds} s for {what}" + (f"; last seen: {last}" if last else ""))
        time.sleep(every)


def expect(condition, text):
    if not condition:
        raise CheckFailed(text)


# --- the cluster itself

def is_up():
    if not (STATE / "pid" / "kube-apiserver").exists():
        return False
    try:
        kubectl("get", "--raw", "/readyz", timeout=10)
        return True
    except CheckFailed:
        return False


def bring_up(nodes=2):
    say(f"starting a cluster of {nodes} nodes")
    command(HERE / "up", nodes, timeout=1800)


def take_down():
    say("taking the cluster down")
    began = time.monotonic()
    # Seconds, as a rule; on a busy machine two minutes were once too short, at what is not known.
    command(HERE / "down", timeout=600, check=False)
    say(f"the cluster is down after {time.monotonic() - began:.0f} s")


def save_logs(directory, namespaces):
    """Everything a person needs to see why a run failed."""
    directory.mkdir(parents=True, exist_ok=True)

    def keep(name, *arguments):
        try:
            (directory / name).write_text(kubectl(*arguments, check=False, timeout=30))
        except CheckFailed as problem:
            (directory / name).write_text(str(problem))

    keep("nodes.txt", "describe", "nodes")
    for namespace in namespaces:
        keep(f"{namespace}-objects.yaml", "get", "tj,pods,services,pdb", "-n", namespace, "-o", "yaml")
        keep(f"{namespace}-events.txt", "get", "events", "-n", namespace, "--sort-by=.metadata.creationTimestamp")
        try:
            pods = items("pods", "-n", namespace)
        except CheckFailed:
            continue
        for pod in pods:
            name = pod["metadata"]["name"]
            keep(f"{namespace}-{name}.log", "logs", "-n", namespace, name, "--all-containers", "--prefix", "--tail=500")
            keep(f"{namespace}-{name}-previous.log", "logs", "-n", namespace, name, "--all-containers", "--previous", "--tail=200")
    print(f"logs of the failure: {directory}", file=sys.stderr, flush=True)


def await_kinds(*names):
    """Until the API server serves these kinds. `kubectl wait` ends with an error while a new definition has no condition at all."""
    def missing():
        for name in names:
            conditions = ((get("crd", name) or {}).get("status") or {}).get("conditions") or []
            if not any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return name
        return ""
    wait_until("the kinds", 30, lambda: (not missing(), missing()))
