"""Faults that a job on this machine must survive. Each is drawn from a seed before the job begins, prints as what it is, and returns a
Measure: the moment from which the job had to do without something, and what the issue of it should be within what time."""
import os, time

import network, processes


class Measure:
    """From `begin` on, wall-clock seconds, the longest time without a step is looked for; `goal` in seconds, None: only that it trains again.
    strength: seconds until all servers and workers were there again, when the fault itself saw it."""

    def __init__(self, name, begin, goal, strength=None):
        self.name, self.begin, self.goal, self.strength = name, begin, goal, strength
        self.end = self.gap = None


class Fault:
    """Drawn with `draw` (a random.Random). `disturb` does it and returns when it is over, with the Measure."""
    weight, needs_network, needs_root = 10, False, False

    def draw(self, draw):
        pass

    def disturb(self, job):
        raise NotImplementedError


def choose(pods, number):
    """The same place in the order for the same number."""
    return sorted(pods)[number % len(pods)] if pods else None


class OfPod(Fault):
    """Something that happens to a pod: `role`, and within the role a number, or the coordinator."""
    role, goal = "server", 5

    def __init__(self, seconds=0, number=0, coordinator=None):
        self.seconds, self.number, self.coordinator = seconds, number, coordinator

    def draw(self, draw):
        self.number = draw.randrange(64)
        self.coordinator = draw.random() < 0.5 if self.role == "server" else None
        self.seconds = round(draw.choice([draw.uniform(0.2, 4), draw.uniform(5, 45)]), 1)

    def pod(self, job):
        if self.coordinator is None:
            return choose(job.pods(self.role), self.number)
        host = job.status().get("coordinator")
        return host if self.coordinator else choose([pod for pod in job.pods("server") if pod != host], self.number)

    def goal_of(self):
        return 10 if self.coordinator else self.goal

    def who(self):
        if self.coordinator:
            return "the coordinator's server"
        return f"{'another ' if self.coordinator is False else ''}{self.role} (number {self.number})"


class Stop(OfPod):
    weight = 20

    def __str__(self):
        return f"stop {self.who()} for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        target = job.of_pod(self.pod(job), "main")
        processes.stop(target)
        try:
            job.sleep(self.seconds)
        finally:
            processes.resume(target)
        if job.shape.servers == 1 and self.role == "server":
            began = time.time()  # no other process could have trained
        return Measure(str(self), began, self.goal_of())


class StopWorker(Stop):
    role = "worker"


class StopMachine(OfPod):
    """All that runs in a pod, and what holds it: nothing about it says that it ended."""

    def __str__(self):
        return f"silence the machine of {self.who()} for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        target = job.of_pod(self.pod(job))
        processes.stop(target)
        try:
            job.sleep(self.seconds)
        finally:
            processes.resume(target)
        return Measure(str(self), began, self.goal_of())


class StopWorkerMachine(StopMachine):
    role = "worker"


class Kill(OfPod):
    weight = 15

    def __str__(self):
        return f"kill {self.who()}"

    def disturb(self, job):
        began = time.time()
        processes.kill(job.of_pod(self.pod(job), "main"))
        return Measure(str(self), began, self.goal_of())


class KillWorker(Kill):
    role = "worker"


class ExhaustMemory(OfPod):
    """A worker takes memory beyond its limit, and the kernel kills it."""
    role, weight = "worker", 5

    def __str__(self):
        return f"{self.who()} runs out of memory"

    def disturb(self, job):
        pod = self.pod(job)
        target = job.of_pod(pod, "main")
        began = time.time()
        job.exhaust_memory(pod)
        while any(process.is_alive() for process in target):
            if time.time() > began + 60:
                raise RuntimeError(f"{self}: it lives on, so its limit does not hold")
            job.sleep(0.1)
        return Measure(str(self), began, self.goal_of())


class StopSidecar(OfPod):
    """Telemetry ends; training must not notice."""
    role, weight, goal = "worker", 5, 5

    def draw(self, draw):
        super().draw(draw)
        self.role = draw.choice(["server", "worker"])
        self.coordinator = None

    def __str__(self):
        return f"stop the sidecar of {self.who()} for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        target = job.of_pod(self.pod(job), "attune-sidecar")
        processes.stop(target)
        try:
            job.sleep(self.seconds)
        finally:
            processes.resume(target)
        return Measure(str(self), began, self.goal)


