"""CUDA calls as they are recorded; the runtime behind the hooks is the stand-in, which they do not know."""
import recording
from recording import BUILD, TRAPS

RUNTIME = BUILD / "lib" / "standin" / "libcudart.so.13"


def test_cuda(tmp_path):
    guest, trace = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME])
    assert guest.returncode == 0, guest.stderr
    one = {call: records[0] for call in {r.call for r in trace.records} if len(records := trace.calls(call)) == 1}
    assert one["cudaSetDevice"]["device"] == "2"
    assert one["device"]["device"] == "2" and int(one["device"]["uuid_low"], 0) != 0
    assert (one["cudaMemcpyAsync"]["count"], one["cudaMemcpyAsync"]["bytes"]) == ("10", "10000")
    assert one["cudaMemcpyAsync"]["kind"] == "device-to-host" and one["cudaMemcpyAsync"]["device"] == "2"
    assert one["cudaEventQuery"]["count"] == "50" and one["cudaEventQuery"]["result"] == "0"
    assert one["cudaMemsetAsync"]["source"] == "0x7"
    assert one["cudaMemcpyAsync_ptsz"]["stream"] == "0x2" and one["cudaStreamSynchronize_ptsz"]["stream"] == "0x2"
    assert one["cudaMemcpy"]["result"] != "0"
    stream, event = one["cudaStreamCreateWithFlags"]["stream"], one["cudaEventCreateWithFlags"]["event"]
    assert one["cudaStreamSynchronize"]["stream"] == stream and one["cudaEventRecord"]["stream"] == stream
    assert one["cudaStreamWaitEvent"]["event"] == one["cudaEventSynchronize"]["event"] == event
    assert one["cudaFree"]["address"] == one["cudaMalloc"]["address"] != "0x0"
    assert all(one[call].stack for call in ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize"))


def test_error_is_the_guests_own(tmp_path):
    """Without any device nothing that we ask leaves an error behind."""
    guest, trace = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME], environment={"CUDA_VISIBLE_DEVICES": ""})
    alone, _ = recording.run([TRAPS / "cuda_guest"], tmp_path, after=[RUNTIME],
                             environment={"CUDA_VISIBLE_DEVICES": "", "DDPSCOPE_DISABLE": "1"})
    assert guest.returncode == alone.returncode == 1
