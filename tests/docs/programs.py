"""Commands that documents show, held against the programs they call. Nothing of them runs: `attune` reads its whole command
line, finds no cluster and ends; of other programs words and options are looked up."""
import json
import os
import pathlib
import re
import subprocess

import jsonschema
import yaml

from pages import ROOT

# Programs of a system, of which only that the shell understands the line is checked.
ORDINARY = {"apt-get", "cat", "ctr", "skopeo", "cd", "cmake", "cp", "curl", "date", "docker", "export", "git", "jq", "kill", "mkdir", "openssl", "printf", "python3",
            "sed", "source", "tail"}

# What kubectl and helm are asked for in documents, with the options that they have for it.
KUBECTL_OPTIONS = {"-n", "--namespace", "-A", "--all-namespaces", "-o", "--output", "-l", "--selector", "--context", "--kubeconfig", "-f", "--filename"}
KUBECTL = {
    "annotate": {"--overwrite"}, "api-resources": set(), "apply": {"--server-side", "--dry-run"}, "auth": set(), "create": {"--from-file", "--from-literal", "--dry-run"},
    "cordon": set(), "debug": {"-it", "--image", "--target"}, "delete": {"--force", "--grace-period", "--wait", "--all"}, "describe": set(), "drain": {"--ignore-daemonsets", "--delete-emptydir-data"},
    "edit": set(), "events": {"--for"}, "exec": set(), "explain": {"--recursive"}, "krew": {"--manifest"}, "get": {"-w", "--watch", "--field-selector", "--sort-by", "--show-labels"},
    "label": {"--overwrite"}, "logs": {"-c", "--previous", "--tail", "--follow", "--since"}, "patch": {"--type", "-p", "--subresource"},
    "port-forward": {"--address"}, "replace": set(), "rollout": {"--timeout"}, "scale": {"--replicas"}, "top": set(), "uncordon": set(), "version": set(),
    "wait": {"--for", "--timeout"},
}
HELM_OPTIONS = {"-n", "--namespace", "--create-namespace", "--set", "--set-string", "--set-json", "-f", "--values", "--reuse-values", "--reset-then-reuse-values", "--version",
                "--wait", "--timeout", "--no-hooks", "--dry-run", "--atomic"}
HELM = {"get", "history", "install", "lint", "list", "rollback", "show", "status", "template", "test", "uninstall", "upgrade", "registry", "push", "package"}

# `attune` has read all of its command line when what it misses is a cluster, its input, or the file, run, checkpoint or program that was named.
UNDERSTOOD = (r"no usable kubeconfig|there is no (history of|run) |cannot (open|list|read) '|resume continues suspended jobs|"
              r"absent/program|there is no checkpoint|holds no checkpoint|standard input: holds no document")
OF_ONE_MACHINE = r"(for|shows) runs on this machine|on a cluster, write the absolute path"

CHART = ROOT / "charts/attune"


