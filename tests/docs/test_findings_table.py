"""The README's table of findings is that of the catalogue, collector/findings/findings.def."""
import re

import committed
import ddpscope
import pages


def test_the_table_is_made_of_the_catalogue():
    table = ddpscope.start([ddpscope.DDPSCOPE, "manual", "findings"], pages.ROOT).stdout
    page = pages.ROOT / "README.md"
    stands = re.search(r"^\| finding \|.*\n(?:\|.*\n)+", page.read_text(), re.M)[0]
    if committed.RENEW:
        page.write_text(page.read_text().replace(stands, table))
    else:
        assert stands == table, committed.HOW
