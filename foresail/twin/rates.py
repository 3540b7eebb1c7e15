"""`foresail twin rates`: requests that were measured, as a rate file that the twin and experiments play."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urlsplit

import urllib3

from bus.clock import SystemClock
from bus.errors import ConfigError, InputError
from bus.exit_codes import ExitCode
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.spans import moment
from inputs.limited_files import BadFile, read_text_limited
from lab.workloads.measured_rates import RateSeries, choose, rate_file, read_csv, read_matrix
from projections.figures import duration, number
from twin.port.files import read_rate_file

MOST_BYTES = 64 << 20
TIMEOUT_SECONDS = 30.0
LAST_SECONDS, STEP_SECONDS = 86_400.0, 60.0
EXAMPLES = (
    (
        "twin rates --prometheus http://localhost:9090 --query 'sum(rate(http_requests_total[5m]))' --output day.csv",
        "the last day, minute by minute",
    ),
    (
        "twin rates --from export.csv --series shop --output day.csv",
        "from a CSV, as Grafana writes it",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--prometheus", metavar="URL", help="ask this Prometheus")
    origin.add_argument(
        "--from", dest="file", metavar="FILE", help="a CSV: a column of times, and one a series"
    )
    parser.add_argument("--query", metavar="PROMQL", help="requests per second, as PromQL")
    parser.add_argument(
        "--series", metavar="TEXT", help="which series is meant, by a part of its name or labels"
    )
    for flag, default, text in (
        ("--last", LAST_SECONDS, "how much time to ask for"),
        ("--step", STEP_SECONDS, "time from one rate to the next"),
    ):
        shown = f"{text} (default: {duration(default)})"
        parser.add_argument(flag, type=seconds, default=default, metavar="DURATION", help=shown)
    parser.add_argument(
        "--end", metavar="MOMENT", help="when it ends, as 2026-01-01T10:00:00Z (default: now)"
    )
    parser.add_argument("--token-file", metavar="FILE", help="file of a bearer token")
    parser.add_argument(
        "--ca-file", metavar="FILE", help="certificate authority of an https:// address"
    )
    parser.add_argument("--output", metavar="FILE", required=True, help="a new .csv file")


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, choose, write.

    Raises:
        InputError: the source does not answer, or what it says are no rates.
    """
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> ExitCode:
    out = Path(arguments.output)
    if out.suffix != ".csv" or out.exists() or not out.parent.is_dir():
        remedy = "give a new file that ends in .csv, in a folder that exists"
        raise ConfigError("--output", out, remedy)
    if arguments.prometheus is None:
        source, known = Path(arguments.file).name, _from_file(Path(arguments.file))
    else:
        source, known = f"PromQL {arguments.query}", _from_prometheus(arguments)
    series = choose(known, arguments.series)
    text = rate_file(series, source)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError("--output", out, f"it cannot be written ({error.strerror})") from error
    rates = read_rate_file(out).rates
    if arguments.json:
        print_json(
            {"file": str(out), "series": series.name, "rates": len(rates), "most": max(rates)}
        )
    else:
        console().print(
            f"{len(rates)} rates of {series.name}, {number(min(rates))} to {number(max(rates))} a second, in {out}; "
            f"a Service of a workload file plays them with traffic `file {out.name}`",
            markup=False,
            soft_wrap=True,
        )
    return ExitCode.GOOD


def _from_file(path: Path) -> list[RateSeries]:
    try:
        text = read_text_limited(path, MOST_BYTES, "utf-8-sig")
    except (OSError, BadFile) as error:
        remedy = f"give a readable UTF-8 file ({getattr(error, 'strerror', None) or error})"
        raise ConfigError("--from", path, remedy) from error
    return read_csv(text, path.name)


def _from_prometheus(arguments: argparse.Namespace) -> list[RateSeries]:
    if arguments.query is None:
        raise ConfigError("--query", "(none)", "give the requests per second as PromQL")
    if arguments.step < 1.0 or arguments.last < arguments.step:
        raise ConfigError("--step", duration(arguments.step), "give 1s or more, at most --last")
    address = urlsplit(arguments.prometheus)
    if address.scheme not in ("http", "https") or not address.netloc or address.username:
        remedy = "give an address such as http://localhost:9090, without a password in it"
        raise ConfigError("--prometheus", address.hostname or arguments.prometheus, remedy)
    now = SystemClock().wall_ns()
    end = (now if arguments.end is None else moment("--end", arguments.end, now)) / 1e9
    fields = {
        "query": arguments.query,
        "start": str(round(end - arguments.last, 3)),
        "end": str(round(end, 3)),
        "step": str(arguments.step),
    }
    return read_matrix(
        _post(arguments, f"{arguments.prometheus.rstrip('/')}/api/v1/query_range", fields)
    )


def _post(arguments: argparse.Namespace, url: str, fields: dict[str, str]) -> bytes:
    headers = {"Accept": "application/json"}
    if arguments.token_file is not None:
        try:
            token = read_text_limited(Path(arguments.token_file), 1 << 16, "utf-8").strip()
        except (OSError, BadFile) as error:
            raise ConfigError(
                "--token-file", arguments.token_file, "give a readable file"
            ) from error
        headers["Authorization"] = f"Bearer {token}"
    pool = urllib3.PoolManager(ca_certs=arguments.ca_file, retries=False, timeout=TIMEOUT_SECONDS)
    try:
        answer = pool.request(
            "POST", url, fields=fields, headers=headers, encode_multipart=False,
            preload_content=False, redirect=False,
        )  # fmt: skip
        body: bytes = answer.read(MOST_BYTES)
        answer.release_conn()
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError("--prometheus", url, f"it does not answer ({why})") from error
    finally:
        pool.clear()
    if answer.status >= 400 and not body.lstrip().startswith(b"{"):
        raise InputError("--prometheus", url, f"it says {answer.status}; see address and token")
    return body
