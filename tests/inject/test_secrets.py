"""Passwords and tokens on the command line and in the environment are in no byte of a trace; what tells ranks apart is."""
import subprocess
import sys

import traces

SECRETS = {"SLURM_JWT": "eyJhbGciOiJIUzI1NiJ9.first", "NCCL_PLUGIN_TOKEN": "second-secret", "DEEPSPEED_SECRET": "third-secret",
           "NCCL_PROXY": "http://me:fourth-secret@proxy:3128"}
KEPT = {"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "1", "NCCL_DEBUG": "INFO"}
COMMAND = [sys.executable, "-c", "open('made', 'w').close()", "--password", "fifth-secret", "WANDB_API_KEY=sixth-secret", "--steps", "20"]


def test_no_secret_lies_in_a_trace(tmp_path):
    code, said = traces.start(COMMAND, tmp_path / "work", traces.INJECTOR, tmp_path / "trace", {**SECRETS, **KEPT})
    assert code == 0, said
    [file] = (tmp_path / "trace").glob("*.ddps")
    content = file.read_bytes()
    for secret in ("eyJhbGciOiJIUzI1NiJ9", "second-secret", "third-secret", "fourth-secret", "fifth-secret", "sixth-secret"):
        assert secret.encode() not in content, secret
    assert b"DEEPSPEED_SECRET" not in content and b"SLURM_JWT" not in content, "not even by name"
    told = subprocess.run([traces.BUILD / "bin/ddpscope", "dump", file], capture_output=True, text=True, check=True).stdout
    for name, value in {**KEPT, "NCCL_PLUGIN_TOKEN": "***", "NCCL_PROXY": "http://me:***@proxy:3128"}.items():
        assert f'environment name="{name}" value="{value}"' in told, name
    for number, word in enumerate(["--password", "***", "WANDB_API_KEY=***", "--steps", "20"], 3):
        assert f'argument name="{number}" value="{word}"' in told, word
