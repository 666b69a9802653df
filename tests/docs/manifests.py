"""Blocks of YAML: whole manifests, parts of them, and what belongs to other programs."""
import copy
import re

import jsonschema
import yaml

from pages import ROOT

# First lines of blocks that are for other programs. Here they are parsed; each says who reads the rest.
FOREIGN = {
    "# The ConfigMap argocd-cm of Argo CD": "a Lua interpreter runs its script in docs_test.py",
    "# A Kustomization of Flux": "an API server evaluates its expressions in tests/cluster/tier/tier_gitops.py",
    "# The configuration of Kueue": "Kueue reads it",
}

WORKERS = {"template": {"spec": {"containers": [{"name": "worker", "image": "example.org/worker", "command": ["worker"]}]}}}


def schema_of(kind):
    definition = yaml.safe_load((ROOT / f"crds/{kind.lower()}.yaml").read_text(encoding="utf-8"))
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def strict(schema):
    """As the API server reads it: a field that is not there is a mistake."""
    schema = copy.deepcopy(schema)

    def close(part):
        if isinstance(part, dict):
            if "properties" in part and not part.get("x-kubernetes-preserve-unknown-fields"):
                part.setdefault("additionalProperties", False)
            part.pop("required", None)  # a page shows some fields
            for inside in part.values():
                close(inside)
    close(schema)
    return schema


def filled(job):
    """A whole job around the fields that a page shows."""
    job.setdefault("metadata", {}).setdefault("name", "shown")
    workers = job.setdefault("spec", {}).setdefault("workers", {})
    workers.setdefault("template", copy.deepcopy(WORKERS["template"]))
    return job


def problem(block, programs):
    """(what it was held against, what is wrong with it or None)."""
    first = block.text.splitlines()[0]
    documents = [document for document in yaml.safe_load_all(block.text) if document is not None]
    if first in FOREIGN:
        return "for another program", None
    kinds = set()
    for value in documents:
        kind, said = problem_of(value, programs)
        kinds.add(kind)
        if said:
            return kind, said
    return ", ".join(sorted(kinds)) or "nothing", None if documents else "an empty block"


def problem_of(value, programs):
    kind = value.get("kind")
    if kind == "TrainingJob":
        return kind, programs.manifest(value if "spec" in value else filled(value))
    if kind in ("TuningPolicy", "ClusterTuningPolicy"):
        return kind, programs.manifest(value)
    if kind:
        return "an object of Kubernetes", object_problem(value)
    if set(value) == {"status"}:
        return "status of a TrainingJob", against(strict(schema_of("TrainingJob")["properties"]["status"]), value["status"])
    if set(value) <= {"metadata", "spec"} and "spec" in value:
        for kind in ("TrainingJob", "ClusterTuningPolicy"):
            if set(value["spec"]) <= set(schema_of(kind)["properties"]["spec"]["properties"]):
                whole = {"apiVersion": "attune.dev/v1alpha1", "kind": kind, "metadata": {"name": "shown"}} | copy.deepcopy(value)
                return f"part of a {kind}", programs.manifest(filled(whole) if kind == "TrainingJob" else whole)
        return "nothing", f"spec has fields that neither jobs nor policies have together: {', '.join(value['spec'])}"
    return "values of the chart", programs.values(value)


def object_problem(value):
    if not re.fullmatch(r"([a-z0-9.-]+/)?v\d+((alpha|beta)\d+)?", str(value.get("apiVersion"))):
        return "apiVersion is missing"
    if value["kind"] != "List" and not re.fullmatch(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", str(value.get("metadata", {}).get("name"))):
        return "metadata.name is missing, or no name"
    return None


def against(schema, value):
    try:
        jsonschema.validate(value, schema, cls=jsonschema.Draft7Validator)
    except jsonschema.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message}"
    return None
