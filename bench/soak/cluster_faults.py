"""Faults of a cluster's machines and control plane, with the scripts of tests/cluster. A node is named by what runs on it when the fault
begins; its number is the last character of its name."""
import os, signal, time

import cluster_job
from cluster_job import cluster, command, get, kubectl
from faults import Fault, Measure

HERE = cluster.HERE
LISTENS_SECONDS = 15  # until an operator that was moved has heard everybody: one that has just begun is another fault


def number(node):
    return node.removeprefix("node")


def is_ready(node):
    found = get("node", node) or {}
    return any(c["type"] == "Ready" and c["status"] == "True" for c in found.get("status", {}).get("conditions", []))


class OfNode(Fault):
    """under: "coordinator", "server" (another one), "worker" or "operator". The operator is moved elsewhere first, unless it is the victim:
    one machine at a time."""
    goals = {"coordinator": 10, "server": 5, "worker": 5, "operator": 5}

    def __init__(self, under="coordinator", seconds=0, alone=True):
        self.under, self.seconds, self.alone = under, seconds, alone

    def draw(self, draw):
        self.under = draw.choice(sorted(self.goals))
        self.seconds = round(draw.uniform(5, 90), 1)
        self.alone = draw.random() < 0.7

    def node(self, job):
        if self.under == "operator":
            return cluster_job.operator_node(job.system)
        coordinator = job.coordinator_node()
        if self.under == "coordinator":
            node = coordinator
        else:
            nodes = job.pod_nodes(self.under)
            node = next((n for n in sorted(nodes.values()) if n != coordinator), coordinator)
        if self.alone and cluster_job.move_operator(job.system, node):
            job.sleep(LISTENS_SECONDS)
        return node

    def goal_on(self, job, node):
        """The coordinator may be on the operator's or the worker's machine as well."""
        return 10 if node == job.coordinator_node() else self.goals[self.under]


class NodeDown(OfNode):
    """Cut off first, so that nothing of it says good-bye; then all of its processes end. It comes back empty after `seconds`."""

    def __str__(self):
        return f"the machine under the {self.under} is lost" + (f", for {self.seconds} s" if self.seconds else "")

    def disturb(self, job):
        node = self.node(job)
        goal, began = self.goal_on(job, node), time.time()
        command(HERE / "cut", number(node))
        command(HERE / "node-down", number(node), timeout=60)
        try:
            job.wait_until("full strength on the other machines", lambda: (not job.settled_state() and node not in job.pod_nodes().values(), job.settled_state()), 120)
            strength = time.time() - began
        finally:
            command(HERE / "cut", number(node), "heal")
            command(HERE / "node-up", number(node), timeout=90)
        cluster.wait_until(f"{node} Ready", 90, lambda: is_ready(node))
        return Measure(f"{self} ({node})", began, goal, strength)


class NodeCut(OfNode):
    """No packet reaches or leaves the machine; its processes live on and find everything changed when it is healed."""

    def __str__(self):
        return f"the machine under the {self.under} is cut off for {self.seconds} s"

    def disturb(self, job):
        node = self.node(job)
        goal, began = self.goal_on(job, node), time.time()
        command(HERE / "cut", number(node))
        try:
            time.sleep(self.seconds)
        finally:
            command(HERE / "cut", number(node), "heal")
        cluster.wait_until(f"{node} Ready", 90, lambda: is_ready(node))
        return Measure(f"{self} ({node})", began, goal)


class Drain(OfNode):
    def __str__(self):
        return f"kubectl drain of the machine under the {self.under}"

    def disturb(self, job):
        node = self.node(job)
        began = time.time()
        try:
            kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=120s", timeout=130)
            self.seconds = time.time() - began
        finally:
            kubectl("uncordon", node)
        return Measure(f"{self} ({node})", began, 5)


class Slow(OfNode):
    def __str__(self):
        return f"the link of the machine under the {self.under} has 5 Mbit/s for {self.seconds} s"

    def disturb(self, job):
        node = self.node(job)
        began = time.time()
        command(HERE / "shape", number(node), "5mbit")
        try:
            job.sleep(self.seconds)
        finally:
            command(HERE / "shape", number(node), "off")
        return Measure(f"{self} ({node})", began, 5)


class StopDaemon(Fault):
    """A program of the control plane is stopped, and continued."""

    def __init__(self, daemon="kube-apiserver", seconds=45):
        self.daemon, self.seconds = daemon, seconds

    def draw(self, draw):
        self.daemon, self.seconds = draw.choice(["kube-apiserver", "etcd"]), round(draw.uniform(5, 60), 1)

    def __str__(self):
        return f"{self.daemon} is stopped for {self.seconds} s"

    def disturb(self, job):
        began = time.time()
        pid = int((cluster.STATE / "pid" / self.daemon).read_text().split()[0])
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(self.seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
        return Measure(str(self), began, 5)


class KillOperator(Fault):
    def __str__(self):
        return "the pod of the leading operator is deleted without grace"

    def disturb(self, job):
        began = time.time()
        leader = cluster_job.leader(job.system)["metadata"]
        kubectl("delete", "pod", leader["name"], "-n", job.system, "--grace-period=0", "--force", "--wait=false")
        cluster_job.await_leader(job.system, leader["uid"])
        kubectl("rollout", "status", "deployment", "-n", job.system, "--timeout=60s", timeout=90)
        return Measure(str(self), began, 5)


class OperatorAwayThenNodeDown(NodeDown):
    """The operator is scaled to none for `seconds`, a machine is lost meanwhile; measured from the operator's return."""

    def __str__(self):
        return f"the operator is away for {self.seconds} s, and the machine under the {self.under} is lost meanwhile"

    def disturb(self, job):
        node = self.node(job)
        kubectl("scale", "deployment", "-n", job.system, "--all", "--replicas=0")
        try:
            command(HERE / "cut", number(node))
            command(HERE / "node-down", number(node), timeout=60)
            time.sleep(self.seconds)
        finally:
            kubectl("scale", "deployment", "-n", job.system, "--all", "--replicas=2")
            kubectl("rollout", "status", "deployment", "-n", job.system, "--timeout=60s", timeout=90)
            back = time.time()
        try:
            job.wait_until("full strength on the other machines", lambda: (not job.settled_state() and node not in job.pod_nodes().values(), job.settled_state()), 120)
        finally:
            command(HERE / "cut", number(node), "heal")
            command(HERE / "node-up", number(node), timeout=90)
        cluster.wait_until(f"{node} Ready", 90, lambda: is_ready(node))
        return Measure(f"{self} ({node})", back, 10)


RANDOM = [NodeDown, NodeCut, Drain, Slow, StopDaemon, KillOperator]


def draw_fault(draw):
    fault = draw.choice(RANDOM)()
    fault.draw(draw)
    return fault
