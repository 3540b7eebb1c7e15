"""A small spread back-test between two exchanges, A and B, over a CSV of best prices.

A trade buys where it is cheap and sells where it is dear, once what is left after fees and slippage reaches the
least spread, and closes when the spread turns. It is an example of a session's payload, not part of Foresail.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

COLUMNS = ("timestamp", "best_bid_a", "best_ask_a", "best_bid_b", "best_ask_b")
LONG_A_SHORT_B = "LONG_A_SHORT_B"
LONG_B_SHORT_A = "LONG_B_SHORT_A"
BPS = 10_000.0


class BadBacktest(ValueError):
    """An input cannot be used; one line."""


@dataclass(frozen=True)
class BacktestConfig:
    """Inputs of one run; spreads, fees and slippage in hundredths of a percent."""

    data_file: str
    min_spread_bps: float
    taker_fee_a_bps: float
    taker_fee_b_bps: float
    slippage_bps: float
    max_position_usd: float
    max_open_trades: int = 1
    initial_balance_usd: float = 10_000.0
    stop_on_drawdown_pct: float | None = None
    tag: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> BacktestConfig:
        """Return a checked configuration; raises BadBacktest."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise BadBacktest(f"{unknown[0]}: no input; known: {', '.join(sorted(known))}")
        values = {name: value for name, value in given.items() if value is not None}
        missing = sorted(field.name for field in fields(cls) if field.default is not None
                         and field.name not in values and field.name not in DEFAULTED)  # fmt: skip
        if missing:
            raise BadBacktest(f"{missing[0]}: give a value")
        config = cls(**values)
        config._check()
        return config

    def _check(self) -> None:
        for name in ("min_spread_bps", "taker_fee_a_bps", "taker_fee_b_bps", "slippage_bps"):
            self._number(name, least=0.0, above=False)
        for name in ("max_position_usd", "initial_balance_usd"):
            self._number(name, least=0.0, above=True)
        self._number("max_open_trades", least=1.0, above=False)
        if self.stop_on_drawdown_pct is not None:
            self._number("stop_on_drawdown_pct", least=0.0, above=True)

    def _number(self, name: str, *, least: float, above: bool) -> None:
        value = getattr(self, name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise BadBacktest(f"{name} = {value!r}: give a number")
        if value < least or (above and value == least):
            raise BadBacktest(
                f"{name} = {value}: give {'more than' if above else 'at least'} {least:g}"
            )


DEFAULTED = {"max_open_trades", "initial_balance_usd", "stop_on_drawdown_pct", "tag"}


@dataclass
class Trade:
    """One open trade."""

    side: str
    opened_bps: float
    notional_usd: float


def run_backtest(config: BacktestConfig, base: Path = Path()) -> dict[str, Any]:
    """Return the metrics of a run, and how many rows of prices it saw; raises BadBacktest."""
    balance = peak = config.initial_balance_usd
    drawdown, costs = 0.0, config.taker_fee_a_bps + config.taker_fee_b_bps + 2 * config.slippage_bps
    open_trades: list[Trade] = []
    closed: list[float] = []
    rows = 0
    for row in _rows(base / config.data_file):
        rows += 1
        spreads = {
            LONG_A_SHORT_B: (row["best_bid_b"] / row["best_ask_a"] - 1.0) * BPS,
            LONG_B_SHORT_A: (row["best_bid_a"] / row["best_ask_b"] - 1.0) * BPS,
        }
        for trade in [one for one in open_trades if spreads[one.side] <= 0.0]:
            open_trades.remove(trade)
            profit = (trade.opened_bps - costs - spreads[trade.side]) / BPS * trade.notional_usd
            closed.append(profit)
            balance += profit
        peak = max(peak, balance)
        drawdown = max(drawdown, (peak - balance) / peak * 100.0)
        if config.stop_on_drawdown_pct is not None and drawdown >= config.stop_on_drawdown_pct:
            break
        side = max(spreads, key=lambda name: spreads[name])
        if (
            spreads[side] - costs >= config.min_spread_bps
            and len(open_trades) < config.max_open_trades
        ):
            notional = min(config.max_position_usd, balance)
            open_trades.append(Trade(side, spreads[side], notional))
    wins = sum(profit > 0 for profit in closed)
    realized = math.fsum(closed)
    metrics = {
        "total_trades": len(closed) + len(open_trades),
        "closed_trades": len(closed),
        "open_trades": len(open_trades),
        "final_balance_usd": round(balance, 6),
        "realized_pnl_usd": round(realized, 6),
        "max_drawdown_pct": round(drawdown, 6),
        "win_rate": wins / len(closed) if closed else 0.0,
        "avg_pnl_per_trade_usd": round(realized / len(closed), 6) if closed else 0.0,
    }
    return {"metrics": metrics, "snapshots_count": rows}


def _rows(path: Path) -> Iterator[dict[str, float]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise BadBacktest(f"data_file = {path}: its columns must be {','.join(COLUMNS)}")
            for number, row in enumerate(reader, start=2):
                try:
                    prices = {name: float(row[name]) for name in COLUMNS[1:]}
                except (TypeError, ValueError) as error:
                    raise BadBacktest(f"data_file = {path}: line {number} is no prices") from error
                if not all(0.0 < price < math.inf for price in prices.values()):
                    raise BadBacktest(f"data_file = {path}: line {number} has a price that is none")
                yield prices
    except OSError as error:
        raise BadBacktest(f"data_file = {path}: {error.strerror}") from error
