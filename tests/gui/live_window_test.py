"""The window, under Xvfb: what keys change, what it shows while a trace is merged, that it rests, and closes."""
import resource
import shutil
import signal
import subprocess
import time

import pytest
from ddpscope import BUILD
from live_jobs import wait_for
from viewer_window import needs_a_screen, window

pytestmark = needs_a_screen


def test_keys_do_what_they_are_for_and_it_closes(trace):
    notes = trace / "ddpscope.notes"
    with window(trace) as opened:
        opened.xdotool("mousemove", "800", "400")
        first = opened.rests()
        for key, back in [("question", "Escape"), ("F1", "F1"), ("e", "Escape"), ("q", "q"), ("ctrl+f", "Escape")]:
            opened.key(key)
            opened.changes(first)
            opened.key(back)
            opened.becomes(first)
        # Keys are text until the frame after that: rests() waits for it.
        for _ in range(3):  # dark, light, for the colour-blind
            before = opened.rests()
            opened.key("t")
            opened.changes(before)
        opened.becomes(first)
        for key in ("w", "d", "Home"):
            before = opened.rests()
            opened.key(key)
            opened.changes(before)
        opened.rests()  # it has flown there
        opened.key("m")
        wait_for(notes.exists, opened.viewer)
        opened.key("m")  # the same one: away with it
        wait_for(lambda: not notes.read_text(), opened.viewer)
        opened.key("m")
        wait_for(notes.read_text, opened.viewer)
    assert not opened.told
    assert notes.read_text() == "15000000000\t-1\t\n", "the middle of the whole run"


def test_nothing_is_drawn_when_nothing_happens(trace):
    with window(trace) as opened:
        opened.xdotool("mousemove", "800", "400")
        opened.rests()
        before = opened.processor_ticks()
        time.sleep(5)
        assert opened.processor_ticks() - before < 25  # of 500: 60 frames a second take most of them


def test_what_is_merged_is_shown_meanwhile(tmp_path):
    trace, merged = tmp_path / "trace", tmp_path / "trace" / ".ddpscope-cache"
    subprocess.run([BUILD / "bin" / "tracegen", "--out", trace, "--ranks", "16", "--buckets", "10", "--epochs", "2", "--seed",
                    "3", "--steps", "3000"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    notes = trace / "ddpscope.notes"
    with window(trace) as opened:
        opened.xdotool("mousemove", "800", "400")

        def kept():
            opened.key("m")
            return notes.exists()

        wait_for(kept, opened.viewer, between=0.02)
        assert not list(merged.glob("*.merged")), "only when all was merged"
        wait_for(lambda: list(merged.glob("*.merged")), opened.viewer)
        for key in ["n", "w", "w", "d", "question", "Escape"] * 5:
            opened.key(key)
        time.sleep(1)  # what came last is shown


def files_end_at(size):
    """In a child: no file grows beyond that, which fails and ends nobody."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_what_was_merged_stays_when_the_rest_cannot_be_written(tmp_path, monkeypatch):
    trace, cache = tmp_path / "trace", tmp_path / "cache"
    subprocess.run([BUILD / "bin" / "tracegen", "--out", trace, "--ranks", "16", "--buckets", "10", "--seed", "3",
                    "--steps", "1000"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    with window(trace, exit_code=2, preexec_fn=lambda: files_end_at(1 << 20)) as opened:
        opened.rests()  # nothing more is tried
        assert (cache / "ddpscope").is_dir(), "the user's cache was tried, too"
        assert not list(tmp_path.glob("**/*.merged"))
        assert opened.xdotool("search", "--name", "ddpscope:").strip()
    assert "error: " in opened.told


def test_a_resting_mouse_is_told_what_is_under_it(trace):
    """Though nothing happens after it has come to rest; and then nothing is drawn again."""
    with window(trace) as opened:
        # So small that the frames that a move takes are over before the rest is.
        opened.xdotool("windowsize", opened.number, "1000", "800")
        opened.xdotool("mousemove", "700", "420")  # below all rows
        opened.rests()
        beside = (872, 375, 20, 50)  # where that of a call in the last rank's row is told
        without = opened.picture(*beside)
        opened.xdotool("mousemove", "700", "318")
        opened.changes(without, *beside)
        told = opened.rests()
        before = opened.processor_ticks()
        time.sleep(3)
        assert opened.processor_ticks() - before < 15
        assert opened.picture() == told


# What types on these the characters that are others on an American keyboard, or need Shift there.
LAYOUTS = {
    "de": {},
    "fr": {"1": "ampersand", "0": "agrave"},
    "cz": {"1": "plus", "0": "eacute"},
    "ru": {"e": "Cyrillic_u", "q": "Cyrillic_shorti"},
}


@pytest.mark.skipif(not shutil.which("setxkbmap"), reason="setxkbmap is missing")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_letters_and_signs_are_where_the_layout_has_them(trace, layout):
    """xdotool presses the key, with Shift or without, that types a character there."""
    typed = LAYOUTS[layout]
    with window(trace) as opened:
        opened.run("setxkbmap", layout)
        opened.xdotool("mousemove", "800", "400")

        def press(key):
            opened.key("+".join(typed.get(each, each) for each in key.split("+")))

        first = opened.rests()
        for key, back in [("question", "Escape"), ("e", "Escape"), ("q", "q")]:
            press(key)
            opened.changes(first)
            press(back)
            opened.becomes(first)
        press("1")
        opened.changes(first)
        evidence = opened.rests()
        press("period")
        opened.changes(evidence)
        press("comma")
        opened.becomes(evidence)
        for key in ("ctrl+plus", "ctrl+minus"):
            press(key)
            opened.changes(evidence)
            press("ctrl+0")
            opened.becomes(evidence)
