"""An `attune run` on this machine that a script steers and looks at."""
import atexit, json, os, signal, subprocess, sys, tempfile, threading, time


def workspace():
    return tempfile.TemporaryDirectory()


class LiveJob:
    """One job under observation, of that name in the manifest. Commands and their times are kept for reports."""

    running, closed = [], False

    @classmethod
    def stop_all(cls):
        """For good: none is started after it."""
        cls.closed = True
        for job in list(cls.running):
            job.stop()

    def __init__(self, bin_directory, directory, name, manifest, words=()):
        if LiveJob.closed:
            sys.exit("stopped")
        self.bin, self.directory, self.name, self.commands, self.events = bin_directory, directory, name, [], []
        os.makedirs(directory, exist_ok=True)
        with open(f"{directory}/job.yaml", "w") as out:
            out.write(manifest)
        self.process = subprocess.Popen(
            [f"{bin_directory}/attune", "run", f"{directory}/job.yaml", "-o", "json", "--run-directory", f"{directory}/run", *words],
            stdout=subprocess.PIPE, stderr=open(f"{directory}/attune.err", "w"), text=True, cwd=directory,
            env={**os.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}"})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        LiveJob.running.append(self)

    def _read(self):
        for line in self.process.stdout:
            try:
                self.events.append((time.time(), json.loads(line)))
            except ValueError:
                pass

    def attune(self, *arguments, timeout=120):
        began = time.time()
        done = subprocess.run([f"{self.bin}/attune", "--instance", str(self.process.pid), *arguments],
                              capture_output=True, text=True, timeout=timeout, cwd=self.directory)
        self.commands.append((began, "attune " + " ".join(arguments)))
        if done.returncode != 0:
            sys.exit(f"attune {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def mark(self, text):
        self.commands.append((time.time(), text))

    def status(self):
        """Empty before there is a job."""
        answer = self.attune_quietly("get", self.name, "-o", "json")
        job = json.loads(answer) if answer.strip() else {}
        return (job["items"][0] if "items" in job else job).get("status") or {}

    def attune_quietly(self, *arguments):
        return subprocess.run([f"{self.bin}/attune", "--instance", str(self.process.pid), *arguments], capture_output=True,
                              text=True, timeout=60, cwd=self.directory).stdout

    def wait_until(self, what, condition, timeout):
        deadline = time.time() + timeout
        while time.time() < deadline:
            if self.process.poll() is not None:
                sys.exit(f"attune run ended with {self.process.returncode} while waiting for {what}:\n"
                         + open(f"{self.directory}/attune.err").read()[-2000:] + "\n".join(json.dumps(e) for _, e in self.events[-3:])[-2000:])
            if condition():
                return time.time()
            time.sleep(0.1)
        sys.exit(f"{what}: not within {timeout} s; see {self.directory}")

    def server_pids(self):
        """Process ids of the servers, by index."""
        pids = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if b"attune-server" not in open(f"/proc/{pid}/cmdline", "rb").read():
                    continue
                environment = dict(item.split(b"=", 1) for item in open(f"/proc/{pid}/environ", "rb").read().split(b"\0") if b"=" in item)
            except OSError:
                continue
            if self.directory.encode() in b" ".join(environment.values()) and b"ATTUNE_INDEX" in environment:
                pids[int(environment[b"ATTUNE_INDEX"])] = int(pid)
        return pids

    def stop(self):
        if self in LiveJob.running:
            LiveJob.running.remove(self)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()


atexit.register(LiveJob.stop_all)
