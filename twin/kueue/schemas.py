"""Structural schemas of Kueue's kinds in v1beta2, in our own words.

Fields, limits and defaults: reference/kueue.v1beta2.md of Kueue's documentation. Pod templates are taken as they are;
fields of what the twin does not simulate (topologies, several clusters, concurrent admission) are kept and do nothing.
Pure.
"""

from __future__ import annotations

from twin.kueue.schema_words import (
    Schema,
    amount,
    amounts,
    anything,
    conditions,
    moment,
    name,
    number,
    record,
    rows,
    rule,
    taints,
    text,
    texts,
    tolerations,
    truth,
)

_RESERVED = (
    "has(oldSelf.status) && has(oldSelf.status.conditions) && "
    "oldSelf.status.conditions.exists(c, c.type == 'QuotaReserved' && c.status == 'True')"
)
_SAME_NUMBER = rule(
    "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
    "flavors must have the same number of resources as the coveredResources",
)
_SAME_ORDER = rule(
    "self.flavors.all(f, f.resources.all(r, r.name in self.coveredResources))",
    "must match the name in coveredResources",
)
_ONE_GROUP = (
    rule(
        "!has(self.resourceGroups) || self.resourceGroups.all(g, g.flavors.all(f, "
        "self.resourceGroups.filter(h, h.flavors.exists(e, e.name == f.name)).size() == 1))",
        "Duplicate value: a flavor belongs to one resource group",
    ),
    rule(
        "!has(self.resourceGroups) || self.resourceGroups.all(g, g.coveredResources.all(r, "
        "self.resourceGroups.filter(h, r in h.coveredResources).size() == 1))",
        "Duplicate value: a resource belongs to one resource group",
    ),
)


def _limit_rules(parent: str) -> tuple[Schema, ...]:
    return tuple(
        rule(
            f"has(self.{parent}) || !has(self.resourceGroups) || self.resourceGroups.all(g, "
            f"g.flavors.all(f, f.resources.all(r, !has(r.{limit}))))",
            f"{limit} must be nil when {word} is empty",
        )
        for limit in ("borrowingLimit", "lendingLimit")
        for word in ("cohort" if parent == "cohortName" else "parent",)
    )


def _stop_policy(what: str) -> Schema:
    says = f"None: {what} admits. Hold: it admits nothing new. HoldAndDrain: it evicts as well."
    return text(says, "None", "Hold", "HoldAndDrain", default="None")


def _groups() -> Schema:
    quota = record(
        "The quota of one resource.",
        "name", "nominalQuota",
        name=text("The resource."),
        nominalQuota=amount("What is there for the queue's own Workloads."),
        borrowingLimit=amount("Most that is borrowed from the cohort; without it there is no limit."),
        lendingLimit=amount("Most that is lent to the cohort; without it, all that is not used."),
    )  # fmt: skip
    flavor = record(
        "The quotas of one flavor.",
        "name", "resources",
        name=name("The ResourceFlavor."),
        resources=rows("The quotas, one for each resource of the group.", quota, "name",
                       most=64, least=1),
    )  # fmt: skip
    group = record(
        "Resources that get one flavor together.",
        "coveredResources", "flavors",
        coveredResources=rows("The resources.", {"type": "string"}, most=64, least=1),
        flavors=rows("The flavors in the order in which they are tried.", flavor, "name",
                     most=64, least=1),
        rules=(_SAME_NUMBER, _SAME_ORDER),
    )  # fmt: skip
    return rows("Quotas by group of resources.", group, most=16)


def _usage(*, borrowed: bool) -> Schema:
    used = record("The use of one resource.", "name", name=text("The resource."),
                  total=amount("All that is used."))  # fmt: skip
    if borrowed:
        used["properties"]["borrowed"] = amount("What of it is over the nominal quota.")
    row = record("The use of one flavor.", "name", "resources", name=name("The flavor."),
                 resources=rows("Use by resource.", used, "name", most=64))  # fmt: skip
    return rows("Use by flavor.", row, "name", most=64)


