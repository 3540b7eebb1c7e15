"""Defects in recordings, in what is computed and compared from them, and in exit codes."""

from __future__ import annotations

from proofs.planted.defect import Defect

FOOTER = "tests/recordings/test_footer.py"
FREE_TEXT = "tests/recordings/test_redact_free_text.py"
NEAR = "tests/rerun/test_near_floats.py"
CODES = "tests/recordings/test_exit_codes.py"
EDGES = "tests/recordings/test_edges.py"
ALIGNED = "tests/rerun/test_diff.py::test_cycles_are_aligned_by_number"
EVERYWHERE = "tests/recordings/test_damaged_everywhere.py::test_no_command_crashes"
NEARLY_EQUAL = (
    "elif pair.equal or all(isinstance(one.recorded, float) and abs(one.recorded - one.computed) < 1e-3 "
    "for one in differences(pair, rerun.origin)):"
)

_FOOTERS = (
    Defect(
        "the reader believes a footer",
        "bus/recording/content.py",
        "expected = proof.footer()",
        "expected = content.said",
        f"{FOOTER}::test_a_footer_over_a_missing_last_frame_is_not_believed",
    ),
    Defect(
        "check believes a footer",
        "bus/recording/check.py",
        "self.found.sealed = self._links.fits_footer(content)",
        "self.found.sealed = True",
        f"{FOOTER}::test_a_footer_over_a_missing_last_frame_is_not_believed",
    ),
    Defect(
        "check compares only a footer's count",
        "bus/recording/links.py",
        "        return footer.said == expected",
        '        return footer.said["messages"] == expected["messages"]',
        f"{FOOTER}::test_every_word_of_the_footer_counts",
    ),
    Defect(
        "check ends with 0 for a damaged file",
        "foresail/recording/check.py",
        "differs=bool(result.flaws) and not result.cut_off",
        "differs=False",
        f"{FOOTER}::test_check_ends_with_the_code_for_damage",
    ),
)
_REDACTION = (
    Defect(
        "redact leaves an operator's reason",
        "lab/recordings/free_text.py",
        '"foresail.control.v1": ("text",),',
        '"foresail.control.v1": (),',
        f"{FREE_TEXT}::test_an_operators_words_are_in_no_line_of_the_file",
    ),
    Defect(
        "redact leaves the words of a patch",
        "lab/recordings/redaction.py",
        "return patch_without(text, self._word_for, lambda word: bool(WELL_KNOWN.match(word)))",
        "return self.text(text, foreign=False)",
        f"{FREE_TEXT}::test_a_patch_keeps_its_form_and_none_of_its_words",
    ),
    Defect(
        "redact leaves an undo patch in an execution",
        "lab/recordings/names.py",
        "    if field in PATCH_FIELDS:\n",
        '    if field == "undo":\n        return value\n    if field in PATCH_FIELDS:\n',
        f"{FREE_TEXT}::test_an_operators_words_are_in_no_line_of_the_file",
    ),
    Defect(
        "redact leaves a webhook's unquoted words",
        "lab/recordings/redaction.py",
        "return word if known else self._word_for(word)",
        "return word",
        f"{FREE_TEXT}::test_what_the_api_server_said_keeps_its_own_words_alone",
    ),
    Defect(
        "redact leaves a field that nobody has classified",
        "lab/recordings/names.py",
        "if not strict or field in STAYING_FIELDS",
        "if not strict or field",
        f"{FREE_TEXT}::test_a_field_that_nobody_knows_is_hidden",
    ),
)
_COMPARISON = (
    *(
        Defect(
            f"nearly equal floats of a {name} pass verify",
            "lab/rerun/verify.py",
            "elif pair.equal or _equal_in_older_form(pair, rerun, report):",
            NEARLY_EQUAL,
            f"{NEAR}::test_a_last_digit_is_a_difference[{case}]",
        )
        for name, case in (
            ("observation", "observation-.observation"),
            ("proposal", "proposal-.proposal.safety"),
            ("decision", "decision-.decision"),
            ("reward", "outcome-.outcome.reward"),
            ("forecast score", "outcome-.outcome.forecast"),
        )
    ),
    Defect(
        "a formula's prediction is tolerated as if a model had made it",
        "lab/rerun/compare.py",
        " or data.model_id in FORMULAS",
        "",
        f"{NEAR}::test_a_last_digit_is_a_difference[prediction-.prediction.risk]",
    ),
    Defect(
        "what a trained model was given is tolerated as if it had computed it",
        "lab/rerun/compare.py",
        "if not _OF_A_MODEL.fullmatch(self.path):",
        'if self.path == "id":',
        f"{NEAR}::test_what_a_trained_model_was_given_may_not_differ",
    ),
    Defect(
        "only the differences that are listed decide",
        "lab/rerun/compare.py",
        "    differences = _every_difference(pair, origin)\n    first",
        "    differences = iter(differences(pair, origin))\n    first",
        f"{NEAR}::test_a_difference_behind_many_near_ones_is_seen",
    ),
    Defect(
        "diff mixes up its sides",
        "lab/rerun/diff.py",
        "_add(difference, *((one, other) if mine is open_a else (other, one)))",
        "_add(difference, one, other)",
        ALIGNED,
    ),
    Defect(
        "diff counts cycles of one side alone for the other",
        "lab/rerun/diff.py",
        "sides[0].alone += len(open_a)",
        "sides[0].alone += len(open_b)",
        ALIGNED,
    ),
)
_EXIT_CODES = (
    Defect(
        "verify ends with 0 for a cut file",
        "foresail/verify.py",
        "cut_off=bool(report.damage)",
        "cut_off=False",
        EVERYWHERE,
    ),
    Defect(
        "verify ends with 0 for half of the layers",
        "foresail/verify.py",
        "nothing_compared=bool(report.not_compared or report.as_recorded)",
        "nothing_compared=not report.compared",
        f"{CODES}::test_verify_is_not_green_where_half_of_the_layers_is_missing",
    ),
    Defect(
        "verify ends with 0 for nothing compared",
        "lab/rerun/verify.py",
        "if layer.compared == 0)",
        "if layer.compared < 0)",
        f"{CODES}::test_verify_is_not_green_where_nothing_was_compared",
    ),
    Defect(
        "check ends with 0 for an empty file",
        "foresail/recording/check.py",
        "nothing_compared=result.messages == 0",
        "nothing_compared=False",
        EVERYWHERE,
    ),
    Defect(
        "doctor ends with 0 when a check could not be made",
        "foresail/doctor.py",
        "nothing_compared=not findings or not all(finding.made for finding in findings)",
        "nothing_compared=not findings",
        f"{CODES}::test_doctor_is_not_green_when_a_check_could_not_be_made",
    ),
    Defect(
        "doctor calls a silent stack well",
        "foresail/doctor.py",
        "    if not heartbeats:\n",
        "    if heartbeats is None:\n",
        f"{CODES}::test_doctor_does_not_call_a_silent_stack_well",
    ),
    Defect(
        "diff skips decisions that cannot be read",
        "lab/rerun/diff.py",
        "side.unreadable += 1",
        "pass",
        f"{CODES}::test_diff_is_not_green_where_decisions_cannot_be_read",
    ),
    Defect(
        "a what-if counts what it did not compute",
        "lab/rerun/what_if.py",
        "return sum(self.classes.values()) - self.not_computed",
        "return sum(self.classes.values())",
        f"{CODES}::test_what_if_is_not_green_where_nothing_was_computed",
    ),
    Defect(
        "SIGTERM leaves half a file",
        "foresail/stopping.py",
        "HANDLED = (signal.SIGINT, signal.SIGTERM)",
        "HANDLED = (signal.SIGINT,)",
        "tests/recordings/test_interrupted.py::test_sigterm_ends_a_verb_with_the_code_for_it[redact]",
    ),
)
_EDGES = (
    Defect(
        "a verb that was stopped answers as if nobody had asked",
        "foresail/stopping.py",
        "    if _stop.requested:\n        raise KeyboardInterrupt\n",
        "",
        "tests/foresail/test_stopping.py::test_a_verb_that_ends_in_spite_of_the_signal_is_stopped_all_the_same",
    ),
    Defect(
        "a verb that computes runs to its end",
        "foresail/stopping.py",
        "        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)\n",
        "",
        "tests/foresail/test_stopping.py::test_a_verb_that_never_waits_is_interrupted[2]",
    ),
    Defect(
        "a position can be written twice",
        "bus/recording/writer.py",
        "if message.seq <= self._last_seq:",
        "if message.seq < self._last_seq:",
        f"{EDGES}::test_a_position_is_written_once",
    ),
    Defect(
        "a writer that is closed loses its open frame",
        "bus/recording/writer.py",
        "            self.flush()\n            self._file.close()",
        "            self._file.close()",
        f"{EDGES}::test_a_writer_that_is_closed_keeps_its_last_message",
    ),
    Defect(
        "frames are written without a checksum",
        "bus/recording/writer.py",
        "write_checksum=True",
        "write_checksum=False",
        f"{EDGES}::test_every_frame_has_a_checksum_of_its_own",
    ),
    Defect(
        "the reader reads on behind a footer",
        "bus/recording/reader.py",
        "                if sealed:\n",
        "                if sealed is None:\n",
        f"{EDGES}::test_nothing_is_read_behind_a_footer",
    ),
    Defect(
        "a line may stand twice in a frame",
        "bus/recording/content.py",
        "if message.seq <= last_seq:",
        "if message.seq < last_seq:",
        f"{EDGES}::test_a_line_that_stands_twice_is_damage",
    ),
    Defect(
        "a window lacks its last message",
        "bus/recording/window.py",
        "value <= self.last",
        "value < self.last",
        f"{EDGES}::test_a_window_holds_both_its_ends",
    ),
    Defect(
        "a window is past at its last message",
        "bus/recording/window.py",
        "(self._value(message) or 0) > self.last)",
        "(self._value(message) or 0) >= self.last)",
        f"{EDGES}::test_a_window_holds_both_its_ends",
    ),
    Defect(
        "a part loses its last line",
        "bus/recording/cut.py",
        "elif entry[0].seq > self.last_seq:",
        "elif entry[0].seq >= self.last_seq:",
        f"{EDGES}::test_a_part_ends_with_the_last_message_asked_for",
    ),
    Defect(
        "a source begins one message late",
        "foresail/log_source.py",
        "if is_selected and message.seq >= start_seq:",
        "if is_selected and message.seq > start_seq:",
        f"{EDGES}::test_a_source_begins_at_the_position_asked_for",
    ),
    Defect(
        "so many events ago is one more",
        "foresail/log_source.py",
        "deque(maxlen=since.events)",
        "deque(maxlen=since.events + 1)",
        f"{EDGES}::test_so_many_events_ago_is_so_many",
    ),
    Defect(
        "explain, timeline and tap do not see where a file is cut off",
        "foresail/log_source.py",
        "self.damage = damage_of(recording)",
        'self.damage = ""',
        f"{EDGES}::test_a_source_says_where_its_recording_is_cut_off",
    ),
    Defect(
        "nanoseconds are cut to microseconds",
        "bus/recording/format.py",
        "{rest:09d}Z",
        "{rest // 1000 * 1000:09d}Z",
        f"{EDGES}::test_a_message_is_kept_as_it_is",
    ),
)
_IMPORTS = (
    Defect(
        "an imported figure that a file does not have becomes 0",
        "lab/recordings/predecessors/trace.py",
        '"net_util_ratio": node.net_util,',
        '"net_util_ratio": node.net_util or 0.0,',
        "tests/recordings/test_import_predecessors.py::test_a_trace_keeps_every_figure_and_invents_none",
    ),
)
RECORDINGS = (*_FOOTERS, *_REDACTION, *_COMPARISON, *_EXIT_CODES, *_EDGES, *_IMPORTS)
