#!/usr/bin/env python3
"""Measurements of whole jobs, side by side in one run: jobs.py word2vec|start|telemetry BIN [--rounds N]

word2vec   words/s of 2 servers + 2 workers against the same training in one process with 2 threads, at equal epochs;
           held-out losses are printed beside, because the ratio only counts when they are about equal
start      seconds from `attune run` to the first progress of training
telemetry  words/s of 2 servers + 2 workers with sidecars and reports against the same processes without
"""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time

EPOCHS = 8


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


class Processes:
    """2 servers and 2 workers started by hand, with or without sidecars."""

    def __init__(self, bin_directory, with_sidecars):
        self.directory = tempfile.TemporaryDirectory()
        self.bin, self.with_sidecars, self.started = bin_directory, with_sidecars, []

    def start(self, role, index, command):
        address = f"127.{80 + (os.getpid() % 40)}.{1 if role == 'server' else 2}.{10 + index}"
        environment = {**os.environ, "ATTUNE_JOB": "bench", "ATTUNE_NAMESPACE": "bench", "ATTUNE_JOB_UID": "bench",
                       "ATTUNE_ROLE": role, "ATTUNE_INDEX": str(index), "ATTUNE_POD_NAME": f"bench-{role}-{index}",
                       "ATTUNE_POD_UID": f"{role}{index}", "ATTUNE_POD_IP": address,
                       "ATTUNE_COORDINATOR": f"127.{80 + (os.getpid() % 40)}.1.10:7400",
                       "ATTUNE_MODEL_DIRECTORY": self.directory.name, "ATTUNE_LOG_LEVEL": "warn"}
        if self.with_sidecars:
            run = f"{self.directory.name}/{role}{index}"
            os.makedirs(run)
            token = f"{run}/token"
            open(token, "w").write("none")
            environment |= {"ATTUNE_SIDECAR_SOCKET": f"{run}/sidecar.sock", "ATTUNE_TELEMETRY": "127.0.0.1:9",
                            "ATTUNE_TOKEN_FILE": token}
            self.started.append(subprocess.Popen([f"{self.bin}/attune-sidecar"], env=environment, stderr=subprocess.DEVNULL))
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
        for process in self.started:
            if process.poll() is None:
                process.terminate()
                process.wait()
        self.directory.cleanup()
        return elapsed


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} .. {max(values):.4g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["word2vec", "start", "telemetry"])
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
        print(f"words/s of servers and workers / standalone: {spread(ratios)}, goal 0.5: "
              f"{'met' if statistics.median(ratios) >= 0.5 else 'MISSED'}")
    elif arguments.what == "start":
        print("seconds from attune run to the first progress seen:", spread([run_job(arguments.bin)[2] for _ in range(arguments.rounds)]))
    else:
        ratios = []
        for _ in range(arguments.rounds):
            without = Processes(arguments.bin, False).seconds()
            with_sidecars = Processes(arguments.bin, True).seconds()
            ratios.append(without / with_sidecars)
            print(f"whole run: {without:.2f} s without sidecars, {with_sidecars:.2f} s with")
        print("rate with sidecars and reports / without:", spread(ratios))


if __name__ == "__main__":
    main()
