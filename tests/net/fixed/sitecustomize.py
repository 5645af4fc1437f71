"""Makes random numbers of a recorded program count upwards, in decimal digits.

Ids are random, they stand in prompts, and a tokenizer needs a different number of tokens for each; runs of digits
always need the same. Ids that count upwards also sort in the order in which they were made.
"""

import fcntl
import os

_FOLDER = os.environ.get("NET_COUNTERS")


def _counted(size: int) -> bytes:
    file = os.open(f"{_FOLDER}/{size}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        number = int(os.read(file, 20) or b"0") + 1
        os.pwrite(file, str(number).encode(), 0)
    finally:
        os.close(file)
    digits = f"{number * 101:08}".ljust(2 * size, "0")
    return bytes.fromhex(digits[: 2 * size] if size >= 4 else digits[8 - 2 * size : 8])


if _FOLDER:
    os.urandom = _counted
