#!/usr/bin/env python3
"""What a change of a running job costs: elastic.py scale|crash|backups|sync BIN [--megabytes N] [--report FILE.html]

scale   servers 1 -> 3 -> 1 while two workers train: longest step, throughput lost in seconds of full rate; beside it the same
        two changes by checkpoint, stop and restart with the other number of servers
crash   a server's process is killed, with spec.servers.backups 1 and 0: seconds until the next step, what was lost
backups steps/s with spec.servers.backups 1 against 0, of training (a pull and a push per step) and of pushes alone; in turns
sync    attune sync: Async -> BSP -> SSP(4) -> Async
The model has the given size in values and optimizer state (Adagrad, dim 64). Workers (bench/load) trace every step; the report draws
steps/s, the longest step and the loss over time, with the commands marked.
"""
import argparse, glob, html, os, signal, statistics, time

from live_job import LiveJob, workspace

ROW_BYTES = 2 * 64 * 4


class Job(LiveJob):
    """Two workers of bench/load, which trace every step."""

    def __init__(self, bin_directory, directory, servers, rows, extra_spec="", resume=None, backups=0, seconds=900, load=""):
        os.makedirs(f"{directory}/trace", exist_ok=True)
        super().__init__(bin_directory, directory, "load", f"""apiVersion: attune.dev/v1alpha1
kind: TrainingJob
metadata: {{name: load}}
spec:
  goal: {{maxDurationSeconds: {seconds}}}
  servers: {{replicas: {servers}, max: 4, backups: {backups}}}
{extra_spec}  workers:
    replicas: 2
    template:
      spec:
        containers:
          - name: worker
            image: none
            command: [attune-load]
            args: [--rows={rows}, --trace={directory}/trace, --skew=0.8{", " + load if load else ""}]
""", ["--resume", resume] if resume else [])

    def trace(self):
        """[(end of the 50 ms bucket, steps, longest step in seconds, mean loss)] of all workers, by time."""
        rows = []
        for name in glob.glob(f"{self.directory}/trace/worker-*"):
            for line in open(name):
                parts = line.split()
                if len(parts) == 4:
                    rows.append((float(parts[0]), int(parts[1]), float(parts[2]), float(parts[3])))
        return sorted(rows)

    def wait_for_training(self, steps=200, timeout=300):
        return self.wait_until("the model is created and trains", lambda: sum(r[1] for r in self.trace()) >= steps, timeout)


def steps_between(trace, begin, end):
    return sum(r[1] for r in trace if begin < r[0] <= end)


def rate(trace, begin, end):
    return steps_between(trace, begin, end) / (end - begin)


def lost_seconds(trace, begin, end, full_rate):
    """Seconds of full rate that the interval has less than it could have."""
    return (end - begin) - steps_between(trace, begin, end) / full_rate


def longest_gap(trace, begin, end):
    """Longest step that ended in the interval, or longest time without a step's end, whichever is more."""
    ends = [begin] + [r[0] for r in trace if begin < r[0] <= end] + [end]
    gap = max(b - a for a, b in zip(ends, ends[1:]))
    return max([gap] + [r[2] for r in trace if begin < r[0] <= end])


def report(path, title, sections):
    """sections: [(name, trace, commands)]. Plain SVG, no scripts, nothing loaded from elsewhere."""
    width, height = 900, 130
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><style>body{{font:14px sans-serif;margin:2em;max-width:60em}}"
             "svg{display:block;margin:.2em 0 1em}text{font-size:11px;fill:#444}</style>", f"<h1>{html.escape(title)}</h1>"]
    for name, trace, commands in sections:
        if not trace:
            continue
        begin, end = trace[0][0], trace[-1][0]
        x = lambda t: 50 + (t - begin) / max(end - begin, 1e-9) * (width - 60)
        parts.append(f"<h2>{html.escape(name)}</h2>")
        bucket = max(0.2, (end - begin) / 300)
        rates, longest, losses = {}, {}, {}
        for at, steps, step, loss in trace:
            b = int((at - begin) / bucket)
            rates[b] = rates.get(b, 0) + steps / bucket
            longest[b] = max(longest.get(b, 0), step * 1e3)
            if loss == loss:
                losses.setdefault(b, []).append(loss)
        count = int((end - begin) / bucket) + 1
        curves = (("steps/s", [rates.get(b, 0) for b in range(count)]), ("longest step, ms", [longest.get(b, 0) for b in range(count)]),
                  ("loss", [statistics.mean(losses[b]) if b in losses else None for b in range(count)]))
        for label, values in curves:
            top = max((v for v in values if v is not None), default=1) or 1
            points = " ".join(f"{x(begin + (b + .5) * bucket):.1f},{height - 20 - v / top * (height - 35):.1f}" for b, v in enumerate(values) if v is not None)
            marks = "".join(f'<line x1="{x(t):.1f}" x2="{x(t):.1f}" y1="12" y2="{height - 20}" stroke="#c33" stroke-dasharray="3"/>'
                            f'<text x="{x(t) + 3:.1f}" y="10">{html.escape(text)}</text>' for t, text in commands if begin <= t <= end)
            parts.append(f'<svg width="{width}" height="{height}"><polyline points="{points}" fill="none" stroke="#246" stroke-width="1.2"/>{marks}'
                         f'<text x="0" y="24">{top:.3g}</text><text x="0" y="{height - 20}">0</text><text x="{width / 2}" y="{height - 4}">{label}, over {end - begin:.0f} s</text></svg>')
    with open(path, "w") as out:
        out.write("\n".join(parts))