def _fair_sharing() -> Schema:
    return anything("Weights of fair sharing; kept, and without effect here.")


def resource_flavor() -> Schema:
    """Return the schema of a ResourceFlavor."""
    spec = record(
        "Which nodes provide the flavor.",
        nodeLabels={**texts("Labels of its nodes; pods get them as node selector."),
                    "maxProperties": 8},
        nodeTaints=taints("Taints of its nodes; only jobs that tolerate them get the flavor."),
        tolerations=tolerations("Tolerations that pods get with the flavor."),
        topologyName=name("A Topology; kept, and without effect here."),
    )  # fmt: skip
    return record("A kind of machines that provide resources.", spec=spec)


def _preemption() -> Schema:
    borrow = record(
        "Whether a Workload that has to borrow may preempt in the cohort.",
        policy=text(
            "Never, or Workloads of lower priority.", "Never", "LowerPriority", default="Never"
        ),
        maxPriorityThreshold=number("Highest priority that may be preempted so."),
    )
    return record(
        "Whom a Workload of this queue may preempt.",
        reclaimWithinCohort=text("Those that borrow in other queues of the cohort.",
                                 "Never", "LowerPriority", "Any", default="Never"),
        borrowWithinCohort={**borrow, "default": {}},
        withinClusterQueue=text("Those of the queue itself.", "Never", "LowerPriority",
                                "LowerOrNewerEqualPriority", default="Never"),
        rules=(rule("!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) && "
                    "self.borrowWithinCohort.policy != 'Never')",
                    "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"),),
    )  # fmt: skip


def _fungibility() -> Schema:
    return record(
        "Whether a flavor that takes borrowing or preemption ends the search.",
        whenCanBorrow=text("When borrowing would do.", "MayStopSearch", "TryNextFlavor",
                           default="MayStopSearch"),
        whenCanPreempt=text("When preemption would do.", "MayStopSearch", "TryNextFlavor",
                            default="TryNextFlavor"),
        preference=text("What is better when no flavor has room of its own.",
                        "BorrowingOverPreemption", "PreemptionOverBorrowing"),
        rules=(rule("!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && "
                    "self.whenCanPreempt == 'TryNextFlavor')",
                    "preference can only be set when both whenCanBorrow and whenCanPreempt are "
                    "TryNextFlavor"),),
    )  # fmt: skip


def cluster_queue() -> Schema:
    """Return the schema of a ClusterQueue."""
    check = record("A check and what it is for.", "name", name=name("The AdmissionCheck."),
                   onFlavors=rows("The flavors; none named: all.", name("A flavor."), most=64))  # fmt: skip
    strategy = record("What is checked before a Workload is admitted.", "admissionChecks",
                      admissionChecks=rows("The checks.", check, "name", most=64, least=1))  # fmt: skip
    spec = record(
        "What the queue admits.",
        resourceGroups=_groups(),
        cohortName=name("The cohort with which it shares what is not used."),
        queueingStrategy=text("Whether who does not fit blocks who comes after.",
                              "StrictFIFO", "BestEffortFIFO", default="BestEffortFIFO"),
        namespaceSelector=anything("Namespaces that may use it; none without a selector."),
        flavorFungibility={**_fungibility(), "default": {}},
        preemption={**_preemption(), "default": {}},
        admissionChecksStrategy=strategy,
        stopPolicy=_stop_policy("the queue"),
        fairSharing=_fair_sharing(),
        admissionScope=anything("Kept, and without effect here."),
        concurrentAdmissionPolicy=anything("Kept, and without effect here."),
        rules=(*_limit_rules("cohortName"), *_ONE_GROUP),
    )  # fmt: skip
    status = record(
        "What the queue holds.",
        conditions=conditions("Active: whether it admits."),
        flavorsReservation=_usage(borrowed=True),
        flavorsUsage=_usage(borrowed=True),
        pendingWorkloads=number("Workloads that wait."),
        reservingWorkloads=number("Workloads that hold quota."),
        admittedWorkloads=number("Workloads of these that are admitted."),
        fairSharing=_fair_sharing(),
    )
    return record("A pool of quota.", spec=spec, status=status)


