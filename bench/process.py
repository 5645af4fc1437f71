"""What a process uses, as the kernel counts it."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """A process that somebody else runs."""

    pid: int

    def memory(self) -> float:
        """Return its megabytes now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

    def seconds(self) -> float:
        """Return its seconds of processor until now."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))  # noqa: PTH208

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))  # noqa: PTH208
