#!/usr/bin/env python3
"""Measurements of whole jobs, side by side in one run: jobs.py word2vec|start|telemetry|strangers BIN [--rounds N]

word2vec   words/s of 2 servers + 2 workers against the same training in one process with 2 threads, at equal epochs;
           held-out losses are printed beside, because the ratio only counts when they are about equal
start      seconds from `attune run` to the first progress of training
telemetry  words/s of 2 servers + 2 workers whose sidecars report to an operator's end and are scraped, against the same
           processes without, in turn; CPU and memory of the sidecars beside
strangers  words/s of 2 servers + 2 workers with 100 slow clients on every port against the same without
"""
import argparse, json, os, re, socket, statistics, struct, subprocess, sys, tempfile, threading, time, urllib.request

EPOCHS = 8
SLOW_CLIENTS = 100  # per port
SCRAPE_SECONDS = 5  # between two scrapes of a sidecar; the chart's monitors ask every 15


def job_manifest(directory, epochs=EPOCHS):
    path = os.path.join(directory, "job.yaml")
    with open(path, "w") as out:
        out.write(f"""apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata: {{name: bench}}
spec:
  goal: {{epochs: {epochs}}}
  servers: {{replicas: 2}}
  workers:
    replicas: 2
    template:
      spec:
        containers:
          - {{name: worker, image: none, command: [attune-word2vec]}}
""")
    return path


def run_job(bin_directory):
    """Runs the job; returns (seconds all epochs take at the rate of training, held-out loss, seconds to the first progress)."""
    with tempfile.TemporaryDirectory() as work:
        began = time.monotonic()
        process = subprocess.Popen([f"{bin_directory}/attune", "run", job_manifest(work), "-o", "json",
                                    "--run-directory", f"{work}/run"], stdout=subprocess.PIPE, text=True, cwd=work)
        progress, held_out = [], float("nan")
        for line in process.stdout:
            event = json.loads(line)
            if 0 < event.get("fraction", 0) < 1:
                progress.append((time.monotonic() - began, event["fraction"]))
            held_out = ((event.get("result") or {}).get("metrics") or {}).get("held_out_loss", held_out)
        if process.wait() != 0:
            sys.exit(f"attune run ended with {process.returncode}")
        (first, low), (last, high) = progress[0], progress[-1]
        return (last - first) / (high - low), held_out, first


def standalone(bin_directory):
    """The same in one process; returns (words of all epochs, words/s, held-out loss)."""
    text = subprocess.run([f"{bin_directory}/attune-word2vec", "--standalone", "--threads=2", f"--epochs={EPOCHS}"],
                          capture_output=True, text=True, check=True).stdout
    result = dict(part.split("=") for part in re.search(r"^result (.*)$", text, re.M).group(1).split())
    return float(result["words"]), float(result["words_per_second"]), float(result["held_out_loss"])


