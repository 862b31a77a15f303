"""The manifest of docs/containers.md is one that Kubernetes takes, by its published schema."""
import copy
import json
import pathlib

import jsonschema
import pytest
import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMAS = SOURCE / ".venv/kubernetes"
KINDS = {"Job": "job-batch-v1.json", "Service": "service-v1.json"}


class Loader(yaml.SafeLoader):
    """A key that comes twice is an error in Kubernetes, and lost in Python."""
    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(keys) == len(set(keys)), keys
        return super().construct_mapping(node, deep)


def strict(schema):
    """kubectl refuses a key that is not known; the published schema does not."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            strict(part)
    elif isinstance(schema, list):
        for part in schema:
            strict(part)
    return schema


def read(name):
    return strict(json.loads((SCHEMAS / name).read_text()))


def errors_of(manifest):
    schema = read(KINDS[manifest["kind"]])
    resolver = jsonschema.RefResolver("", schema, store={"https://kubernetes.io/api/_definitions.json": read("_definitions.json")})
    return [error.message for error in jsonschema.Draft7Validator(schema, resolver=resolver).iter_errors(manifest)]


@pytest.fixture
def manifests():
    return {document["kind"]: document for document in yaml.load_all((SOURCE / "docs/containers/kubernetes.yaml").read_text(), Loader)}


def test_kubernetes_takes_the_manifest(manifests):
    assert set(manifests) == {"Job", "Service"}
    assert {kind: errors_of(manifest) for kind, manifest in manifests.items()} == {"Job": [], "Service": []}


def test_names_fit_together(manifests):
    """What the schema cannot know."""
    job, service = manifests["Job"], manifests["Service"]
    pod = job["spec"]["template"]["spec"]
    mounted = {mount["name"] for container in pod["initContainers"] + pod["containers"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    assert service["metadata"]["name"] == pod["subdomain"] and service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert f"--master-addr={job['metadata']['name']}-0.{pod['subdomain']}" in pod["containers"][0]["command"]


@pytest.mark.parametrize("spoil", [
    lambda container: container.update(command="ddpscope"),
    lambda container: container.update(volumeMountz=container.pop("volumeMounts")),
    lambda container: container["env"][0]["valueFrom"]["fieldRef"].update(fieldPth="x")], ids=["type", "key", "deep key"])
def test_the_schema_refuses_what_is_wrong(manifests, spoil):
    job = copy.deepcopy(manifests["Job"])
    spoil(job["spec"]["template"]["spec"]["containers"][0])
    assert errors_of(job)
