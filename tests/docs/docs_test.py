#!/usr/bin/python3
"""What the documents show is true of the programs: docs_test.py [BINARIES]

Links lead somewhere; manifests are valid; commands are understood by the programs that they call; the pages of the
reference are what programs and definitions say; and what can be run on any machine is run. Every block of code has
a language, which says what is done with it (LANGUAGES); a block for which nothing can be done is on a short list with its reason.
"""
import collections
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import yaml

import manifests
import pages
import shell
import site_check
from programs import Programs
from walk import Place, shell_blocks

ROOT = pages.ROOT
BINARIES = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else ROOT / "build/release/bin"

LANGUAGES = {
    "sh": "each command is held against its program; pages in test_*_runs are run",
    "console": "the same, of what follows a prompt",
    "yaml": "validated",
    "cpp": "stands in a program that is compiled and run (tests/structure/snippets_test.cpp)",
    "cmake": "stands in a project that is built (the same)",
    "python": "run",
    "text": "output or a drawing: nothing to run",
}
# Commands in running text that are named without what they need, such as `attune run`, are mentions: their words and options exist.
INCOMPLETE = re.compile(r"is required|required \w+ missing|no (change|mode|file|pod|role) is named|write move")
PROGRAMS = r"(attune|kubectl|helm|make|attune-[a-z2-]+|scripts/[\w-]+|bench/[\w-]+|tests/cluster/[\w-]+)"


class DocumentTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="attune-docs-")
        self.addCleanup(directory.cleanup)
        self.scratch = pathlib.Path(directory.name)

    def expect_none(self, problems):
        if problems:
            self.fail("\n" + "\n".join(problems))


