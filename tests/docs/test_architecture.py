"""The picture of docs/architecture.md has the folders and the layers' links as they are."""
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PICTURE = re.search(r"```mermaid\n(.*?)```", PAGE, re.S)[1]
NAME = r"[a-z]+"


def folders(part):
    return {folder.name for folder in (ROOT / part).iterdir() if folder.is_dir()}


def drawn_links():
    """{(used, user)} of the collector's part of the picture."""
    part = PICTURE.split("subgraph collector")[1].split("  end\n")[0]
    links = set()
    for used, users in re.findall(rf"^ *({NAME}) --> ({NAME}(?: & {NAME})*)$", part, re.M):
        links |= {(used, user) for user in users.split(" & ")}
    return links


def test_the_layers_links_are_those_of_the_build():
    build = (ROOT / "collector/CMakeLists.txt").read_text()
    links = {(used, layer) for layer, uses in re.findall(rf"^ddpscope_layer\(({NAME})(?: USES ([a-z ]+))?\)", build, re.M)
             for used in uses.split()}
    command = re.search(r"target_link_libraries\(ddpscope_collector INTERFACE (.*)\)", build)[1]
    links |= {(used.removeprefix("ddpscope_"), "commands") for used in command.split()}
    assert drawn_links() == links


def test_each_folder_of_the_collector_is_drawn_and_told():
    drawn = {name for link in drawn_links() for name in link}
    assert drawn == folders("collector")
    assert {name for name in drawn if f"| `{name}` |" not in PAGE} == set()


def test_each_part_is_in_the_table():
    parts = {folder.name for folder in ROOT.iterdir() if (folder / "CMakeLists.txt").exists()} - {"build"}
    assert {part for part in parts if f"| `{part}/` |" not in PAGE} == set()
    assert {part for part in parts - {"tests"} if f"{part}/" not in PICTURE} == set()