class KillSidecar(StopSidecar):
    def __str__(self):
        return f"kill the sidecar of {self.who()}"

    def disturb(self, job):
        began = time.time()
        processes.kill(job.of_pod(self.pod(job), "attune-sidecar"))
        return Measure(str(self), began, self.goal)


class StopOperator(Fault):
    """Operator, API and node agent: they are one process on this machine."""
    weight, goal = 8, 5

    def __init__(self, seconds=0):
        self.seconds = seconds

    def draw(self, draw):
        self.seconds = round(draw.choice([draw.uniform(0.5, 5), draw.uniform(5, 45)]), 1)

    def __str__(self):
        return f"stop the operator for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        with job.operator_stopped():
            job.sleep(self.seconds)
        return Measure(str(self), began, self.goal)


class OperatorAway(Fault):
    """The operator is away, then `loss` happens, and some time later it comes back: measured from its return."""
    weight = 6

    def __init__(self, before=0, after=0, loss=None):
        self.before, self.after, self.loss = before, after, loss

    def draw(self, draw):
        self.before, self.after = round(draw.uniform(1, 20), 1), round(draw.uniform(1, 60), 1)
        self.loss = draw.choice([Kill, KillWorker])()
        self.loss.draw(draw)

    def __str__(self):
        return f"operator away; {self.loss} after {self.before} s; operator back after another {self.after} s"

    def disturb(self, job):
        victim = job.of_pod(self.loss.pod(job), "main")
        with job.operator_stopped():
            job.sleep(self.before)
            processes.kill(victim)
            job.sleep(self.after)
        return Measure(str(self), time.time(), 10)


class PauseAll(Fault):
    """Every process of the job, the operator included, at once; measured from the moment at which they run again."""
    weight = 8

    def __init__(self, seconds=0):
        self.seconds = seconds

    def draw(self, draw):
        self.seconds = round(draw.choice([draw.uniform(1, 10), draw.uniform(10, 70)]), 1)

    def __str__(self):
        return f"pause the whole job for {self.seconds} s"

    def disturb(self, job):
        with job.operator_stopped():
            target = job.processes()
            processes.stop(target)
            try:
                job.sleep(self.seconds)
            finally:
                processes.resume(target)
        return Measure(str(self), time.time(), 10)


class StopTogether(Fault):
    """Two at once: `pair` of coordinator, server, worker, operator. With two servers silent the job may stand still, but nothing is lost."""
    weight = 10

    def __init__(self, pair=("coordinator", "worker"), seconds=0):
        self.pair, self.seconds, self.number = pair, seconds, 0

    def draw(self, draw):
        self.pair = draw.choice([("coordinator", "worker"), ("coordinator", "operator"), ("server", "worker"), ("server", "operator"), ("worker", "operator")])
        self.seconds, self.number = round(draw.uniform(2, 40), 1), draw.randrange(64)

    def __str__(self):
        return f"stop {' and '.join(self.pair)} together for {self.seconds} s"

    def disturb(self, job):
        makers = {"coordinator": Stop(coordinator=True), "server": Stop(number=self.number, coordinator=False), "worker": StopWorker(number=self.number)}
        target = [p for who in self.pair if who != "operator" for p in job.of_pod(makers[who].pod(job), "main")]
        processes.stop(target)
        try:
            if "operator" in self.pair:
                with job.operator_stopped():
                    job.sleep(self.seconds)
            else:
                job.sleep(self.seconds)
        finally:
            processes.resume(target)
        return Measure(str(self), time.time(), 10)


class Scale(Fault):
    """No fault: what a user does meanwhile."""
    weight = 12

    def __init__(self, role="workers", replicas=1):
        self.role, self.replicas = role, replicas

    def draw(self, draw):
        self.role = draw.choice(["servers", "workers", "workers"])
        self.replicas = draw.randint(2, 4) if self.role == "servers" else draw.randint(1, 4)

    def __str__(self):
        return f"scale {self.role} to {self.replicas}"

    def disturb(self, job):
        began = time.time()
        job.attune("scale", job.name, f"{self.role}={self.replicas}")
        return Measure(str(self), began, 5)


class Pace(Fault):
    weight = 4

    def __init__(self, mode="async"):
        self.mode = mode

    def draw(self, draw):
        self.mode = draw.choice(["async", "ssp:8", "bsp"])

    def __str__(self):
        return f"pace {self.mode}"

    def disturb(self, job):
        began = time.time()
        job.attune("sync", job.name, self.mode)
        return Measure(str(self), began, 5)


