"""Waiting in Python: see Tests/AlbumTestSupport/Waiting.swift."""
import signal, time


def eventually(call, *arguments):
    """Waits until the result of a call is true, for five minutes at most, and returns it."""
    end = time.monotonic() + 300
    while True:
        found = call(*arguments)
        if found: return found
        assert time.monotonic() < end, ("it does not come true", call, arguments)
        time.sleep(0.02)


def be_slow(seconds):
    """Makes something slow that a test uses, for instance a client. A test does not wait for its own events so."""
    time.sleep(seconds)


def stay():
    """Does nothing until a signal ends the process."""
    while True: signal.pause()