def cohort() -> Schema:
    """Return the schema of a Cohort."""
    spec = record(
        "What its queues share.",
        parentName=name("The cohort above it."),
        resourceGroups=_groups(),
        fairSharing=_fair_sharing(),
        rules=(*_limit_rules("parentName"), *_ONE_GROUP),
    )
    status = record("Nothing but fair sharing.", fairSharing=_fair_sharing())
    return record("Queues that share quota.", spec=spec, status=status)


def local_queue() -> Schema:
    """Return the schema of a LocalQueue."""
    fixed = (rule("self == oldSelf", "field is immutable"),)
    spec = record(
        "Where its jobs go.",
        clusterQueue={**name("The ClusterQueue."), "x-kubernetes-validations": list(fixed)},
        stopPolicy=_stop_policy("the queue"),
        fairSharing=_fair_sharing(),
    )
    status = record(
        "What its jobs hold.",
        conditions=conditions("Active: whether its ClusterQueue takes Workloads."),
        pendingWorkloads=number("Workloads that wait."),
        reservingWorkloads=number("Workloads that hold quota."),
        admittedWorkloads=number("Workloads of these that are admitted."),
        flavorsReservation=_usage(borrowed=False),
        flavorsUsage=_usage(borrowed=False),
        fairSharing=_fair_sharing(),
    )
    return record("A namespace's way into a ClusterQueue.", spec=spec, status=status)


def priority_class() -> Schema:
    """Return the schema of a WorkloadPriorityClass."""
    return record(
        "A priority of Workloads that their pods do not have.",
        "value",
        value=number("The priority; more comes first."),
        description=text("What it is for.", maxLength=2048),
    )


def admission_check() -> Schema:
    """Return the schema of an AdmissionCheck."""
    reference = record("An object with the check's settings.", "apiGroup", "kind", "name",
                       apiGroup=text("Its group."), kind=text("Its kind."), name=text("Its name."))  # fmt: skip
    fixed = [rule("self == oldSelf", "field is immutable")]
    controller = text("Who answers for it.", minLength=1, maxLength=253)
    spec = record("Who checks what.", "controllerName", parameters=reference,
                  controllerName={**controller, "x-kubernetes-validations": fixed})  # fmt: skip
    status = record(
        "Whether anybody answers.",
        conditions=conditions("Active: whether its controller is there."),
    )
    return record(
        "Something that is asked before a Workload is admitted.", "spec", spec=spec, status=status
    )


def workload() -> Schema:
    """Return the schema of a Workload."""
    pod_set = record(
        "Pods of one template.",
        "name", "template", "count",
        name=text("Its name.", maxLength=63, minLength=1),
        template=anything("The pods' template."),
        count=number("How many pods.", minimum=0),
        minCount=number("How few will do.", minimum=1),
        topologyRequest=anything("Kept, and without effect here."),
        rules=(rule("!has(self.minCount) || self.minCount <= self.count",
                    "minCount should be positive and less or equal to count"),),
    )  # fmt: skip
    reference = record("The class of its priority.", "group", "kind", "name",
                       group=text("The class's group.", "kueue.x-k8s.io", "scheduling.k8s.io"),
                       kind=text("Its kind.", "WorkloadPriorityClass", "PriorityClass"),
                       name=text("Its name.", minLength=1, maxLength=253))  # fmt: skip
    spec = record(
        "What asks for quota.",
        "podSets",
        podSets=rows("Its pods.", pod_set, "name", most=18, least=1),
        queueName=name("Its LocalQueue."),
        priorityClassRef=reference,
        priority=number("Its priority; more comes first."),
        active=truth("Whether it may be admitted; false evicts it.", default=True),
        maximumExecutionTimeSeconds=number("How long it may be admitted, in seconds.", minimum=1),
        preemptionGates=rows("Kept, and without effect here.", anything("A gate."), most=8),
        rules=(rule("!has(self.priorityClassRef) || has(self.priority)",
                    "priority should not be nil when priorityClassRef is set"),),
    )  # fmt: skip
    rules = (
        rule(f"!({_RESERVED}) || !has(self.status) || !has(self.status.admission) || "
             "(has(self.spec.queueName) == has(oldSelf.spec.queueName) && "
             "(!has(self.spec.queueName) || self.spec.queueName == oldSelf.spec.queueName))",
             "queueName is immutable while workload quota reserved"),
        rule(f"!({_RESERVED}) || has(self.spec.priorityClassRef) == has(oldSelf.spec.priorityClassRef)",
             "priorityClassRef is immutable while workload quota reserved"),
    )  # fmt: skip
    return record(
        "Pods that are admitted together.",
        "spec",
        spec=spec,
        status=_workload_status(),
        rules=rules,
    )


