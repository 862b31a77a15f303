"""The viewer's window on an X screen of its own, without a window manager: what a user's hands and eyes are to it."""
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ddpscope import BUILD
from live_jobs import wait_for

try:
    import Xlib.display
    from Xlib import X, protocol
except ImportError:
    Xlib = None

VIEWER = BUILD / "bin" / "ddpscope-viewer"

needs_a_screen = pytest.mark.skipif(not (Xlib and shutil.which("Xvfb") and shutil.which("xdotool")),
                                    reason="Xvfb, xdotool or python3-xlib is missing")


def without_display():
    return {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}


@contextlib.contextmanager
def display():
    """Its name; a screen of its own."""
    read, write = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x900x24", "-noreset", "-nolisten", "tcp"],
                              pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        yield ":" + os.read(read, 16).decode().strip()
    finally:
        server.terminate()
        server.wait(timeout=10)
        os.close(read)


class Window:
    def __init__(self, viewer, env):
        self.viewer, self.env = viewer, env
        self.number = wait_for(lambda: self.xdotool("search", "--name", "ddpscope:").strip(), viewer)
        self.screen = Xlib.display.Display(env["DISPLAY"])
        self.told = None  # on standard error, once it has ended

    def run(self, *words):
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=30)
        assert not done.stderr, done.stderr  # xdotool's exit code says nothing of a command that it does not know
        return done.stdout

    def xdotool(self, *words):
        return self.run("xdotool", *words)

    def key(self, name):
        """Its character on the keyboard's layout, pressed and released: between two frames, as likely as not."""
        self.xdotool("key", name)

    def picture(self, x=0, y=0, width=1600, height=900):
        """Of that part of the screen, four bytes a pixel."""
        return self.screen.screen().root.get_image(x, y, width, height, X.ZPixmap, 0xffffffff).data

    def rests(self):
        """The picture of all, as soon as the process does nothing more."""
        last = [-1]

        def idles():
            before, last[0] = last[0], self.processor_ticks()
            return last[0] == before

        wait_for(idles, self.viewer, between=1)
        return self.picture()

    def changes(self, picture, *part):
        wait_for(lambda: self.picture(*part) != picture, self.viewer, between=0.05)

    def becomes(self, picture, *part):
        wait_for(lambda: self.picture(*part) == picture, self.viewer, between=0.05)

    def close(self):
        """As a window manager does when the user asks for it."""
        window, atom = self.screen.create_resource_object("window", int(self.number)), self.screen.intern_atom
        data = [atom("WM_DELETE_WINDOW"), X.CurrentTime, 0, 0, 0]
        window.send_event(protocol.event.ClientMessage(window=window, client_type=atom("WM_PROTOCOLS"), data=(32, data)))
        self.screen.flush()

    def processor_ticks(self):
        """That its process has used."""
        return sum(map(int, Path(f"/proc/{self.viewer.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


@contextlib.contextmanager
def window(trace, exit_code=0, **options):
    """A Window. At the end of the block it is closed and has to end with that code. `options`: of Popen."""
    with display() as name:
        env = {**without_display(), "DISPLAY": name}
        viewer = subprocess.Popen([VIEWER, trace], env=env, stderr=subprocess.PIPE, text=True, **options)
        try:
            opened = Window(viewer, env)
            with contextlib.closing(opened.screen):
                yield opened
                assert viewer.poll() is None, viewer.stderr.read()
                opened.close()
                opened.told = viewer.communicate(timeout=60)[1]
                assert viewer.returncode == exit_code, opened.told
        finally:
            viewer.kill()
            viewer.wait(timeout=60)
