"""Containers of the local image are processes of this machine, with their own ends and logs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.tests.local_pods.conftest import LocalTwin, alive, until

pytestmark = pytest.mark.twin
WAIT = "import time; time.sleep(60)"


def test_the_exit_code_is_that_of_the_process(local_twin: LocalTwin) -> None:
    """Code 3 of the process is code 3 of the container, and the pod has failed."""
    local_twin.python("three", "import sys; print('oops'); sys.exit(3)")
    end = local_twin.ended("three")
    assert (end.exit_code, end.reason) == (3, "Error")
    assert local_twin.log("three") == "oops\n"


def test_a_termination_message_is_what_the_process_wrote(local_twin: LocalTwin) -> None:
    """Written to the path that the pod names, which is one of the container's own folder."""
    code = "import os, sys; open(sys.argv[1], 'w').write('all ' + os.environ['WHAT'])"
    container = {"args": ["/dev/termination-log"], "env": [{"name": "WHAT", "value": "well"}]}
    local_twin.python("message", code, container)
    end = local_twin.ended("message")
    assert (end.exit_code, end.reason, end.message) == (0, "Completed", "all well")


def test_the_log_is_the_message_of_a_failure_that_wrote_none(local_twin: LocalTwin) -> None:
    """Where the policy is FallbackToLogsOnError."""
    container = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    local_twin.python("fallback", "import sys; sys.exit('no such file')", container)
    assert local_twin.ended("fallback").message == "no such file\n"


def test_there_is_no_shell(local_twin: LocalTwin) -> None:
    """Only programs of the local installation run; others are missing, as in an image without them."""
    for name, word in (("bare", "sh"), ("absolute", "/bin/sh")):
        local_twin.create(name, {"command": [word, "-c", "true"]})
        end = local_twin.ended(name)
        assert (end.exit_code, end.reason) == (128, "StartError")
        assert f'exec: "{word}"' in end.message


def test_without_a_command_the_image_runs_a_module(local_twin: LocalTwin) -> None:
    """As the image's own entry point does."""
    local_twin.create("module", {"args": ["platform"]})
    assert local_twin.ended("module").exit_code == 0
    assert "Linux" in local_twin.log("module")


def test_memory_beyond_the_limit_is_an_oom_kill(local_twin: LocalTwin) -> None:
    """With exit code 137, whatever the process would have said."""
    limits = {"resources": {"limits": {"memory": "100Mi"}}}
    local_twin.python("glutton", "held = bytearray(400 << 20); " + WAIT, limits)
    end = local_twin.ended("glutton")
    assert (end.exit_code, end.reason) == (137, "OOMKilled")


def test_config_maps_and_the_downward_api_arrive(local_twin: LocalTwin) -> None:
    """As variables and as files at the path that the pod names."""
    body = {"metadata": {"name": "settings"}, "data": {"LEVEL": "7", "a.txt": "from a file"}}
    local_twin.core.create_namespaced_config_map("default", body)
    code = (
        "import json, os, sys; print(json.dumps("
        "[os.environ['LEVEL'], os.environ['POD'], sys.argv[1], open(os.environ['FILE']).read()]))"
    )
    container = {
        "args": ["level-$(LEVEL)-$$(LEVEL)"],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "env": [
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "FILE", "value": "/etc/settings/a.txt"},
        ],
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
    }
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
    local_twin.python("reader", code, container, volumes=volumes)
    assert local_twin.ended("reader").exit_code == 0, local_twin.log("reader")
    shown = json.loads(local_twin.log("reader"))
    assert shown == ["7", "reader", "level-7-$(LEVEL)", "from a file"]


def test_a_missing_config_map_is_named(local_twin: LocalTwin) -> None:
    """The container waits and says what is not there; with it, it runs."""
    container = {"envFrom": [{"configMapRef": {"name": "nowhere"}}]}
    local_twin.python("lacking", "pass", container)

    def waits() -> Any:
        statuses = local_twin.pod("lacking").status.container_statuses or ()
        found = [status.state.waiting for status in statuses]
        return found and found[0] and found[0].reason == "CreateContainerConfigError" and found[0]

    assert until(waits).message == 'configmap "nowhere" not found'
    body = {"metadata": {"name": "nowhere"}}
    local_twin.core.create_namespaced_config_map("default", body)
    assert local_twin.ended("lacking").exit_code == 0


def test_init_containers_run_before_and_share_a_folder(local_twin: LocalTwin) -> None:
    """What one writes into an emptyDir the next one reads."""
    share = {"volumeMounts": [{"name": "share", "mountPath": "/share"}]}
    image = {"image": "foresail:local"}
    write = ["python", "-c", "import sys; open(sys.argv[1], 'w').write('made')", "/share/x"]
    read = ["python", "-c", "import sys; print(open(sys.argv[1]).read())", "/share/x"]
    local_twin.create(
        "two",
        {"command": read, **share},
        initContainers=[{"name": "first", "command": write, **image, **share}],
        volumes=[{"name": "share", "emptyDir": {}}],
    )
    assert local_twin.ended("two").exit_code == 0
    assert local_twin.log("two") == "made\n"


