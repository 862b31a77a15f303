"""The private entry points of the stand-in libcudart (standin/cuda/operator_launch.h)."""
import ctypes

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

# ctypes.CDLL releases the GIL around each call: a stream's thread may need it.
_process = ctypes.CDLL(None)


def is_loaded():
    return hasattr(_process, "standin_launch")


def _function(name, result, *arguments):
    function = getattr(_process, name)
    function.restype = result
    function.argtypes = arguments
    return function


if is_loaded():
    kernel = _function("standin_kernel", ctypes.c_void_p, ctypes.c_char_p)
    launch = _function("standin_launch", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                       ctypes.c_void_p, ctypes.c_void_p)
    wait = _function("standin_wait", ctypes.c_int, ctypes.c_void_p)
    require_bodies = _function("standin_require_bodies", None)
    stop = _function("standin_stop", None)
    _fail = _function("standin_fail", None, ctypes.c_char_p)


def fail(message):
    _fail(message.encode())
