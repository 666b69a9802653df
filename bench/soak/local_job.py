"""One `attune run` that counts exactly (attune-tally) or trains word vectors, seen and disturbed from outside."""
import contextlib, glob, json, math, os, random, signal, statistics, subprocess, threading, time

import account, processes
from live_job import LiveJob

TOPICS, WORDS_PER_TOPIC, LINE_WORDS = 8, 25, 12
LOSS_BAND, EPOCHS_TRAINED = 0.05, 12  # around best_loss() after so many epochs, as in tests/local/word2vec


class JobEnded(Exception):
    """The job is over while it should train."""


class Shape:
    """What a job is, drawn or given."""

    def __init__(self, program="tally", servers=3, workers=2, backups=1, items=20_000, pause=5, seconds=0, shared_memory=True, mode="Async",
                 checkpoint_seconds=0, epochs=400, memory=""):
        self.program, self.servers, self.workers, self.backups = program, servers, workers, backups
        self.items, self.pause, self.seconds = items, pause, seconds  # seconds: longest training time of word2vec
        self.shared_memory, self.mode, self.checkpoint_seconds, self.epochs = shared_memory, mode, checkpoint_seconds, epochs
        self.memory = memory  # limit of a worker, for instance 256Mi

    def __str__(self):
        length = f"{self.items} items of {self.pause} ms" if self.program == "tally" else f"{self.epochs} epochs or {self.seconds} s"
        return (f"{self.program}, {self.servers} servers, {self.workers} workers, backups {self.backups}, {self.mode}, {length}"
                + ("" if self.shared_memory else ", no shared memory")
                + (f", a checkpoint every {self.checkpoint_seconds} s" if self.checkpoint_seconds else ""))


