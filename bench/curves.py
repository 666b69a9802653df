#!/usr/bin/env python3
"""What changes and losses do to the loss of a real training: curves.py BIN [--out DIR] [--seconds N] [SCENARIO...]

Each scenario trains word vectors of the headers on this machine, with an `attune run --report` page of its own in DIR:
undisturbed  nothing happens; what the others are to be compared with
scale        servers 2 -> 3 -> 1 and workers 2 -> 3
backups      a server is killed; every row has a copy
checkpoint   a server is killed; rows without a copy go back to the last regular checkpoint
coordinator  the server of the coordinator is killed; another takes over
sync         Async -> BSP -> SSP(4) -> Async
resume       a checkpoint, the end of that run, and a run with 3 servers that continues from it (two pages)
Prints the held-out loss of each at its end. A human looks at the pages: no step in the loss that the marks do not explain.
"""
import argparse, os, signal, sys, time

from live_job import LiveJob, workspace

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


class Training:
    def __init__(self, arguments, directory, page, seconds, servers=2, backups=0, more_spec="", words=()):
        self.page = f"{arguments.out}/{page}.html"
        self.job = LiveJob(arguments.bin, directory, page, f"""apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata: {{name: {page}}}
spec:
  goal: {{maxDurationSeconds: {seconds}}}
  servers: {{replicas: {servers}, backups: {backups}}}
{more_spec}  workers:
    replicas: 2
    max: 4
    template:
      spec:
        containers:
          - {{name: worker, image: none, command: [attune-word2vec], args: [--dim=64]}}
""", ["--report", self.page, *words])

    def train(self, seconds):
        """For so long, from the first loss that is known."""
        self.job.wait_until("training", lambda: (self.job.status().get("progress") or {}).get("loss"), 60)
        time.sleep(seconds)

    def kill(self, index):
        os.kill(self.job.server_pids()[index], signal.SIGKILL)

    def await_status(self, what, probe):
        self.job.wait_until(what, lambda: probe(self.job.status()), 120)

    def finish(self):
        """The held-out loss; the run has written its page."""
        self.job.process.wait(300)
        self.job.reader.join(10)
        result = next((e for _, e in reversed(self.job.events) if e.get("type") == "result"), {})
        if result.get("outcome") != "Succeeded":
            sys.exit(f"{self.job.name}: {result or open(self.job.directory + '/attune.err').read()[-2000:]}")
        return result["result"]["metrics"]["held_out_loss"]


@scenario
def undisturbed(arguments, directory):
    return Training(arguments, directory, "undisturbed", arguments.seconds).finish()


@scenario
def scale(arguments, directory):
    run = Training(arguments, directory, "scale", arguments.seconds)
    for words in (["servers=3"], ["workers=3"], ["servers=1"]):
        run.train(arguments.seconds / 5)
        run.job.attune("scale", "scale", *words)
    return run.finish()


@scenario
def backups(arguments, directory):
    run = Training(arguments, directory, "backups", arguments.seconds, backups=1)
    run.train(arguments.seconds / 3)
    run.kill(1)
    run.await_status("the recovery", lambda status: (status.get("recovery") or {}).get("count", 0) >= 1)
    return run.finish()


@scenario
def checkpoint(arguments, directory):
    run = Training(arguments, directory, "checkpoint", arguments.seconds, more_spec="  checkpoint: {intervalSeconds: 10}\n")
    run.train(arguments.seconds / 3)
    run.await_status("a checkpoint", lambda status: (status.get("checkpoint") or {}).get("number", 0) >= 1)
    run.kill(1)
    run.await_status("the recovery", lambda status: (status.get("recovery") or {}).get("restoredRows", 0) >= 1)
    return run.finish()


@scenario
def coordinator(arguments, directory):
    run = Training(arguments, directory, "coordinator", arguments.seconds, backups=1)
    run.train(arguments.seconds / 3)
    run.kill(0)
    run.await_status("another coordinator", lambda status: status.get("coordinatorTerm", 0) >= 1)
    return run.finish()


@scenario
def sync(arguments, directory):
    run = Training(arguments, directory, "sync", arguments.seconds)
    for mode in ("bsp", "ssp:4", "async"):
        run.train(arguments.seconds / 5)
        run.job.attune("sync", "sync", mode)
    return run.finish()


@scenario
def resume(arguments, directory):
    checkpoints = f"  checkpoint: {{directory: {directory}/checkpoints}}\n"
    first = Training(arguments, f"{directory}/first", "resume-before", arguments.seconds, more_spec=checkpoints)
    first.train(arguments.seconds / 2)
    first.job.attune("checkpoint", first.job.name)
    first.job.stop()
    return Training(arguments, f"{directory}/second", "resume-after", arguments.seconds, servers=3, more_spec=checkpoints,
                    words=["--resume", f"{directory}/checkpoints"]).finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"default: all: {', '.join(SCENARIOS)}")
    parser.add_argument("--out", type=os.path.abspath, default="curves")
    parser.add_argument("--seconds", type=int, default=60, help="training time of each")
    arguments = parser.parse_args()
    for name in arguments.scenarios:
        if name not in SCENARIOS:
            parser.error(f"no scenario '{name}' ({', '.join(SCENARIOS)})")
    os.makedirs(arguments.out, exist_ok=True)
    for name in arguments.scenarios or SCENARIOS:
        with workspace() as directory:
            print(f"{name:12} held-out loss {SCENARIOS[name](arguments, directory):.3f}", flush=True)
    print(f"pages: {arguments.out}")


if __name__ == "__main__":
    main()
