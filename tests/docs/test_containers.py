"""The manifest of docs/containers.md is one that Kubernetes takes, by its published schema."""
import json
import pathlib

import jsonschema
import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMAS = SOURCE / ".venv/kubernetes"


def without_doubles(manifest):
    """A key that comes twice is an error in Kubernetes, and lost in Python."""
    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node, deep=False):
            keys = [self.construct_object(key) for key, _ in node.value]
            assert len(keys) == len(set(keys)), keys
            return super().construct_mapping(node, deep)
    return yaml.load(manifest, Loader)


def errors_of(manifest):
    schema, definitions = (json.loads((SCHEMAS / name).read_text()) for name in ("job-batch-v1.json", "_definitions.json"))
    resolver = jsonschema.RefResolver("", schema, store={"https://kubernetes.io/api/_definitions.json": definitions})
    return [error.message for error in jsonschema.Draft7Validator(schema, resolver=resolver).iter_errors(manifest)]


def test_kubernetes_takes_the_manifest():
    manifest = without_doubles((SOURCE / "docs/containers/kubernetes.yaml").read_text())
    assert errors_of(manifest) == []
    # What the schema cannot know: names fit together.
    pod = manifest["spec"]["template"]["spec"]
    mounted = {mount["name"] for container in pod["initContainers"] + pod["containers"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_schema_refuses_what_is_wrong():
    manifest = without_doubles((SOURCE / "docs/containers/kubernetes.yaml").read_text())
    manifest["spec"]["template"]["spec"]["containers"][0]["command"] = "ddpscope"
    assert errors_of(manifest)
