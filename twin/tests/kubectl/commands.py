"""The commands that kubectl has to do on the embedded cluster, in order; the table of docs/twin/api.md.

One after the other they tell the life of one application. `said` is a regular expression that the
output has to hold. What a simulation refuses is in the table as well, with the words it says.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

NAMESPACE = "shop"

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway,
         labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: web:1
        resources: {requests: {cpu: 100m, memory: 64Mi}}
        ports: [{containerPort: 8080}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 5, selector: {matchLabels: {app: web}}}
"""
CACHE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache}
spec:
  replicas: 2
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec: {containers: [{name: cache, image: "cache:1"}]}
"""
MISSPELT = CACHE.replace("replicas:", "replica:").replace("name: cache}", "name: odd}", 1)
STORED = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: made}
provisioner: foresail.dev/simulated
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: store}
spec:
  containers: [{name: store, image: "store:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
KEPT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, labels: {set: pruned}}
"""
PRUNED = f"{KEPT}---\n{KEPT.replace('name: kept', 'name: dropped')}"
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: %s}
"""


@dataclass(frozen=True)
class Command:
    """One line of kubectl."""

    line: str
    said: str
    stdin: str = ""
    code: int = 0
    user: str = "admin"
    everywhere: bool = False
    """Without the namespace of the application."""


COMMANDS = (
    Command("version", r"Server Version: .*v1\.\d+\.\d+\+foresail", everywhere=True),
    Command("cluster-info", "control plane.* is running at", everywhere=True),
    Command(
        "api-resources", r"deployments\s+deploy\s+apps/v1\s+true\s+Deployment", everywhere=True
    ),
    Command("api-versions", "batch/v1", everywhere=True),
    Command("get --raw /readyz", "ok", everywhere=True),
    Command("get nodes", r"STATUS\s+ROLES\s+AGE\s+VERSION", everywhere=True),
    Command("get nodes -o wide", "INTERNAL-IP.*CONTAINER-RUNTIME", everywhere=True),
    Command("create namespace shop", "namespace/shop created", everywhere=True),
    Command("apply -f -", "deployment.apps/web created\n.*budget.policy/web created", WEB),
    Command("rollout status deployment/web --timeout=60s", "successfully rolled out"),
    Command("get pods", r"web-\w+-\w+\s+1/1\s+Running\s+0\s+\d+"),
    Command("get pods -o wide", r"NODE\s+NOMINATED NODE"),
    Command("get deployment web -o yaml", "availableReplicas: 6"),
    Command("get pods -o json", '"kind": "Pod"'),
    Command("get pods -o name", "pod/web-"),
    Command("get pods -o jsonpath={.items[*].status.phase}", "Running Running"),
    Command("get deploy -o custom-columns=NAME:.metadata.name,N:.spec.replicas", r"web\s+6"),
    Command("get pods -l app=web --show-labels", "app=web"),
    Command("get pods -A --sort-by=.metadata.name", r"NAMESPACE\s+NAME", everywhere=True),
    Command("get pods --field-selector=status.phase=Running --no-headers", "web-"),
    Command("get deploy,rs,pdb", r"poddisruptionbudget.policy/web\s+5\s+N/A"),
    Command("get pods --chunk-size=2", "web-"),
    Command("describe node {node}", r"Non-terminated Pods:\s+\(\d+ in total\)", everywhere=True),
    Command("describe deployment web", "StrategyType:.*RollingUpdate"),
    Command("describe pods -l app=web", "Container ID:.*simulated://"),
    Command("top node", r"CPU\(cores\)", everywhere=True),
    Command("top pod", r"web-\w+-\w+\s+\d+m\s+\d+Mi"),
    Command("logs deployment/web --tail=1", "msg="),
    Command("logs -l app=web --timestamps --prefix", r"\[pod/web-.*msg="),
    Command("scale deployment web --replicas=7", "deployment.apps/web scaled"),
    Command("wait --for=condition=Available deployment/web --timeout=60s", "condition met"),
    Command("set image deployment/web web=web:2", "image updated"),
    Command("rollout history deployment/web", r"REVISION"),
    Command("rollout undo deployment/web", "rolled back"),
    Command("rollout pause deployment/web", "paused"),
    Command("set resources deployment/web --requests=cpu=150m", "resource requirements updated"),
    Command("rollout resume deployment/web", "resumed"),
    Command("rollout restart deployment/web", "restarted"),
    Command("rollout status deployment/web --timeout=120s", "successfully rolled out"),
    Command("label deployment web tier=front", "labeled"),
    Command("annotate deployment web note=here", "web annotate"),
    Command('patch deployment web -p {"spec":{"minReadySeconds":1}}', "patched"),
    Command('patch deployment web --type=merge -p {"spec":{"minReadySeconds":0}}', "patched"),
    Command(
        'patch deployment web --type=json -p [{"op":"add","path":"/metadata/labels/x","value":"y"}]',
        "patched",
    ),
    Command(
        'patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":6}}',
        "patched",
    ),
    Command("diff -f -", r"\+  replicas: 8", WEB.replace("replicas: 6", "replicas: 8"), code=1),
    Command(
        "apply --dry-run=server -f -", "configured .server dry run.", WEB.replace(": 6", ": 8")
    ),
    Command("apply -f -", "configured", WEB.replace("web:1", "web:3")),
    Command("apply --server-side -f -", "web serverside-applied", WEB.replace("web:1", "web:4")),
    Command("apply --server-side -f -", "deployment.apps/cache serverside-applied", CACHE),
    Command(
        "apply --server-side --field-manager=other -f -",
        r'conflict with "kubectl"[^\n]*: \.spec\.replicas',
        CACHE.replace("replicas: 2", "replicas: 3"),
        code=1,
    ),
    Command(
        "apply --server-side --field-manager=other --force-conflicts -f -",
        "serverside-applied",
        CACHE.replace("replicas: 2", "replicas: 3"),
    ),
    Command("get deployment cache -o yaml --show-managed-fields", "manager: other"),
    Command("apply -f -", 'unknown field "spec.replica"', MISSPELT, code=1),
    Command("explain deployment.spec.strategy.rollingUpdate", "maxSurge", everywhere=True),
    Command("explain pods --recursive", "topologySpreadConstraints", everywhere=True),
    Command("create configmap settings --from-literal=a=b", "configmap/settings created"),
    Command("replace -f -", "configmap/settings replaced", SETTINGS % "c"),
    Command("get configmap settings -o jsonpath={.data.a}", "c"),
    Command(
        "create deployment shelf --image=shelf:1 --replicas=2", "deployment.apps/shelf created"
    ),
    Command("create job once --image=once:1 -- true", "job.batch/once created"),
    Command("create cronjob tick --image=t:1 --schedule=*/5_*_*_*_*", "cronjob.batch/tick created"),
    Command("create quota small --hard=pods=50", "resourcequota/small created"),
    Command("create pdb shelf --selector=app=shelf --min-available=1", "shelf created"),
    Command("run single --image=single:1", "pod/single created"),
    Command("apply -f -", r"configmap/dropped created", stdin=PRUNED),
    Command(
        "apply --prune -l set=pruned --prune-allowlist=core/v1/ConfigMap -f -",
        r"configmap/kept unchanged\s+configmap/dropped pruned",
        stdin=KEPT,
    ),
    Command("apply -f -", r"persistentvolumeclaim/data created\s+pod/store created", stdin=STORED),
    Command("wait --for=jsonpath={.status.phase}=Bound pvc/data --timeout=60s", "condition met"),
    Command("wait --for=condition=Ready pod/store --timeout=60s", "condition met"),
    Command("get pvc", r"data\s+Bound\s+pvc-\S+\s+1Gi\s+RWO\s+made"),
    Command("get pv", r"1Gi\s+RWO\s+Delete\s+Bound\s+shop/data\s+made"),
    Command("describe pvc data", r"Used By:\s+store"),
    Command("delete pod,pvc store data --ignore-not-found", 'claim "data" deleted'),
    Command("expose deployment web --port=80 --target-port=8080", "service/web exposed"),
    Command("autoscale deployment shelf --min=1 --max=3 --cpu=50%", "autoscaled"),
    Command("get hpa,jobs,cronjobs,quota,services", "horizontalpodautoscaler.autoscaling/shelf"),
    Command("get all", "replicaset.apps/web-"),
    Command("wait --for=jsonpath={.status.phase}=Running pod/single --timeout=60s", "met"),
    Command("logs single --since=1h --limit-bytes=10", r"^time=20\d\d-"),
    Command("exec single -- true", "carries nothing into pods, so exec", code=1),
    Command("port-forward pod/single 8080:80", "carries nothing into pods, so portforward", code=1),
    Command("auth can-i delete pods", "yes"),
    Command("auth can-i delete pods", "no", user="reader", code=1),
    Command("auth can-i delete pods --as=foresail:executor", "yes"),
    Command("auth can-i --list", r"\*\.\*"),
    Command("auth whoami", "foresail:admin"),
    Command("delete pod single", "cannot delete resource", user="reader", code=1),
    Command("delete pod single --grace-period=0 --force", "deleted"),
    Command("create namespace executed", "cannot create resource", user="executor", code=1),
    Command("cordon {node}", "cordoned", everywhere=True),
    Command("uncordon {node}", "uncordoned", everywhere=True),
    Command("taint node {node} a=b:NoSchedule", "tainted", everywhere=True),
    Command("taint node {node} a=b:NoSchedule-", "untainted", everywhere=True),
    Command("label node {node} disk=ssd", "labeled", everywhere=True),
    Command("rollout status deployment/web --timeout=120s", "successfully rolled out"),
    Command(
        "drain {node} --ignore-daemonsets --delete-emptydir-data --force --timeout=100s",
        "drained",
        everywhere=True,
    ),
    Command("uncordon {node}", "uncordoned", everywhere=True),
    Command("events", r"LAST SEEN\s+TYPE"),
    Command("get events --sort-by=.lastTimestamp", r"Scheduled\s+pod/"),
    Command("get events -o wide --field-selector=reason=Killing", "SOURCE"),
    Command("delete job once", "deleted"),
    Command("delete deployment -l app=shelf", "deleted"),
    Command("delete -f -", 'deployment.apps "web" deleted', WEB),
    Command("get deployment web", "NotFound", code=1),
    Command("delete namespace shop --timeout=60s", 'namespace "shop" deleted', everywhere=True),
)


def words(command: Command, node: str) -> list[str]:
    """Return the arguments of a command; `_` stands for a blank inside a cron schedule."""
    given = [word.replace("{node}", node) for word in command.line.split(" ")]
    found = [word.replace("_", " ") if word.startswith("--schedule=") else word for word in given]
    return found if command.everywhere else ["-n", NAMESPACE, *found]


def table() -> str:
    """Return the table of docs/twin/api.md."""
    rows = ["| command | what it says |", "| --- | --- |"]
    for command in COMMANDS:
        shown = command.line.replace("_", " ") if "--schedule=" in command.line else command.line
        user = "" if command.user == "admin" else f" (as {command.user})"
        refused = f", exit code {command.code}" if command.code else ""
        escaped = [text.replace("|", "\\|") for text in (shown, command.said.replace("\n", " "))]
        rows.append(f"| `kubectl {escaped[0]}`{user} | `{escaped[1]}`{refused} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
