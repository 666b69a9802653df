"""Live jobs from their first step to their last, alone or side by side: what they train, how fast they are, what the
tuner changed."""
import concurrent.futures, glob, json, sys, time

from live_job import LiveJob, workspace

STEPS_ENDLESS = 10**9  # of a job that is looked at, not run out


def headers():
    """Some megabytes of text, so that a worker with a tenth of a core has read it in seconds."""
    found = sorted(glob.glob("/usr/include/c++/*"))
    if not found:
        sys.exit("no C++ headers below /usr/include/c++ to train on; install g++")
    return found[-1]


WORKLOADS = {
    "word2vec": lambda: ["attune-word2vec", "--dim=64", f"--text={headers()}"],
    "package-graph": lambda: ["attune-package-graph", "--lists=/var/lib/dpkg/status", "--dim=32", "--batch-links=128", "--negatives=64"],
    "next-character": lambda: ["attune-next-character", "--context=16", "--hidden1=96", "--hidden2=64", "--batch=192", f"--text={headers()}"],
}


class LiveRun:
    """One job of the manifest, from its first step on: curve [(time, fraction of the goal)], and of a tuned one the
    changes that were announced and the tuner's decisions. It is over at the goal or most_seconds after the first step."""

    def __init__(self, name, bin_directory, manifest, words, most_seconds, meanwhile=None):
        """`words` are further ones of `attune run`; meanwhile(job) is called from time to time once there is progress."""
        self.name, self.most_seconds = name, most_seconds
        with workspace() as directory:
            job = LiveJob(bin_directory, directory, "job", manifest, words)
            try:
                self.curve, self.changes = follow(job, most_seconds, meanwhile)
                explained = job.attune_quietly("explain", "job", "-o", "json")
                self.decisions = json.loads(explained).get("decisions", []) if explained.strip() else []
            finally:
                job.stop()

    def rate(self):
        """Steps a second of a job of STEPS_ENDLESS, in the later two thirds, when caches and connections are warm."""
        warm = [point for point in self.curve if point[0] >= self.curve[0][0] + self.most_seconds / 3]
        if len(warm) < 2 or warm[-1][1] <= warm[0][1]:
            sys.exit(f"{self.name}: no progress within {self.most_seconds:.0f} s; give it more --static-seconds")
        return STEPS_ENDLESS * (warm[-1][1] - warm[0][1]) / (warm[-1][0] - warm[0][0])

    def complete(self):
        return self.curve[-1][1] >= 1

    def seconds(self):
        """To the goal, or what they would be at the speed so far."""
        (begin, at_begin), (end, at_end) = self.curve[0], self.curve[-1]
        if at_end <= at_begin or end <= begin:
            sys.exit(f"{self.name}: no progress within {self.most_seconds:.0f} s")
        return (end - begin) * ((1 + at_begin / (1 - at_begin)) if self.complete() else 1 / (at_end - at_begin))


def follow(job, most_seconds, meanwhile=None):
    """The curve and the tuner's changes of a LiveRun."""
    seen, curve, changes = 0, [], []
    waiting_since = time.time()
    while True:
        if job.process.poll() is not None and seen == len(job.events):
            break
        fresh, seen = job.events[seen:], len(job.events)
        for at, event in fresh:
            if event.get("type") == "event" and event.get("reason") in ("TuningTrial", "TuningMove", "TuningSettingFailed"):
                changes.append({"at": at, "what": event["reason"], "note": event["note"]})
            fraction = event.get("fraction", 0)
            if fraction > 0 and (not curve or fraction > curve[-1][1]):
                curve.append((at, min(fraction, 1.0)))
            if event.get("outcome") == "Failed":
                sys.exit(f"the job failed: {event.get('failure')}")
        if curve and (curve[-1][1] >= 1 or curve[-1][0] - curve[0][0] > most_seconds):
            break
        if not curve and time.time() - waiting_since > 180:
            sys.exit(f"no progress within 180 s of the start; see {job.directory}")
        if curve and meanwhile:
            meanwhile(job)
        time.sleep(0.05)
    if len(curve) < 2:
        sys.exit("the job ended before its progress could be seen; give it more --seconds\n" + open(f"{job.directory}/attune.err").read()[-1000:])
    for change in changes:
        change["at"] -= curve[0][0]
    return curve, changes


def side_by_side(calls):
    """Their results in order; the first failure ends them all."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            LiveJob.stop_all()
            raise


def batches(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]
