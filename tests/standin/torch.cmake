# PyTorch's operators on the stand-ins: what needs no PyTorch. The rest is in tests/torch_cuda.
add_python_test(standin.torch_import torch_import_test.py)
