"""The same clips, kept in one of several ways (jobs/kept_clips.py), or in shards (jobs/shard_streams.py)."""
import io
import json
import pickle
import sqlite3
import tarfile
import wave

import numpy as np
import torch


def make_store(folder, store, count, seed):
    """`count` clips of 2,000 to 9,000 16-bit samples, and the table that lists them."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    names = sorted(f"clip{number:05d}" for number in rng.choice(100000, count, replace=False))
    clips = {name: rng.integers(-3000, 3000, rng.integers(2000, 9000)).astype(np.int16) for name in names}
    rows = [f"{name}|{len(clip)}|{i % 4}\n" for i, (name, clip) in enumerate(clips.items())]
    (folder / "metadata.csv").write_text("".join(rows))
    MAKERS.get(store, pack)(folder, clips)


def in_files(ending, save):
    def make(folder, clips):
        (folder / "clips").mkdir()
        for name in clips:
            save(folder / "clips" / (name + ending), clips[name])
    return make


def save_wave(path, clip):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(clip.tobytes())


def pack(folder, clips):
    places, end = {}, 0
    with open(folder / "clips.bin", "wb") as file:
        for name in clips:
            places[name] = end, clips[name].nbytes
            end += file.write(clips[name].tobytes())
    (folder / "index.pkl").write_bytes(pickle.dumps(places))


def rows(folder, clips):
    base = sqlite3.connect(folder / "clips.sqlite")
    base.execute("CREATE TABLE clips (name TEXT PRIMARY KEY, wave BLOB)")
    base.executemany("INSERT INTO clips VALUES (?, ?)", [(name, clips[name].tobytes()) for name in clips])
    base.commit()
    base.close()


def members(folder, clips):
    in_files(".raw", lambda path, clip: clip.tofile(path))(folder, clips)
    with tarfile.open(folder / "clips.tar", "w") as tar:
        for path in sorted((folder / "clips").iterdir()):
            tar.add(path, arcname=path.name)


MAKERS = {
    "raw": in_files(".raw", lambda path, clip: clip.tofile(path)),
    "array": in_files(".npy", np.save),
    "saved": in_files(".pt", lambda path, clip: torch.save({"wave": torch.from_numpy(clip)}, path)),
    "pickled": in_files(".pkl", lambda path, clip: path.write_bytes(pickle.dumps({"wave": clip}))),
    "wave": in_files(".wav", save_wave),
    "rows": rows,
    "members": members,
    "zipped": lambda folder, clips: np.savez(folder / "clips.npz", **clips),
}


def make_clip_shards(folder, kind, shards, clips, seed, size=500):
    """`shards` shards of `clips` clips each (jobs/shard_streams.py)."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for shard in range(shards):
        waves = rng.integers(-3000, 3000, (clips, size)).astype(np.int16)
        SHARDS[kind](folder / f"part-{shard:05d}", waves, rng.integers(0, 4, clips))


def tar_shard(path, waves, words):
    with tarfile.open(path.with_suffix(".tar"), "w") as tar:
        for i, (wave, word) in enumerate(zip(waves, words)):
            member = tarfile.TarInfo(f"{path.name}-{i:03d}.{word}.raw")
            member.size = wave.nbytes
            tar.addfile(member, io.BytesIO(wave.tobytes()))


def chunk_shard(path, waves, words):
    torch.save({"waves": torch.from_numpy(waves), "words": torch.from_numpy(words)}, path.with_suffix(".pt"))


def line_shard(path, waves, words):
    rows = [json.dumps({"wave": wave.tolist(), "word": int(word)}) + "\n" for wave, word in zip(waves, words)]
    path.with_suffix(".jsonl").write_text("".join(rows))


SHARDS = {"tars": tar_shard, "chunks": chunk_shard, "lines": line_shard}
