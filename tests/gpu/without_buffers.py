"""without_buffers.py FOLDER: builds there an injector that never has a buffer for CUPTI, and prints its path."""
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "inject" / "traps"))
import recording

SOURCE = "injector/device_times/cupti_buffers.cpp"
BEGIN = "std::uint8_t* take_cupti_buffer() {"
library = recording.build_mutant([(SOURCE, BEGIN, BEGIN + " return nullptr;")], [SOURCE])
made = pathlib.Path(sys.argv[1]) / "libddpscope_without_buffers.so"
shutil.copy(library, made)
shutil.rmtree(library.parent)
print(made)
