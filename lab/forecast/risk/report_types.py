"""Content of a risk report, level by level: the JSON beside the Markdown, with a type for every key.

Ratios, probabilities and prevalences are in 0..1; NaN where nothing could be measured (null in the file).
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Population(TypedDict):
    """Which rows the figures are taken on."""

    rows: int
    positives: int
    prevalence: float
    jobs: int
    failing_jobs: int


class IntervalFigures(TypedDict):
    """A value on all rows and its 95 % interval over resamples of whole jobs."""

    value: float
    low: float
    high: float
    resamples: int


class DifferenceFigures(IntervalFigures):
    """A paired difference in average precision."""

    excludes_zero: bool


class TopFigures(TypedDict):
    """Content of the riskiest rows hold."""

    share: float
    rows: int
    precision: float
    recall: float
    threshold: float


class ModelFigures(TypedDict):
    """How well one model or rule orders the rows."""

    ap: IntervalFigures
    ap_equal_jobs: float
    ap_macro: float
    macro_jobs: int
    auroc: float
    top: list[TopFigures]


class SubsetFigures(Population):
    """Average precision on some of the rows; without positives there is none."""

    models: NotRequired[dict[str, IntervalFigures]]
    differences: NotRequired[dict[str, DifferenceFigures]]


class BinFigures(TypedDict):
    """Rows whose probability lies in [low, high)."""

    low: float
    high: float
    rows: int
    expected: float
    observed: float
    ratio: float


class ThresholdRow(TypedDict):
    """Figures of an alarm at and above a probability."""

    threshold: float
    alarms: int
    precision: float
    recall: float
    f1: float


class CalibrationFigures(TypedDict):
    """How well probabilities fit; errors by bin only where rows weigh the same."""

    brier: float
    brier_skill: float
    expected_observed: float
    ece_equal_width: NotRequired[float]
    ece_equal_count: NotRequired[float]
    mce_equal_width: NotRequired[float]
    mce_equal_count: NotRequired[float]
    bins: NotRequired[list[BinFigures]]
    sweep: NotRequired[list[ThresholdRow]]


class LeadTimes(TypedDict):
    """Seconds from a row to its failure."""

    failures: int
    p10_seconds: NotRequired[float]
    median_seconds: NotRequired[float]
    p90_seconds: NotRequired[float]
    over_a_minute_share: NotRequired[float]


class LeadFigures(TypedDict):
    """Lead times of failures inside and outside the riskiest share; empty without failures."""

    share: NotRequired[float]
    caught: NotRequired[LeadTimes]
    missed: NotRequired[LeadTimes]


class WindowFigures(Population):
    """One stretch of the test time."""

    start_seconds: float
    ap: float
    mean_probability: float
    expected_observed: float
    expected_observed_rolling: float


class SplitFigures(Population):
    """Everything measured on one split."""

    resamples: int
    models: dict[str, ModelFigures]
    differences: dict[str, DifferenceFigures]
    without_worst: SubsetFigures
    first: SubsetFigures
    repeats: SubsetFigures
    calibration: dict[str, CalibrationFigures]
    lead: LeadFigures
    windows: list[WindowFigures]
    distinct_scores: int


class ReportedSplit(SplitFigures):
    """A split with its title and what its figures mean."""

    title: str
    words: list[str]


class RollingPart(TypedDict):
    """One window of the rolling recalibration."""

    window: int
    start_seconds: float
    rows: int
    positives: int
    raw_expected_observed: float
    expected_observed: float
    brier_skill: float


class RollingFigures(CalibrationFigures):
    """The rolling recalibration over all windows but the first."""

    parts: list[RollingPart]


class FeatureValue(TypedDict):
    """A feature and how much it counts or has moved."""

    feature: str
    value: float


class FeatureFigures(TypedDict):
    """The weightiest features; drift where the training data is at hand."""

    by_gain: list[FeatureValue]
    by_contribution: list[FeatureValue]
    sample_rows: int
    contribution_rows: int
    drift: NotRequired[list[FeatureValue]]
    moved: NotRequired[int]
    features: NotRequired[int]


class CheckFigures(TypedDict):
    """One bound of the report."""

    name: str
    holds: bool
    text: str


class HorizonFigures(TypedDict):
    """All figures of one horizon."""

    splits: dict[str, ReportedSplit]
    rolling: RollingFigures
    folds: list[dict[str, float]] | None
    features: FeatureFigures
    checks: list[CheckFigures]


class HorizonReport(HorizonFigures):
    """A horizon in the report, with its plots once they are drawn."""

    minutes: int
    plots: NotRequired[list[str]]
    plot_folder: NotRequired[str]


class RiskReport(TypedDict):
    """The whole report of `foresail forecast evaluate`."""

    format: int
    model_id: str
    illusion: bool
    dataset: str
    same_dataset: bool
    label: str
    split: str
    train_rows: int
    train_positives: int
    resamples: int
    horizons: list[HorizonReport]
