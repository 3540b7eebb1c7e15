"""Where every field of the baseline systems lives now.

`path` is `<event type>:<field>`; a test checks that each path exists in the model of that type. An
empty path means that the field has no place of its own, and `note` says what took it.
"""

from __future__ import annotations

from typing import NamedTuple


class BaselineField(NamedTuple):
    """One field of the baseline and its place in Foresail."""

    baseline: str
    path: str
    note: str = ""


_OBSERVATION = "foresail.observation.v1"
_NODES = f"{_OBSERVATION}:nodes"
_PODS = f"{_OBSERVATION}:pods"
_TOTALS = f"{_OBSERVATION}:totals"
_RISK = "foresail.prediction.risk.v1"
_DEMAND = "foresail.prediction.demand.v1"
_PROPOSAL = "foresail.proposal.v1"
_DECISION = "foresail.decision.v2"
_PART = f"{_DECISION}:parts"
_EXECUTION = "foresail.outcome.execution.v1"
_REWARD = "foresail.outcome.reward.v2"
_STAGE = "foresail.run.stage.v1"
_STUDY = "foresail.run.session.study.v1"
_RAY = "foresail.run.session.ray.v1"
_SOURCE = "foresail.run.data_source.v1"

BASELINE_FIELDS: tuple[BaselineField, ...] = (
    BaselineField("NodeState.node_id", f"{_NODES}.ids"),
    BaselineField(
        "NodeState.cpu_util",
        f"{_NODES}.cpu_requested_ratio",
        "requested; usage is cpu_used_ratio beside it",
    ),
    BaselineField(
        "NodeState.mem_util",
        f"{_NODES}.memory_requested_ratio",
        "requested; usage is memory_used_ratio",
    ),
    BaselineField(
        "NodeState.disk_util", "", "a constant 0 in the baseline; no source, so not invented"
    ),
    BaselineField(
        "NodeState.net_util", "", "a constant 0 in the baseline; no source, so not invented"
    ),
    BaselineField("NodeState.power_state", f"{_NODES}.power_state"),
    BaselineField("TaskState.task_id", f"{_PODS}.ids"),
    BaselineField("TaskState.node_id", f"{_PODS}.node"),
    BaselineField("TaskState.urgency", f"{_PODS}.urgency_ratio"),
    BaselineField(
        "TaskState.queue_priority", f"{_PODS}.restarts", "the baseline put the restart count here"
    ),
    BaselineField("TaskState.alive", f"{_PODS}.alive"),
    BaselineField("Observation.timestamp", f"{_OBSERVATION}:cluster_time_seconds"),
    BaselineField("Observation.nodes", _NODES),
    BaselineField("Observation.tasks", _PODS, "only pods that need a look; the others are counted"),
    BaselineField(
        "Observation.p_fail_scores", f"{_RISK}:nodes.risk_ratio", "a prediction, not an observation"
    ),
    BaselineField(
        "Observation.demand_projection",
        f"{_DEMAND}:nodes.demand_ratio",
        "a prediction, not an observation",
    ),
    BaselineField("Observation.queue_length", f"{_TOTALS}.queue_length"),
    BaselineField("Observation.energy_price", f"{_TOTALS}.energy_price"),
    BaselineField("Observation.sla_violations", f"{_TOTALS}.sla_violations"),
    BaselineField("Observation.completed_tasks", f"{_TOTALS}.completed_tasks"),
    BaselineField("Observation.energy_watts", f"{_TOTALS}.energy_watts"),
    BaselineField("AgentAction.agent_name", f"{_PROPOSAL}:action.agent"),
    BaselineField("AgentAction.kind", f"{_PROPOSAL}:action.kind"),
    BaselineField("AgentAction.target", f"{_PROPOSAL}:action.target"),
    BaselineField("AgentAction.payload", f"{_PROPOSAL}:action.parameters"),
    BaselineField("AgentAction.score", f"{_PROPOSAL}:score"),
    BaselineField("AgentAction.priority", f"{_PROPOSAL}:priority"),
    BaselineField(
        "StepResult.next_observation",
        _OBSERVATION + ":cycle",
        "the next cycle's observation itself",
    ),
    BaselineField("StepResult.reward_by_agent", f"{_REWARD}:observed"),
    BaselineField("StepResult.done", "foresail.run.complete.v1:status"),
    BaselineField("StepResult.info", f"{_REWARD}:observed_parts"),
    BaselineField("GlobalScore.raw_rewards", f"{_REWARD}:observed"),
    BaselineField("GlobalScore.alpha", f"{_REWARD}:weights"),
    BaselineField("GlobalScore.beta", f"{_REWARD}:weights"),
    BaselineField("GlobalScore.gamma", f"{_REWARD}:weights"),
    BaselineField("GlobalScore.total", f"{_REWARD}:observed.total"),
    BaselineField("RefereeDecision.action", f"{_PART}.action", "the first part's"),
    BaselineField("RefereeDecision.rationale", f"{_DECISION}:rationale"),
    BaselineField("RefereeDecision.overridden", f"{_DECISION}:overridden"),
    BaselineField("decision.agent", f"{_PART}.action.agent", "the first part's"),
    BaselineField("decision.kind", f"{_PART}.action.kind", "the first part's"),
    BaselineField("decision.target", f"{_PART}.action.target", "the first part's"),
    BaselineField("decision.payload", f"{_PART}.action.parameters", "the first part's"),
    BaselineField(
        "decision.action_label", f"{_PART}.action", "the first part's; `action_label` writes it"
    ),
    BaselineField("decision.score", f"{_PART}.score", "the first part's"),
    BaselineField("decision.priority", f"{_DECISION}:considered.priority"),
    BaselineField(
        "decision.repeat_count",
        f"{_DECISION}:repeat_count",
        "same action and target, not same snapshot text",
    ),
    BaselineField("decision.reason", f"{_DECISION}:rationale"),
    BaselineField("decision.proposal_count", f"{_DECISION}:considered", "its length"),
    BaselineField("decision.proposals", f"{_DECISION}:considered"),
    BaselineField("decision.kubernetes_execution", _EXECUTION + ":results"),
    BaselineField("execution.status", f"{_EXECUTION}:phase", "with `succeeded` and `reason`"),
    BaselineField("execution.matched_deployments", f"{_EXECUTION}:operations"),
    BaselineField("execution.operations", f"{_EXECUTION}:operations"),
    BaselineField("execution.error", f"{_EXECUTION}:results.message"),
    BaselineField(
        "event.time", "", "envelope: ce-time (cluster) and the stream's own time stamp (recorded)"
    ),
    BaselineField("event.kind", "", "envelope: ce-type"),
    BaselineField("event.stage", f"{_STAGE}:stage"),
    BaselineField("event.message", f"{_STAGE}:detail"),
    BaselineField("state.status", f"{_STAGE}:status"),
    BaselineField("state.stages", f"{_STAGE}:progress_ratio"),
    BaselineField("state.rewards", f"{_REWARD}:observed", "one event per decision"),
    BaselineField("state.reward_summary.count", f"{_REWARD}:scored"),
    BaselineField("state.reward_summary.last_total", f"{_REWARD}:observed.total"),
    BaselineField("state.reward_summary.average_total", f"{_REWARD}:mean_total"),
    BaselineField("state.optuna.status", f"{_STUDY}:status"),
    BaselineField("state.optuna.study", f"{_STUDY}:study"),
    BaselineField("state.optuna.trial", f"{_STUDY}:trial"),
    BaselineField("state.optuna.best_score", f"{_STUDY}:best_score"),
    BaselineField("state.optuna.best_params", f"{_STUDY}:best_params"),
    BaselineField("state.optuna.history", f"{_STUDY}:history", "the event's time is the trial's"),
    BaselineField("state.optuna.history_scope", f"{_STUDY}:history_scope"),
    BaselineField("state.optuna.completed_trials", f"{_STUDY}:completed_trials"),
    BaselineField("state.optuna.reason", f"{_STUDY}:why"),
    BaselineField("state.ray.status", f"{_RAY}:status"),
    BaselineField("state.ray.train_iters", f"{_RAY}:train_iters"),
    BaselineField("state.ray.reward_mean", f"{_RAY}:reward_mean"),
    BaselineField("state.ray.checkpoint", f"{_RAY}:checkpoint"),
    BaselineField("state.ray.reason", f"{_RAY}:why"),
    BaselineField("state.cluster.max_risk", f"{_RISK}:nodes.risk_ratio", "its maximum"),
    BaselineField("state.cluster.min_demand", f"{_DEMAND}:nodes.demand_ratio", "its minimum"),
    BaselineField("state.cluster.avg_cpu", f"{_TOTALS}.cpu_requested_ratio"),
    BaselineField("state.cluster.avg_mem", f"{_TOTALS}.memory_requested_ratio"),
    BaselineField(
        "state.cluster.power_metric_kind", f"{_OBSERVATION}:signals", "the signal `power`"
    ),
    BaselineField(
        "state.cluster.power_calibration_source", f"{_OBSERVATION}:signals", "the signal `power`"
    ),
    BaselineField("state.cluster.telemetry_sources", f"{_OBSERVATION}:signals"),
    BaselineField(
        "state.cluster.prometheus_error",
        f"{_OBSERVATION}:signals",
        "status missing, with the reason",
    ),
    BaselineField("state.artifacts", "foresail.run.artifact.v1:file_name"),
    BaselineField("state.errors", "foresail.run.error.v1:text"),
    BaselineField("state.summary", "foresail.run.complete.v1:summary"),
    BaselineField("state.data_source.kind", f"{_SOURCE}:kind"),
    BaselineField("state.data_source.source", f"{_SOURCE}:name"),
    BaselineField("exercise.phase", "foresail.stimulus.v1:phase"),
    BaselineField("exercise.detail", "foresail.stimulus.v1:text"),
    BaselineField("exercise.resources", "foresail.stimulus.v1:cpu_request_millicores"),
    BaselineField("exercise.intended_agent", "foresail.stimulus.v1:intended_agent"),
    BaselineField("exercise.intended_action", "foresail.stimulus.v1:intended_kind"),
    BaselineField("exercise.cleanup", "foresail.stimulus.v1:status"),
    BaselineField("exercise.randomized", "foresail.stimulus.v1:randomised"),
)
