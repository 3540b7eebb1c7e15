"""The loop of all three: once a minute while there are objects, recommender first."""

from __future__ import annotations

from twin.changes import Change
from twin.part import Part
from twin.provisioners.client import Client, Evict
from twin.records import PodRecord
from twin.vertical.objects import RESOURCE
from twin.vertical.recommender import Recommender, Sample
from twin.vertical.updater import Updater
from twin.vertical.webhook import Webhook
from twin.world import World


class VerticalAutoscaler(Part):
    """Runs verticalpodautoscalers."""

    KEEPS = ("_planned",)

    def __init__(self, world: World, sample: Sample, evict: Evict) -> None:
        self._world = world
        self._config = config = world.config.vertical
        self.recommender = Recommender(config, Client(world, evict, "vpa-recommender"), sample)
        self.updater = Updater(config, Client(world, evict, "vpa-updater"))
        self.webhook = Webhook(Client(world, evict, "vpa-admission-controller"))
        self._planned = False
        self._on = RESOURCE not in world.config.controllers.switched_off
        if self._on:
            world.store.gates.append(self.webhook)
        world.clock.handle("vertical.recommend", self._recommend)
        world.clock.handle("vertical.update", self._update)

    def follow(self, change: Change) -> None:
        """Begin with the first object; take note of kills for want of memory."""
        if not self._on:
            return
        if change.resource == RESOURCE:
            if not self._planned:
                self._planned = True
                self._world.clock.after(self._config.recommend_seconds, "vertical.recommend")
                self._world.clock.after(self._config.update_seconds, "vertical.update")
        elif self._planned and isinstance(change.record, PodRecord):
            self.recommender.note_kill(change)

    def _recommend(self) -> None:
        self.recommender.run()
        self._planned = self._world.store.count(RESOURCE) > 0
        if self._planned:
            self._world.clock.after(self._config.recommend_seconds, "vertical.recommend")

    def _update(self) -> None:
        self.updater.run()
        if self._planned:
            self._world.clock.after(self._config.update_seconds, "vertical.update")
