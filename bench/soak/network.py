"""Faults of the network on this machine, inside a network namespace of the bench's own, so that nothing else on it notices."""
import contextlib, os, socket, subprocess, sys, threading, time

MARK = "ATTUNE_CHAOS_NAMESPACE"
UNIFIED = next((d for d in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{d}/cgroup.procs")), "/sys/fs/cgroup/unified")


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
                  ["unshare", "--net", "iptables", "-A", "OUTPUT", "-m", "cgroup", "--path", "/", "-j", "DROP"],
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


class Cut:
    """While entered, nothing of a machine's processes reaches the network and nothing of it reaches them; nothing is refused either, as with
    a machine that is silent. `pids` names its processes: those that begin on it meanwhile are cut off as well. Its address alone would be
    half a cut: connections that a process opens itself leave from 127.0.0.1. Sockets keep the control group that they were made in, so
    those that are open already are known by their ports. With `other`, the address of another machine, nothing passes between these two,
    and both reach everybody else."""

    def __init__(self, address, pids, other=None):
        self.address, self.pids, self.other, self.rules, self.inside = address, pids, other, [], set()
        self.group = f"attune-chaos-{os.getpid()}-{address}"
        self.healed = threading.Event()
        self.follower = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self):
        try:
            os.makedirs(f"{UNIFIED}/{self.group}", exist_ok=True)
            self._drop("OUTPUT", "-m", "cgroup", "--path", self.group, *(("-d", self.other) if self.other else ()))
            for side in () if self.other else ("-s", "-d"):
                self._drop("INPUT", "-i", "lo", side, self.address)
            self._take_in()
            self.follower.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _follow(self):
        while not self.healed.wait(0.03):
            self._take_in()

    def _take_in(self):
        new = [pid for pid in self.pids() if pid not in self.inside]
        for pid in new:
            self._move(pid, self.group)
        for address, port in open_ports(new):
            self._drop_port(address, port)
        self.inside.update(new)

    def __exit__(self, *_):
        self.healed.set()
        if self.follower.ident is not None:
            self.follower.join()
        while self.rules:
            run("iptables", "-w", "-D", *self.rules.pop())
        if not os.path.isdir(f"{UNIFIED}/{self.group}"):
            return
        for _ in range(100):  # processes may still be starting in it
            with open(f"{UNIFIED}/{self.group}/cgroup.procs") as file:
                inside = file.read().split()
            if not inside:
                return os.rmdir(f"{UNIFIED}/{self.group}")
            for pid in inside:
                self._move(pid, "")
            time.sleep(0.02)

    def _drop_port(self, address, port):
        if self.other:
            self._drop("OUTPUT", "-p", "tcp", "-d", self.other, "--sport", str(port))
            return self._drop("OUTPUT", "-p", "tcp", "-s", self.other, "--dport", str(port))
        for chain, link, side, end in (("INPUT", "-i", "-d", "--dport"), ("OUTPUT", "-o", "-s", "--sport")):
            self._drop(chain, link, "lo", "-p", "tcp", *((side, address) if address != "0.0.0.0" else ()), end, str(port))

    def _drop(self, chain, *match):
        rule = (chain, *match, "-j", "DROP")
        run("iptables", "-w", "-A", *rule)
        self.rules.append(rule)

    @staticmethod
    def _move(pid, group):
        try:
            with open(f"{UNIFIED}/{group}/cgroup.procs", "w") as file:
                file.write(str(pid))
        except ProcessLookupError:
            pass


def open_ports(pids):
    """{(address, port)} of this machine's side of TCP sockets that these processes hold."""
    held = set()
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    held.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    found = set()
    for table in ("tcp", "tcp6"):  # gRPC's sockets are of IPv6, their addresses mapped from IPv4
        with open(f"/proc/self/net/{table}") as file:
            for words in map(str.split, file.readlines()[1:]):
                if f"socket:[{words[9]}]" in held:
                    address, port = words[1].split(":")
                    found.add((socket.inet_ntoa(bytes.fromhex(address[-8:])[::-1]), int(port, 16)))
    return found


def slow(rate):
    """All traffic of the job together, e.g. "20mbit"."""
    run("tc", "qdisc", "replace", "dev", "lo", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "200ms")


def fast():
    run("tc", "qdisc", "del", "dev", "lo", "root")
