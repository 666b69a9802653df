"""One round of the soak: a job, its faults one after the other, and the checks afterwards. Everything that happens is printed when it
happens; the faults come from the seed or from a scenario, never from what the job does."""
import os, random, subprocess, sys, time, traceback

import account, network
from faults import FullDisk, Measure, draw_fault
from local_job import ChaosJob, JobEnded, Shape

TRAINS_AGAIN_SECONDS = 120   # after each fault; more is a violation
STRENGTH_SECONDS = 240       # likewise, until all servers and workers are there
SETTLED_SECONDS = 4          # so long it must last: the status does not know of a loss at once
DISK = "size=8m"


class Round:
    """make_job: ChaosJob, or another class with the same questions. settles: each fault begins at full strength."""

    def __init__(self, name, shape, faults, settles=True, make_job=ChaosJob):
        self.name, self.shape, self.faults, self.settles, self.make_job = name, shape, faults, settles, make_job
        self.measures, self.violations, self.growth, self.account = [], [], [], None

    @classmethod
    def draw(cls, seed, seconds, without):
        """A round of about so many seconds of faults and calm."""
        draw = random.Random(seed)
        program = draw.choice(["tally", "tally", "word2vec"])
        workers, pause = draw.randint(2, 4), draw.choice([3, 5, 10])
        shape = Shape(program=program, servers=draw.randint(2, 4), workers=workers, backups=1, pause=pause, mode=draw.choice(["Async", "Async", "SSP", "BSP"]),
                      items=int(seconds * workers * 1000 / (pause + 2)), seconds=int(seconds) + 20, epochs=1_000_000,
                      shared_memory=draw.random() < 0.5, checkpoint_seconds=draw.choice([0, 5]),
                      memory="256Mi" if program == "tally" and "ExhaustMemory" not in without else "")
        return cls(f"seed {seed}", shape, cls._faults(draw, shape, without))

    @staticmethod
    def _faults(draw, shape, without):
        """Endless: the round ends with its time, whatever its faults took."""
        while True:
            yield round(draw.uniform(1, 8), 1), draw_fault(draw, shape, without)

    def say(self, text):
        print(f"  {time.strftime('%H:%M:%S')} {text}", flush=True)

    def run(self, bin_directory, directory, seconds=None):
        """`seconds`: no fault begins after so long; None: all faults of a finite list. True when nothing is violated."""
        print(f"{self.name}: {self.shape}", flush=True)
        with disk(f"{directory}/checkpoints", self.shape.checkpoint_seconds) as has_disk:
            job = self.make_job(bin_directory, directory, self.shape)
            try:
                self._train(job, has_disk, seconds)
            except JobEnded as end:
                self.say(f"the job ended: {end}")
            except (Exception, SystemExit) as problem:  # whatever it was, the round has not shown what it is there to show
                traceback.print_exc(file=sys.stdout)
                self.violations.append(f"the round could not be carried out: {problem!r}")
            except BaseException:  # the bench itself is to end
                job.end()
                raise
            self._finish(job)
        return not self.violations

    def _train(self, job, has_disk, seconds):
        job.wait_until("the first step", lambda: self._steps(job) > 0, 120)
        if problem := self._await(job.settled_state, STRENGTH_SECONDS, job):
            self.violations.append(f"at the start: {problem}")
        began = time.monotonic()
        for calm, fault in self.faults:
            if seconds is not None and time.monotonic() - began + calm > seconds:
                return
            job.sleep(calm)
            if isinstance(fault, FullDisk) and not has_disk:
                self.say(f"left out: {fault}: no file system of its own could be mounted")
                continue
            self.say(str(fault))
            at = time.time()
            try:
                measure = fault.disturb(job)
            except JobEnded:
                self.measures.append(Measure(str(fault), at, None))
                raise
            self.measures.append(measure)
            self._recover(job, measure, at)
        if not self.settles and self.measures:
            self._settle(job, self.measures[-1], at)

    def _recover(self, job, measure, at):
        trains = self._await(lambda: "" if self._steps(job) > measure.begin else "no step", TRAINS_AGAIN_SECONDS, job)
        if trains:
            self.violations.append(f"{measure.name}: no step within {TRAINS_AGAIN_SECONDS} s after it")
        measure.end = time.time()
        if self.settles:
            self._settle(job, measure, at)

    def _settle(self, job, measure, at):
        since = [0.0]

        def problem_of_late():
            problem = job.settled_state()
            since[0] = 0.0 if problem else since[0] or time.time()
            return problem or ("" if time.time() - since[0] > SETTLED_SECONDS else "full strength only just now")
        if problem := self._await(problem_of_late, STRENGTH_SECONDS, job):
            self.violations.append(f"{measure.name}: not at full strength after {STRENGTH_SECONDS} s: {problem}")
        measure.end = since[0] or time.time()
        if measure.strength is None:
            measure.strength = measure.end - at
        self.say(f"    full strength {measure.strength:.1f} s after it began")

    def _steps(self, job):
        """A word2vec program keeps no journal; its progress stands for steps."""
        if self.shape.program == "tally":
            return job.last_step()
        progress = job.status().get("progress") or {}
        if progress.get("itemsDone", 0) > getattr(self, "_done", 0):
            self._done, self._moved = progress["itemsDone"], time.time()
        return getattr(self, "_moved", 0)

    @staticmethod
    def _await(what_is_missing, seconds, job):
        """"" once nothing is missing, else what still is."""
        end = time.monotonic() + seconds
        while problem := what_is_missing():
            if time.monotonic() > end:
                return problem
            job.sleep(0.3)
        return ""

    def _finish(self, job):
        limit = 600 + 5 * self.shape.seconds
        if not self.violations and not job.await_end(limit):
            self.violations.append(f"the job did not end within {limit} s")
        self.violations += job.violations()
        outcome = "" if self.violations else job.outcome()
        self.growth = job.growth()
        if self.violations:
            job.keep_logs(f"{job.journals}/..")
        if self.shape.program == "tally":
            self.account = job.account()
        job.end()
        if self.shape.program == "tally":
            journals = account.read_journals(job.journals)
            steps = account.all_steps(journals)
            ends = steps[-1] if steps and not self.violations else time.time()  # what follows the last step of all is no standstill
            for measure in self.measures:
                measure.gap = account.standstill(steps, measure.begin, measure.end, ends)
            self.say(f"{self.account.issued} pushes issued, {self.account.acknowledged} acknowledged, {self.account.open} open when their process ended; "
                     f"{self.account.again} items processed again, {self.account.reprocessed} reported")
        if self.growth:
            who, first, last = max(self.growth, key=lambda found: found[2] - found[1])
            self.say(f"memory of {len(self.growth)} processes; most grew {who}: {first / 1e6:.0f} -> {last / 1e6:.0f} MB")
        for violation in self.violations:
            self.say(f"VIOLATION {violation}")
        if not self.violations:
            self.say(f"Succeeded, {outcome}")

    def report(self):
        """One line per fault: what it was, longest time without a step and its goal, seconds to full strength. A missed goal is no violation."""
        for measure in self.measures:
            gap = "not measured" if measure.gap is None else f"{measure.gap:.1f} s"
            goal = "" if measure.goal is None or measure.gap is None else f"{measure.goal} s: {'met' if measure.gap < measure.goal else 'MISSED'}"
            strength = f"{measure.strength:.1f} s" if measure.strength is not None else ""
            print(f"{self.name}: {measure.name} | {gap} | {goal} | {strength}", flush=True)


class disk:
    """A small file system of its own at `directory`; False when none is wanted or this process may not mount one."""

    def __init__(self, directory, wanted):
        self.directory, self.wanted, self.mounted = directory, wanted, False

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        self.mounted = bool(self.wanted) and os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", DISK, "attune-chaos", self.directory], capture_output=True).returncode == 0
        return self.mounted

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.directory], capture_output=True)