class ChaosJob(LiveJob):
    NAME = "chaos"
    BLOCKS, ROWS_PER_BLOCK = 64, 16

    def __init__(self, bin_directory, directory, shape):
        self.shape, self.mark_directory = shape, directory
        self.journals, self.checkpoints = f"{directory}/journals", f"{directory}/checkpoints"
        os.makedirs(self.journals, exist_ok=True)
        os.makedirs(self.checkpoints, exist_ok=True)
        self.samples = {}  # of memory, by process
        super().__init__(bin_directory, directory, self.NAME, self._manifest())
        self._sampling = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def _manifest(self):
        shape = self.shape
        if shape.program == "tally":
            goal, command = "{epochs: 1}", "attune-tally"
            arguments = [f"--items={shape.items}", f"--pause={shape.pause}", f"--journal={self.journals}", f"--blocks={self.BLOCKS}",
                         f"--rows-per-block={self.ROWS_PER_BLOCK}"] + (["--rows-may-go-back"] if shape.backups == 0 else [])
        else:
            write_text(f"{self.mark_directory}/text")
            goal, command = f"{{epochs: {shape.epochs}, maxDurationSeconds: {shape.seconds}}}", "attune-word2vec"
            arguments = [f"--text={self.mark_directory}/text", "--chunk-words=512", "--dim=16", "--subsample=1", "--neighbors=a1"]
        limits = f", resources: {{limits: {{memory: {shape.memory}}}}}" if shape.memory else ""
        environment = "" if shape.shared_memory else ", env: [{name: ATTUNE_SHARED_MEMORY, value: 'off'}]"
        checkpoint = f"  checkpoint: {{directory: {self.checkpoints}, intervalSeconds: {shape.checkpoint_seconds}}}\n" if shape.checkpoint_seconds else ""
        mode = "{mode: SSP, staleness: 8}" if shape.mode == "SSP" else f"{{mode: {shape.mode}}}"
        return f"""apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata: {{name: {self.NAME}}}
spec:
  goal: {goal}
  runPolicy: {{backoffLimit: 1000}}
  synchronization: {mode}
  servers: {{replicas: {shape.servers}, max: 6, backups: {shape.backups}}}
{checkpoint}  workers:
    replicas: {shape.workers}
    max: 8
    template:
      spec:
        containers:
          - {{name: worker, image: none, command: [{command}], args: [{", ".join(arguments)}]{environment}{limits}}}
"""

    # --- processes

    def processes(self):
        return processes.find(self.mark_directory)

    def of_pod(self, pod, program=None):
        """Of a pod; `program`: only those, for instance attune-sidecar. Its process beside the sidecar: "main"."""
        found = [p for p in self.processes() if p.pod == pod]
        if program == "main":
            return [p for p in found if p.program not in ("attune-sidecar", "pod-shim")]
        return [p for p in found if program in (None, p.program)]

    def pods(self, role):
        return sorted({p.pod for p in self.processes() if p.pod.startswith(f"{self.NAME}-{role}-") and p.program not in ("attune-sidecar", "pod-shim")})

    def operator(self):
        """The process of operator, API and node agent."""
        return processes.Process(self.process.pid, processes.birth_of(self.process.pid), "attune", "")

    def exhaust_memory(self, pod):
        """The worker finds the file at its next step."""
        with open(f"{self.journals}/take-memory-{pod.rpartition('-')[2]}", "w"):
            pass

    def address(self, pod):
        for process in self.of_pod(pod):
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                for variable in file.read().split(b"\0"):
                    if variable.startswith(b"ATTUNE_POD_IP="):
                        return variable.partition(b"=")[2].decode()
        raise JobEnded(f"pod {pod} has no process")

    # --- time

    def sleep(self, seconds):
        """Ends early, with JobEnded, when the job does."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.ended():
                raise JobEnded(str(self.result().get("outcome", "no result")))
            time.sleep(min(left, 0.2))

    @contextlib.contextmanager
    def operator_stopped(self):
        operator = self.operator()
        operator.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            operator.signal(signal.SIGCONT)

    # --- how it does

    def ended(self):
        return self.process.poll() is not None or any(e.get("type") == "result" for _, e in self.events[-3:])

    def last_step(self):
        """Wall-clock second of the newest step of any worker; 0 before the first."""
        return account.last_step(self.journals)

    def settled_state(self):
        """"" at full strength, else what is missing."""
        try:
            status, spec = self.status(), self.spec()
        except (subprocess.TimeoutExpired, ValueError):
            return "the operator does not answer"
        if status.get("phase") in ("Succeeded", "Failed"):
            return ""
        for role in ("servers", "workers"):
            state, wanted = status.get(role) or {}, spec[role]["replicas"]
            if state.get("ready", 0) != wanted or state.get("replicas", 0) != wanted:
                return f"{state.get('ready', 0)} of {wanted} {role} ready"
        for condition in status.get("conditions", []):
            if condition["type"] == "Reconfiguring" and condition["status"] == "True":
                return condition["message"]
        moving = (status.get("progress") or {}).get("movingBytesLeft")
        return f"{moving} bytes of rows are moving" if moving else ""

    def spec(self):
        answer = json.loads(self.attune_quietly("get", self.name, "-o", "json"))
        return (answer["items"][0] if "items" in answer else answer)["spec"]

    def _sample(self):
        while not self._sampling.wait(2):
            for process in self.processes():
                if process.program in ("attune-server", "attune", "attune-sidecar"):
                    size = process.resident_bytes()
                    if size:
                        self.samples.setdefault((process.program, process.pod, process.pid), []).append((time.time(), size))

    # --- the end

    def keep_logs(self, directory):
        """All of them lie in its directory."""

    def result(self):
        return next((event for _, event in reversed(self.events) if event.get("type") == "result"), {})

    def await_end(self, seconds):
        """False when it has not ended by then."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        self.reader.join(10)
        return True

    def end(self):
        self._sampling.set()
        processes.resume(self.processes())
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
        self.stop()
        processes.kill([p for p in self.processes() if p.pid != os.getpid()])

    def violations(self):
        """What is wrong with how it ended; empty when nothing is."""
        result = self.result()
        if result.get("outcome") != "Succeeded":
            return [f"the job did not succeed: {result.get('outcome', 'no result')}: {result.get('failure') or self.last_words()}"]
        found = []
        restored = (result.get("recovery") or {}).get("restoredRows", 0)
        if restored and self.shape.backups:
            found.append(f"{restored} rows went back although every row has a copy")
        if self.shape.program == "tally":
            return found + self.account().violations
        loss = self.loss()
        if result.get("epoch", 0) >= EPOCHS_TRAINED and not abs(loss - best_loss()) < LOSS_BAND:
            found.append(f"held-out loss {loss:.3f} after {result['epoch']} epochs, usual is {best_loss():.3f} +- {LOSS_BAND}")
        return found

    def outcome(self):
        """Of a job without violations, in a few words."""
        if self.shape.program == "tally":
            return "sums exact"
        epochs = self.result().get("epoch", 0)
        return f"held-out loss {self.loss():.3f}" + ("" if epochs >= EPOCHS_TRAINED else f", not judged: {epochs} epochs are too few for the usual one")

    def loss(self):
        return ((self.result().get("result") or {}).get("metrics") or {}).get("held_out_loss", math.nan)

    def account(self):
        return account.Account(account.read_journals(self.journals), account.read_sums(self.journals), self.shape.items, self.BLOCKS,
                               self.ROWS_PER_BLOCK, self.result().get("reprocessedItems"))

    def last_words(self):
        """What `attune run` printed last."""
        with open(f"{self.directory}/attune.err") as file:
            return file.read()[-500:].strip()

    def growth(self):
        """[(process, bytes after its first quarter, bytes at its end)] of those that lived long enough to say something."""
        found = []
        for (program, pod, _), samples in self.samples.items():
            if len(samples) < 40:
                continue
            quarter = len(samples) // 4
            median = lambda part: statistics.median(size for _, size in part)
            found.append((f"{program} {pod}".strip(), median(samples[quarter:2 * quarter]), median(samples[-quarter:])))
        return found


def write_text(directory):
    """Lines whose words are of one topic each: neighbors of a word are words of its topic, so the best loss is known."""
    os.makedirs(directory, exist_ok=True)
    draw = random.Random(1)
    with open(f"{directory}/topics.h", "w") as out:
        for _ in range(20_000):
            topic = chr(ord("a") + draw.randrange(TOPICS))
            out.write(" ".join(f"{topic}{draw.randrange(WORDS_PER_TOPIC)}" for _ in range(LINE_WORDS)) + "\n")


def best_loss():
    """Of a model that knows the topics and no more; derived in tests/local/word2vec/word2vec_run.h."""
    different = (10 / 6) / LINE_WORDS * (TOPICS - 1) / TOPICS

    def part(pairs, negatives):
        p = pairs / (pairs + negatives)
        return -pairs * math.log(p) - negatives * math.log(1 - p)
    return part(1 - different, 5 / TOPICS) + part(different, 5 * (TOPICS - 1) / TOPICS)
