"""CUPTI: the plain client that NVIDIA's documentation describes, and the tier cupti beside other clients."""
import concurrent.futures
import re

from check import Failed, Skipped, check, require

# Suites of cupti_standin_test about what only the stand-in promises.
ONLY_STANDIN = ("OnlyStandin", "Collective")


def tests_of(machine, folder):
    listing = machine.run([machine.program("cupti_standin_test"), "--gtest_list_tests"], folder, label="list").stdout
    suite, names = "", []
    for line in listing.splitlines():
        if not line.startswith(" "):
            suite = line.split(".")[0]
        elif suite not in ONLY_STANDIN:
            names.append(f"{suite}.{line.split()[0]}")
    return [name for name in names if name[0].isalpha() and " " not in name]


@check("cupti.plain-client", 40)
def plain_client(machine, folder):
    def run(name):
        try:
            machine.run([machine.program("cupti_standin_test"), f"--gtest_filter={name}"], folder, timeout=60, label=name)
            return None
        except Failed as failed:
            return f"{name} ({failed})"
    names = tests_of(machine, folder)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # a process a test: CUPTI has one client in each
        failed = [name for name in pool.map(run, names) if name]
    require(names, "the program has no tests")
    require(not failed, f"{len(failed)} of {len(names)}: {', '.join(failed)}")
    return {"tests": len(names)}


@check("cupti.recorded", 8)
def recorded(machine, folder):
    done, trace = machine.record(machine.guest("work", 20), folder, "cupti", label="cupti")
    require(trace.tiers() == [("cupti", "-")], f"the tier is {trace.tiers()}")
    busy = [work for work in trace.kinds("kernel") if work.get("name") == "busy"]
    require(len(busy) == 21 and len(trace.kinds("kernel")) == 22, f"{len(busy)} of 21 kernels")
    require(len(trace.kinds("fill")) == 1, f"{len(trace.kinds('fill'))} of 1 fills")
    copies = sorted(work.kind for work in trace.work if work.kind.startswith("copy"))
    require(copies == ["copy_on_device"] + 2 * ["copy_to_device"] + 2 * ["copy_to_host"], f"copies: {copies}")
    wrong = [work for work in trace.work if not right_call(work)]
    require(not wrong, f"not linked to its call: {wrong[:1]}")
    error = 1e-9 * max(trace.clock_errors_ns())
    require(error < 1e-3, f"the clock is known to {1e6 * error:.0f} us only")
    early = [work for work in trace.work if work.begin < float(work["at"]) - error]
    require(not early, f"before its call: {early[:1]}")
    require(all(one.end <= next.begin + 1e-6 for one, next in zip(busy, busy[1:])), "kernels of one stream overlap")
    own = 1e-3 * done.values("between_events_ms")[0]
    least = 1e-9 * done.values("busy_ns")[0]
    require(all(work.took > 0.9 * least for work in busy[1:]), f"a kernel takes less than {least} s")
    require(sum(work.took for work in busy[1:]) <= 1.02 * own, "kernels take longer than the events around them")
    return {"entries": len(trace.work), "clock_error_us": round(1e6 * error, 1)}


def right_call(work):
    expected = {"kernel": "LaunchKernel", "fill": "cudaMemset"}.get(work.kind, "cudaMemcpy")
    return expected in str(work.get("call"))


def client(machine, folder, story):
    done, trace = machine.record(machine.guest(story), folder, "cupti", label=story)
    require(done.values("subscribe") == [0], "the program could not subscribe")
    return done.values("kernels"), [tier for tier, _ in trace.tiers()], trace


@check("cupti.client-first", 10)
def client_first(machine, folder):
    kernels, tiers, trace = client(machine, folder, "client_first")
    require(kernels == [5], f"the program's own profile has {kernels} of 5 kernels")
    require(tiers == ["events", "cupti"] and "program uses CUPTI itself" in trace.tiers()[0][1],
            f"the tiers are {trace.tiers()}")
    ours = len(trace.kinds("kernel"))
    require(ours == 6, f"{ours} kernels are recorded and not the 6 behind the program's own profile")


@check("cupti.refused", 10)
def refused(machine, folder):
    kernels, tiers, trace = client(machine, folder, "hidden_client")
    require(kernels == [5], f"the program's own profile has {kernels} of 5 kernels")
    if tiers == ["cupti"]:
        raise Skipped("this CUPTI serves several clients")
    require(tiers == ["events"] and "another client" in trace.tiers()[0][1], f"the tier is {trace.tiers()}")


@check("cupti.client-later", 12)
def client_later(machine, folder):
    kernels, tiers, trace = client(machine, folder, "client_later")
    require(kernels == [4, 6], f"the program's own profile has {kernels} kernels and not 4 and 6")
    require(tiers == ["cupti", "events", "cupti", "events"], f"the tiers are {trace.tiers()}")
    ours = len(trace.kinds("kernel"))
    require(ours == 3 + 5, f"{ours} kernels are recorded and not the 8 outside the program's own profiles")


@check("cupti.dropped", 6)
def dropped(machine, folder):
    """An injector that never has a buffer for CUPTI."""
    library = machine.without_buffers(folder)
    done = machine.run(["env", f"LD_PRELOAD={machine.preload(library)}", f"DDPSCOPE_TRACE={folder / 'dropped.trace'}",
                        "DDPSCOPE_GPU_TIMING=cupti", *machine.guest("work", 20)], folder, label="dropped")
    require(done.code == 0, "the program failed")
    trace = machine.trace(folder / "dropped.trace")
    lost = trace.health("device_work_dropped")
    require(not trace.work, f"{len(trace.work)} entries without a buffer")
    require(lost >= 27, f"{lost} entries are counted as dropped, and not at least 27")
    require(re.search(r"device_work_dropped", trace.tool("info").stdout), "info does not say so")
    return {"dropped": lost}
