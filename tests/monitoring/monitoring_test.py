"""What Prometheus and Grafana are given agrees with what is exported and documented, and every alert fires and clears.
The cluster tier runs the dashboards' queries on a live job (tests/cluster/tier/tier_monitoring.py)."""
import pathlib
import subprocess
import unittest

import catalog

HERE = pathlib.Path(__file__).resolve().parent
BINARIES = pathlib.Path(subprocess.run([HERE / "binaries"], check=True, capture_output=True, text=True).stdout.strip())


def run(*command):
    return subprocess.run(command, cwd=catalog.ROOT, capture_output=True, text=True, check=False)


class MonitoringTest(unittest.TestCase):
    def expect_ok(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_dashboards_are_what_the_script_writes(self):
        self.expect_ok(run("scripts/dashboards", "--check"))

    def test_rules_are_valid(self):
        self.expect_ok(run(BINARIES / "promtool", "check", "rules", catalog.ALERTS))

    def test_every_alert_fires_and_clears(self):
        self.expect_ok(run(BINARIES / "promtool", "test", "rules", catalog.ALERT_TESTS))
        tested = catalog.ALERT_TESTS.read_text()
        for alert in catalog.alerts():
            self.assertIn(f"alertname: {alert}\n", tested, "it never fires in a test")
            self.assertRegex(tested, rf"alertname: {alert}, exp_alerts: \[\]", "it never clears in a test")

    def test_every_alert_has_a_section(self):
        page = (catalog.ROOT / "docs/alerts.md").read_text()
        self.assertTrue(catalog.alerts())
        for alert in catalog.alerts():
            self.assertIn(f"\n## {alert}\n", page)

    def test_the_page_lists_what_is_exported(self):
        self.assertEqual(catalog.documented(), catalog.exported())

    def test_queries_use_what_is_exported(self):
        known = catalog.exported()
        self.assertLessEqual(catalog.used(catalog.ALERTS.read_text()), known)
        for board, title, query in catalog.panels():
            self.assertLessEqual(catalog.used(query), known, f"{board}: {title}")

    def test_names_follow_the_conventions(self):
        for name in catalog.exported():
            self.assertNotRegex(name, r"_(ms|milliseconds|minutes|kb|mb|percent)(_|$)", "base units only")


if __name__ == "__main__":
    unittest.main()