def _workload_status() -> Schema:
    """Return the schema of a Workload's status."""
    assignment = record(
        "What a pod set got.",
        "name",
        name=text("The pod set."),
        flavors=texts("Its flavors by resource."),
        resourceUsage=amounts("What all its pods request."),
        count=number("How many pods were admitted.", minimum=0),
        topologyAssignment=anything("Kept, and without effect here."),
        delayedTopologyRequest=text("Kept, and without effect here."),
    )
    admission = record("What it holds.", "clusterQueue", "podSetAssignments",
                       clusterQueue=name("The ClusterQueue."),
                       podSetAssignments=rows("Flavors by pod set.", assignment, "name", most=18))  # fmt: skip
    update = record(
        "What a check adds to pods.",
        "name",
        name=text("The pod set."),
        labels=texts("Labels."),
        annotations=texts("Annotations."),
        nodeSelector=texts("Labels of nodes."),
        tolerations=tolerations("Tolerations."),
    )
    check = record(
        "What a check says.",
        "name", "state", "lastTransitionTime", "message",
        name=name("The check."),
        state=text("Its answer.", "Pending", "Ready", "Retry", "Rejected"),
        lastTransitionTime=moment("When the answer changed."),
        message=text("Why, for people.", maxLength=32768),
        requeueAfterSeconds=number("How long to wait after Retry, in seconds.", minimum=0),
        retryCount=number("How often it said Retry.", minimum=0),
        podSetUpdates=rows("What it adds to pods.", update, most=18),
    )  # fmt: skip
    eviction = record("How often, and why.", "reason", "underlyingCause", "count",
                      reason=text("Why."), underlyingCause=text("Why that."),
                      count=number("How often.", minimum=0))  # fmt: skip
    counted = record("Pods of a set.", "name", "count", name=text("The pod set."),
                     count=number("How many.", minimum=0))  # fmt: skip
    asked = record("What a pod set requests.", "name", name=text("The pod set."),
                   resources=amounts("All its pods together."))  # fmt: skip
    requeue = record("When it is queued again.", count=number("How often it was.", minimum=0),
                     requeueAt=moment("When."))  # fmt: skip
    return record(
        "How far it is.",
        conditions=conditions("QuotaReserved, Admitted, PodsReady, Evicted, Preempted, Requeued, Finished."),
        admission=admission,
        requeueState=requeue,
        reclaimablePods=rows("Pods that are not needed any more.", counted, "name", most=18),
        admissionChecks=rows("The checks.", check, "name", most=64),
        resourceRequests=rows("What it asked for when it was looked at last.", asked, "name", most=18),
        accumulatedPastExecutionTimeSeconds=number("How long it was admitted before, in seconds.", minimum=0),
        schedulingStats=record("Counts.", evictions=rows("Evictions.", eviction, "reason", "underlyingCause")),
        nominatedClusterNames=rows("Kept, and without effect here.", {"type": "string"}, most=10),
        clusterName=text("Kept, and without effect here."),
        unhealthyNodes=rows("Kept, and without effect here.", anything("A node."), most=8),
        preemptionGates=rows("Kept, and without effect here.", anything("A gate."), most=8),
    )  # fmt: skip
