#!/usr/bin/env python3
"""Runs clang-tidy over sources and remembers which were clean.

usage: tidy.py BUILD_FOLDER CACHE_FOLDER JOBS <list of sources, one a line

A source is looked at again when it or a header that it includes has changed, or the checks, or its
flags. So a run that was interrupted goes on where it stopped. Exit codes: 0 clean, 1 not.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

build, cache, jobs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
sources = sys.stdin.read().split()
commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
checks = pathlib.Path(".clang-tidy").read_bytes()
here = os.getcwd().encode() + b"/"


def key_of(source):
    """A hash of all that the result depends on. Comments stay in: some are NOLINT."""
    entry = commands[source]
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if word.endswith(("/c++", "/cc"))) :]
    del words[words.index("-o") : words.index("-o") + 2]
    text = subprocess.run([*words, "-E", "-C", "-P"], cwd=entry["directory"],
                          capture_output=True, check=True).stdout
    flags = " ".join(words).encode()
    parts = (version, checks, flags.replace(here, b""), text.replace(here, b""))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def look_at(source):
    """What clang-tidy has against the source; None where it was clean before."""
    clean = cache / key_of(source)
    if clean.exists():
        return None
    result = subprocess.run(["clang-tidy", "-p", str(build), "--quiet", source],
                            capture_output=True, text=True)
    if result.returncode == 0:
        clean.touch()
        return ""
    return result.stdout + result.stderr


cache.mkdir(parents=True, exist_ok=True)
faulty, known = 0, 0
with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
    futures = [pool.submit(look_at, source) for source in sources]
    for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
        complaint = future.result()
        known += complaint is None
        faulty += bool(complaint)
        if complaint:
            print(complaint, flush=True)
        if sys.stderr.isatty():
            print(f"\r{number} of {len(sources)} looked at", end="", file=sys.stderr, flush=True)
if sys.stderr.isatty():
    print(file=sys.stderr)
print(f"clang-tidy: {len(sources)} files, {known} unchanged since they were clean, {faulty} faulty")
sys.exit(faulty != 0)
