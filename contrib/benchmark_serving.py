#!/usr/bin/env python3
"""vLLM's old benchmark_serving.py, on stoke.

    python benchmark_serving.py --backend openai-chat --base-url URL …

hands its arguments to `stoke bench serve`, which knows them, and becomes it:
output, files and exit status are its own. The program is the one that the
variable STOKE names, else a `stoke` on the PATH, else the one built in the
folder above.
"""

import os
import shutil
import sys


def program():
    if os.environ.get("STOKE"):
        return os.environ["STOKE"]
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return shutil.which("stoke") or os.path.join(above, "stoke")


def main():
    stoke = program()
    try:
        os.execv(stoke, [stoke, "bench", "serve", *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"benchmark_serving.py: {stoke}: {e.strerror}: put stoke on "
                 "the PATH, or its path into the variable STOKE")


if __name__ == "__main__":
    main()
