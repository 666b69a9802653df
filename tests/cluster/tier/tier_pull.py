"""Check of the cluster tier: a model leaves its claim by attune pull-model, byte by byte, and nothing stays behind."""
import filecmp
import json
import shutil
import tempfile
import pathlib

from tier_checkpoints import CLAIM, make_models_claim
from tier_cluster import STATE, CheckFailed, expect, get, kubectl, say
from tier_job import Job

NAME = "fetched"


def files_below(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def register(check, namespace):
    job = Job(NAME, namespace)

    @check("a job's model is pulled from its claim, whole, and the reader goes", needs=["install"])
    def pull_model(run):
        make_models_claim(namespace)
        kept = STATE / "models" / NAME
        shutil.rmtree(kept, ignore_errors=True)
        workers = job.example()["spec"]["workers"]
        workers["template"]["spec"]["containers"][0]["args"].append("--save-tables")
        job.run(run.build, {"workers": workers, "goal": {"epochs": 100_000, "maxDurationSeconds": 40}, "model": {"claim": CLAIM}, "checkpoint": {"intervalSeconds": 5}})
        job.await_("a checkpoint", 120, lambda state: (state.get("checkpoint") or {}).get("rows", 0) > 0)
        with tempfile.TemporaryDirectory() as directory:
            to = pathlib.Path(directory) / "model"
            # While it trains, from a volume that is written to.
            said = json.loads(job.attune(run.build, "pull-model", NAME, to, "--checkpoints", "-o", "json"))
            expect(any(file["path"].startswith("checkpoints/") for file in said["files"]), f"no checkpoint came: {said}")
            job.await_success(120)
            shutil.rmtree(to)
            say("    " + job.attune(run.build, "pull-model", NAME, to).strip().replace("\n", "\n    "))
            expected = [name for name in files_below(kept) if not name.startswith("checkpoints/")]
            expect(expected and files_below(to) == expected, f"{files_below(to)} came of {expected}")
            for name in expected:
                expect(filecmp.cmp(kept / name, to / name, shallow=False), f"{name} is another file here")
            job.attune(run.build, "inspect", to, "--verify")
            again = json.loads(job.attune(run.build, "pull-model", NAME, to, "-o", "json"))
            expect(again["received"] == 0, f"what was there came again: {again}")
            (to / expected[0]).write_text("mine")
            try:
                job.attune(run.build, "pull-model", NAME, to)
            except CheckFailed as refused:
                expect("--force" in str(refused), str(refused))
            else:
                raise CheckFailed("a file that differs was overwritten")
        reader = f"{NAME}-model-reader"
        pod = get("pod", reader, "-n", namespace)
        expect(not pod or "deletionTimestamp" in pod["metadata"], f"{reader} is still there")
        job.delete()
