"""The pages of the documentation, their blocks, and what their commands print."""
import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])

FENCE = re.compile(r"(?P<marks>(?:^ *<!--[^\n]*-->\n)*)^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<body>.*?)^ *```$", re.M | re.S)
COMMANDS = "run|report|explain|info|dump|diff|status|export|view"
LOOKS_LIKE_A_COMMAND = re.compile(
    rf"^\s*(\$ |ddpscope ({COMMANDS})\b|reference_trainer --|(bash|cmake|ctest|python3?|pip|nvcc|torchrun|mpirun|srun|sudo|docker) )", re.M)


@dataclasses.dataclass
class Block:
    page: str
    line: int
    kind: str
    body: str
    begin: int  # of the body, in the page's text
    reason: str  # why it is not run; else ""

    def __str__(self):
        return f"{self.page}:{self.line}"


def blocks(page):
    text = (ROOT / page).read_text()
    for found in FENCE.finditer(text):
        reason = re.search(r"<!-- not run: (.*) -->", found["marks"]) or re.search(r"^<!-- page not run: (.*) -->$", text, re.M)
        yield Block(page, text.count("\n", 0, found.start("kind")) + 1, found["kind"].strip(), found["body"], found.start("body"),
                    reason[1].strip() if reason else "")


@dataclasses.dataclass
class Command:
    block: Block
    text: str
    code: int
    shown: str  # what the page says that it prints
    begin: int  # of `shown`, in the page's text
    end: int


def commands(block):
    at = block.begin
    for part in re.split(r"^(?=\$ )", block.body, flags=re.M):
        if part.startswith("$ "):
            text = re.match(r"\$ ((?:.*\\\n)*.*)\n", part)
            code = re.search(r"# exit code (\d+)$", text[1])
            yield Command(block, text[1], int(code[1]) if code else 0, part[text.end():], at + text.end(), at + len(part))
        else:
            assert not part.strip(), f"{block}: output without a command"
        at += len(part)


SOURCE_LINE = r"[\w-]+\.(?:cpp|h|cu|py):\d+"


def words(text):
    """What two runs of a command have in common: no numbers but lines of sources and ids of findings, no host, no breaks of lines."""
    text = re.sub(rf"({SOURCE_LINE}|\b[0-9a-f]{{16}}\b)|[\w-]+:\d+|\d+(?:\.\d+)?", lambda found: found[1] or "#", text)
    return " ".join(text.split())


def agrees(shown, printed):
    # Nothing may stand where the page leaves something out.
    parts = (re.escape(part) for part in re.split(" ?… ?", words(shown)))
    return re.fullmatch(".*?".join(parts), words(printed), re.S) is not None