class LinksTest(DocumentTest):
    def test_links_and_anchors_lead_somewhere(self):
        problems, count = [], 0
        for page in pages.pages():
            for line, target in pages.links(page):
                if re.match(r"[a-z]+:", target):
                    continue
                count += 1
                path, _, anchor = target.partition("#")
                place = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not (ROOT / place).exists():
                    problems.append(f"{page}:{line}: {target} leads to no file")
                elif anchor and place.endswith(".md") and anchor not in pages.anchors(place):
                    problems.append(f"{page}:{line}: {place} has no section #{anchor}")
        self.expect_none(problems)
        self.assertGreater(count, 300)

    def test_rows_of_tables_have_the_cells_of_their_head(self):
        self.expect_none([f"{page}:{line}: {cells} cells below {head}" for page in pages.pages() for line, cells, head in pages.ragged_rows(page)])

    def test_the_site_is_built_and_whole(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([ROOT / "scripts/site/build", self.scratch / "site"], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, 30, "seconds of CPU: the site takes long to build")
        count, problems = site_check.broken(self.scratch / "site")
        self.expect_none(problems)
        self.assertGreater(count, 5000)
        self.expect_none(list(site_check.raw_lists(self.scratch / "site")))
        index = (self.scratch / "site/search/offline.js").read_text(encoding="utf-8")
        self.assertIn("docs/tuning.html", index)

    def test_every_page_is_in_the_navigation(self):
        text = (ROOT / "docs/mkdocs.yml").read_text(encoding="utf-8")
        missing = [page for page in pages.pages() if page not in text and not page.startswith("docs/decisions/")]
        self.assertEqual([], missing, "add them to nav of docs/mkdocs.yml")


class ReferenceTest(DocumentTest):
    def test_pictures_are_what_the_script_draws(self):
        done = subprocess.run([ROOT / "scripts/pictures", "--check"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_the_reference_is_what_programs_and_definitions_say(self):
        check = [] if "ATTUNE_UPDATE_GOLDEN" in os.environ else ["--check"]
        done = subprocess.run([ROOT / "scripts/reference", BINARIES, *check], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(0, done.returncode, done.stderr + "or run this test with ATTUNE_UPDATE_GOLDEN=1")

    def test_every_command_has_a_section(self):
        # What a shell completes comes from the commands themselves; the page is made from the lists in --help.
        sections = re.findall(r"^## attune (\S+)$", (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8"), re.MULTILINE)
        completion = subprocess.run([BINARIES / "attune", "completion", "bash"], capture_output=True, text=True, timeout=60, check=True).stdout
        commands = re.search(r'^_attune_commands="(.+)"$', completion, re.MULTILINE)[1].split()
        self.assertEqual([], sorted(set(commands) - set(sections)), "commands without a section")
        self.assertEqual([], sorted(set(sections) - set(commands)), "sections without a command")


class BlocksTest(DocumentTest):
    def setUp(self):
        super().setUp()
        self.programs = Programs(BINARIES, self.scratch)

    def test_every_block_has_a_language_that_says_what_is_done_with_it(self):
        self.expect_none([f"{block}: '{block.language}'; known are {', '.join(LANGUAGES)}" for block in pages.blocks() if block.language not in LANGUAGES])

    def test_output_and_drawings_hold_no_commands(self):
        command = re.compile(rf"^(\$ )?{PROGRAMS} ", re.MULTILINE)
        self.expect_none([f"{block}: make it sh or console" for block in pages.blocks() if block.language == "text" and command.search(block.text)])

    def test_manifests_are_valid(self):
        problems, held = [], collections.Counter()
        for block in pages.blocks():
            if block.language == "yaml":
                kind, said = manifests.problem(block, self.programs)
                held[kind] += 1
                problems += [f"{block}: as {kind}: {said}"] if said else []
        self.expect_none(problems)
        print("yaml:", ", ".join(f"{count} {kind}" for kind, count in held.most_common()))
        self.assertEqual(len(manifests.FOREIGN), held["for another program"], "FOREIGN in tests/docs/manifests.py lists blocks that are not there")

    def commands(self, where, text, mention=False):
        """Problems of a text of commands."""
        said = shell.syntax_error(text)
        if said:
            return [f"{where}: {said}"]
        problems = []
        for words in shell.commands(text):
            self.count += 1
            said = self.programs.problem(words, where.page)
            if said and not (mention and INCOMPLETE.search(said)):
                problems.append(f"{where}: {' '.join(words)}: {said}")
        return problems

    def test_commands_in_blocks_are_understood(self):
        problems, self.count = [], 0
        for block in pages.blocks():
            if block.language in ("sh", "console"):
                problems += self.commands(block, shell.lines_of(block))
        self.expect_none(problems)
        print(self.count, "commands in blocks")

    def test_commands_in_text_are_understood(self):
        problems, self.count = [], 0
        for page in pages.pages():
            if page == "CHANGELOG.md":  # past versions had other commands
                continue
            for span in pages.spans(page):
                if re.match(rf"{PROGRAMS} \S", span.text) and not re.search(r"\[|\.\.\.", span.text):
                    problems += self.commands(span, re.sub(r"\bKNOB=VALUE\b|=N\b", lambda found: "workers=2" if "KNOB" in found[0] else "=2", span.text), mention=True)
        self.expect_none(problems)
        print(self.count, "commands in text")


class MistakesTest(DocumentTest):
    """The checks above find what is wrong, so that their silence means something."""
    def setUp(self):
        super().setUp()
        self.programs = Programs(BINARIES, self.scratch)

    def test_wrong_commands_are_found(self):
        for text in ("attune scael JOB workers=4", "attune scale JOB wrkers=4", "attune run --tune fast job.yaml", "attune get --al", "attune sync JOB spp:4",
                     "attune export DIR --format parquet", "attune run examples/word2vec/jobs.yaml", "attune-server --bogus", "attune-trainer",
                     "make tests", "make run EXAMPEL=word2vec", "helm install attune charts/attune --set replica=3", "helm install attune charts/attune --set replicas=many",
                     "kubectl scale tj/JOB --replica=4", "kubectl gets tj", "kubectl apply -f crds/jobs.yaml", "scripts/tests", "scripts/test --fast", "frobnicate now",
                     """kubectl patch tj JOB --type=merge -p '{"spec":{"workers":{"replica":2}}}'""", "x=$(attune gte)", "make test && attune gte"):
            said = [self.programs.problem(words, "README.md") for words in shell.commands(text)]
            self.assertTrue(any(said), text)

    def test_wrong_manifests_are_found(self):
        for text in ("spec: {goal: {epoch: 1}}", "spec: {goal: {epochs: many}}", "status: {metrics: [{name: x, values: 1}]}", "kind: ConfigMap\nmetadata: {name: x}",
                     "replica: 2", "replicas: two", "monitoring: {rules: {enable: true}}",
                     "apiVersion: attune.dev/v1alpha1\nkind: TuningPolicy\nmetadata: {name: x}\nspec: {knobs: {wokers: {max: 4}}}"):
            kind, said = manifests.problem(pages.Block("README.md", 1, "yaml", text + "\n"), self.programs)
            self.assertTrue(said, f"{text} as {kind}")

    def test_broken_places_of_a_site_are_found(self):
        (self.scratch / "a.html").write_text('<p id="here"><a href="a.html#here">1</a><a href="b.html">2</a><a href="#gone">3</a><img src="https://elsewhere/x.png"></p>', encoding="utf-8")
        (self.scratch / "c.html").write_text("<p>so:\n- one</p><p>so</p>", encoding="utf-8")
        self.assertEqual(1, len(list(site_check.raw_lists(self.scratch))))
        self.assertEqual((3, 3), (lambda count, found: (count, len(found)))(*site_check.broken(self.scratch)))


class RunTest(DocumentTest):
    """What runs anywhere is run."""
    def test_the_first_job_runs(self):
        place = Place(BINARIES, str(self.scratch))
        manifest, = [block for block in pages.parts("docs/start/first-job.md")[1] if block.language == "yaml"]
        (self.scratch / "job.yaml").write_text(manifest.text, encoding="utf-8")
        self.addCleanup(lambda: subprocess.run(["attune", "stop", "first", "--no-checkpoint"], env=place.environment, cwd=self.scratch, capture_output=True, timeout=60, check=False))
        training = False
        for block, text in shell_blocks("docs/start/first-job.md"):
            with self.subTest(str(block)):
                place.run(text)
                training = training or "--detach" in text
                if "--detach" in text:
                    place.wait_for_training("first")
        self.assertTrue(training)
        self.assertIn("<svg", (self.scratch / "report.html").read_text(encoding="utf-8"))
        self.assertGreater((self.scratch / "vectors.npz").stat().st_size, 10000)

    def test_certificates_of_ones_own_are_made(self):
        place = Place(BINARIES, str(self.scratch))
        place.program("kubectl", '#!/bin/sh\n[ "$1" = get ] && echo 7c0f5b1e-uid; echo "$@" >> kubectl.log\n')
        (_, text), = [shown for shown in shell_blocks("docs/security.md") if "openssl" in shown[1]]
        place.run(text)
        said = place.run("openssl verify -CAfile ca.crt tls.crt; openssl x509 -in tls.crt -noout -ext subjectAltName")
        self.assertIn("tls.crt: OK", said)
        self.assertIn("DNS:7c0f5b1e-uid", said)
        self.assertIn("secret generic word2vec-token", (self.scratch / "kubectl.log").read_text(encoding="utf-8"))

    def test_an_exported_model_is_read(self):
        place = Place(BINARIES, str(self.scratch))
        block, = [block for block in pages.blocks() if block.language == "python"]
        made = "import numpy\nnumpy.savez('embedding.npz', **{'embedding.keys': numpy.arange(3), 'embedding.values': numpy.ones((3, 2), 'float32')})\n"
        (self.scratch / "shown.py").write_text(made + block.text + "assert row_of[2].tolist() == [1, 1]\n", encoding="utf-8")
        place.run("/usr/bin/python3 shown.py")

    def test_argo_cd_is_told_what_the_conditions_of_a_job_say(self):
        block, = [block for block in pages.parts("docs/gitops.md")[1] if "argocd-cm" in block.text]
        script, = yaml.safe_load(block.text)["data"].values()

        def literal(value):
            if isinstance(value, dict):
                return "{" + ", ".join(f"[{json.dumps(key)}] = {literal(part)}" for key, part in value.items()) + "}"
            return "{" + ", ".join(map(literal, value)) + "}" if isinstance(value, list) else json.dumps(value)

        def health(job):
            text = f"local obj = {literal(job)}\nlocal function health()\n{script}\nend\nprint(health().status)"
            done = subprocess.run(["lua5.1", "-"], input=text, capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(0, done.returncode, done.stderr)
            return done.stdout.strip()

        def job(*true):
            kinds = ("Progressing", "Ready", "Degraded", "Suspended", "GoalReached", "Succeeded", "Failed")
            return {"status": {"conditions": [{"type": kind, "status": "True" if kind in true else "False", "message": "m"} for kind in kinds]}}

        for what, found, expected in (("not seen by the operator yet", {}, "Progressing"), ("without conditions", {"status": {"phase": "Pending"}}, "Progressing"),
                                      ("its pods start", job("Progressing"), "Progressing"), ("trains", job("Ready"), "Healthy"),
                                      ("trains with a copy less", job("Ready", "Degraded"), "Healthy"), ("waits for its machines", job("Suspended"), "Suspended"),
                                      ("suspended while it trained", job("Ready", "Suspended"), "Suspended"), ("closing work", job("Ready", "GoalReached"), "Healthy"),
                                      ("done", job("GoalReached", "Succeeded"), "Healthy"), ("failed", job("Failed"), "Degraded")):
            with self.subTest(what):
                self.assertEqual(expected, health(found))

    def test_a_session_with_the_tuner_goes_as_shown(self):
        block, = [block for block in pages.parts("docs/tuner.md")[1] if '"type":"start"' in block.text]
        shown = re.sub(r"\n +", "", block.text).splitlines()
        done = subprocess.run([BINARIES / "attune", "tuner", "--jsonl"], input="\n".join(line[2:] for line in shown if line.startswith("> ")) + "\n",
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        answers = [line[2:] for line in shown if line.startswith("< ")]
        self.assertEqual(len(answers), len(done.stdout.splitlines()), done.stdout)
        for expected, answer in zip(answers, done.stdout.splitlines()):
            for part in (r'"type":"\w+"', r'"setting":\{[^}]*\}', r'"kind":"\w+"'):  # its figures depend on the machine's arithmetic
                self.assertIn(re.search(part, expected)[0], answer)


if __name__ == "__main__":
    unittest.main(verbosity=2)