def met(is_met):
    return "met" if is_met else "MISSED"


def scale(arguments, rows):
    sections, lost = [], {}
    with workspace() as directory:
        job = Job(arguments.bin, directory, 1, rows)
        try:
            created = time.time()
            print(f"{arguments.megabytes} MB of rows created and training after {job.wait_for_training() - created:.1f} s")
            wait_for_size(job)
            time.sleep(arguments.steady)
            for servers in (3, 1):
                before = time.time()
                full = rate(job.trace(), before - arguments.steady, before)
                job.attune("scale", "load", f"servers={servers}")
                done = job.wait_until(f"{servers} servers hold all rows", lambda: settled(job, servers), 300)
                time.sleep(arguments.steady)
                trace = job.trace()
                after = rate(trace, done, done + arguments.steady)
                # Against the rate the job has afterwards, when that is lower: the cores are the same.
                lost[servers] = lost_seconds(trace, before, done, min(full, after))
                longest = longest_gap(trace, before, done)
                print(f"live: servers -> {servers}: {done - before:.1f} s until settled, that is {rows * 2 / 3 / (done - before) / 1e6:.2f} M rows/s, "
                      f"longest step {longest * 1e3:.0f} ms, goal 1 s: {met(longest < 1)}; "
                      f"lost {lost[servers]:.2f} s of full rate; {full:.0f} -> {after:.0f} steps/s", flush=True)
            sections.append(("scale while training", job.trace(), job.commands))
            can_checkpoint = job.status().get("abilities", {}).get("checkpoints", False)
        finally:
            job.stop()
    if not can_checkpoint:
        print("restart: left out, these servers write no checkpoint while they train (status.abilities.checkpoints)")
        return sections
    sections.append(("checkpoint, stop, restart", *restart(arguments, rows, lost)))
    return sections


def restart(arguments, rows, lost_live):
    """The same two changes by checkpoint, stop and a start with the other number of servers that loads it, all servers at once."""
    with workspace() as directory:
        resume, asked, full = None, None, 0
        trace, commands = [], []
        for number, servers in enumerate((1, 3, 1)):
            part = f"{directory}/{number}"
            job = Job(arguments.bin, part, servers, rows, resume=resume)
            try:
                first = job.wait_for_training(steps=1)
                if number == 0:
                    wait_for_size(job)
                time.sleep(arguments.steady)
                trace += job.trace()
                commands += job.commands
                if asked:
                    lost = lost_seconds(trace, asked, first + arguments.steady, min(full, rate(trace, first + arguments.steady / 2, first + arguments.steady)))
                    ratio = lost / max(lost_live[servers], 0.01)
                    print(f"restart: servers -> {servers}: {first - stopped:.1f} s without a step, lost {lost:.2f} s of full rate: "
                          f"{ratio:.0f} times what the live change lost, goal 20: {met(ratio >= 20)}", flush=True)
                asked = time.time()
                full = rate(trace, asked - arguments.steady / 2, asked)
                job.attune("checkpoint", "load")
                job.wait_until("the checkpoint is written", lambda: checkpoint_files(part), 300)
                stopped = time.time()
                trace += [row for row in job.trace() if row[0] > asked]
                commands += job.commands[-1:]
            finally:
                job.stop()
            resume = checkpoint_files(part)[-1]
        return trace, commands


