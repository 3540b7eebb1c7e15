"""Where every field of the seed systems lives now (seed-systems 1.b.2, 1.b.5, 1.b.6, 1.b.14).

`path` is `<event type>:<field>`; a test checks that each path exists in the model of that type. An
empty path means that the field has no place of its own, and `note` says what took it.
"""

from __future__ import annotations

from typing import NamedTuple


class SeedField(NamedTuple):
    """One field of the seed and its place in Foresail."""

    seed: str
    path: str
    note: str = ""


_OBSERVATION = "foresail.observation.v1"
_NODES = f"{_OBSERVATION}:nodes"
_PODS = f"{_OBSERVATION}:pods"
_TOTALS = f"{_OBSERVATION}:totals"
_RISK = "foresail.prediction.risk.v1"
_DEMAND = "foresail.prediction.demand.v1"
_PROPOSAL = "foresail.proposal.v1"
_DECISION = "foresail.decision.v1"
_EXECUTION = "foresail.outcome.execution.v1"
_REWARD = "foresail.outcome.reward.v2"
_STAGE = "foresail.run.stage.v1"
_TRIAL = "foresail.run.trial.v1"
_SOURCE = "foresail.run.data_source.v1"

SEED_FIELDS: tuple[SeedField, ...] = (
    SeedField("NodeState.node_id", f"{_NODES}.ids"),
    SeedField(
        "NodeState.cpu_util",
        f"{_NODES}.cpu_requested_ratio",
        "requested; usage is cpu_used_ratio beside it",
    ),
    SeedField(
        "NodeState.mem_util",
        f"{_NODES}.memory_requested_ratio",
        "requested; usage is memory_used_ratio",
    ),
    SeedField("NodeState.disk_util", "", "a constant 0 in the seed; no source, so not invented"),
    SeedField("NodeState.net_util", "", "a constant 0 in the seed; no source, so not invented"),
    SeedField("NodeState.power_state", f"{_NODES}.power_state"),
    SeedField("TaskState.task_id", f"{_PODS}.ids"),
    SeedField("TaskState.node_id", f"{_PODS}.node"),
    SeedField("TaskState.urgency", f"{_PODS}.urgency_ratio"),
    SeedField(
        "TaskState.queue_priority", f"{_PODS}.restarts", "the seed put the restart count here"
    ),
    SeedField("TaskState.alive", f"{_PODS}.alive"),
    SeedField("Observation.timestamp", f"{_OBSERVATION}:cluster_time_seconds"),
    SeedField("Observation.nodes", _NODES),
    SeedField("Observation.tasks", _PODS, "only pods that need a look; the others are counted"),
    SeedField(
        "Observation.p_fail_scores", f"{_RISK}:nodes.risk_ratio", "a prediction, not an observation"
    ),
    SeedField(
        "Observation.demand_projection",
        f"{_DEMAND}:nodes.demand_ratio",
        "a prediction, not an observation",
    ),
    SeedField("Observation.queue_length", f"{_TOTALS}.queue_length"),
    SeedField("Observation.energy_price", f"{_TOTALS}.energy_price"),
    SeedField("Observation.sla_violations", f"{_TOTALS}.sla_violations"),
    SeedField("Observation.completed_tasks", f"{_TOTALS}.completed_tasks"),
    SeedField("Observation.energy_watts", f"{_TOTALS}.energy_watts"),
    SeedField("AgentAction.agent_name", f"{_PROPOSAL}:action.agent"),
    SeedField("AgentAction.kind", f"{_PROPOSAL}:action.kind"),
    SeedField("AgentAction.target", f"{_PROPOSAL}:action.target"),
    SeedField("AgentAction.payload", f"{_PROPOSAL}:action.parameters"),
    SeedField("AgentAction.score", f"{_PROPOSAL}:score"),
    SeedField("AgentAction.priority", f"{_PROPOSAL}:priority"),
    SeedField(
        "StepResult.next_observation",
        _OBSERVATION + ":cycle",
        "the next cycle's observation itself",
    ),
    SeedField("StepResult.reward_by_agent", f"{_REWARD}:observed"),
    SeedField("StepResult.done", "foresail.run.complete.v1:status"),
    SeedField("StepResult.info", f"{_REWARD}:observed_parts"),
    SeedField("GlobalScore.raw_rewards", f"{_REWARD}:observed"),
    SeedField("GlobalScore.alpha", f"{_REWARD}:weights"),
    SeedField("GlobalScore.beta", f"{_REWARD}:weights"),
    SeedField("GlobalScore.gamma", f"{_REWARD}:weights"),
    SeedField("GlobalScore.total", f"{_REWARD}:observed.total"),
    SeedField("RefereeDecision.action", f"{_DECISION}:action"),
    SeedField("RefereeDecision.rationale", f"{_DECISION}:rationale"),
    SeedField("RefereeDecision.overridden", f"{_DECISION}:overridden"),
    SeedField("decision.agent", f"{_DECISION}:action.agent"),
    SeedField("decision.kind", f"{_DECISION}:action.kind"),
    SeedField("decision.target", f"{_DECISION}:action.target"),
    SeedField("decision.payload", f"{_DECISION}:action.parameters"),
    SeedField("decision.action_label", f"{_DECISION}:action", "`action_label` writes it"),
    SeedField("decision.score", f"{_DECISION}:score"),
    SeedField("decision.priority", f"{_DECISION}:considered.priority"),
    SeedField(
        "decision.repeat_count",
        f"{_DECISION}:repeat_count",
        "same action and target, not same snapshot text",
    ),
    SeedField("decision.reason", f"{_DECISION}:rationale"),
    SeedField("decision.proposal_count", f"{_DECISION}:considered", "its length"),
    SeedField("decision.proposals", f"{_DECISION}:considered"),
    SeedField("decision.kubernetes_execution", _EXECUTION + ":results"),
    SeedField("execution.status", f"{_EXECUTION}:phase", "with `succeeded` and `reason`"),
    SeedField("execution.matched_deployments", f"{_EXECUTION}:operations"),
    SeedField("execution.operations", f"{_EXECUTION}:operations"),
    SeedField("execution.error", f"{_EXECUTION}:results.message"),
    SeedField(
        "event.time", "", "envelope: ce-time (cluster) and the stream's own time stamp (recorded)"
    ),
    SeedField("event.kind", "", "envelope: ce-type"),
    SeedField("event.stage", f"{_STAGE}:stage"),
    SeedField("event.message", f"{_STAGE}:detail"),
    SeedField("state.status", f"{_STAGE}:status"),
    SeedField("state.stages", f"{_STAGE}:progress_ratio"),
    SeedField("state.rewards", f"{_REWARD}:observed", "one event per decision"),
    SeedField("state.reward_summary.count", f"{_REWARD}:scored"),
    SeedField("state.reward_summary.last_total", f"{_REWARD}:observed.total"),
    SeedField("state.reward_summary.average_total", f"{_REWARD}:mean_total"),
    SeedField("state.optuna.study", f"{_TRIAL}:study"),
    SeedField("state.optuna.trial", f"{_TRIAL}:trial"),
    SeedField("state.optuna.best_score", f"{_TRIAL}:value", "the best of the trials so far"),
    SeedField("state.optuna.best_params", f"{_TRIAL}:parameters"),
    SeedField("state.ray.status", f"{_STAGE}:status", "a stage like every other"),
    SeedField("state.cluster.max_risk", f"{_RISK}:nodes.risk_ratio", "its maximum"),
    SeedField("state.cluster.min_demand", f"{_DEMAND}:nodes.demand_ratio", "its minimum"),
    SeedField("state.cluster.avg_cpu", f"{_TOTALS}.cpu_requested_ratio"),
    SeedField("state.cluster.avg_mem", f"{_TOTALS}.memory_requested_ratio"),
    SeedField("state.cluster.power_metric_kind", f"{_OBSERVATION}:signals", "the signal `power`"),
    SeedField(
        "state.cluster.power_calibration_source", f"{_OBSERVATION}:signals", "the signal `power`"
    ),
    SeedField("state.cluster.telemetry_sources", f"{_OBSERVATION}:signals"),
    SeedField(
        "state.cluster.prometheus_error",
        f"{_OBSERVATION}:signals",
        "status missing, with the reason",
    ),
    SeedField("state.artifacts", "foresail.run.artifact.v1:file_name"),
    SeedField("state.errors", "foresail.run.error.v1:text"),
    SeedField("state.summary", "foresail.run.complete.v1:summary"),
    SeedField("state.data_source.kind", f"{_SOURCE}:kind"),
    SeedField("state.data_source.source", f"{_SOURCE}:name"),
    SeedField("exercise.phase", "foresail.stimulus.v1:phase"),
    SeedField("exercise.detail", "foresail.stimulus.v1:text"),
    SeedField("exercise.resources", "foresail.stimulus.v1:cpu_request_millicores"),
    SeedField("exercise.intended_agent", "foresail.stimulus.v1:intended_agent"),
    SeedField("exercise.intended_action", "foresail.stimulus.v1:intended_kind"),
    SeedField("exercise.cleanup", "foresail.stimulus.v1:status"),
    SeedField("exercise.randomized", "foresail.stimulus.v1:randomised"),
)
