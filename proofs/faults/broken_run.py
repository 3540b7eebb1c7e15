"""One run from a clean start through its faults to the verdict on its log; every proof has this shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proofs.faults.live_stack import SERVICES, LiveStack, NotReady
from proofs.faults.log_watch import read_log
from proofs.faults.verdict import LogVerdict

RECOVERED_CYCLES = 3
"""Complete cycles, with a proposal of every agent, after which a stack counts as recovered."""
RECOVERY_SECONDS = 900.0
"""Far above the supervisor's longest pause: it ends hangs, it does not judge speed."""

Faults = Callable[[LiveStack, LogVerdict], Awaitable[None]]


async def run_and_break(
    stack: LiveStack,
    repeat: str,
    break_it: Faults,
    *,
    server_url: str = "",
    brutal: bool = False,
    recover: bool = True,
    log_may_shrink: bool = False,
) -> LogVerdict:
    """Start a stack, break it, see it recover, stop it and judge its log.

    Args:
        stack: not started yet; an earlier run's folder is taken over.
        repeat: the command that tries the same again.
        break_it: injects the faults and notes them in the verdict.
        server_url: where the log still is after the stack's end; empty: the stack had a server of
            its own, whose store is opened again.
        brutal: end with kill -9 of `foresail up` instead of Ctrl-C.
        recover: wait until the stack decides again before it is ended.
        log_may_shrink: the fault took stored messages away, so what was seen may be gone.
    """
    verdict = LogVerdict(repeat)
    try:
        await stack.start()
    except NotReady as error:
        verdict.problems.append(f"the start was not clean: {error}")
        return verdict
    try:
        await break_it(stack, verdict)
        if recover:
            await _wait_for_recovery(stack, verdict)
        live = list(stack.watch.messages)
        code = 0 if brutal else await stack.stop()
        if code != 0:
            verdict.problems.append(f"foresail up ended with {code}: {stack.output[-200:]!r}")
    finally:
        left = await stack.kill()
    if left:
        verdict.problems.append(f"still running 5 s after the end: {', '.join(left)}")
    file = stack.file
    if server_url:
        stored = await read_log(server_url, file["cluster"], file["stream"])
    else:
        stored = await stack.log_after()
    verdict.judge(stored, () if log_may_shrink else live, holes=log_may_shrink)
    return verdict


async def _wait_for_recovery(stack: LiveStack, verdict: LogVerdict) -> None:
    # A stack that only decides has not recovered: it decides to wait while the cluster cannot be
    # read, and the twin or the executor may still be in its back-off.
    watch = stack.watch
    if (
        await watch.wait_for_decisions(RECOVERED_CYCLES, RECOVERY_SECONDS)
        and await watch.wait_for_cluster(RECOVERY_SECONDS)
        and await watch.wait_for_execution(RECOVERY_SECONDS)
    ):
        return
    down = sorted({*SERVICES, "twin"} - set(stack.processes()))
    verdict.problems.append(
        f"no {RECOVERED_CYCLES} complete and answered cycles of a readable cluster within "
        f"{RECOVERY_SECONDS:g} s; down: {down}\n{stack.last_words}"
    )
