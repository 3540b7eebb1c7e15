"""Defects in the embedded cluster: what its server lets in, what its watches say, what its parts decide."""

from __future__ import annotations

from proofs.planted.defect import Defect
from proofs.planted.twin_commands import TWIN_COMMANDS
from proofs.planted.twin_documents import TWIN_DOCUMENTS
from proofs.planted.twin_fields import TWIN_FIELDS
from proofs.planted.twin_kueue import TWIN_KUEUE
from proofs.planted.twin_objects import TWIN_OBJECTS
from proofs.planted.twin_programs import TWIN_PROGRAMS
from proofs.planted.twin_rules import TWIN_RULES
from proofs.planted.twin_serving import TWIN_SERVING

LIMITS = "twin/tests/api/test_limits.py::"
CONNECTIONS = "twin/tests/api/test_connections.py::"
WATCHES = "twin/tests/api/test_watch_versions.py::"

_WATCHED = (
    Defect(
        "a watch's first bookmark names now",
        "twin/api/watching.py",
        "yield view.bookmark(version, {INITIAL_EVENTS_END",
        "yield view.bookmark(store.resource_version, {INITIAL_EVENTS_END",
        f"{WATCHES}test_the_first_bookmark_names_the_version_of_what_was_listed",
    ),
    Defect(
        "a watch from the future begins now",
        "twin/api/watching.py",
        "lambda change: view.line(change) if change.rv > start else None",
        "view.line",
        f"{WATCHES}test_a_watch_from_the_future_begins_there",
    ),
    Defect(
        "a streaming list of the future is served from now",
        "twin/api/watching.py",
        "if (options.version or 0) > version:",
        "if (options.version or 0) > version and not options.initial:",
        f"{WATCHES}test_initial_objects_of_the_future_are_refused",
    ),
    Defect(
        "an autoscaler acts at exactly its tolerance",
        "twin/controllers/replica_calculator.py",
        "<= tolerance + 1e-12",
        "< tolerance - 1e-12",
        "twin/tests/controllers/test_replica_calculator.py::test_a_ratio_at_the_tolerance_changes_nothing",
    ),
)
_READ = (
    Defect(
        "an alias counts as one value",
        "twin/api/limits.py",
        "            count += size\n",
        "            count += 1\n",
        f"{LIMITS}test_an_alias_counts_as_much_as_what_it_repeats",
    ),
    Defect(
        "YAML may nest without end",
        "twin/api/limits.py",
        "        if len(opened) > DEEPEST:",
        "        if len(opened) > 1_000 * DEEPEST:",
        f"{LIMITS}test_yaml_is_read_within_limits",
    ),
    Defect(
        "YAML directives are read",
        "twin/api/limits.py",
        "    if _DIRECTIVE.search(text):",
        "    if _DIRECTIVE.fullmatch(text):",
        f"{LIMITS}test_yaml_is_read_within_limits",
    ),
    Defect(
        "YAML numbers may be of any length",
        "twin/api/limits.py",
        "        raise _long_number()\n\n\ndef _check_tag",
        "        return\n\n\ndef _check_tag",
        f"{LIMITS}test_yaml_is_read_within_limits",
    ),
    Defect(
        "any YAML tag is read",
        "twin/api/limits.py",
        "    if tag not in _TAGS:",
        "    if tag in ():",
        f"{LIMITS}test_yaml_is_read_within_limits",
    ),
    Defect(
        "values of JSON are not counted",
        "twin/api/limits.py",
        'outside.count(b",") + outside.count(b"[") + outside.count(b"{") > values',
        'outside.count(b",") + outside.count(b"[") > values',
        f"{LIMITS}test_values_and_depth_are_counted_exactly",
    ),
    Defect(
        "what stands in texts counts",
        "twin/api/limits.py",
        """outside = b'"'.join(bare.split(b'"')[::2])""",
        "outside = bare",
        f"{LIMITS}test_what_stands_in_texts_does_not_count",
    ),
    Defect(
        "an escaped backslash hides the end of a text",
        "twin/api/limits.py",
        """text.replace(b"\\\\\\\\", b"").replace(b'\\\\"', b"")""",
        """text.replace(b'\\\\"', b"")""",
        f"{LIMITS}test_values_and_depth_are_counted_exactly",
    ),
    Defect(
        "depth of JSON is not counted",
        "twin/api/limits.py",
        "    if max(accumulate(steps), default=0) > deepest:",
        "    if sum(steps) > deepest:",
        f"{LIMITS}test_values_and_depth_are_counted_exactly",
    ),
    Defect(
        "what an object has become is not checked",
        "twin/api/limits.py",
        "    check_json(rest, values=values, deepest=2 * DEEPEST)\n",
        "",
        f"{LIMITS}test_an_object_does_not_grow_without_end",
    ),
    Defect(
        "an object may have any size",
        "twin/api/limits.py",
        "    if len(managed) + len(rest) > LARGEST_OBJECT:",
        "    if len(managed) > LARGEST_OBJECT:",
        f"{LIMITS}test_an_object_does_not_grow_without_end",
    ),
    Defect(
        "updaters of an object grow without end",
        "twin/api/ownership.py",
        "    if len(updaters) <= MOST_UPDATERS:",
        "    if updaters or not updaters:",
        f"{LIMITS}test_updaters_become_one_after_ten",
    ),
    Defect(
        "what old updaters owned is nobody's",
        "twin/api/ownership.py",
        'subresource="", paths=paths)',
        'subresource="", paths=newest.paths)',
        f"{LIMITS}test_updaters_become_one_after_ten",
    ),
    Defect(
        "annotations have any size",
        "twin/admission/metadata.py",
        "    if size > ANNOTATIONS_BYTES:",
        "    if size > 2 * ANNOTATIONS_BYTES:",
        f"{LIMITS}test_annotations_have_a_size",
    ),
    Defect(
        "a JSON patch copies what it has copied",
        "twin/api/json_patch.py",
        "                if room < 0:",
        "                if room < -(10**9):",
        f"{LIMITS}test_a_copy_does_not_double_without_end",
    ),
    Defect(
        "long texts are copied as one value each",
        "twin/api/json_patch.py",
        "count += len(element) // TEXT_OF_A_VALUE",
        "count += 0",
        f"{LIMITS}test_long_texts_are_not_copied_without_end",
    ),
    Defect(
        "a protobuf body holds any number of records",
        "twin/api/schema/wire.py",
        "        room[0] -= 1\n",
        "",
        f"{LIMITS}test_a_protobuf_of_a_million_records_is_refused",
    ),
    Defect(
        "a selector has any number of terms",
        "twin/api/selecting.py",
        "    if len(parts) > MOST_TERMS:",
        "    if len(parts) > 100 * MOST_TERMS:",
        f"{LIMITS}test_queries_are_read_within_limits",
    ),
    Defect(
        "a field selector has any number of terms",
        "twin/api/selecting.py",
        "    if len(parts) > MOST_FIELD_TERMS:",
        "    if len(parts) > 100 * MOST_FIELD_TERMS:",
        f"{LIMITS}test_queries_are_read_within_limits",
    ),
    Defect(
        "a resourceVersion has any number of digits",
        "twin/api/versions.py",
        "    if not number or len(text) > LONGEST_VERSION or int(text) >= 1 << 64:",
        "    if not number:",
        f"{LIMITS}test_queries_are_read_within_limits",
    ),
    Defect(
        "a continue token is parsed however it nests",
        "twin/api/listing.py",
        "= read_json(raw)",
        "= json.loads(raw)",
        f"{LIMITS}test_queries_are_read_within_limits",
    ),
    Defect(
        "a fieldManager may hold line breaks",
        "twin/api/limits.py",
        "        if odd is not None:",
        "        if odd is not None and odd > 99:",
        f"{LIMITS}test_a_field_manager_has_a_name",
    ),
    Defect(
        "a warning carries a line break into a header",
        "twin/api/bodies.py",
        'each if each.isprintable() else "?" for each in',
        "each for each in",
        f"{LIMITS}test_warnings_fit_into_a_header",
    ),
    Defect(
        "a body that cannot be read is told to who may not write",
        "twin/api/router.py",
        "        check_request(request)\n",
        "        check_request(request)\n        if request.fault is not None:\n            raise request.fault\n",
        f"{LIMITS}test_who_may_not_write_hears_that_first",
    ),
)
_CONNECTED = (
    Defect(
        "a silent connection stays",
        "twin/api/connections.py",
        "        self.opened_at = self.loop.time()\n        self._await_head()\n",
        "        self.opened_at = self.loop.time()\n",
        f"{CONNECTIONS}test_an_idle_stranger_is_sent_away",
    ),
    Defect(
        "empty lines keep a connection",
        "twin/api/connections.py",
        "        if silent and self._timer is None",
        "        if silent and not self._served and self._timer is None",
        f"{CONNECTIONS}test_a_second_request_has_its_time_too",
    ),
    Defect(
        "a stranger's body is waited for",
        "twin/api/server.py",
        "        if identity is None:  # before anything else is read\n",
        "        if identity is None and await self._receiver.request(scope, headers, receive):\n",
        f"{CONNECTIONS}test_who_asks_is_established_first",
    ),
    Defect(
        "a stranger keeps the connection",
        "twin/api/server.py",
        "return _closing_response(respond(401, unauthorized.to_status()))",
        "return respond(401, unauthorized.to_status())",
        f"{CONNECTIONS}test_who_asks_is_established_first",
    ),
    Defect(
        "a request that is cut off is done",
        "twin/api/receiving.py",
        '                    if message["type"] == "http.disconnect":\n                        raise ClientGone\n',
        "",
        f"{CONNECTIONS}test_a_request_cut_off_is_not_done",
    ),
    Defect(
        "headers have any size",
        "twin/api/connections.py",
        "        if size > LARGEST_HEAD or len(self.url)",
        "        if len(self.url)",
        f"{CONNECTIONS}test_a_bad_head_is_refused",
    ),
    Defect(
        "one header may go on without end",
        "twin/api/connections.py",
        "        if self._in_head and self._head_bytes > LARGEST_HEAD:",
        "        if not self._in_head and self._head_bytes > LARGEST_HEAD:",
        f"{CONNECTIONS}test_a_bad_head_is_refused",
    ),
    Defect(
        "a full server turns away who asks",
        "twin/api/connections.py",
        "        return bool(waiting)\n",
        "        return False\n",
        f"{CONNECTIONS}test_a_full_server_makes_room_for_who_asks",
    ),
    Defect(
        "a full server takes more",
        "twin/api/connections.py",
        "        elif self._full:",
        "        elif self._full and self._refused:",
        f"{CONNECTIONS}test_a_full_server_makes_room_for_who_asks",
    ),
    Defect(
        "a watch that has ended still counts",
        "twin/api/server.py",
        "            self._watches[identity.name] -= 1\n",
        "",
        f"{CONNECTIONS}test_watches_of_one_user_are_counted",
    ),
    Defect(
        "one user has any number of watches",
        "twin/api/server.py",
        "        self._watches[identity.name] += 1\n",
        "        self._watches[identity.name] += 0\n",
        f"{CONNECTIONS}test_watches_of_one_user_are_counted",
    ),
    Defect(
        "bodies that arrive take any memory",
        "twin/api/receiving.py",
        "                    if self._held_bytes > MOST_HELD_BYTES:",
        "                    if held_bytes > MOST_HELD_BYTES:",
        f"{CONNECTIONS}test_bodies_that_arrive_are_counted",
    ),
    Defect(
        "a body that was read still counts",
        "twin/api/receiving.py",
        "            self._held_bytes -= held_bytes\n",
        "            pass\n",
        f"{CONNECTIONS}test_bodies_that_arrive_are_counted",
    ),
    Defect(
        "a stalled reader keeps its connection",
        "twin/api/connections.py",
        "        if self._stalled is None:\n",
        "        if self._stalled is not None:\n",
        f"{CONNECTIONS}test_a_client_that_reads_nothing_is_cut",
    ),
    Defect(
        "YAML is read while everybody waits",
        "twin/api/receiving.py",
        "            body = await read\n",
        "            body = read.result() if read.done() else _as_json(request.body)\n",
        f"{CONNECTIONS}test_yaml_is_read_beside_others",
    ),
    Defect(
        "SIGTERM waits for whatever is under way",
        "twin/api/connections.py",
        "            faulthandler.dump_traceback_later(STOP_SECONDS, exit=True)\n",
        "            faulthandler.is_enabled()\n",
        "twin/tests/api/test_ending.py::test_sigterm_ends_a_process_that_hangs",
    ),
)
TWIN = (
    *_WATCHED,
    *_READ,
    *_CONNECTED,
    *TWIN_COMMANDS,
    *TWIN_DOCUMENTS,
    *TWIN_FIELDS,
    *TWIN_KUEUE,
    *TWIN_OBJECTS,
    *TWIN_PROGRAMS,
    *TWIN_RULES,
    *TWIN_SERVING,
)
