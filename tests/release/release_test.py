"""A release is made of the same bytes each time, of one version; values have a page; images hold all that their programs load.
The cluster tier installs what is built here (tests/cluster/tier/tier_registry.py)."""
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = pathlib.Path(os.environ["ATTUNE_PROGRAMS"])
VERSION = re.search(r"^project\(attune VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment})


class WithDirectory(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="attune-release-test-"))
        self.addCleanup(shutil.rmtree, self.place)

    def expect_ok(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class ChartTest(WithDirectory):
    def test_every_value_has_a_comment_and_a_row(self):
        self.expect_ok(run("scripts/chart-values", "--check"))

    def test_a_value_without_a_comment_is_found(self):
        copy = self.place / "copy"
        for file in ("scripts/chart-values", "charts/attune/values.yaml", "docs/reference/chart-values.md"):
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy / file)
        values = copy / "charts/attune/values.yaml"
        self.expect_ok(run(copy / "scripts/chart-values", "--check"))
        values.write_text(values.read_text() + "\nnew:\n  value: 1\n")
        self.assertIn("new.value", run(copy / "scripts/chart-values", "--check").stderr)
        values.write_text(values.read_text().replace("\nnew:", "\n# What it is.\nnew:"))
        self.assertIn("run it", run(copy / "scripts/chart-values", "--check").stderr)

    def test_the_archive_names_one_version(self):
        archive = pathlib.Path(self.expect_ok(run("scripts/package-chart", self.place, "7.8.9")).strip())
        self.assertEqual(archive.name, "attune-7.8.9.tgz")
        with tarfile.open(archive) as chart:
            files = {member.name: chart.extractfile(member).read().decode() for member in chart}
        self.assertEqual(re.findall(r"^(?:version|appVersion): (.*)", files["attune/Chart.yaml"], re.MULTILINE), ["7.8.9", "7.8.9"])
        self.assertIn("attune/operator:7.8.9", files["attune/Chart.yaml"])
        self.assertIn("\n  tag: 7.8.9\n", files["attune/values.yaml"])
        self.assertIn("kind: CustomResourceDefinition", files["attune/files/trainingjob.yaml"], "a link that leads nowhere in the archive")
        self.assertNotIn(":dev", "".join(files.values()))


