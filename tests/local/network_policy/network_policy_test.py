#!/usr/bin/env python3
"""Who reaches the pods of a job under the NetworkPolicy that the operator makes for it.

network_policy_test.py POLICY.json SERVER WORKER: the object of operator/controller/objects/job_policy.cpp (its unit test holds
the file), attune-server and counting_worker. Five pods are network namespaces at one switch; the policy becomes
firewall rules in the pods that it selects, since a network plugin that would do this is no part of the tests. Needs
root, iproute2 and iptables; exits with 77 where namespaces cannot be made.
"""
import contextlib
import errno
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import unittest

import policy_rules
from policy_rules import Pod

POLICY = json.loads(pathlib.Path(sys.argv[1]).read_text())
SERVER, WORKER = sys.argv[2:4]
NOT_POSSIBLE = 77
COORDINATOR, ROWS, METRICS, OWN = 7400, 7401, 7402, 9000
ITEMS = 2000

OF_JOB = dict(POLICY["spec"]["podSelector"]["matchLabels"])
PODS = [Pod("server", "10.77.0.1", labels=OF_JOB),
        Pod("worker", "10.77.0.2", labels=OF_JOB),
        Pod("other-job", "10.77.0.3", labels={"attune.dev/job-uid": "another"}),
        Pod("other-namespace", "10.77.0.4", namespace="team-b", labels=OF_JOB),
        Pod("prometheus", "10.77.0.5", namespace="monitoring",
            namespace_labels={"kubernetes.io/metadata.name": "monitoring"})]

# Connects to each port of the first argument and says which answered: also a refusal shows that packets arrive.
PROBE = """
import errno, socket, sys
reached = []
for port in sys.argv[2].split(","):
    try:
        socket.create_connection((sys.argv[1], int(port)), timeout=2).close()
        reached.append(port)
    except ConnectionRefusedError:
        reached.append(port)
    except (TimeoutError, socket.timeout):
        pass
print(",".join(reached))
"""


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, **more).stdout


class Network:
    """A namespace per pod, joined by a bridge in one of its own."""

    def __init__(self):
        self.prefix = f"attune-policy-{os.getpid()}"
        self.switch = f"{self.prefix}-switch"
        self.made = []

    def __enter__(self):
        try:
            self.add(self.switch)
            run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
            run("ip", "-n", self.switch, "link", "set", "br0", "up")
            for number, pod in enumerate(PODS):
                self.join(pod, f"port{number}")
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for name in reversed(self.made):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def add(self, name):
        run("ip", "netns", "add", name)
        self.made.append(name)

    def join(self, pod, port):
        name = self.of(pod)
        self.add(name)
        run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        run("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
        run("ip", "-n", name, "address", "add", f"{pod.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            run("ip", "-n", name, "link", "set", device, "up")

    def of(self, pod):
        return f"{self.prefix}-{pod.name}"

    def inside(self, pod, *command):
        return ["ip", "netns", "exec", self.of(pod), *command]

    def enforce(self, policy):
        for pod in PODS:
            for rule in policy_rules.rules_of(policy, pod, PODS):
                run(*self.inside(pod, "iptables", *rule))

    def reached(self, source, target, ports):
        answer = run(*self.inside(source, sys.executable, "-c", PROBE, target.address, ",".join(map(str, ports)))).strip()
        return [int(port) for port in answer.split(",") if port]


def environment(pod, index, directory):
    return {**os.environ, "ATTUNE_JOB": "policy", "ATTUNE_JOB_UID": "uid-of-the-policy", "ATTUNE_INDEX": str(index),
            "ATTUNE_POD_IP": pod.address, "ATTUNE_COORDINATOR": f"{PODS[0].address}:{COORDINATOR}",
            "ATTUNE_JOB_TOKEN_FILE": f"{directory}/token"}


@contextlib.contextmanager
def serving(network, directory):
    with open(f"{directory}/log", "w+") as log:
        server = subprocess.Popen(network.inside(PODS[0], SERVER, "--servers", "1", "--coordinator-here"),
                                  env=environment(PODS[0], 0, directory), stdout=log, stderr=subprocess.PIPE, text=True)
        try:
            said = ""
            while " serving " not in said:
                ready, _, _ = select.select([server.stderr], [], [], 30)
                line = server.stderr.readline() if ready else ""
                if not line:
                    raise AssertionError(f"the server does not serve: {said}")
                said += line
            yield server
        finally:
            server.terminate()
            server.communicate(timeout=30)


class PolicyTest(unittest.TestCase):
    def test_who_reaches_the_pods_of_a_job(self):
        server, worker, other_job, other_namespace, prometheus = PODS
        ports = [COORDINATOR, ROWS, METRICS, OWN]
        with tempfile.TemporaryDirectory() as directory, Network() as network:
            token = pathlib.Path(directory, "token")
            token.touch(0o600)
            token.write_text("a token that no stranger has")
            with serving(network, directory):
                for stranger in (other_job, other_namespace, prometheus):
                    self.assertEqual(network.reached(stranger, server, ports), ports, f"{stranger.name}: no rule yet")
                network.enforce(POLICY)
                self.assertEqual(network.reached(worker, server, ports), ports, "pods of the job reach each other")
                self.assertEqual(network.reached(server, worker, ports), ports)
                self.assertEqual(network.reached(prometheus, server, ports), [METRICS])
                for stranger in (other_job, other_namespace):
                    self.assertEqual(network.reached(stranger, server, ports), [], stranger.name)
                    self.assertEqual(network.reached(server, stranger, ports), ports, "what pods reach is not restricted")
                trained = subprocess.run(network.inside(worker, WORKER, str(ITEMS), "0"), text=True, timeout=60,
                                         env=environment(worker, 0, directory), capture_output=True, check=False)
                self.assertEqual(trained.returncode, 0, trained.stdout + trained.stderr)


class RulesTest(unittest.TestCase):
    def test_what_is_not_translated_is_an_error(self):
        for change in ({"egress": []}, {"policyTypes": ["Egress"]}, {"ingress": [{"to": []}]}):
            policy = {**POLICY, "spec": {**POLICY["spec"], **change}}
            with self.assertRaises(ValueError):
                policy_rules.rules_of(policy, PODS[0], PODS)

    def test_a_pod_that_is_not_selected_has_no_rules(self):
        self.assertEqual(policy_rules.rules_of(POLICY, PODS[2], PODS), [])


if __name__ == "__main__":
    try:
        with Network():
            pass
    except (subprocess.CalledProcessError, FileNotFoundError) as reason:
        print(f"left out: network namespaces cannot be made here: {getattr(reason, 'stderr', None) or reason}")
        sys.exit(NOT_POSSIBLE)
    unittest.main(argv=sys.argv[:1])
