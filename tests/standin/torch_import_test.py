"""What `run --cpu` adds to Python programs: an import hook, which leaves them as they were. The torch here is made up."""
import os
import pathlib
import sys

import ddpscope
import pytest

FOLDER = ddpscope.BUILD / "lib" / "standin" / "torch"


@pytest.fixture
def run(tmp_path):
    """Runs Python code under `run --cpu`, with the files of `modules` where PYTHONPATH points."""
    def run(code, modules=None, flags=(), env=None):
        place = tmp_path / "modules"
        for name, text in (modules or {}).items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        environment = {"PYTHONPATH": str(place)} if modules else {}
        done = ddpscope.record([sys.executable, *flags, "-c", code], tmp_path / "trace", tmp_path, cpu=True,
                               env={**environment, **(env or {})})
        assert done.code == 0, done.stderr[-3000:]
        done.said = [line for line in done.stderr.splitlines() if line.startswith("standin torch")]
        return done
    return run


def torch_of(cuda):
    return {"torch/__init__.py": "from . import version\n__version__ = '9.9'\nvalue = 7\n", "torch/version.py": f"cuda = {cuda!r}\n"}


def test_the_environments_own_sitecustomize_runs(run):
    done = run("import sys; print('argument', sys.modules['sitecustomize'].mark)",
               {"sitecustomize.py": "import sys; mark = 'own'; sys.path.append('/added'); print('it ran')"})
    assert done.stdout.split("\n")[:2] == ["it ran", "argument own"]


def test_one_that_fails_fails_as_without_us(run):
    done = run("print('goes on')", {"sitecustomize.py": "raise ImportError('wanted', name='absent')"})
    assert "Error in sitecustomize" in done.stderr and "wanted" in done.stderr
    assert done.stdout == "goes on\n"


def test_without_one_nothing_is_missed(run):
    done = run("import sys; print(sys.path[1], len([entry for entry in sys.path if 'standin' in entry]))")
    assert done.stdout == f"{FOLDER} 1\n"
    assert done.said == []


def test_no_folder_is_added_by_an_empty_variable(run):
    """An entry of PYTHONPATH or LD_LIBRARY_PATH that is empty means the current folder."""
    done = run("import os; print(os.environ['PYTHONPATH'], os.environ['LD_LIBRARY_PATH'])",
               env={"PYTHONPATH": "", "LD_LIBRARY_PATH": ""})
    assert done.stdout == f"{FOLDER} {FOLDER.parent}\n"


def test_a_pytorch_without_cuda_is_left_alone_and_said_once(run):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch'])"
    done = run(f"import torch; print(torch.value, torch.__loader__, torch.__spec__.loader is torch.__loader__); {child}", torch_of(None))
    assert done.stdout.startswith("7 <") and "standin" not in done.stdout and done.stdout.endswith("True\n")
    assert done.said == ["standin torch: this PyTorch has no CUDA: use ddpscope without --cpu"]


def test_a_pytorch_that_is_not_understood_is_said_and_runs(run):
    done = run("import torch; print(torch.value)", torch_of("13.0"))
    assert done.stdout == "7\n"
    assert len(done.said) == 1 and "CUDA operators of PyTorch 9.9 cannot be computed here" in done.said[0]


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_who_does_not_read_the_path_is_not_reached(run, flag):
    done = run("import sys; print('sitecustomize' in sys.modules and 'standin' in str(sys.modules['sitecustomize']))", flags=[flag])
    assert done.stdout == "False\n"


def test_it_can_be_switched_off(run):
    assert run("import torch", torch_of(None), env={"STANDIN_TORCH": "off"}).said == []


def test_programs_without_pytorch_import_no_more(run):
    """Beside the hook itself."""
    code = "import sys; print(sorted(sys.modules))"
    ours = set(eval(run(code).stdout))
    plain = set(eval(ddpscope.start([sys.executable, "-c", code], pathlib.Path("/"), {"PYTHONPATH": ""}).stdout))
    assert ours - plain <= {"standin_torch", "standin_torch.import_hook", "sitecustomize"}
    assert os.path.exists(FOLDER / "standin_torch" / "native" / "operator_launch.h")
