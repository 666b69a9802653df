"""Faults of the network on this machine, inside a network namespace of the bench's own, so that nothing else on it notices."""
import os, subprocess, sys

MARK = "ATTUNE_CHAOS_NAMESPACE"


def enter():
    """Runs this program again in a network namespace of its own with a loopback interface. Returns "" inside, and what is missing when
    there can be none; the faults of the network are left out then."""
    if os.environ.get(MARK):
        return os.environ[MARK] if os.environ[MARK] != "inside" else ""
    obstacle = missing()
    environment = {**os.environ, MARK: obstacle or "inside"}
    if obstacle:
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    os.execvpe("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv], environment)


def missing():
    for words in (["unshare", "--net", "ip", "link", "set", "lo", "up"], ["unshare", "--net", "iptables", "-L", "-n"],
                  ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "32kb", "latency", "50ms"]):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.TimeoutExpired) as problem:
            return f"{words[2]}: {problem}"
        if done.returncode != 0:
            return f"'{' '.join(words[2:])}' in a network namespace: {done.stderr.strip()}"
    return ""


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        raise RuntimeError(f"'{' '.join(words)}': {done.stderr.strip()}")


def cut(address):
    """Nothing goes to or comes from that address any more; nothing is refused either, as with a machine that is silent."""
    for side in ("-s", "-d"):
        run("iptables", "-w", "-A", "INPUT", "-i", "lo", side, address, "-j", "DROP")


def heal(address):
    for side in ("-s", "-d"):
        run("iptables", "-w", "-D", "INPUT", "-i", "lo", side, address, "-j", "DROP")


def slow(rate):
    """All traffic of the job together, e.g. "20mbit"."""
    run("tc", "qdisc", "replace", "dev", "lo", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "200ms")


def fast():
    run("tc", "qdisc", "del", "dev", "lo", "root")
