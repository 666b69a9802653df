"""Processes of one job on this machine: found by the job's directory in their environment, stopped, continued and killed by signals. A
process is the pair of its id and the time it began, so that a signal never meets a stranger that was given the id."""
import os, signal


class Process:
    def __init__(self, pid, birth, program, pod):
        self.pid, self.birth, self.program, self.pod = pid, birth, program, pod

    def __repr__(self):
        return f"{self.program} {self.pid}" + (f" of {self.pod}" if self.pod else "")

    def is_alive(self):
        return birth_of(self.pid) == self.birth

    def signal(self, number):
        if self.is_alive():
            os.kill(self.pid, number)

    def resident_bytes(self):
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") if self.is_alive() else 0
        except (OSError, IndexError):
            return 0


def birth_of(pid):
    """Clock ticks since boot, or None when there is no such process or only its remains."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else int(words[19])


def find(mark):
    """All processes with `mark` in a value of their environment."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        birth = birth_of(pid)
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
            program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
        except OSError:
            continue
        if birth is None or mark.encode() not in environment:
            continue
        pod = next((v[len(b"ATTUNE_POD_NAME="):].decode() for v in environment.split(b"\0") if v.startswith(b"ATTUNE_POD_NAME=")), "")
        found.append(Process(pid, birth, "pod-shim" if name == "pod-shim" else program, pod))
    return found


def stop(processes):
    for process in processes:
        process.signal(signal.SIGSTOP)


def resume(processes):
    for process in processes:
        process.signal(signal.SIGCONT)


def kill(processes):
    for process in processes:
        process.signal(signal.SIGKILL)
