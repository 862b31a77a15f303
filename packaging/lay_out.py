#!/usr/bin/env python3
"""Makes an installation what a distribution's package looks like: lay_out.py STAGE DEB|RPM VERSION CONTACT

STAGE has a folder for each package (packaging/system_packages.cmake).
"""
import datetime
import email.utils
import gzip
import pathlib
import re
import subprocess
import sys
import textwrap

from contents import SOURCE, all_licences, licences_of_works, own_licence, strip_programs, write_all

OVERRIDES = """# The package runs on systems whose own libraries are older, or absent.
{name}: embedded-library *
"""
TRAINER_OVERRIDES = """# Reports name lines of the reference trainer.
{name}: unstripped-binary-or-object [usr/bin/reference_trainer]
"""


def main(stage, kind, version, contact):
    for package, name in ((stage / "ddpscope", "ddpscope"), (stage / "viewer", "ddpscope-viewer")):
        share = package / "usr/share"
        strip_programs(package)
        for page in (share / "man").rglob("*.1"):
            write_compressed(page.with_name(page.name + ".gz"), page.read_bytes())
            page.unlink()
        if kind == "DEB":
            make_debian(share, name, version, contact)
        else:
            write_all(share / "licenses" / name, all_licences())


def make_debian(share, name, version, contact):
    documentation = share / "doc" / name
    write_all(documentation, {"copyright": debian_copyright()})
    write_compressed(documentation / "changelog.gz", debian_changelog(version, contact).encode())
    overrides = OVERRIDES if name == "ddpscope-viewer" else OVERRIDES + TRAINER_OVERRIDES
    write_all(share / "lintian/overrides", {name: overrides.format(name=name)})


def debian_copyright():
    """Debian has the common licences, which its packages do not repeat."""
    parts = [own_licence()["NOTICE"], "The Apache License is in /usr/share/common-licenses/Apache-2.0."]
    for work, text in licences_of_works().items():
        parts.append(f"{'-' * 100}\n{work}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def debian_changelog(version, contact):
    changes = re.search(rf"^## {re.escape(version)}.*?\n(.*?)(?=^##|\Z)", (SOURCE / "CHANGELOG.md").read_text(), re.M | re.S)[1]
    lines = [textwrap.fill(line[2:], 79, initial_indent="  * ", subsequent_indent="    ") for line in changes.splitlines()
             if line.startswith("- ")]
    when = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=SOURCE, capture_output=True, text=True).stdout
    date = email.utils.format_datetime(datetime.datetime.fromtimestamp(int(when or 0), datetime.timezone.utc))
    return f"ddpscope ({version}) unstable; urgency=medium\n\n" + "\n".join(lines) + f"\n\n -- {contact}  {date}\n"


def write_compressed(path, content):
    path.write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
