"""What `ddpscope report` says of a simulated job."""
import pathlib

import ddpscope
from simulator import text_trace

TEXT_TRACE = pathlib.Path(ddpscope.DDPSCOPE).parent / "text_trace"


def findings(simulation, ends, folder, timed=(), watched=False):
    """ends, timed: as text_trace has them. watched: `ddpscope run` saw that nobody lacked a processor."""
    text = text_trace(simulation, ends, timed)
    if watched:
        text += "process run pid=9\n"
        for rank in range(len(ends)):
            text += f"run 0.4 +{min(ends) - 0.5:.3f} processor_wait pid={1000 + rank} start_time=100000 waited_ns=0 looks=8\n"
    (folder / "trace.txt").write_text(text)
    done = ddpscope.start([TEXT_TRACE, folder / "trace.txt", folder / "trace"], cwd=folder)
    assert done.code == 0, done.stderr
    return ddpscope.report(folder / "trace")["findings"]
