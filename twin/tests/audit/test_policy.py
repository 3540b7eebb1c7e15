"""What policies promise: the first rule that fits decides, and a file that cannot be is refused by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from inputs.errors import ConfigError
from twin.audit.log import AuditLog
from twin.audit.policy import NAMES, AuditedRequest, read_policy
from twin.rbac.attributes import Attributes

HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
POD = Attributes("get", "", "pods", "", "shop", "a")
LOG = Attributes("get", "", "pods", "log", "shop", "a")
SCALE = Attributes("update", "apps", "deployments", "scale", "shop", "web")
NODE = Attributes("list", "", "nodes")


def _level(folder: Path, rules: str, attributes: Attributes | None, path: str = "/x") -> str:
    file = folder / "policy.yaml"
    file.write_text(f"{HEAD}rules:\n{rules}", encoding="utf-8")
    verb = "get" if attributes is None else attributes.verb
    asked = AuditedRequest("ann", ("dev", "system:authenticated"), verb, path, attributes)
    return NAMES[read_policy(file).rule_for(asked).level]


@pytest.mark.parametrize(
    ("rule", "fits", "does_not"),
    [
        ("users: [ann]", (POD, None), ()),
        ("users: [bob]", (), (POD, None)),
        ("userGroups: [dev]", (POD,), ()),
        ("userGroups: [ops]", (), (POD,)),
        ("verbs: [update]", (SCALE,), (POD,)),
        ("namespaces: [shop]", (POD, SCALE), (NODE, None)),
        ('namespaces: [""]', (NODE,), (POD, None)),
        ('resources: [{group: "", resources: [pods]}]', (POD,), (LOG, SCALE)),
        ('resources: [{group: "", resources: [pods/log]}]', (LOG,), (POD,)),
        ('resources: [{group: "", resources: ["pods/*"]}]', (LOG,), (NODE,)),
        ('resources: [{group: "*", resources: ["*/scale"]}]', (SCALE,), (POD, LOG)),
        ('resources: [{group: "", resources: ["*"]}]', (POD, LOG, NODE), (SCALE,)),
        ("resources: [{group: apps}]", (SCALE,), (POD,)),
        ('resources: [{resources: [pods], resourceNames: [a]}]', (POD,), (NODE,)),
        ('resources: [{resources: [pods], resourceNames: [b]}]', (), (POD,)),
        ('nonResourceURLs: ["/x"]', (None,), (POD,)),
        ('nonResourceURLs: ["/x*", "/y"]', (None,), (POD,)),
        ('nonResourceURLs: ["/y"]', (), (None,)),
        ('nonResourceURLs: ["*"]', (None,), (POD,)),
    ],
)  # fmt: skip
def test_rules_fit(
    tmp_path: Path,
    rule: str,
    fits: tuple[Attributes | None, ...],
    does_not: tuple[Attributes | None, ...],
) -> None:
    """A rule is about the requests that all its parts are about; others are not written."""
    for asked in fits:
        assert _level(tmp_path, f"- level: Request\n  {rule}\n", asked) == "Request"
    for asked in does_not:
        assert _level(tmp_path, f"- level: Request\n  {rule}\n", asked) == "None"


def test_the_first_rule_decides(tmp_path: Path) -> None:
    """Later rules do not count."""
    rules = "- {level: None, verbs: [get]}\n- level: Metadata\n"
    assert _level(tmp_path, rules, POD) == "None"
    assert _level(tmp_path, rules, SCALE) == "Metadata"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "kind Policy"),
        ("[]", "policy = []: give a mapping"),
        ("kind: Policy", "apiVersion = None: write audit.k8s.io/v1"),
        (HEAD, "rules = None: give a list"),
        (f"{HEAD}rules: []", "rules = []"),
        (f"{HEAD}rules: [{{level: All}}]", "rules[0].level = All: use None, Metadata"),
        (f"{HEAD}rules: [{{levle: None}}]", "rules[0].levle"),
        (f"{HEAD}omitStages: [Begin]\nrules: [{{level: None}}]", "omitStages[0] = Begin"),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: [x]}}]", "nonResourceURLs[0] = x"),
        (f"{HEAD}rules: [{{level: None, nonResourceURLs: ['/*a']}}]", "nonResourceURLs[0]"),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: ['/a'], namespaces: [b]}}]",
            "either paths or resources",
        ),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]",
            "resources[0].resourceNames",
        ),
        (f"{HEAD}rules: [{{level: None, users: ann}}]", "rules[0].users = ann"),
        (f"{HEAD}rules: [{{level: None, omitManagedFields: 1}}]", "omitManagedFields = 1"),
    ],
)
def test_a_wrong_policy_is_refused_by_field(tmp_path: Path, content: str, words: str) -> None:
    """One line says which field of the file is wrong and what would do."""
    file = tmp_path / "policy.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as found:
        read_policy(file)
    assert words in str(found.value)
    assert "policy.yaml" in str(found.value)


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """The file has to be one that can be written."""
    with pytest.raises(ConfigError, match="--audit-log"):
        AuditLog(tmp_path)