class ReleaseTest(WithDirectory):
    def release(self, name, *parts, version=VERSION, **environment):
        """With small programs in place of ours: what is done with them is the same."""
        programs = self.place / "programs"
        programs.mkdir(exist_ok=True)
        for program in ("attune", "attune-server", "attune-sidecar"):
            shutil.copy("/usr/bin/true", programs / program)
        return run("scripts/release", version, self.place / name, *parts, PROGRAMS=str(programs), **environment), self.place / name / version

    def test_it_is_the_same_each_time(self):
        parts = ("changes", "chart", "cli", "deb", "krew")
        sums = []
        for name in ("first", "second"):
            done, out = self.release(name, *parts)
            self.expect_ok(done)
            self.expect_ok(run("sh", "-c", f"cd '{out}' && sha256sum --check --strict --quiet SHA256SUMS"))
            sums.append((out / "SHA256SUMS").read_text())
        self.assertEqual(sums[0], sums[1])
        listed = {line.split()[1] for line in sums[0].splitlines()}
        self.assertEqual(listed, {path.name for path in out.iterdir()} - {"SHA256SUMS"})
        self.assertEqual(len(listed), 5)
        self.assertTrue((out / "CHANGES.md").read_text().startswith(f"# Attune {VERSION}\n\n- "))

    def test_the_package_installs_what_it_says(self):
        done, out = self.release("deb", "deb")
        self.expect_ok(done)
        package, = out.glob("*.deb")
        fields = dict(line.split(": ", 1) for line in self.expect_ok(run("dpkg-deb", "--field", package)).splitlines() if not line.startswith(" "))
        self.assertEqual((fields["Package"], fields["Version"]), ("attune", VERSION))
        self.assertRegex(fields["Depends"], r"\blibc6 \(>= ")
        self.expect_ok(run("dpkg-deb", "-x", package, self.place / "root"))
        self.assertEqual(os.readlink(self.place / "root/usr/bin/kubectl-attune"), "attune")
        self.expect_ok(run(self.place / "root/usr/bin/kubectl-attune"))

    def test_krew_is_told_of_the_archive_beside_it(self):
        done, out = self.release("krew", "krew", RELEASE_URL="https://example.org/files")
        self.expect_ok(done)
        manifest = yaml.safe_load((out / "krew-attune.yaml").read_text())
        platform, = manifest["spec"]["platforms"]
        archive = out / platform["uri"].removeprefix("https://example.org/files/")
        self.assertEqual(hashlib.sha256(archive.read_bytes()).hexdigest(), platform["sha256"])
        with tarfile.open(archive) as inside:
            names = inside.getnames()
            for rule in platform["files"]:  # as krew does: a pattern over paths of the archive
                self.assertEqual(len(fnmatch.filter(names, rule["from"])), 1, rule)
            self.assertTrue(inside.getmember(fnmatch.filter(names, "*/bin/attune")[0]).isfile())

    def test_man_pages_of_every_command_are_read_by_groff(self):
        self.expect_ok(run("scripts/man-pages", PROGRAMS, self.place / "man"))
        pages = sorted((self.place / "man").iterdir())
        self.assertGreater(len(pages), 25)
        for page in pages:
            done = run("groff", "-man", "-Tutf8", "-ww", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
            for section in ("NAME", "SYNOPSIS", "SEE ALSO"):
                self.assertIn(f".SH {section}\n", page.read_text(), page.name)
        self.assertIn("workers=N, servers=N", run("groff", "-man", "-Tascii", self.place / "man/attune-scale.1").stdout)

    def test_an_installation_has_the_man_pages(self):
        self.expect_ok(run("cmake", "--install", PROGRAMS.parent, "--prefix", self.place, "--component", "manual"))
        installed = {page.name for page in (self.place / "share/man/man1").iterdir()}
        self.expect_ok(run("scripts/man-pages", PROGRAMS, self.place / "man"))
        self.assertEqual(installed, {page.name for page in (self.place / "man").iterdir()})
        self.assertIn("attune-scale.1", installed)

    def test_another_version_is_refused(self):
        for version, words in (("9.9.9", f"is {VERSION}"), ("v1", "x.y.z"), ("", "x.y.z")):
            done, out = self.release("refused", "chart", version=version)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
        self.assertIn("no part 'charts'", self.release("refused", "charts")[0].stderr)


class ImageTest(WithDirectory):
    def test_an_image_holds_all_that_its_program_loads(self):
        roots = self.place / "roots"
        images = ("operator", "sidecar", "server")
        self.expect_ok(run("docker/stage-roots", roots, PROGRAMS, *images))
        for image in images:
            whole = self.place / image
            for layer in ("base", "libraries", image):
                shutil.copytree(roots / layer, whole, symlinks=True, dirs_exist_ok=True)
            loader, = (whole / "usr/lib64").iterdir()
            libraries = loader.resolve().parent
            self.assertTrue(libraries.is_relative_to(whole), f"{loader} leads out of the image")
            listed = self.expect_ok(run(loader.resolve(), "--inhibit-cache", "--library-path", libraries, "--list", whole / f"usr/bin/attune-{image}"))
            places = re.findall(r"=> (/\S+)", listed)
            self.assertGreater(len(places), 30)
            self.assertEqual([place for place in places if not place.startswith(str(whole))], [], f"{image} would load these from elsewhere")
            for package in (whole / "var/lib/dpkg/status.d").iterdir():
                self.assertTrue((whole / "usr/share/doc" / package.name / "copyright").stat().st_size > 0)
            self.assertEqual((whole / "tmp").stat().st_mode & 0o7777, 0o1777)
            self.assertFalse((whole / "bin").exists(), "there is no shell")

    def test_the_list_of_parts_names_packages_and_program(self):
        layer = self.place / "layer"
        (layer / "var/lib/dpkg/status.d").mkdir(parents=True)
        (layer / "usr/bin").mkdir(parents=True)
        (layer / "usr/bin/attune-server").write_text("program")
        (layer / "var/lib/dpkg/status.d/libx1").write_text("Package: libx1\nArchitecture: amd64\nSource: x (2-1)\nVersion: 1:2+b1\n")
        texts = [self.expect_ok(run("docker/sbom", "server", "1.2.3", "0", layer)) for _ in range(2)]
        self.assertEqual(texts[0], texts[1])
        document = json.loads(texts[0])
        packages = {package["name"]: package for package in document["packages"]}
        self.assertEqual(packages["libx1"]["externalRefs"][0]["referenceLocator"], "pkg:deb/debian/libx1@1%3A2%2Bb1?arch=amd64&distro=debian-12")
        self.assertEqual(packages["attune-server"]["checksums"][0]["checksumValue"], "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8")
        known = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
        self.assertEqual(len(known), len(packages) + 1)
        for relation in document["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, known)


if __name__ == "__main__":
    unittest.main()
