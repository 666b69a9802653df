"""What a NetworkPolicy means, as firewall rules of one pod: the part of the API that Attune's own policies use.

A pod that a policy selects is reached by what a rule of some policy lets in, and by answers to what it asked for;
everything else is dropped. Unknown fields are errors, so that nothing is taken for enforced that is not.
"""
import ipaddress
from dataclasses import dataclass, field


@dataclass
class Pod:
    name: str
    address: str
    namespace: str = "default"
    labels: dict = field(default_factory=dict)
    namespace_labels: dict = field(default_factory=dict)


def only(where, known, what):
    unknown = set(where) - set(known)
    if unknown:
        raise ValueError(f"{what} has {sorted(unknown)}, which is not translated here")


def selected(selector, labels):
    only(selector, ("matchLabels", "matchExpressions"), "a selector")
    for expression in selector.get("matchExpressions", []):
        only(expression, ("key", "operator"), "an expression")
        if expression["operator"] != "Exists":
            raise ValueError(f"operator {expression['operator']} is not translated here")
        if expression["key"] not in labels:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def is_peer(peer, pod, namespace):
    only(peer, ("podSelector", "namespaceSelector", "ipBlock"), "a peer")
    if "ipBlock" in peer:
        only(peer["ipBlock"], ("cidr",), "an ipBlock")
        return ipaddress.ip_address(pod.address) in ipaddress.ip_network(peer["ipBlock"]["cidr"])
    if "namespaceSelector" in peer:
        if not selected(peer["namespaceSelector"], pod.namespace_labels):
            return False
    elif pod.namespace != namespace:
        return False
    return selected(peer.get("podSelector", {}), pod.labels)


def match_of(port):
    only(port, ("protocol", "port"), "a port")
    return ["-p", port.get("protocol", "TCP").lower(), "--dport", str(port["port"])]


def rules_of(policy, pod, pods):
    """Arguments of iptables, one list a rule, for the network namespace of `pod`; none when it is not selected."""
    spec, namespace = policy["spec"], policy["metadata"]["namespace"]
    only(spec, ("podSelector", "policyTypes", "ingress"), "a policy")
    if pod.namespace != namespace or not selected(spec["podSelector"], pod.labels):
        return []
    if spec["policyTypes"] != ["Ingress"]:
        raise ValueError("only ingress is translated here")
    rules = [["-i", "lo", "-j", "ACCEPT"],
             ["-m", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "-j", "ACCEPT"]]
    for rule in spec.get("ingress", []):
        only(rule, ("from", "ports"), "an ingress rule")
        sources = [[]]
        if rule.get("from"):
            sources = [["-s", peer.address] for peer in pods if any(is_peer(p, peer, namespace) for p in rule["from"])]
        ports = [match_of(port) for port in rule.get("ports", [])] or [[]]
        rules += [[*source, *port, "-j", "ACCEPT"] for source in sources for port in ports]
    return [["-A", "INPUT", *rule] for rule in rules] + [["-A", "INPUT", "-j", "DROP"]]