class CutLink(OfPod):
    """No packet reaches or leaves a pod, its sidecar included; the platform's agent for it, which is the operator's process, stays, and may start
    another process in its place, which is cut off as well."""
    weight, needs_network = 10, True

    def draw(self, draw):
        super().draw(draw)
        self.seconds = round(draw.uniform(1, 60), 1)

    def __str__(self):
        return f"cut the network of {self.who()} for {self.seconds} s"

    def disturb(self, job):
        pod = self.pod(job)
        began = time.time()
        with network.Cut(job.address(pod), lambda: [process.pid for process in job.of_pod(pod) if process.program != "pod-shim"]):
            job.sleep(self.seconds)
        return Measure(str(self), began, self.goal_of())


class CutPair(OfPod):
    """Nothing passes between a worker and a server that is not the coordinator's; both reach everybody else. Measured is the time in which
    the other workers, which wait for no other, have no step: none of them should notice before one of the two is given up."""
    role, weight, needs_network = "worker", 6, True

    def draw(self, draw):
        super().draw(draw)
        self.seconds = round(draw.uniform(1, 60), 1)

    def __str__(self):
        return f"cut the link between {self.who()} and a server for {self.seconds} s"

    def disturb(self, job):
        pod, host = self.pod(job), job.status().get("coordinator")
        server = choose([each for each in job.pods("server") if each != host], self.number)
        if server is None:
            return Measure(f"{self}: there is no such server", time.time(), self.goal)
        began = time.time()
        pids = lambda: [process.pid for process in job.of_pod(pod) if process.program != "pod-shim"]
        with network.Cut(job.address(pod), pids, other=job.address(server)):
            job.sleep(self.seconds)
        return Measure(str(self), began, self.goal)


class SlowLinks(Fault):
    weight, needs_network = 5, True

    def __init__(self, rate="20mbit", seconds=10):
        self.rate, self.seconds = rate, seconds

    def draw(self, draw):
        self.rate, self.seconds = draw.choice(["2mbit", "10mbit", "50mbit"]), round(draw.uniform(5, 30), 1)

    def __str__(self):
        return f"all links together {self.rate} for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        network.slow(self.rate)
        try:
            job.sleep(self.seconds)
        finally:
            network.fast()
        return Measure(str(self), began, 5)


class FullDisk(Fault):
    """The file system of checkpoints has no room; the checkpoints of the job must say so, and come again once there is."""
    weight, needs_root = 6, True

    def __init__(self, seconds=15):
        self.seconds = seconds

    def draw(self, draw):
        self.seconds = round(draw.uniform(5, 20), 1)

    def __str__(self):
        return f"the disk of checkpoints is full for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        filler = f"{job.checkpoints}/filler"

        def checkpoint():
            return job.status().get("checkpoint") or {}
        with open(filler, "wb") as out:
            try:
                while True:
                    out.write(bytes(1 << 16))
                    out.flush()
            except OSError:
                pass
        try:
            job.sleep(self.seconds)
            await_checkpoint(job, "a checkpoint that failed is not in the status", lambda: checkpoint().get("regularMessage"))
        finally:
            os.remove(filler)
        before = checkpoint().get("number", 0)
        await_checkpoint(job, "no checkpoint was written after there was room again", lambda: checkpoint().get("number", 0) > before)
        return Measure(str(self), began, 5)


def await_checkpoint(job, otherwise, probe):
    deadline = time.monotonic() + 60
    while not probe():
        if time.monotonic() > deadline:
            raise RuntimeError(otherwise)
        job.sleep(0.5)


RANDOM = [Stop, StopWorker, StopMachine, StopWorkerMachine, StopTogether, Kill, KillWorker, ExhaustMemory, StopSidecar, KillSidecar, StopOperator, OperatorAway, PauseAll, Scale,
          Pace, CutLink, CutPair, SlowLinks, FullDisk]


def draw_fault(draw, shape, without):
    """`without`: classes that cannot happen here, by name."""
    possible = {FullDisk: shape.checkpoint_seconds, CutLink: not shape.shared_memory, CutPair: not shape.shared_memory, ExhaustMemory: shape.memory}
    kinds = [kind for kind in RANDOM if kind.__name__ not in without and possible.get(kind, True)]
    fault = draw.choices(kinds, [kind.weight for kind in kinds])[0]()
    fault.draw(draw)
    return fault
