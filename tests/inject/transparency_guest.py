# What an ordinary Python job does with files: run with and without the preload.
import mmap
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
import torch

a = np.arange(100000, dtype=np.float64)
np.save("a.npy", a)
a.tofile("a.raw")
np.savez("a.npz", a=a)
mapped = np.load("a.npy", mmap_mode="r+")
mapped[3] = 4
mapped.flush()
del mapped
print(np.load("a.npy").sum(), np.fromfile("a.raw").sum(), np.load("a.npz")["a"].sum())
torch.save({"x": torch.arange(100000)}, "a.pt")
torch.save({"x": torch.arange(100)}, "old.pt", _use_new_zipfile_serialization=False)
print(torch.load("a.pt")["x"].sum().item(), torch.load("old.pt")["x"].sum().item())
shutil.copyfile("a.pt", "b.pt")
shutil.move("b.pt", "c.pt")
os.link("c.pt", "d.pt")
os.symlink("d.pt", "e.pt")
os.makedirs("deep/er", exist_ok=True)
shutil.copytree("deep", "copy")
shutil.rmtree("deep")
print(os.readlink("e.pt"), sorted(os.listdir(".")))
with open("f.txt", "w") as f:
    f.writelines(f"line {i}\n" for i in range(1000))
with open("f.txt", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
    m[0:4] = b"LINE"
print(len(open("f.txt").readlines()))
with tempfile.NamedTemporaryFile(dir=".") as t:
    t.write(b"x" * 10000)
    t.flush()
    os.fsync(t.fileno())
database = sqlite3.connect("x.db")
database.execute("create table t(a)")
database.executemany("insert into t values(?)", [(i,) for i in range(1000)])
database.commit()
print(database.execute("select sum(a) from t").fetchone())
for action in (lambda: os.open("no/such", os.O_RDONLY), lambda: os.rmdir("copy"), lambda: os.read(99, 1),
               lambda: os.mkdir("f.txt"), lambda: subprocess.run(["no-such-program"])):
    try:
        action()
    except OSError as error:
        print(type(error).__name__, error.errno)
print(subprocess.run(["sh", "-c", "exit 3"]).returncode, os.system("exit 5"), os.popen("echo p").read())
for child in [os.fork()]:
    if not child:
        os._exit(7)
    print(os.waitpid(child, 0)[1])
sys.exit(4)
