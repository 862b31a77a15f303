"""PyTorch 2.15 now and then aborts at the interpreter's end, recorded or not: a case that failed by that is run once more.

A worker thread of Gloo gives up what its last operation kept of Python; where the interpreter is ending by then, Python ends the
thread, out of a destructor that may not be left so: "terminate called without an active exception". So did one of 15 unrecorded
runs of tests/torch/jobs/passes.py beside other work.
"""
from _pytest.runner import runtestprotocol

SAYS = "terminate called without an active exception"


def pytest_runtest_protocol(item, nextitem):
    """A hook of a folder's conftest.py."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if any(report.failed and SAYS in str(report.longrepr) for report in reports):
        print(f"\n{item.nodeid}: PyTorch aborted at its end, which it does now and then: run once more")
        item._initrequest()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
