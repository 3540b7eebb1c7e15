"""All objects of the embedded cluster: one version counter, one log of changes per resource.

Guarantees: every commit raises `resource_version` by one and is announced exactly once, in order;
a dry run goes through the same defaults and validation and leaves no trace; reading has no effect.
Rendered objects share parts with the store: copy before you change one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Unpack

from twin import admission, errors, intake
from twin.admission.gates import Gate
from twin.admission.known_specs import KnownSpecs
from twin.changes import Change, ChangeType
from twin.copying import copy_object
from twin.definitions.registry import DEFINITIONS, CustomKinds
from twin.definitions.served_tables import serve_tables
from twin.identity import Identities, draw_name
from twin.kinds import KINDS, Kind
from twin.part import Kept, Part
from twin.preconditions import DeleteOptions, check_deletion, check_written, set_namespace
from twin.records import Object, PodRecord, Record
from twin.render import render
from twin.render.item_cache import ItemCache
from twin.resource_table import Dependents, ResourceTable, index_owners, unindex_owners
from twin.snapshot import ResourceSnapshot

Changes = list[Change]
Subscriber = Callable[[Change], None]
_CHANGE_PODS = (
    "limitranges",
    "verticalpodautoscalers",
)  # what is known of a spec does not hold then
Review = Callable[[Object | None, Object], None]
"""Lets an admitted object pass, given what it replaces, or raises."""
Own = Callable[[Object | None, Object], None]
"""Sets who owns which field of an admitted object, given it as it was before."""


class Store(Part):
    """Objects of all served resources. `now` gives cluster time in unix seconds.

    A restored store has the objects and goes on with their versions; its change logs start empty,
    so that a watch from an older version is told 410 and lists again.
    """

    KEEPS = ("resource_version", "_tables", "dependents")
    LEAVES = ("_subscribers", "_callbacks", "_tickets", "gates", "items", "custom")

    def __init__(self, now: Callable[[], float], *, seed: int = 0, log_size: int = 20_000) -> None:
        self.resource_version = 1
        self.now = now
        self._identities = Identities(seed, now)
        self._log_size = log_size
        self._tables = {name: ResourceTable(kind, log_size) for name, kind in KINDS.items()}
        self.custom = CustomKinds()
        self._subscribers: dict[int, Subscriber] = {}
        self._callbacks: tuple[Subscriber, ...] = ()
        self._tickets = 0
        self.gates: list[Gate] = []
        self._known_specs = KnownSpecs()
        self.items = ItemCache()
        self.dependents: Dependents = {}

    def kept(self) -> Kept:
        """Return the version and all records; the sorted keys follow from them."""
        records = {name: table.records for name, table in self._tables.items() if table.records}
        return {
            "resource_version": self.resource_version,
            "_tables": records,
            "dependents": self.dependents,
        }

    def restore(self, kept: Kept) -> None:
        """Take over all records."""
        self.resource_version = kept["resource_version"]
        self.dependents = kept["dependents"]
        self._tables[DEFINITIONS].fill(kept["_tables"].get(DEFINITIONS, {}))
        self._serve_definitions()
        for name, table in self._tables.items():
            table.fill(kept["_tables"].get(name, {}))
            table.log.begin_after(self.resource_version)

    # ---- reading

    def get(self, resource: str, namespace: str, name: str) -> Object:
        """Return one object; raises ApiError 404."""
        return render(resource, self.record(resource, namespace, name))

    def list(self, resource: str, namespace: str | None = None) -> Iterator[Object]:
        """Yield objects by (namespace, name); each is rendered when it is reached."""
        for record in self.records(resource, namespace):
            yield render(resource, record)

    def record(self, resource: str, namespace: str, name: str) -> Record:
        """Return the live record; raises ApiError 404."""
        table = self._table(resource)
        found = table.records.get((namespace if table.kind.namespaced else "", name))
        if found is None:
            raise errors.not_found(resource, name, group=table.kind.group)
        return found

    def find(self, resource: str, namespace: str, name: str) -> Record | None:
        """Return the live record or None."""
        table = self._tables.get(resource) or self._table(resource)
        return table.records.get((namespace, name))

    def records(self, resource: str, namespace: str | None = None) -> Iterator[Record]:
        """Yield live records by (namespace, name); the set is fixed when the walk starts."""
        table = self._table(resource)
        keys = table.keys
        if namespace is not None and table.kind.namespaced:
            low = bisect_left(keys, (namespace, ""))
            high = bisect_left(keys, (f"{namespace}\0", ""))
            keys = keys[low:high]
        for key in tuple(keys):
            record = table.records.get(key)
            if record is not None:
                yield record

    def forget(self, resources: Collection[str]) -> None:
        """Drop the change logs of resources (none named: of all): older watches get 410."""
        for name, table in self._tables.items():
            if not resources or name in resources:
                table.log.begin_after(self.resource_version)

    def count(self, resource: str) -> int:
        """Return how many objects there are."""
        return len(self._table(resource).keys)

    def changes(self, resource: str, namespace: str | None, since: int) -> Changes:
        """Return changes after version `since`; raises ApiError 410 when the log is shorter."""
        return self._table(resource).log.since(since, namespace)

    def snapshot(self, resource: str, namespace: str | None, version: int) -> ResourceSnapshot:
        """Return the records as of `version`; raises ApiError 410 when the log is shorter."""
        table = self._table(resource)
        scope = namespace if table.kind.namespaced else None
        return ResourceSnapshot(table, scope, version, table.log.since(version, scope))

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call `callback` at each commit, in order; returns what ends it. It must not block."""
        self._tickets += 1
        ticket = self._tickets
        self._subscribers[ticket] = callback
        self._callbacks = tuple(self._subscribers.values())

        def stop() -> None:
            self._subscribers.pop(ticket, None)
            self._callbacks = tuple(self._subscribers.values())

        return stop

    # ---- writing

    def create(
        self,
        resource: str,
        namespace: str,
        obj: Object,
        *,
        dry_run: bool = False,
        own: Own | None = None,
        review: Review | None = None,
    ) -> Object:
        """Create an object and return it; raises ApiError 404, 409 AlreadyExists or 422."""
        record = self.create_record(
            resource, namespace, obj, dry_run=dry_run, own=own, review=review
        )
        return render(resource, record)

    def create_record(
        self,
        resource: str,
        namespace: str,
        obj: Object,
        *,
        dry_run: bool = False,
        own: Own | None = None,
        review: Review | None = None,
        fresh: bool = False,
        stands_for: str = "",
    ) -> Record:
        """As `create`, without rendering the answer; a `fresh` object is nobody else's, and
        `stands_for` is what a controller makes it for, if that is more lasting than its name.
        """
        table = self._table(resource)
        obj = table.kept_form(obj)
        kind = table.kind_of(obj)
        if not fresh:
            obj = {
                name: part if name == "spec" else copy_object(part) for name, part in obj.items()
            }
        metadata = obj.setdefault("metadata", {})
        set_namespace(kind, namespace, metadata, self.find)
        identity = self._identities.next(resource, metadata, stands_for, self.find)
        if resource == "jobs":
            metadata["uid"] = identity.uid  # their selectors are made of it
        name = metadata.get("name") or draw_name(kind, metadata, identity.uid, table.records)
        metadata["name"] = name
        home = metadata.get("namespace", "")
        obj = admission.as_defined(self.custom.laid_over.get(resource), obj, None, None)
        ranged = any(self._tables[name].records for name in _CHANGE_PODS)
        self._known_specs.admit(kind, home, obj, self.gates, fresh=fresh, ranged=ranged)
        key = (home, name)
        if key in table.records:
            raise errors.already_exists(resource, name, group=kind.group)
        if review is not None:
            review(None, obj)
        for gate in self.gates:
            gate.charge(kind, home, obj, None, dry_run=dry_run)
        if own is not None:
            own(None, obj)
        if kind.custom is not None:
            obj["apiVersion"] = table.kind.api_version
        record = intake.new_record(resource, obj)
        record.uid = identity.uid
        record.created_at = self.now()
        record.resource_version = self.resource_version
        if not dry_run:
            self._identities.add(identity)
            self.insert(resource, record)
        return record

    def insert(self, resource: str, record: Record) -> None:
        """Commit a complete new record that needs no admission (the simulation's own)."""
        table = self._table(resource)
        index_owners(self.dependents, resource, record, table.put(record))
        self._commit(table, "ADDED", record, None, None, None)

    def replace(
        self,
        resource: str,
        namespace: str,
        name: str,
        obj: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        own: Own | None = None,
        review: Review | None = None,
    ) -> Object:
        """Write an object and return it; an equal one changes nothing.

        Raises ApiError 404; 409 Conflict when metadata.resourceVersion or uid is given and is not
        the current one; 422 Invalid. `subresource="status"` writes status alone, otherwise status
        is kept.
        """
        table = self._table(resource)
        record = self.record(resource, namespace, name)
        check_written(table.kind, record, obj.get("metadata", {}))
        candidate = record.clone()
        new = copy_object(table.kept_form(obj))
        old = render(resource, record)
        new = admission.as_defined(self.custom.laid_over.get(resource), new, old, subresource)
        admission.admit_change(table.kind_of(new), old, new, subresource)
        if review is not None:
            review(old, new)
        if resource == "services" and subresource is None:
            for gate in self.gates:
                gate.charge(table.kind, record.namespace, new, old, dry_run=dry_run)
        if own is not None:
            own(old, new)
        if table.kind.custom is not None:
            new["apiVersion"] = table.kind.api_version
        intake.apply(candidate, new, subresource, resource)
        if subresource == "resize" and isinstance(candidate, PodRecord):
            self._charge_resize(table.kind, record, candidate, (old, new), dry_run=dry_run)
        if dry_run or candidate.state() == record.state():
            return render(resource, candidate)
        before = record.clone()
        unindex_owners(self.dependents, resource, record)
        record.adopt(candidate)
        index_owners(self.dependents, resource, record, record.key)
        if self._is_released(resource, record):  # the write that lets it go is its last one
            self.remove(resource, record, before)
        else:
            self.touch(resource, record, before)
        return render(resource, record)

    def touch(self, resource: str, record: Record, before: Record) -> None:
        """Commit changes that were made on a live record; `before` is its clone from earlier."""
        fields = before.index_fields if isinstance(before, PodRecord) else None
        self._commit(self._table(resource), "MODIFIED", record, before.labels, fields, before)

    def delete(
        self, resource: str, namespace: str, name: str, **options: Unpack[DeleteOptions]
    ) -> Object:
        """Delete an object and return it as last seen; see `delete_record`."""
        return render(resource, self.delete_record(resource, namespace, name, **options))

    def delete_record(
        self, resource: str, namespace: str, name: str, **options: Unpack[DeleteOptions]
    ) -> Record:
        """Delete an object and return its record, without rendering it; raises ApiError 404, 409,
        422.

        Bound pods, namespaces and whatever has finalizers get a deletionTimestamp first and go when
        the grace, the content or the finalizers are gone. `propagation`: Background (default),
        Foreground or Orphan.
        """
        table = self._table(resource)
        record = self.record(resource, namespace, name)
        dry_run = options.get("dry_run", False)
        check_deletion(table.kind, record, options.get("uid"), options.get("resource_version"))
        before = record.clone()
        target = record.clone() if dry_run else record
        grace, propagation = options.get("grace_period_seconds"), options.get("propagation")
        gone_now = admission.mark_deleted(resource, target, self.now(), grace, propagation)
        if not dry_run:
            if gone_now:
                if options.get("announced") and resource == "pods":
                    self.touch(resource, record, before)
                    before = record.clone()
                self.remove(resource, record, before)
            elif record.state() != before.state():
                self.touch(resource, record, before)
        return target

    def remove(
        self,
        resource: str,
        record: Record,
        before: Record | None = None,
        *,
        named_here: bool = True,
    ) -> None:
        """Take a record away at once (its grace has passed); `before` as it was, if it was
        changed since its last commit; not `named_here` when it came in by `insert`.
        """
        table = self._table(resource)
        table.drop(record)
        self._identities.remove(resource, record, named_here=named_here)
        unindex_owners(self.dependents, resource, record)
        fields = record.index_fields if isinstance(record, PodRecord) else None
        before = before or record.clone()
        self._commit(table, "DELETED", record, record.labels, fields, before)

    # ---- inner parts

    def _table(self, resource: str) -> ResourceTable:
        found = self._tables.get(resource)
        if found is None:
            raise errors.unknown_resource(resource)
        return found

    def _serve_definitions(self) -> None:
        """Keep the objects of the kinds that definitions serve now, and of no others."""
        definitions = self._tables[DEFINITIONS]
        self.custom.read(definitions.records[key] for key in definitions.keys)
        sizes = self._log_size, self.resource_version
        self._tables = serve_tables(self._tables, self.custom, *sizes)

    def _charge_resize(
        self,
        kind: Kind,
        record: Record,
        candidate: PodRecord,
        change: tuple[Object, Object],
        *,
        dry_run: bool,
    ) -> None:
        """Let a pod's new amounts pass QoS, limit ranges and quotas; raises ApiError 403 or 422."""
        assert isinstance(record, PodRecord)
        admission.check_qos(kind, record.name, record.shape.qos, candidate.shape.qos)
        for gate in self.gates:
            gate.charge(kind, record.namespace, change[1], change[0], dry_run=dry_run)

    def _is_released(self, resource: str, record: Record) -> bool:
        """True for what is deleted and held by nobody any more."""
        if record.deletion_at is None or record.finalizers or isinstance(record, PodRecord):
            return not record.finalizers and record.deletion_grace_seconds == 0
        return resource != "namespaces" or not admission.is_waited_for(record)

    def _commit(
        self,
        table: ResourceTable,
        change_type: ChangeType,
        record: Record,
        labels: Mapping[str, str] | None,
        fields: tuple[str, str] | None,
        before: Record | None,
    ) -> None:
        resource = table.kind.resource
        if resource in ("priorityclasses", "runtimeclasses"):
            self._known_specs.forget()
        elif resource == DEFINITIONS:
            self._serve_definitions()
        self.resource_version += 1
        record.resource_version = self.resource_version
        change = Change(  # arguments by place: a fifth of the time
            self.resource_version, change_type, resource, record.clone(), labels, fields, before
        )
        table.log.append(change)
        for callback in self._callbacks:
            callback(change)