def options_of(words):
    return [word.split("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]


class Programs:
    """`binaries` has the built programs; `scratch` is an empty directory where they may look for files."""
    def __init__(self, binaries, scratch):
        self.binaries, self.scratch, self.helps, self.known = binaries, scratch, {}, {}
        for name in ("examples", "docs", "crds"):
            (scratch / name).symlink_to(ROOT / name)
        job = (ROOT / "examples/word2vec/job.yaml").read_text(encoding="utf-8").replace("[attune-word2vec]", "[/absent/program]")
        policy = "apiVersion: attune.dev/v1alpha1\nkind: TuningPolicy\nmetadata: {name: shown}\nspec: {mode: {default: Auto}}\n"
        for name, text in (("job.yaml", job), ("FILE", job), ("policy.yaml", policy)):
            (scratch / name).write_text(text, encoding="utf-8")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(scratch), "KUBECONFIG": str(scratch / "absent"), "XDG_RUNTIME_DIR": str(scratch)}

    def problem(self, words, page):
        """What is wrong with a command of a page, or None."""
        name = words[0]
        if words[:2] == ["kubectl", "attune"]:
            return self.attune(words[2:])
        program = pathlib.Path(name).name
        if program == "attune":
            return self.attune(words[1:])
        if program.startswith("attune-"):
            return self.by_help(program, words[1:])
        if program == "sudo":
            return self.problem(words[1:], page)
        if program in ("kubectl", "helm", "make"):
            return getattr(self, program)(words[1:])
        if "/" in name:
            return self.script(name, words[1:], page)
        return None if name in ORDINARY else f"{name}: a program that tests/docs/programs.py does not know"

    def attune(self, words):
        key = tuple(words)
        if key not in self.known:
            self.known[key] = self.attune_problem(words) if words else None
        return self.known[key]

    def attune_problem(self, words):
        command = next((word for word in words if not word.startswith("-")), "")
        if command == "run":  # its program is not there, so nothing begins
            missing = [word for word in words if re.search(r"/.*\.yaml$", word) and not (ROOT / word).exists()]
            words = ["job.yaml" if re.search(r"\.yaml$|^FILE$", word) and words[place - 1] not in ("--kubeconfig", "--report") else word for place, word in enumerate(words)]
            if missing:
                return f"there is no {missing[0]}"
        if words[:2] == ["policy", "test"]:
            words = ["policy.yaml" if word == "FILE" else word for word in words]
        named = any(word.split("=")[0] in ("--kubeconfig", "--context") for word in words)
        nowhere = ["--kubeconfig", str(self.scratch / "absent")]
        said = self.ask([] if named else nowhere, words)
        if command == "run" and not named:  # options for runs of this machine alone; options of both are read first on a cluster
            said = self.ask([], words) or (said if said and not re.search(OF_ONE_MACHINE, said) else None)
        return said

    def ask(self, where, words):
        done = subprocess.run([self.binaries / "attune", *where, *words], cwd=self.scratch, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30, check=False)
        said = (done.stdout + done.stderr).strip()
        return None if done.returncode == 0 or re.search(UNDERSTOOD, said) else said

    def by_help(self, program, words):
        path = self.binaries / program
        if not path.exists():
            return f"{program}: no program of the build"
        if program not in self.helps:
            done = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=30, check=False)
            self.helps[program] = done.stdout + done.stderr
        unknown = [option for option in options_of(words) if not re.search(rf"(^|[\s,[|]){re.escape(option)}\b", self.helps[program], re.MULTILINE)]
        return f"{program} has no option {unknown[0]}" if unknown else None

    def kubectl(self, words):
        known = KUBECTL.get(words[0])
        if known is None:
            return f"kubectl {words[0]}: not in the list of tests/docs/programs.py"
        unknown = [option for option in options_of(words) if option not in known | KUBECTL_OPTIONS]
        if unknown:
            return f"kubectl {words[0]} has no option {unknown[0]} in the list of tests/docs/programs.py"
        if words[0] == "patch" and "tj" in words:
            return self.patch(words[words.index("-p") + 1])
        files = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-f", "--filename")]
        missing = [file for file in files if "/" in file and not (ROOT / file).exists()]
        return f"there is no file {missing[0]}" if missing else None

    def patch(self, text):
        """A merge patch of a job leaves a valid job."""
        job = yaml.safe_load((ROOT / "examples/word2vec/job.yaml").read_text(encoding="utf-8"))
        return self.manifest(merged(job, json.loads(text)))

    def manifest(self, value):
        done = subprocess.run([self.binaries / "attune", "validate", "-"], input=yaml.safe_dump(value, sort_keys=False), cwd=self.scratch, env=self.environment,
                              capture_output=True, text=True, timeout=30, check=False)
        return None if done.returncode == 0 else (done.stdout + done.stderr).strip()

    def helm(self, words):
        if words[0] not in HELM:
            return f"helm {words[0]}: not in the list of tests/docs/programs.py"
        unknown = [option for option in options_of(words) if option not in HELM_OPTIONS]
        if unknown:
            return f"helm {words[0]} has no option {unknown[0]} in the list of tests/docs/programs.py"
        values = {}
        for place, word in enumerate(words[:-1]):
            if word == "--set":
                for setting in re.split(r",(?=[\w.]+=)", words[place + 1]):
                    put(values, *setting.split("=", 1))
        return self.values(values)

    def values(self, values):
        """Values of the chart, by its schema and by the names in values.yaml."""
        try:
            jsonschema.validate(values, json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")), cls=jsonschema.Draft7Validator)
        except jsonschema.ValidationError as error:
            return f"{'.'.join(map(str, error.path))}: {error.message}"
        return unknown_value(values, yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")), "")

    def make(self, words):
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        for word in words:
            setting = re.match(r"([A-Z_]+)=", word)
            if setting and not re.search(rf"\b{setting[1]}\b", text):
                return f"the Makefile knows no {setting[1]}"
            if not setting and not re.search(rf"^{re.escape(word)}:", text, re.MULTILINE):
                return f"the Makefile has no target {word}"
        return None

    def script(self, name, words, page):
        places = [ROOT / page.rpartition("/")[0] / name, ROOT / name]
        found = next((place for place in places if place.is_file()), None)
        if not found:
            return f"there is no {name}"
        if not os.access(found, os.X_OK):
            return f"{name} cannot be executed"
        if found == ROOT / "tests/cluster/run":  # it hands on another command
            return self.problem(words, page)
        text = found.read_text(encoding="utf-8")
        unknown = [option for option in options_of(words) if option.lstrip("-") not in text and option not in text]
        return f"{name} does not know {unknown[0]}" if unknown else None


def merged(value, patch):
    if not isinstance(patch, dict):
        return patch
    out = dict(value) if isinstance(value, dict) else {}
    for key, inside in patch.items():
        if inside is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), inside)
    return out


def put(values, path, text):
    for key in path.split(".")[:-1]:
        values = values.setdefault(key, {})
    values[path.split(".")[-1]] = yaml.safe_load(text)


def unknown_value(values, known, path):
    """The first value that values.yaml does not have. An empty map there takes any."""
    for key, inside in values.items():
        if key not in known:
            return f"the chart has no value {path}{key}"
        if isinstance(inside, dict) and isinstance(known[key], dict) and known[key]:
            problem = unknown_value(inside, known[key], f"{path}{key}.")
            if problem:
                return problem
    return None
