"""What a list promises: pages, versions, selectors, and one moment however long it takes."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import Place, config_map

LETTERS = "abcdefg"


@pytest.fixture
def seven(place: Place) -> Place:
    """Seven ConfigMaps a to g, of which a, c, e and g are labelled odd."""
    for number, name in enumerate(LETTERS):
        labels = {"size": str(number), "odd": "yes"} if number % 2 == 0 else {"size": str(number)}
        place.make("configmaps", config_map(name, labels))
    return place


def _own_names(place: Place) -> dict[str, str]:
    """Return a selector that leaves out what a cluster adds to a namespace by itself."""
    return {"fieldSelector": "metadata.name!=kube-root-ca.crt"}


def test_an_empty_list_is_a_list(place: Place) -> None:
    """A list of nothing has its kind, a version and an empty array, not null."""
    response = place.ask("GET", "leases")
    assert response.status == 200
    assert (response.body["kind"], response.body["apiVersion"]) == (
        "LeaseList",
        "coordination.k8s.io/v1",
    )
    assert response.body["items"] == []
    assert int(response.version) > 0


def test_items_carry_neither_kind_nor_version(seven: Place) -> None:
    """Items of a built-in kind are bare; the list says what they are."""
    response = seven.ask("GET", "configmaps")
    assert response.body["kind"] == "ConfigMapList"
    assert all("kind" not in item and "apiVersion" not in item for item in response.body["items"])


def test_pages_add_up(seven: Place) -> None:
    """Pages of three hold every object once, in order, and count what remains."""
    query, names, left = {"limit": "3"}, [], []
    while True:
        actual = seven.ask("GET", "configmaps", query=query).body
        names += [item["metadata"]["name"] for item in actual["items"]]
        left.append(actual["metadata"].get("remainingItemCount"))
        if not actual["metadata"].get("continue"):
            break
        query = {"limit": "3", "continue": actual["metadata"]["continue"]}
    names = [name for name in names if name != "kube-root-ca.crt"]
    assert names == list(LETTERS)
    assert left[-1] is None
    assert left[0] in {4, 5}  # a controller may have added one


def test_a_selection_is_paged_without_a_count(seven: Place) -> None:
    """Pages of a selection end where it ends and do not claim to know how much remains."""
    query = {"limit": "2", "labelSelector": "odd=yes"}
    first = seven.ask("GET", "configmaps", query=query).body
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "c"]
    assert "remainingItemCount" not in first["metadata"]
    query["continue"] = first["metadata"]["continue"]
    second = seven.ask("GET", "configmaps", query=query).body
    assert [item["metadata"]["name"] for item in second["items"]] == ["e", "g"]


def test_pages_show_one_version_while_objects_change(seven: Place) -> None:
    """Later pages show what there was at the first one: not what came, changed or went since."""
    first = seven.ask("GET", "configmaps", query={"limit": "2", **_own_names(seven)}).body
    seven.make("configmaps", config_map("ab"))
    seven.make("configmaps", config_map("cc"))
    assert seven.ask("DELETE", "configmaps", "d").status == 200
    changed = config_map("e", {"size": "changed"})
    assert seven.ask("PUT", "configmaps", "e", body=changed).status == 200
    rest = seven.ask(
        "GET",
        "configmaps",
        query={"limit": "9", "continue": first["metadata"]["continue"], **_own_names(seven)},
    ).body
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c", "d", "e", "f", "g"]
    assert rest["items"][2]["metadata"]["labels"]["size"] == "4"
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert seven.names("configmaps", **_own_names(seven)) == [
        "a",
        "ab",
        "b",
        "c",
        "cc",
        "e",
        "f",
        "g",
    ]


def test_a_page_may_go_on_with_another_limit(seven: Place) -> None:
    """A token says where to go on, not how far."""
    first = seven.ask("GET", "configmaps", query={"limit": "1"}).body
    rest = seven.ask("GET", "configmaps", query={"continue": first["metadata"]["continue"]}).body
    assert len(rest["items"]) >= 6
    assert "continue" not in rest["metadata"]


def test_an_old_token_is_refused_with_one_that_works(simulated_place: Place) -> None:
    """When the changes since a token are gone it gets 410 Expired, and a token that goes on."""
    for name in ("a", "b", "c"):
        simulated_place.make("configmaps", config_map(name))
    first = simulated_place.ask("GET", "configmaps", query={"limit": "1"}).body
    body = config_map("a")
    for number in range(25_100 if not simulated_place.face.has_headers else 0):
        body["data"] = {"n": str(number)}
        assert simulated_place.ask("PUT", "configmaps", "a", body=body).status == 200
    if simulated_place.face.has_headers:
        pytest.skip("25,000 writes over HTTP take too long; the same code answers in process")
    token = {"continue": first["metadata"]["continue"]}
    refused = simulated_place.ask("GET", "configmaps", query=token)
    assert (refused.status, refused.reason) == (410, "Expired")
    rest = {"continue": refused.body["metadata"]["continue"]}
    assert simulated_place.names("configmaps", **rest)[:2] == [
        "b",
        "c",
    ]  # then the control plane's own


@pytest.mark.parametrize("token", ["nonsense", "AAAA", "bm90IGpzb24="])
def test_a_token_of_nobody_is_refused(place: Place, token: str) -> None:
    """A continue token that no server gave is 400."""
    response = place.ask("GET", "configmaps", query={"continue": token, "limit": "2"})
    assert (response.status, response.reason) == (400, "BadRequest")
    text = "invalid continue token: continue key is not valid: "
    assert response.body["message"].startswith(text)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({}, 200),
        ({"resourceVersion": "0"}, 200),
        ({"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}, 200),
        ({"resourceVersion": "{now}"}, 200),
        ({"resourceVersion": "{now}", "resourceVersionMatch": "Exact"}, 200),
        ({"resourceVersion": "{now}", "limit": "2"}, 200),
        ({"resourceVersion": "{future}", "resourceVersionMatch": "NotOlderThan"}, 504),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersion": "1", "resourceVersionMatch": "exactly"}, 422),
        ({"resourceVersion": "x"}, 400),
        ({"limit": "x"}, 400),
        ({"sendInitialEvents": "true"}, 422),
    ],
)
def test_versions_of_lists(seven: Place, query: dict[str, str], status: int) -> None:
    """Every way to ask for a version is answered or refused as the API says."""
    now = seven.version()
    filled = {
        name: value.format(now=now, future=int(now) + 1_000_000) for name, value in query.items()
    }
    response = seven.ask("GET", "configmaps", query=filled)
    assert response.status == status, response.text


def test_an_exact_version_is_shown_again(seven: Place) -> None:
    """A list of an older version shows what there was then."""
    then = seven.version()
    assert seven.ask("DELETE", "configmaps", "b").status == 200
    seven.make("configmaps", config_map("z"))
    query = {"resourceVersion": then, "resourceVersionMatch": "Exact", **_own_names(seven)}
    assert seven.names("configmaps", **query) == list(LETTERS)
    assert seven.ask("GET", "configmaps", query=query).version == then
    later = {"resourceVersion": then, "resourceVersionMatch": "NotOlderThan", **_own_names(seven)}
    assert seven.names("configmaps", **later) == ["a", "c", "d", "e", "f", "g", "z"]


def test_a_version_of_the_future_says_how_to_wait(place: Place) -> None:
    """A version that is not there yet is a time-out with the cause that clients look for."""
    query = {"resourceVersion": str(int(place.version()) + 1_000_000)}
    response = place.ask("GET", "configmaps", query=query)
    assert (response.status, response.reason) == (504, "Timeout")
    causes = response.body["details"]["causes"]
    assert [cause["reason"] for cause in causes] == ["ResourceVersionTooLarge"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("odd=yes", "aceg"),
        ("odd==yes", "aceg"),
        ("odd!=yes", "bdf"),
        ("odd", "aceg"),
        ("!odd", "bdf"),
        ("size in (1,2)", "bc"),
        ("size in (1, 2),odd", "c"),
        ("size notin (0,1,2,3)", "efg"),
        ("size>4", "fg"),
        ("size<1", "a"),
        ("odd=", ""),
        ("nothing notin (x)", "abcdefg"),
        ("size,odd in (yes,no)", "aceg"),
        (" odd = yes ", "aceg"),
    ],
)
def test_label_selectors(seven: Place, text: str, expected: str) -> None:
    """Every form of the label grammar selects what it says."""
    query = {"labelSelector": text, "fieldSelector": "metadata.name!=kube-root-ca.crt"}
    assert "".join(seven.names("configmaps", **query)) == expected


@pytest.mark.parametrize(
    "text", ["a in b", "a in (b", "=x", "a=b=c", "-a=b", "a=b c", "a==-", "a>b", "a/b/c=d", "!"]
)
def test_label_selectors_that_cannot_be_read(place: Place, text: str) -> None:
    """A label selector outside the grammar is 400."""
    response = place.ask("GET", "configmaps", query={"labelSelector": text})
    assert (response.status, response.reason) == (400, "BadRequest"), response.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("metadata.name=c", "c"),
        ("metadata.name==c", "c"),
        ("metadata.name!=c,metadata.name!=kube-root-ca.crt", "abdefg"),
        ("metadata.namespace=elsewhere", ""),
    ],
)
def test_field_selectors(seven: Place, text: str, expected: str) -> None:
    """Name and namespace can be selected on for every kind."""
    assert "".join(seven.names("configmaps", fieldSelector=text)) == expected


@pytest.mark.parametrize(
    ("resource", "text"),
    [
        ("configmaps", "data.a=b"),
        ("pods", "spec.foo=bar"),
        ("pods", "metadata.labels=x"),
        ("nodes", "status.phase=x"),
        ("pods", "spec.nodeName"),
    ],
)
def test_field_selectors_that_are_not_supported(place: Place, resource: str, text: str) -> None:
    """A field that a kind does not offer is 400."""
    path = "/api/v1/nodes" if resource == "nodes" else place.path(resource)
    response = place.face.ask("GET", path, query={"fieldSelector": text})
    assert (response.status, response.reason) == (400, "BadRequest")


def test_a_list_of_all_namespaces_holds_them_all(place: Place) -> None:
    """Without a namespace in the path, objects of every namespace are listed."""
    place.make("configmaps", config_map("here", {"of": place.namespace}))
    query = {"labelSelector": f"of={place.namespace}"}
    body: Any = place.face.ask("GET", "/api/v1/configmaps", query=query).body
    assert [item["metadata"]["namespace"] for item in body["items"]] == [place.namespace]


def test_metadata_alone(over_http: Place) -> None:
    """A client that asks for PartialObjectMetadata gets metadata, of lists and of objects."""
    over_http.make("configmaps", config_map("a", {"x": "y"}, key="value"))
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    query = {"labelSelector": "x=y"}
    listed = over_http.ask("GET", "configmaps", accept=accept, query=query).body
    assert listed["kind"] == "PartialObjectMetadataList"
    (item,) = listed["items"]
    assert (item["kind"], item["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    assert "data" not in item
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    body = over_http.ask("GET", "configmaps", "a", accept=accept).body
    assert (body["kind"], body["metadata"]["labels"]) == ("PartialObjectMetadata", {"x": "y"})
    assert "data" not in body


def test_answers_are_not_to_be_cached(over_http: Place) -> None:
    """No cache keeps an answer, whatever its date says; kubectl and Helm keep discovery by these headers."""
    for path in ("/apis", "/api/v1/namespaces/default/configmaps"):
        answer = over_http.face.ask("GET", path)
        assert answer.headers["cache-control"] == "no-cache, private"
