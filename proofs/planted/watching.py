"""Defects in following a cluster by watches."""

from __future__ import annotations

from proofs.planted.defect import Defect

INDEX = "tests/cluster/test_kube_index.py"
FOLLOW = "tests/cluster/test_kube_follow.py"

WATCHING = (
    Defect(
        "watch: a deleted object stays",
        "services/kube_index.py",
        "            self._objects.pop(identity.key, None)\n",
        "            pass\n",
        f"{INDEX}::test_a_watch_goes_on_where_the_list_ended",
    ),
    Defect(
        "watch: a bookmark is no version",
        "services/kube_index.py",
        "            self._move_to(_BOOKMARKS.decode(change.object).metadata.resource_version)\n",
        "            pass\n",
        f"{INDEX}::test_a_bookmark_moves_the_version_alone",
    ),
    Defect(
        "watch: a version that is gone is asked for again and again",
        "services/kube_follow.py",
        '        """Forget the version; the objects are handed out until the new list is there."""\n'
        '        self.index.version = ""\n',
        '        """Forget the version; the objects are handed out until the new list is there."""\n',
        f"{FOLLOW}::test_what_is_too_old_is_listed_again",
    ),
    Defect(
        "watch: a silent connection is waited for",
        "services/kube_follow.py",
        "                async with asyncio.timeout(silent):",
        "                async with asyncio.timeout(None):",
        f"{FOLLOW}::test_a_silent_connection_is_given_up",
    ),
    Defect(
        "watch: an outage goes unseen",
        "services/kube_follow.py",
        "        self.failure = failure\n",
        "",
        f"{FOLLOW}::test_an_outage_is_a_loss_until_the_server_answers",
    ),
    Defect(
        "watch: a server that hangs is taken to be quiet",
        "services/collector/following.py",
        "            return asked, error\n",
        "            return None\n",
        "tests/cluster/test_following.py::test_a_server_that_hangs_is_noticed_although_its_watches_stay_open",
    ),
    Defect(
        "watch: attempts follow each other at once",
        "services/kube_follow.py",
        "        await self._clock.sleep(wait * self._random.uniform(1.0, 1.5))\n",
        "        await self._clock.sleep(0.01)\n",
        f"{FOLLOW}::test_an_outage_is_a_loss_until_the_server_answers",
    ),
)
