"""The lines of a pipe as they come, and the wait for one of them."""

import re
import threading
import time


class Lines:
    """The lines that a pipe has brought so far, read by a thread of its own."""

    def __init__(self, pipe):
        self.lines, self.times = [], []
        self.more, self.over = threading.Condition(), False
        self.reader = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.reader.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                with self.more:
                    self.times.append(time.monotonic())
                    self.lines.append(line.decode("utf-8", "replace").strip())
                    self.more.notify_all()
        with self.more:
            self.over = True
            self.more.notify_all()

    def find(self, pattern):
        """The last line that has the pattern, or None."""
        return next((line for line in reversed(self.lines) if re.search(pattern, line)), None)

    def wait_for(self, pattern, seconds):
        """Waits until a line has the pattern, which it returns; None after `seconds`, or at the end of the pipe."""
        with self.more:
            self.more.wait_for(lambda: self.over or self.find(pattern) is not None, seconds)
            return self.find(pattern)

    def whole(self):
        """All lines, once the pipe has ended."""
        self.reader.join()
        return "\n".join(self.lines)
