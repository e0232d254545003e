"""Waiting in Python: see Tests/AlbumTestSupport/Waiting.swift."""
import signal, time


def eventually(call, *arguments):
    """Waits until the result of a call is true, for five minutes at most, and returns it."""
    end, pause = time.monotonic() + 300, 0.01
    while True:
        found = call(*arguments)
        if found: return found
        assert time.monotonic() < end, ("it does not come true", call, arguments)
        time.sleep(pause)
        # What comes late is asked for less often: a question may be a process or two.
        pause = min(pause * 1.5, 0.2)


def be_slow(seconds):
    """Makes something slow that a test uses, for instance a client. A test does not wait for its own events so."""
    time.sleep(seconds)


def stay():
    """Does nothing until a signal ends the process."""
    while True: signal.pause()
