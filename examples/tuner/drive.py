#!/usr/bin/env python3
"""Drives `attune tuner --jsonl` with a made-up job and prints what it does: drive.py [PATH-OF-ATTUNE]

The job: updates per second grow with workers until servers starve; 60,000 updates are to be made.
"""
import json, math, random, subprocess, sys

tuner = subprocess.Popen([sys.argv[1] if len(sys.argv) > 1 else "attune", "tuner", "--jsonl"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def tell(**line):
    tuner.stdin.write(json.dumps(line) + "\n")
    tuner.stdin.flush()


def ask(**line):
    tell(**line)
    answer = json.loads(tuner.stdout.readline())
    if answer["type"] == "error":
        sys.exit(f"line {answer['line']}: {answer['message']}")
    return answer


def updates_per_second(servers, workers, threads):
    return 1 / (0.1 * ((0.3 + 0.7 / threads) / workers + 0.25 / servers + 0.004 * workers))


GOAL, chance = 60_000, random.Random(1)
setting, time, steps = {"servers": 1, "workers": 1, "threads": 1}, 0.0, 0.0
tell(type="start", space={"knobs": {"servers": [1, 8], "workers": [1, 16], "threads": [1, 4]}},
     goal={"kind": "steps", "target": GOAL}, window_s=5, mode="async", current=setting, seed=1,
     costs={"live_s": 0.2, "relocation_s": 2, "pods_s": 10, "crash_s": 60})
while steps < GOAL:
    decision = ask(type="ask", time=time, current=setting)
    if decision["setting"] != setting:
        print(f"{time:7.1f} s  {decision['kind']:5}  {decision['setting']}  {decision['why']}")
    setting = decision["setting"]
    made = decision["seconds"] * updates_per_second(**setting) * math.exp(0.03 * chance.gauss(0, 1))
    time, steps = time + decision["seconds"], steps + made
    tell(type="report", ok=True, setting=setting, time=time, seconds=decision["seconds"], steps=made)
tell(type="end")
tuner.stdin.close()
best = max(updates_per_second(p, w, t) for p in range(1, 9) for w in range(1, 17) for t in range(1, 5))
print(f"finished after {time:.0f} s; the best setting from the start on: {GOAL / best:.0f} s")
sys.exit(tuner.wait() or time > 1.3 * GOAL / best)
