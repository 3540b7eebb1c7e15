"""`python -m scripts.run_arbitrage_tuning`: one back-test; exit code 0 done, 1 the inputs are wrong, 2 a file is."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backtest import BacktestConfig, BadBacktest, run_backtest

FLOATS = (
    *("min_spread_bps", "taker_fee_a_bps", "taker_fee_b_bps", "slippage_bps", "max_position_usd"),
    *("initial_balance_usd", "stop_on_drawdown_pct"),
)


def main(words: Sequence[str] | None = None) -> int:
    """Run one back-test and write its result, an error included."""
    parser = argparse.ArgumentParser(prog="python -m scripts.run_arbitrage_tuning")
    parser.add_argument("--config", help="all inputs as one JSON object")
    parser.add_argument("--data-file")
    for name in FLOATS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float)
    parser.add_argument("--max-open-trades", type=int)
    parser.add_argument("--tag")
    parser.add_argument("--output-json")
    arguments = parser.parse_args(words)
    began = time.perf_counter()
    given = _given(arguments)
    try:
        config = BacktestConfig.of(given)
        ran = run_backtest(config)
    except BadBacktest as error:
        print(f"error: {error}", file=sys.stderr)
        return _end(arguments, {"status": "error", "error": str(error), "config": given}, 1)
    seconds = round(time.perf_counter() - began, 6)
    summary = {**given, "snapshots_count": ran["snapshots_count"]}
    result = {
        "status": "success",
        "config": given,
        "metrics": {**ran["metrics"], "runtime_seconds": seconds},
        "config_summary": summary,
    }
    return _end(arguments, result, 0)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.config is not None:
        content: dict[str, Any] = json.loads(arguments.config)
        return content
    names = ("data_file", *FLOATS, "max_open_trades", "tag")
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _end(arguments: argparse.Namespace, result: dict[str, Any], code: int) -> int:
    if arguments.output_json is None:
        print(json.dumps(result))
        return code
    path = Path(arguments.output_json)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        print(f"error: --output-json = {path}: {error.strerror}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
