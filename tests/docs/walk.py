"""Pages whose commands are run: in their order, in a directory of their own, with stand-ins for what is not there."""
import json
import os
import pathlib
import subprocess
import time

from pages import parts
from shell import lines_of


class Place:
    """An empty directory in which the programs of the build find no jobs and no clusters but those of the test."""
    def __init__(self, binaries, directory, **more):
        self.directory = pathlib.Path(directory)
        self.environment = {"PATH": f"{self.directory}/bin:{binaries}:{os.environ['PATH']}", "HOME": directory, "XDG_RUNTIME_DIR": directory,
                            "KUBECONFIG": f"{directory}/absent", "TERM": "dumb", **more}

    def program(self, name, text):
        file = self.directory / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)

    def run(self, text, seconds=120):
        """What the commands wrote; an error with that when one of them failed."""
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=seconds, check=False)
        assert done.returncode == 0, f"{text}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def wait_for_training(self, job, seconds=60):
        """Until a job has made steps: what a person sees before the next command of the page."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            said = json.loads(self.run(f"attune get {job} -o json"))
            if said.get("status", {}).get("progress", {}).get("fraction", 0) > 0:
                return
            time.sleep(0.2)
        raise AssertionError(f"{job} has made no step within {seconds} s: {said}")


def shell_blocks(page, heading=None):
    """The commands of a page, or of one of its sections."""
    words, blocks = parts(page)
    if heading:
        begin = next(number for number, line in words if line == heading)
        end = next((number for number, line in words if number > begin and line.startswith("## ")), 10 ** 6)
        blocks = [block for block in blocks if begin < block.line < end]
    return [(block, lines_of(block)) for block in blocks if block.language in ("sh", "console")]