def test_a_process_has_the_rights_of_its_account(local_twin: LocalTwin) -> None:
    """Its kubeconfig is that of the pod's service account, which may read no nodes."""
    code = (
        "from kubernetes import client, config; config.load_kube_config()\n"
        "try: client.CoreV1Api().list_node()\n"
        "except client.ApiException as error: print(error.body)"
    )
    local_twin.python("who", code)
    assert local_twin.ended("who").exit_code == 0, local_twin.log("who")
    message = json.loads(local_twin.log("who"))["message"]
    assert message.startswith(
        'nodes is forbidden: User "system:serviceaccount:default:default" cannot list'
    )


def test_a_log_is_followed_line_by_line(local_twin: LocalTwin) -> None:
    """Each line comes when it is printed, and the answer ends with the process."""
    code = "import time\nfor n in range(4): print(n); time.sleep(1)"
    local_twin.python("counter", code)
    until(lambda: local_twin.pod("counter").status.phase == "Running")
    answer = local_twin.core.read_namespaced_pod_log(
        "counter", "default", follow=True, _preload_content=False
    )
    parts = list(answer.stream())
    assert b"".join(parts) == b"0\n1\n2\n3\n"
    assert len(parts) > 1


def test_a_failed_container_is_run_again(local_twin: LocalTwin) -> None:
    """By its restart policy; the log of the run before is kept, and its end is the last state."""
    code = (
        "import os, sys; p = sys.argv[1]; again = os.path.exists(p); open(p, 'w'); "
        "print('second' if again else 'first'); sys.exit(0 if again else 5)"
    )
    container = {"args": ["/keep/x"], "volumeMounts": [{"name": "keep", "mountPath": "/keep"}]}
    volumes = [{"name": "keep", "emptyDir": {}}]
    local_twin.python("again", code, container, restartPolicy="OnFailure", volumes=volumes)
    assert local_twin.ended("again").exit_code == 0
    status = local_twin.pod("again").status.container_statuses[0]
    assert status.restart_count == 1
    assert local_twin.log("again") == "second\n"
    assert local_twin.log("again", previous=True) == "first\n"


def test_a_deleted_pod_is_asked_to_end_and_leaves_nothing(local_twin: LocalTwin) -> None:
    """SIGTERM first, so it may end in good order; its children go with it."""
    code = (
        "import os, signal, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "def end(*_): open(sys.argv[1], 'w').write('ended well'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "print(child.pid, sys.argv[1]); time.sleep(60)"
    )
    note = str(local_twin.folder / "note")
    local_twin.python("asked", code, {"args": [note]})
    child = int(until(lambda: local_twin.pod("asked") and _log(local_twin, "asked")).split()[0])
    assert alive(child)
    local_twin.core.delete_namespaced_pod("asked", "default")
    until(lambda: local_twin.pod("asked") is None)
    until(lambda: not alive(child))
    assert (local_twin.folder / "note").read_text(encoding="utf-8") == "ended well"


def _log(twin: LocalTwin, name: str) -> str:
    pod = twin.pod(name)
    return twin.log(name) if pod.status.phase == "Running" else ""


def test_a_job_counts_real_ends(local_twin: LocalTwin) -> None:
    """Of three indexes one fails for good: two have succeeded."""
    code = "import os, sys; sys.exit(os.environ['JOB_COMPLETION_INDEX'] == '1')"
    container = {"name": "main", "image": "foresail:local", "command": ["python", "-c", code]}
    spec = {
        "completions": 3,
        "parallelism": 3,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    local_twin.batch.create_namespaced_job("default", {"metadata": {"name": "three"}, "spec": spec})
    status = until(lambda: _finished(local_twin, "three"))
    assert (status.succeeded, status.failed) == (2, 1)


def _finished(twin: LocalTwin, name: str) -> object:
    status = twin.batch.read_namespaced_job(name, "default").status
    return status if (status.succeeded or 0) + (status.failed or 0) == 3 else None


def test_other_images_stay_simulated(local_twin: LocalTwin) -> None:
    """Whatever their command says."""
    note = local_twin.folder / "simulated"
    command = ["python", "-c", f"open({str(note)!r}, 'w')"]
    local_twin.create("other", {"image": "python:3.11", "command": command})
    until(lambda: local_twin.pod("other").status.phase == "Running")
    assert "msg=starting" in local_twin.log("other")
    assert not note.exists()