def wait_for_size(job):
    """Both workers are past the steps that create rows: the model has its full size."""
    def train():
        files = glob.glob(f"{job.directory}/trace/worker-*")
        return len(files) == 2 and all(len(open(name).readlines()) > 10 for name in files)
    job.wait_until("all rows exist", train, 300)


def settled(job, servers):
    status = job.status()
    ready = status.get("servers", {}).get("ready", 0)
    conditions = {c["type"]: c for c in status.get("conditions", [])}
    moving = conditions.get("Reconfiguring", {}).get("status") == "True"
    return ready == servers and len(job.server_pids()) == servers and not moving


def checkpoint_files(directory):
    """The directories below it that hold a manifest."""
    return sorted({os.path.dirname(path) for path in glob.glob(f"{directory}/run/**/*manifest*", recursive=True)})


def crash(arguments, rows):
    sections = []
    for backups in (1, 0):
        with workspace() as directory:
            job = Job(arguments.bin, directory, 2, rows, backups=backups)
            try:
                job.wait_for_training()
                wait_for_size(job)
                time.sleep(arguments.steady)
                pid = job.server_pids()[1]
                before = time.time()
                full = rate(job.trace(), before - arguments.steady, before)
                os.kill(pid, signal.SIGKILL)
                job.mark("server 1 killed")
                time.sleep(max(20, arguments.steady))
                trace = job.trace()
                gap = longest_gap(trace, before, time.time())
                print(f"crash, backups {backups}: {full:.0f} steps/s before, {gap:.2f} s without a step, "
                      f"{'goal 5 s: ' + met(gap < 5) + ', ' if backups else ''}"
                      f"{rate(trace, time.time() - arguments.steady, time.time()):.0f} steps/s after", flush=True)
                print(job.attune_quietly("describe", "load"))
                sections.append((f"a server killed, backups {backups}", trace, job.commands))
            finally:
                job.stop()
    return sections


def backups(arguments, rows):
    sections = []
    for load, what, goal in (("--push-only", "pushes alone", 0.6), ("", "training", 0.6)):
        rates = {0: [], 1: []}
        for count in (0, 1) * arguments.rounds:
            with workspace() as directory:
                job = Job(arguments.bin, directory, 2, rows, backups=count, load=load)
                try:
                    job.wait_for_training()
                    wait_for_size(job)
                    time.sleep(arguments.steady)
                    now = time.time()
                    rates[count].append(rate(job.trace(), now - arguments.steady, now))
                    sections.append((f"{what}, backups {count}", job.trace(), job.commands))
                finally:
                    job.stop()
        without, with_backups = (statistics.median(rates[count]) for count in (0, 1))
        print(f"backups, {what}: {with_backups:.0f} against {without:.0f} steps/s without: {with_backups / without:.2f}, "
              f"goal {goal}: {met(with_backups >= goal * without)} (with {[round(r) for r in rates[1]]}, without {[round(r) for r in rates[0]]})", flush=True)
    return sections


def sync(arguments, rows):
    with workspace() as directory:
        job = Job(arguments.bin, directory, 2, rows)
        try:
            job.wait_for_training()
            for mode in ("async", "bsp", "ssp:4", "async"):
                if mode != "async" or len(job.commands):
                    job.attune("sync", "load", mode)
                began = time.time()
                time.sleep(arguments.steady)
                trace = job.trace()
                print(f"{mode:6} {rate(trace, began, time.time()):.0f} steps/s, longest step {longest_gap(trace, began, time.time()) * 1e3:.0f} ms")
            return [("attune sync", job.trace(), job.commands)]
        finally:
            job.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scale", "crash", "backups", "sync"])
    parser.add_argument("bin", type=os.path.abspath)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--steady", type=float, default=8, help="seconds of undisturbed training around each change")
    parser.add_argument("--rounds", type=int, default=2, help="of backups")
    parser.add_argument("--report")
    arguments = parser.parse_args()
    rows = arguments.megabytes * 10**6 // ROW_BYTES
    sections = {"scale": scale, "crash": crash, "backups": backups, "sync": sync}[arguments.what](arguments, rows)
    if arguments.report:
        report(arguments.report, f"attune: {arguments.what}, {arguments.megabytes} MB of parameters", sections)


if __name__ == "__main__":
    main()
