"""Decision code holds nothing that could differ between two runs; each defect, planted, is found."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.repeatable import SetNames, problems
from tests.architecture.source_tree import ROOT, place, python_files, tree_of

FOLDERS = ("inputs", "schemas", "services", "twin")
SHELLS = {"__main__.py", "service.py", "cluster.py", "settings.py"}
"""Files that wait, connect or read settings: their results reach decisions only as events."""
OUTSIDE = (
    "inputs/clock.py",
    "services/byte_stream.py",
    "services/cluster_process.py",
    "services/dashboard/",
    "services/login_secrets.py",  # makes passwords, once
    "services/official_client.py",
    "twin/api/aggregation.py",
    "twin/api/connections.py",
    "twin/api/server.py",
    "twin/api/tokens.py",
    "twin/api/journal.py",
    "twin/kubeconfig.py",
    "twin/local_pods/",  # processes of this machine
    "twin/webhooks/calling.py",
    "twin/exporters/",  # what clients are shown; nothing in the cluster reads it
)
INTS = (
    "services/agents/memory.py: max(0, getattr(one, name) - getattr(before[key], name))",
    "services/collector/observe.py: count",
    "services/collector/observe.py: ready and open_",
    "services/collector/observe.py: snapshot.workloads.succeeded",
    "services/collector/observe.py: table.ready",
    "services/collector/pod_rows.py: facts.bare_succeeded",
    "services/collector/pod_rows.py: facts.running",
    "services/collector/pod_rows.py: len(row_id) + ROW_BYTES",
    "services/executor/guards/surge.py: _added_pods(execution)",
    "services/executor/ledger/handler.py: count",
    "services/executor/plans/right_size.py: requests.values()",
    "services/executor/reading/facts.py: others",
    "services/kube_objects.py: status.restart_count",
    "services/learned_policy/file.py: member.file_size",
    "services/learned_policy/network.py: values @ layer.weights.T",  # int64, whose products and sums are exact
    "services/pod_requests.py: _amount(spec, name, parse_whole)",
    "services/pod_requests.py: of(one.resources)",
    "twin/api/columns.py: status.get('restartCount', 0)",
    "twin/behaviour/resize.py: other.cpu_request_millicores",
    "twin/behaviour/resize.py: other.memory_request_bytes",
    "twin/controllers/budget_scale.py: replicas_by_owner.values()",
    "twin/controllers/daemon_set.py: pod.ready",
    "twin/controllers/daemon_set.py: self._available(record, pod)",
    "twin/controllers/deployment.py: _replicas(entry)",
    "twin/controllers/deployment.py: map(_replicas, owned)",
    "twin/controllers/deployment.py: pod.ready",
    "twin/controllers/deployment.py: terminating_pods(owned_pods(self._world, entry.uid))",
    "twin/controllers/job.py: pod.ready",
    "twin/controllers/job_counting.py: pod.restart_count",
    "twin/controllers/replica_calculator.py: requests[name]",
    "twin/controllers/replica_calculator.py: usage.values()",
    "twin/controllers/replicaset.py: pod.ready",
    "twin/controllers/rollout.py: available",
    "twin/controllers/rollout.py: entry.replicas",
    "twin/controllers/rollout.py: sizes",
    "twin/controllers/scaling_policy.py: count",
    "twin/controllers/stateful_set.py: pod.ready",
    "twin/controllers/stateful_set.py: self._available(record, pod)",
    "twin/intake.py: parse_quantity(amount)",  # decimals: exact
    "twin/machines/cloud.py: catalogue[machine.machine].cpu_millicores",
    "twin/provisioners/cluster_autoscaler/autoscaler.py: entry.unready",
    "twin/provisioners/cluster_autoscaler/scale_up.py: pod.shape.cpu_request_millicores",
    "twin/provisioners/cluster_autoscaler/scale_up.py: pod.shape.memory_request_bytes",
    "twin/provisioners/cluster_autoscaler/status.py: entry.candidates",
    "twin/provisioners/cluster_autoscaler/status.py: part.ready",
    "twin/provisioners/cluster_autoscaler/status.py: part.unready",
    "twin/scheduling/default_preemption.py: priority + _OFFSET",
    "twin/scheduling/node_rules.py: weight",
    "twin/workloads/fitted_play.py: row.size * row.weight",
    "twin/workloads/fitted_play.py: row.weight",
    "twin/workloads/node_mix.py: counts",
    "twin/workloads/node_mix.py: weights",
)
"""Sums of integers that only their types tell: file and what is added."""

PLANTED = {
    "a float sum": "def f(shares):\n    return sum(shares)",
    "a float sum of products": "total = sum(a.x * b for a, b in pairs)",
    "a loop over a literal": "for name in {'a', 'b'}:\n    say(name)",
    "a loop over a name": "def f(rows):\n    seen = set(rows)\n    for one in seen:\n        say(one)",
    "a parameter": "def f(names: frozenset[str]):\n    return [one for one in names]",
    "a field": "class A:\n    names: set[str]\ndef f(a):\n    return tuple(a.names)",
    "a function's result": "def f() -> set[str]: ...\nfor one in f():\n    say(one)",
    "a difference": "def f(a, b):\n    return list(set(a) - set(b))",
    "views": "def f(a, b):\n    return ','.join(a.keys() & b.keys())",
    "a dict from a set": "d = {name: 1 for name in frozenset(x)}",
    "unpacking": "x = [*{1, 2}]",
    "pop": "s = {1, 2}\nx = s.pop()",
    "the least by a key": "x = min({1, 2}, key=f)",
    "exp": "import numpy as np\nx = np.exp(y)",
    "a product": "x = a @ b",
    "dot": "import numpy as np\nx = y.dot(z)",
    "linalg": "import numpy as np\nx = np.linalg.norm(y)",
    "einsum": "import numpy\nx = numpy.einsum('i,i', a, b)",
    "a numpy sum": "import numpy as np\nx = np.sum(y)",
    "reduce": "import numpy as np\nx = np.add.reduce(y)",
    "an order of equals": "import numpy as np\nx = np.argsort(y)",
    "a clock": "import time",
    "secrets": "from secrets import token_hex",
    "a folder": "from os import listdir\nfor x in listdir('.'):\n    say(x)",
    "glob": "x = [p for p in folder.glob('*')]",
    "names of days": "x = day.strftime('%A')",
    "a month in an f-string": "x = f'{day:%b}'",
    "a grouped number": "x = f'{number:n}'",
    "format n": "x = '{:n}'.format(number)",
    "hash": "x = hash(name)",
    "id": "x = sorted(things, key=lambda one: id(one))",
}
HARMLESS = {
    "counting": "x = sum(one.ready == 1 for one in rows) + sum(len(row) for row in rows)",
    "a sorted set": "for name in sorted({'a', 'b'}):\n    say(name)",
    "membership": "s = {1, 2}\nx = [one for one in rows if one in s]",
    "a set of a set": "s = {1}\nx = {one + 1 for one in s}\ny = any(one for one in s)",
    "the size": "x = len(set(rows)), max({1, 2})",
    "a sorted folder": "x = [p.name for p in sorted(folder.glob('*'))]",
    "plain stamps": "x = f'{day:%Y-%m-%dT%H:%M:%S}', f'{ratio:.3f}', day.strftime('%H:%M')",
    "exact arrays": "import numpy as np\nx = np.minimum(a, b) * np.sqrt(c)",
}


def _judge(source: str) -> list[str]:
    return [text for _, text in problems(ast.parse(source))]


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED)
def test_a_planted_defect_is_found(source: str) -> None:
    """Each way in which runs could differ is named."""
    assert _judge(source)


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_harmless_code_passes(source: str) -> None:
    """What gives the same result everywhere is left alone."""
    assert [] == _judge(source)


def _findings() -> dict[str, str]:
    """Return `file: what` to what is wrong with it."""
    files = [
        path
        for path in python_files(*FOLDERS)
        if path.name not in SHELLS and not path.relative_to(ROOT).as_posix().startswith(OUTSIDE)
    ]
    known = SetNames()
    for path in files:
        known.learn(tree_of(path))
    return {
        f"{path.relative_to(ROOT).as_posix()}: {_essence(node)}": f"{place(path, node)} {text}"
        for path in files
        for node, text in problems(tree_of(path), known)
    }


def _essence(node: ast.AST) -> str:
    """Return what a sum adds, or the expression itself."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "sum":
        added = node.args[0]
        return ast.unparse(added.elt if isinstance(added, ast.GeneratorExp) else added)
    return ast.unparse(node)[:90]


def test_decision_code_repeats() -> None:
    """No file that decides holds a float sum(), a set's order, numpy's arithmetic or this machine."""
    assert [] == sorted(text for what, text in _findings().items() if what not in INTS)


def test_every_exception_is_still_one() -> None:
    """The list of integer sums names nothing that is gone."""
    assert set() == set(INTS) - set(_findings())
