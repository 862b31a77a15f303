"""What launchers that start processes by a remote shell are given for one: a program that starts them on a host of
hosts.py. It takes the host's name and the command, as ssh does, and ends with the command's exit code."""
import contextlib
import json
import pathlib
import socket
import socketserver
import subprocess
import sys
import threading

CLIENT = "exec /usr/bin/python3 {script} {socket} \"$@\"\n"


class Request(socketserver.StreamRequestHandler):
    """One command: [host's name, words, environment] as a line of JSON; answered by its exit code when it has ended."""

    def handle(self):
        name, words, environment = json.loads(self.rfile.readline())
        host, = (host for host in self.server.hosts if host.name == name)
        process = host.start(["sh", "-c", " ".join(words)], cwd="/", env=environment, stdout=subprocess.DEVNULL,
                             stderr=self.server.log)
        self.server.started.append(process)
        self.wfile.write(f"{process.wait()}\n".encode())


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def remote_shell(hosts, folder):
    """The program's path, as long as the with statement lasts. folder: of this machine, seen by all hosts."""
    program, path = pathlib.Path(folder) / "remote_shell", pathlib.Path(folder) / "remote.socket"
    program.write_text("#!/bin/sh\n" + CLIENT.format(script=__file__, socket=path))
    program.chmod(0o755)
    with Server(str(path), Request) as server, open(pathlib.Path(folder) / "remote.log", "w") as log:
        server.hosts, server.log, server.started = hosts, log, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield program
        finally:
            server.shutdown()
            thread.join()
            for process in server.started:
                process.kill()


def ask(path, name, *words):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall((json.dumps([name, words, {}]) + "\n").encode())
        return int(client.makefile().readline() or 255)


if __name__ == "__main__":
    sys.exit(ask(*sys.argv[1:]))
