#!/bin/sh
# Make .venv, the environment that everything here runs in, unless it stands. `make` calls this;
# PYTHON chooses the interpreter. Written last, .venv/made-from says what .venv was made from. Where
# that is missing or has changed, .venv is made anew: an installation was cut off, a pin is another,
# or the folder was moved.
set -eu
cd "$(dirname "$0")/.."
log=.venv/install.log
export PIP_USER=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1

stop() {
    echo "$1" >&2
    exit 1
}

runs() { # a name on the path may be a dead link, a shim or too old
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    python=$PYTHON
    runs "$python" || stop "PYTHON=$PYTHON does not run as Python 3.11, 3.12, 3.13 or 3.14: name one that does, or leave PYTHON out to let make look for one."
else
    # .venv's own comes first: a Python that was once chosen stays chosen.
    for python in .venv/bin/python python3 python3.14 python3.13 python3.12 python3.11 python ""; do
        if runs "$python"; then break; fi
    done
    [ -n "$python" ] || stop "No Python 3.11, 3.12, 3.13 or 3.14 was found: install one, or name the one you have with make book PYTHON=/path/to/python3.12."
fi

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Of pyproject.toml only what decides an installation: the settings of tools may change freely.
pins=$({
    cat requirements.txt constraints.txt tools/npm/*
    awk 'FNR == 1 { tools = 0 } /^\[tool/ { tools = 1 } !tools' pyproject.toml attention_contracts/pyproject.toml
} | cksum)
made_from="Python $version in $PWD, pins $pins"
if [ "$(cat .venv/made-from 2>/dev/null)" = "$made_from" ] && runs .venv/bin/python; then exit; fi

"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    stop "This Python $version ($python) came without its venv module: install it (on Debian and Ubuntu: apt install python$version-venv), then run make again."
echo "Making the environment in .venv with Python $version: a minute or more; $log says how far it is."
base=$("$python" -c 'import sys; print(sys._base_executable)') # not the one in .venv, which goes
rm -rf .venv
"$base" -m venv --prompt attention-workbook .venv || stop "The environment .venv could not be made: mend that and run make again."

# Modules are compiled when they are first imported: most never are. What builds the links to this
# checkout is installed first, so that the links need no network.
{
    .venv/bin/python -m pip install --no-compile -c constraints.txt flit_core setuptools &&
        .venv/bin/python -m pip install --no-compile -c constraints.txt -r requirements.txt --no-build-isolation &&
        .venv/bin/python -m website.npm
} >"$log" 2>&1 </dev/null && echo "$made_from" >.venv/made-from && exit

if grep -qE 'Connect(ion)?(Error|Timeout|Refused)|SSLError|FetchError|error network|from versions: none|ResolutionImpossible' "$log"; then
    stop "The package registry could not be reached, or lacks what is pinned: connect this machine to the network or point pip and npm at registries it can reach (pip config, npm config), then run make again; their own words are in $log."
fi
words=$(grep -E '^(ERROR:|npm error) .' "$log" | tail -n 1)
stop "The packages could not be installed (${words:-no word why}): mend that and run make again (there are ready-made packages for 64-bit Linux, WSL and macOS 14 with Apple silicon); all that was said is in $log."