class SlowClients:
    """A hundred connections to each port, from this process: some silent, some with a byte now and then of what a node
    or a TLS client would say; a client that is shut out comes back. `clients` 0: none, for the run beside it."""

    SAYS = (b"", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", struct.pack("<I", 0x484E5441) * 8)

    def __init__(self, ports, clients):
        self.places = [(place, self.SAYS[i % len(self.SAYS)]) for place in ports for i in range(clients)]
        self.connections, self.dials, self.end = {}, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        for connection, _ in self.connections.values():
            connection.close()

    def run(self):
        while not self.end.wait(0.25):
            for number, (place, says) in enumerate(self.places):
                if number not in self.connections:
                    self.dial(number, place)
                elif not self.goes_on(number, says):
                    self.connections.pop(number)[0].close()

    def dial(self, number, place):
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex(place)
        self.connections[number] = (connection, 0)
        self.dials += 1

    def goes_on(self, number, says):
        connection, said = self.connections[number]
        try:
            if said < len(says):
                connection.send(says[said:said + 1])
                self.connections[number] = (connection, said + 1)
            return connection.recv(4096) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


class Telemetry:
    """The operator's end, where sidecars report to, and a Prometheus' scrapes of the given hosts."""

    def __init__(self, bin_directory, hosts):
        self.urls = [f"http://{host}:7402/metrics" for host in hosts]
        self.operator = subprocess.Popen([f"{bin_directory}/bench_telemetry", "--serve"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self.address = self.operator.stdout.readline().strip()
        if not self.address:
            sys.exit(f"bench_telemetry --serve ended with {self.operator.wait()} before it had an address")
        self.scraped, self.end = [], threading.Event()  # bytes of each answer
        self.thread = threading.Thread(target=self.scrape)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        self.operator.stdin.close()
        self.operator.wait()

    def scrape(self):
        while not self.end.wait(SCRAPE_SECONDS):
            for url in self.urls:
                try:
                    with urllib.request.urlopen(url, timeout=2) as answer:
                        self.scraped.append(len(answer.read()))
                except OSError:
                    pass  # that process has ended


class Processes:
    """2 servers and 2 workers started by hand, with sidecars that report to `telemetry` or without any, with a token or without."""

    def __init__(self, bin_directory, telemetry=None, token=None):
        self.directory = tempfile.TemporaryDirectory()
        self.bin, self.telemetry, self.started = bin_directory, telemetry, []
        self.sidecars, self.sidecar_usage = [], []  # processes; (CPU seconds, resident MB, of which its own) of each
        self.token = f"{self.directory.name}/job-token" if token else None
        if token:
            with open(os.open(self.token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(token)

    @staticmethod
    def address(role, index):
        return f"127.{80 + (os.getpid() % 40)}.{1 if role == 'server' else 2}.{10 + index}"

    def ports(self):
        """Of coordinator and rows, of all processes."""
        return [(self.address("server", 0), 7400)] + [(self.address(role, i), 7401) for role in ("server", "worker") for i in range(2)]

    def start(self, role, index, command):
        address = self.address(role, index)
        environment = {**os.environ, "ATTUNE_JOB": "bench", "ATTUNE_NAMESPACE": "bench", "ATTUNE_JOB_UID": "bench",
                       "ATTUNE_ROLE": role, "ATTUNE_INDEX": str(index), "ATTUNE_POD_NAME": f"bench-{role}-{index}",
                       "ATTUNE_POD_UID": f"{role}{index}", "ATTUNE_POD_IP": address,
                       "ATTUNE_COORDINATOR": f"{self.address('server', 0)}:7400",
                       "ATTUNE_MODEL_DIRECTORY": self.directory.name, "ATTUNE_LOG_LEVEL": "warn"}
        if self.token:
            environment["ATTUNE_JOB_TOKEN_FILE"] = self.token
        if self.telemetry:
            run = f"{self.directory.name}/{role}{index}"
            os.makedirs(run)
            token = f"{run}/token"
            open(token, "w").write("none")
            environment |= {"ATTUNE_SIDECAR_SOCKET": f"{run}/sidecar.sock", "ATTUNE_TELEMETRY": self.telemetry,
                            "ATTUNE_TOKEN_FILE": token}
            self.sidecars.append(subprocess.Popen([f"{self.bin}/attune-sidecar"], env=environment, stderr=subprocess.DEVNULL))
        process = subprocess.Popen([f"{self.bin}/{command[0]}", *command[1:]], env=environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def seconds(self):
        servers = [self.start("server", i, ["attune-server", "--servers", "2", "--epochs", str(EPOCHS)]
                              + (["--coordinator-here"] if i == 0 else [])) for i in range(2)]
        began = time.monotonic()
        workers = [self.start("worker", i, ["attune-word2vec"]) for i in range(2)]
        for process in workers + servers:
            if process.wait(timeout=600) != 0:
                sys.exit(f"{process.args} ended with {process.returncode}")
        elapsed = time.monotonic() - began
        for sidecar in self.sidecars:
            self.sidecar_usage.append(usage(sidecar.pid))
            sidecar.terminate()
            sidecar.wait()
        self.directory.cleanup()
        return elapsed


def usage(pid):
    """CPU seconds, resident megabytes, and of these what is not shared with a file."""
    with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/status") as status:
        ticks = stat.read().rpartition(")")[2].split()[11:13]
        memory = dict(line.split(":", 1) for line in status.read().splitlines())
    megabytes = [int(memory[field].split()[0]) * 1024 / 1e6 for field in ("VmHWM", "RssAnon")]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), *megabytes


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} .. {max(values):.4g})"


def measure_telemetry(bin_directory, rounds):
    hosts = [Processes.address(role, index) for role in ("server", "worker") for index in range(2)]
    ratios, shares, resident, own = [], [], [], []
    for number in range(rounds):
        seconds = {}
        for reporting in ((False, True) if number % 2 == 0 else (True, False)):
            if reporting:
                with Telemetry(bin_directory, hosts) as telemetry:
                    processes = Processes(bin_directory, telemetry.address)
                    seconds[reporting] = processes.seconds()
            else:
                seconds[reporting] = Processes(bin_directory).seconds()
        ratios.append(seconds[False] / seconds[True])
        shares.append(sum(cpu for cpu, _, _ in processes.sidecar_usage) / (seconds[True] * os.cpu_count()))
        resident += [megabytes for _, megabytes, _ in processes.sidecar_usage]
        own += [megabytes for _, _, megabytes in processes.sidecar_usage]
        print(f"whole run: {seconds[False]:.2f} s without sidecars, {seconds[True]:.2f} s with; "
              f"{len(telemetry.scraped)} scrapes, {spread(telemetry.scraped) if telemetry.scraped else 'no'} bytes", flush=True)
    mean, error = statistics.mean(ratios), statistics.stdev(ratios) / rounds ** 0.5 if rounds > 1 else float("nan")
    print(f"rate with sidecars, a report a second and a scrape each {SCRAPE_SECONDS} s / without: {spread(ratios)}, "
          f"mean {mean:.4f} +- {error:.4f}, goal 0.99: {'met' if mean >= 0.99 else 'MISSED'}")
    print(f"CPU of the four sidecars, share of this machine's: {spread(shares)}")
    print(f"memory of a sidecar at its most, MB: {spread(resident)}, goal 20: {'met' if max(resident) <= 20 else 'MISSED'}; "
          f"of these its own, not pages of libraries: {spread(own)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["word2vec", "start", "telemetry", "strangers"])
    parser.add_argument("bin")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.what == "word2vec":
        alone, job = [], []
        for _ in range(arguments.rounds):
            words, rate, held_out = standalone(arguments.bin)
            alone.append((rate, held_out))
            seconds, held_out, _ = run_job(arguments.bin)
            job.append((words / seconds, held_out))
        for name, rows in (("standalone, 2 threads:", alone), ("2 servers + 2 workers:", job)):
            print(f"{name:24} words/s {spread([r[0] for r in rows])}  held-out loss {spread([r[1] for r in rows])}")
        ratios = [j[0] / a[0] for j, a in zip(job, alone)]
        print(f"words/s of servers and workers / standalone: {spread(ratios)}, goal 0.8: "
              f"{'met' if statistics.median(ratios) >= 0.8 else 'MISSED'}")
    elif arguments.what == "start":
        print("seconds from attune run to the first progress seen:", spread([run_job(arguments.bin)[2] for _ in range(arguments.rounds)]))
    elif arguments.what == "strangers":
        ratios = []
        for _ in range(arguments.rounds):
            seconds = {}
            for clients in (0, SLOW_CLIENTS):
                processes = Processes(arguments.bin, token="a token that slow clients do not have")
                with SlowClients(processes.ports(), clients) as slow:
                    seconds[clients] = processes.seconds()
            ratios.append(seconds[0] / seconds[SLOW_CLIENTS])
            print(f"whole run: {seconds[0]:.2f} s alone, {seconds[SLOW_CLIENTS]:.2f} s with {SLOW_CLIENTS} slow clients on each port "
                  f"({slow.dials} dials)")
        print(f"rate with {SLOW_CLIENTS} slow clients on every port / without: {spread(ratios)}, goal 0.98: "
              f"{'met' if statistics.median(ratios) >= 0.98 else 'MISSED'}")
    else:
        measure_telemetry(arguments.bin, arguments.rounds)


if __name__ == "__main__":
    main()
