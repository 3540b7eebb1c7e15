"""Defects in how several clusters are kept apart on one server, and in which of them a verb is about."""

from __future__ import annotations

from proofs.planted.defect import Defect

_APART = "tests/several/test_apart_on_the_log.py::"
_CHOSEN = "tests/several/test_chosen_cluster.py::"
_NAMED = "tests/several/test_named_clusters.py::"
SEVERAL = (
    Defect(
        "all clusters' streams live in one account",
        "bus/nats_conf.py",
        "return scoped(MAIN, scope)",
        "return MAIN",
        f"{_APART}test_each_writes_and_reads_its_own",
    ),
    Defect(
        "who gives no name is let in where several clusters share a server",
        "bus/nats_conf.py",
        'return "accounts {\\n"',
        'return "no_auth_user: \\"reader@a\\"\\naccounts {\\n"',
        f"{_APART}test_logins_and_names_of_one_open_nothing_else",
    ),
    Defect(
        "roll-ups of a cluster that had a stack of its own are lost",
        "foresail/stack/log_server.py",
        "for account in (MAIN, main_account(cluster)):",
        "for account in (main_account(scope),):",
        f"{_APART}test_days_are_carried_over_between_the_forms",
    ),
    Defect(
        "a verb takes the first of several clusters",
        "foresail/chosen_cluster.py",
        'raise InputError(FLAG, "(none)", f"name one of {\', \'.join(names)}{more}")',
        "return cluster_folder(state, names[0])",
        f"{_CHOSEN}test_without_a_name_it_says_which_there_are",
    ),
    Defect(
        "two clusters of one name share a stream",
        "foresail/named_clusters.py",
        "        if name in files:\n",
        "        if False:\n",
        f"{_NAMED}test_what_does_not_fit_is_one_line",
    ),
    Defect(
        "a cluster's world takes the number of an earlier one",
        "foresail/stack/state_folder.py",
        "max(least, numbers[-1] + 1 if numbers else 1)",
        "least",
        f"{_CHOSEN}test_worlds_of_a_cluster_never_share_a_number",
    ),
)
