"""What every package does with the files of an installation: debugging data goes, licences come."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent
ROOT = SOURCE / ".venv/portable-root"
# Whose licences the packages carry; libglfw3-dev's is GLFW's.
WORKS = """gcc-12-base nlohmann-json3-dev libcli11-dev libxxhash-dev libzstd-dev libpugixml-dev libfmt-dev libimgui-dev libstb-dev
           libfreetype-dev libpng-dev libbrotli-dev libglfw3-dev libepoxy0 libelf-dev libdw-dev libbz2-1.0 liblzma-dev zlib1g-dev
           fonts-inter""".split()


def strip_programs(folder):
    for file in folder.rglob("*"):
        # The trainer's lines stand in reports.
        if file.is_file() and not file.is_symlink() and file.name != "reference_trainer" and file.read_bytes()[:4] == b"\x7fELF":
            subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", file], check=True)


def own_licence():
    """Name and text of ours and of what it says of others."""
    return {name: (SOURCE / name).read_text() for name in ("LICENSE", "NOTICE")}


def licences_of_works():
    """Name and text of the works in NOTICE, as Debian's packages state them."""
    texts = {name: (ROOT / "usr/share/doc" / name / "copyright").read_text() for name in WORKS}
    texts["libopenblas-serial-dev"] = (SOURCE / ".venv/openblas/usr/share/doc/libopenblas-serial-dev/copyright").read_text()
    return texts


def common_licences():
    """The texts to which those refer."""
    return {name: pathlib.Path("/usr/share/common-licenses", name).read_text() for name in ("GPL-2", "GPL-3", "LGPL-3")}


def all_licences():
    return {**own_licence(), **licences_of_works(), **common_licences()}


def write_all(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
